/**
 * Gateways: other servers as groups of one server.
 *
 * @stability unstable
 */
export * as McpProxy from "./McpProxy.ts"
