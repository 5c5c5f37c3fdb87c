/**
 * The transports over which a server is attacked. Over HTTP there are several servers: with an event store, without
 * sessions, with the application of tasks and kept results, with tasks in an SQL database, and the gateway.
 */
export const serverTransports = [
  "stdio",
  "unix",
  "websocket",
  "http",
  "http-stored",
  "http-stateless",
  "http-sse",
  "http-application",
  "http-sql",
  "http-gateway"
] as const

export type ServerTransport = (typeof serverTransports)[number]

/** The servers whose clients have principals. */
export const authenticated: ReadonlySet<string> = new Set(["http-application", "http-sql", "http-gateway"])
