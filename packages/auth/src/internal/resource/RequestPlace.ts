/** The place that a request is sent to. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Place } from "./ProtectedResources.ts"

/** Returns the place of a request. The URL of a mounted route would lack its prefix. */
export const of = ({ headers, originalUrl }: HttpServerRequest): Place => {
  const [, host, path = ""] = /^(?:https?:\/\/([^/?#]*))?([^?#]*)/i.exec(originalUrl) ?? []
  // HTTP/2 and requests over web standards have the host in the URL only.
  return { host: headers["host"] ?? host, path: path === "" ? "/" : path }
}
