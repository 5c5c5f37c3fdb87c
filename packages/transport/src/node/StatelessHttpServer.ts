/** `StatelessHttpServer` on Node. */
export * from "../StatelessHttpServer.ts"
