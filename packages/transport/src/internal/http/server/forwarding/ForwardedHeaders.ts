/** The headers and the target of a request that goes to another process, and the headers of the response. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as OriginPolicy from "../OriginPolicy.ts"

/** The header that says that another process has forwarded the request, and which one. */
export const forwardedBy = "mcp-forwarded"

/** The headers that are about one connection (RFC 9110, 7.6.1), and those that this process has handled itself. */
const ofConnection: ReadonlySet<string> = new Set([
  "connection",
  "expect",
  "http2-settings",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

/**
 * The headers that the other process judges. A client that names them in `Connection` would make this process remove
 * what it has checked itself.
 */
const judged: ReadonlySet<string> = new Set([
  "accept",
  "authorization",
  "content-encoding",
  "content-length",
  "content-type",
  "cookie",
  "dpop",
  "host",
  "last-event-id",
  "mcp-protocol-version",
  "mcp-session-id",
  "origin",
  "sec-fetch-site",
  forwardedBy
])

/** The most names of one header `Connection` that are looked at. */
const maxNames = 64

/** Returns the names of headers that belong to the connection of this message alone. */
const hopByHop = (connection: string | undefined): ReadonlySet<string> => {
  if (connection === undefined) return ofConnection
  const named = connection.split(",", maxNames).map((name) => name.trim().toLowerCase()).filter((name) =>
    !judged.has(name)
  )
  return new Set([...ofConnection, ...named])
}

/** Returns the headers of a request, with those that `set` replaces. Host and Authorization are unchanged. */
export const ofRequest = (
  { headers, originalUrl }: Pick<HttpServerRequest, "headers" | "originalUrl">,
  set: Readonly<Record<string, string | undefined>>
): Readonly<Record<string, string>> => {
  const dropped = hopByHop(headers["connection"])
  const sent: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string" && !name.startsWith(":") && !dropped.has(name)) sent[name] = value
  }
  // A request of HTTP/2, or over web standards, has its host in its target.
  const host = headers["host"] ?? headers[":authority"] ?? OriginPolicy.hostIn(originalUrl)
  if (host !== undefined && host !== "") sent["host"] = host
  for (const [name, value] of Object.entries(set)) {
    if (value === undefined) delete sent[name]
    else sent[name] = value
  }
  return sent
}

/** The headers of a response, in which a name may occur several times. */
type Received = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

/** Returns the headers of a response, without those of its connection and without cookies. */
export const ofResponse = (headers: Received): Record<string, string> => {
  const { connection } = headers
  const dropped = hopByHop(typeof connection === "string" ? connection : undefined)
  const sent: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || dropped.has(name) || name === "set-cookie") continue
    sent[name] = typeof value === "string" ? value : value.join(", ")
  }
  return sent
}

/**
 * Returns the path and the query of a request, from a target in origin form or in absolute form (RFC 9112, 3.2).
 * `undefined` if the target is neither.
 */
export const targetOf = ({ originalUrl }: Pick<HttpServerRequest, "originalUrl">): string | undefined => {
  if (originalUrl.startsWith("/")) return originalUrl
  try {
    const { pathname, protocol, search } = new URL(originalUrl)
    return protocol === "http:" || protocol === "https:" ? pathname + search : undefined
  } catch {
    return undefined
  }
}

/** Returns the address of a process, if it is an origin of HTTP. Everything else in it is ignored. */
export const addressOf = (address: string): URL | undefined => {
  try {
    const url = new URL(address)
    return url.protocol === "http:" || url.protocol === "https:" ? new URL(url.origin) : undefined
  } catch {
    return undefined
  }
}
