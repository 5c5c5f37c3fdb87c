/** The rules of the header `Accept` (RFC 9110, 12.5.1): the media types that a request has to list. */
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as HttpResponses from "./HttpResponses.ts"

type Checked = Effect.Effect<void, HttpServerResponse>

const isExcluded = (parameters: string): boolean => /;\s*q=0(\.0*)?\s*(;|$)/i.test(parameters)

/** The values of `Accept` that nearly all clients send; they are not parsed. */
const usual: ReadonlySet<string> = new Set([
  "application/json, text/event-stream",
  "application/json,text/event-stream",
  "text/event-stream, application/json"
])

/** Returns whether this `Accept` lists this media type. */
const accepts = (accept: string | undefined, type: "application/json" | "text/event-stream"): boolean => {
  if (accept === undefined) return false
  if (usual.has(accept)) return true
  const [family] = type.split("/")
  return accept.split(",").some((part) => {
    const [range = "", ...parameters] = part.trim().split(";")
    const name = range.trim().toLowerCase()
    return (name === "*/*" || name === `${family}/*` || name === type) && !isExcluded(`;${parameters.join(";")}`)
  })
}

/** Fails with 406 unless a request accepts an event stream. */
export const requireEventStream = ({ headers: { accept } }: HttpServerRequest): Checked =>
  accepts(accept, "text/event-stream")
    ? Effect.void
    : Effect.fail(HttpResponses.error(406, "Accept must list text/event-stream"))

/** Fails with 406 unless a request accepts both JSON and an event stream (HTTP-03). */
export const requireJsonAndEventStream = ({ headers: { accept } }: HttpServerRequest): Checked =>
  accepts(accept, "application/json") && accepts(accept, "text/event-stream")
    ? Effect.void
    : Effect.fail(HttpResponses.error(406, "Accept must list application/json and text/event-stream"))
