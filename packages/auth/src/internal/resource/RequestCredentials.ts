/** The credentials of a request: what its `Authorization` and `DPoP` headers have (RFC 6750, RFC 9449). */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Predicate from "effect/Predicate"

/** A token, and the scheme by which the client presents it. */
export interface Presented {
  readonly _tag: "Token"
  readonly scheme: "Bearer" | "DPoP"
  readonly token: string
  /** The value of the header `DPoP`. */
  readonly proof: string | undefined
}

/**
 * The credentials of a request. A request with another scheme has none: its response has no error code (RFC 6750,
 * section 3.1). `Malformed` is answered with 400.
 */
export type RequestCredentials =
  | Presented
  | { readonly _tag: "None" }
  | { readonly _tag: "Malformed"; readonly problem: string }

const none: RequestCredentials = { _tag: "None" }

const malformed = (problem: string): RequestCredentials => ({ _tag: "Malformed", problem })

const known = /^(bearer|dpop)(?: |$)/i

const presented = /^(?:bearer|dpop) +([\w\-.~+/]+=*) *$/i

/** Returns how often a request has this header. Node drops a second `Authorization` from its table of headers. */
const timesOf = ({ source }: HttpServerRequest, name: string): number => {
  if (!Predicate.hasProperty(source, "rawHeaders") || !Array.isArray(source.rawHeaders)) return 1
  return source.rawHeaders.filter((header, index) =>
    index % 2 === 0 && typeof header === "string" && header.toLowerCase() === name
  ).length
}

/** Returns whether the query of a request has a token, which a server may not accept (AUT-33). */
const hasTokenInQuery = ({ url }: HttpServerRequest): boolean => {
  const query = url.indexOf("?")
  return query >= 0 && new URLSearchParams(url.slice(query + 1)).has("access_token")
}

/** Reads the credentials of a request. A token has at most `maxTokenBytes` characters, all of them of one byte. */
export const read = (request: HttpServerRequest, maxTokenBytes: number): RequestCredentials => {
  const { authorization, dpop } = request.headers
  if (hasTokenInQuery(request)) return malformed("send the token in the header Authorization, not in the query")
  if (authorization === undefined) return none
  if (timesOf(request, "authorization") > 1) return malformed("send one header Authorization")
  const scheme = known.exec(authorization)?.[1]?.toLowerCase()
  if (scheme === undefined) return none
  // First, because the check of the characters takes time for each of them.
  if (authorization.length > maxTokenBytes + "Bearer ".length) {
    return malformed(`the token is longer than ${maxTokenBytes} bytes`)
  }
  const token = presented.exec(authorization)?.[1]
  if (token === undefined) return malformed("the header Authorization is not one scheme and one token")
  return { _tag: "Token", scheme: scheme === "dpop" ? "DPoP" : "Bearer", token, proof: dpop }
}
