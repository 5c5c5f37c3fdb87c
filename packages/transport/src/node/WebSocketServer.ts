/** `WebSocketServer` on Node. */
export * from "../WebSocketServer.ts"
