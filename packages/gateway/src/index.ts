/**
 * Gateways: other servers as groups of one server.
 */
export * as McpProxy from "./McpProxy.ts"
