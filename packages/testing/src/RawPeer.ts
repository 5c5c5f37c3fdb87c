/**
 * A client that sends any messages, valid or not: without a handshake, matching or checks.
 *
 * @stability unstable
 */
import { JsonRpc } from "@effect-mcp/protocol"
import { Transport } from "@effect-mcp/session"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import { trust } from "./internal/trust.ts"

/**
 * The client's end of a connection, message by message.
 *
 * @category models
 */
export interface RawPeer {
  /** Sends a message. Over a transport with a stream for each request, a request gets its own stream. */
  readonly send: (message: JsonRpc.Message) => Effect.Effect<void, TransportError>
  /** Sends a JSON value as it is, valid message or not. A request gets no stream of its own. */
  readonly sendFrame: (frame: unknown) => Effect.Effect<void, TransportError>
  /**
   * Closes the stream of a request, over a transport with a stream for each request. In revision 2026-07-28 this
   * cancels the request. Does nothing if the stream has ended, or if the transport has one stream for everything.
   */
  readonly closeStream: (id: JsonRpc.Request["id"]) => Effect.Effect<void>
  /** Waits for the next message of the server. */
  readonly receive: Effect.Effect<JsonRpc.Message>
  /** Waits for the next response of the server, and drops other messages. */
  readonly response: Effect.Effect<JsonRpc.Response>
  /** Returns the messages that arrived and were not received yet. */
  readonly pending: Effect.Effect<ReadonlyArray<JsonRpc.Message>>
}

/**
 * Connects, and sends nothing. The connection closes with the scope. Fails with the error of the transport.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { ServerSession } from "@effect-mcp/session"
 * import { RawPeer } from "@effect-mcp/testing"
 * import { LawServer } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * // No handshake, so the server rejects the request.
 * export const code = Effect.gen(function*() {
 *   const peer = yield* RawPeer.make
 *   yield* peer.send(JsonRpc.request(1, "tools/list", {}))
 *   const response = yield* peer.response
 *   return JsonRpc.isFailure(response) ? response.error.code : undefined
 * }).pipe(
 *   Effect.scoped,
 *   Effect.provide(ServerSession.layerMemory(LawServer.make(), LawServer.options))
 * ) // => -32600
 * ```
 *
 * @category constructors
 */
export const make: Effect.Effect<RawPeer, TransportError, Transport.Transport | Scope.Scope> = Effect.gen(function*() {
  const transport = yield* Transport.Transport
  const connection = yield* transport.connect
  const inbox = yield* Queue.unbounded<JsonRpc.Message>()
  yield* Effect.forkScoped(connection.run(({ frame }) => {
    if (Result.isFailure(frame)) return
    for (const message of JsonRpc.messages(frame.success)) Queue.offerUnsafe(inbox, message)
  }))
  const scope = yield* Effect.scope
  const streams = new Map<JsonRpc.Request["id"], Fiber.Fiber<void, TransportError>>()
  const response: Effect.Effect<JsonRpc.Response> = Effect.flatMap(
    Queue.take(inbox),
    (message) => "method" in message ? response : Effect.succeed(message)
  )
  return {
    send: (message) =>
      connection.request !== undefined && JsonRpc.isRequest(message)
        ? Effect.map(Effect.forkIn(connection.request(message), scope, { startImmediately: true }), (fiber) => {
          streams.set(message.id, fiber)
          fiber.addObserver(() => streams.get(message.id) === fiber && streams.delete(message.id))
        })
        : connection.send({ message, replyTo: undefined, last: false }),
    // The frame may be invalid on purpose.
    sendFrame: (frame) => connection.send({ message: trust<JsonRpc.Frame>(frame), replyTo: undefined, last: false }),
    closeStream: (id) =>
      Effect.suspend(() => {
        const fiber = streams.get(id)
        return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
      }),
    receive: Queue.take(inbox),
    response,
    pending: Effect.suspend(() => Queue.clear(inbox))
  }
})
