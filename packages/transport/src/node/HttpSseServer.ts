/** `HttpSseServer` on Node. */
export * from "../HttpSseServer.ts"
