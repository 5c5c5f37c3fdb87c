/** `SocketServer` on Node. */
export * from "../SocketServer.ts"
