/**
 * Clients as applications use them, on Node: everything of this package, and targets that need Node.
 *
 * @stability unstable
 */
export * from "../index.ts"

export * as McpServersConfig from "./McpServersConfig.ts"
export * as McpTarget from "./McpTarget.ts"
