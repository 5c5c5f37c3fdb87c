/** The transports over which a server is attacked. */
export const serverTransports = [
  "stdio",
  "unix",
  "websocket",
  "http",
  "http-stored",
  "http-sessionless",
  "http-sse"
] as const

export type ServerTransport = (typeof serverTransports)[number]
