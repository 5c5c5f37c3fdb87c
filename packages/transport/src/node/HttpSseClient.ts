/** `HttpSseClient` on Node. */
export * from "../HttpSseClient.ts"
