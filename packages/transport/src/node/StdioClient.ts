/** `StdioClient` on Node. */
export * from "../StdioClient.ts"
