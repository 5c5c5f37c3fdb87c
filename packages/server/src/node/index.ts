/**
 * Servers as applications write them, on Node: everything of this package, and servers over stdio.
 *
 * @stability unstable
 */
export * from "../index.ts"

export * as McpServer from "./McpServer.ts"
