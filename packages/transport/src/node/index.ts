/**
 * Transports for MCP sessions on Node: everything of this package, and what needs Node, Bun or Deno.
 *
 * @stability unstable
 */
export * from "../index.ts"

export * as HttpFallbackClient from "./HttpFallbackClient.ts"
export * as HttpSseClient from "./HttpSseClient.ts"
export * as HttpSseServer from "./HttpSseServer.ts"
export * as SocketClient from "./SocketClient.ts"
export * as SocketServer from "./SocketServer.ts"
export * as StatelessHttpServer from "./StatelessHttpServer.ts"
export * as StdioClient from "./StdioClient.ts"
export * as StdioServer from "./StdioServer.ts"
export * as StreamableHttpClient from "./StreamableHttpClient.ts"
export * as StreamableHttpServer from "./StreamableHttpServer.ts"
export * as WebSocketClient from "./WebSocketClient.ts"
export * as WebSocketServer from "./WebSocketServer.ts"
