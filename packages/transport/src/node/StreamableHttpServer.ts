/** `StreamableHttpServer` on Node. */
export * from "../StreamableHttpServer.ts"
