/** `McpTarget` on Node. */
export * from "../McpTarget.ts"
