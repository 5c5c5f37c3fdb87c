import { toServerResponse } from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Predicate from "effect/Predicate"
import { EventEmitter } from "node:events"

/**
 * Runs `action` if the connection of a request is gone before its whole response was handed to the operating system.
 * The fiber of a request is interrupted only until its response is written, which is too early to know. On other
 * servers than Node's it does nothing: they interrupt the fiber, or do not tell.
 */
export const onUndelivered = (request: HttpServerRequest, action: () => void): void => {
  const response: unknown = toServerResponse(request)
  if (!(response instanceof EventEmitter)) return
  if (Predicate.hasProperty(response, "destroyed") && response.destroyed === true) return action()
  let delivered = false
  response.once("finish", () => {
    delivered = true
  })
  response.once("close", () => {
    if (!delivered) action()
  })
}
