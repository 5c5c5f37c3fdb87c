/** `HttpFallbackClient` on Node. */
export * from "../HttpFallbackClient.ts"
