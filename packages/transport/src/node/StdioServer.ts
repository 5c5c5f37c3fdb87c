/** `StdioServer` on Node. */
export * from "../StdioServer.ts"
