/** `StreamableHttpClient` on Node. */
export * from "../StreamableHttpClient.ts"
