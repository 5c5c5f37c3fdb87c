/** `McpServersConfig` on Node. */
export * from "../McpServersConfig.ts"
