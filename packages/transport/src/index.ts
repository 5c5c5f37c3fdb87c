/**
 * Transports for MCP sessions.
 *
 * @stability unstable
 */

// The modules that a program starts from.
export * as Authentication from "./Authentication.ts"
export * as StatelessHttpServer from "./StatelessHttpServer.ts"
export * as StreamableHttpClient from "./StreamableHttpClient.ts"
export * as StreamableHttpServer from "./StreamableHttpServer.ts"
export * as WebSocketClient from "./WebSocketClient.ts"

// More.
export * as AuthenticationChallenge from "./AuthenticationChallenge.ts"
export * as ClientAuthorization from "./ClientAuthorization.ts"
export * as HiddenSecrets from "./HiddenSecrets.ts"
export * as HttpClientOptions from "./HttpClientOptions.ts"
export * as HttpFallbackClient from "./HttpFallbackClient.ts"
export * as HttpServerOptions from "./HttpServerOptions.ts"
export * as HttpSseClient from "./HttpSseClient.ts"
export * as HttpSseServer from "./HttpSseServer.ts"
export * as JsonLines from "./JsonLines.ts"
export * as Sse from "./Sse.ts"
