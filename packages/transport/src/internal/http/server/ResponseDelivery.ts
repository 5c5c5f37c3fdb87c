/** The delivery of responses: whether the operating system took the whole response before the connection closed. */
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as NodeMessages from "./NodeMessages.ts"

/**
 * Runs `action` if the connection of a request closes before its whole response was handed to the operating system.
 * Interruption cannot show that: the fiber of a request runs only until its response is written. On other servers than
 * Node's this does nothing; they interrupt the fiber, or report nothing.
 */
export const onUndelivered = (request: HttpServerRequest, action: () => void): void => {
  const response = NodeMessages.responseOf(request)
  if (response === undefined) return
  if (response.destroyed) return action()
  let isDelivered = false
  response.once("finish", () => {
    isDelivered = true
  })
  response.once("close", () => {
    if (!isDelivered) action()
  })
}
