/** `WebSocketClient` on Node. */
export * from "../WebSocketClient.ts"
