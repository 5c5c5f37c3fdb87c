/** `McpServer` on Node. */
export * from "../McpServer.ts"
