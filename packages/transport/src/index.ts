/**
 * Transports for MCP sessions.
 *
 * @since 0.1.0
 */
export * as LineFraming from "./LineFraming.ts"
export * as StdioClient from "./StdioClient.ts"
export * as StdioServer from "./StdioServer.ts"
