/** `SocketClient` on Node. */
export * from "../SocketClient.ts"
