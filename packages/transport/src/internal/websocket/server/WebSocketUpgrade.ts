/** The upgrade of an HTTP request to a WebSocket of this protocol. */
import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http/HttpServerResponse"
import * as Predicate from "effect/Predicate"
import { IncomingMessage } from "node:http"
import type { Socket } from "node:net"
import * as HttpResponses from "../../http/server/HttpResponses.ts"
import * as SocketShutdown from "../../shared/SocketShutdown.ts"
import { subprotocol } from "../WebSocketSettings.ts"

const key = /^[+/0-9A-Za-z]{22}==$/

const items = (header: string | undefined): ReadonlyArray<string> =>
  (header ?? "").split(",").map((item) => item.trim()).filter((item) => item !== "")

const upgradeRequired = HttpResponses.error(
  426,
  "This endpoint serves WebSockets only; send an upgrade request",
  {
    headers: { upgrade: "websocket", connection: "upgrade" }
  }
)

const otherVersion = HttpResponses.error(426, "Sec-WebSocket-Version must be 13", {
  headers: { upgrade: "websocket", connection: "upgrade", "sec-websocket-version": "13" }
})

/** Whether a client must offer the subprotocol. */
export type Requirement = "required" | "optional"

const offersSubprotocol = ({ headers }: HttpServerRequest): boolean =>
  items(headers["sec-websocket-protocol"]).includes(subprotocol)

const problemOf = (request: HttpServerRequest, requirement: Requirement): HttpServerResponse | undefined => {
  const { headers } = request
  if (headers["upgrade"]?.toLowerCase() !== "websocket") return upgradeRequired
  if (headers["sec-websocket-version"] !== "13") return otherVersion
  if (!key.test(headers["sec-websocket-key"] ?? "")) {
    return HttpResponses.error(400, "Sec-WebSocket-Key is missing, or not 16 bytes in base64")
  }
  return requirement === "optional" || offersSubprotocol(request)
    ? undefined
    : HttpResponses.error(400, `Sec-WebSocket-Protocol must offer ${subprotocol}`)
}

/**
 * Returns the TCP socket of a valid upgrade request; fails with the response to an invalid one. It removes all other
 * subprotocols from the request, because the HTTP server selects the first. It also removes compression: data that
 * waits to be compressed is not counted, so senders would not wait for a client that does not read.
 */
export const take = (
  request: HttpServerRequest,
  requirement: Requirement
): Effect.Effect<Socket, HttpServerResponse> => {
  const problem = problemOf(request, requirement)
  if (problem !== undefined) return Effect.fail(problem)
  const message: unknown = toIncomingMessage(request)
  if (!(message instanceof IncomingMessage)) {
    return Effect.fail(HttpResponses.error(501, "WebSockets are served on Node's HTTP server only"))
  }
  if (offersSubprotocol(request)) message.headers["sec-websocket-protocol"] = subprotocol
  else delete message.headers["sec-websocket-protocol"]
  delete message.headers["sec-websocket-extensions"]
  return Effect.succeed(message.socket)
}

/**
 * Destroys the socket of an upgrade request this long after the server has ended its side. The HTTP server does not
 * track such a socket, so a rejected client could keep it open and delay the shutdown.
 */
export const destroyAfter = (request: HttpServerRequest, millis: number): void => {
  const message: unknown = toIncomingMessage(request)
  if (message instanceof IncomingMessage && Predicate.hasProperty(message, "upgrade") && message.upgrade === true) {
    SocketShutdown.destroyAfter(message.socket, millis)
  }
}

/**
 * The response to a request that the HTTP server does not treat as an upgrade, such as one without `Connection:
 * upgrade`.
 */
export const notAnUpgrade = upgradeRequired
