/**
 * The stores that the processes of a server share, as one Layer.
 *
 * @stability unstable
 */
export * as McpStores from "./McpStores.ts"
export * as StoresError from "./StoresError.ts"
