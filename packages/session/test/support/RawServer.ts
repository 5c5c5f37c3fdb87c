import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

/**
 * A server that sends the frames of a script or a test, valid or not.
 */
export interface RawServer {
  /** The messages of the client so far. */
  readonly received: ReadonlyArray<JsonRpc.Message>
  /** Waits for the next message of the client. */
  readonly receive: Effect.Effect<JsonRpc.Message>
  /**
   * Sends frames, directly one after the other. If each request has a stream, a response takes the stream of its
   * request, and another message the stream of the latest request.
   */
  readonly send: (...frames: ReadonlyArray<unknown>) => Effect.Effect<void>
  /** Sends a message on the stream of a request, and leaves the stream open even after a response. */
  readonly sendOnOpenStream: (id: unknown, frame: JsonRpc.Message) => Effect.Effect<void>
  /** Ends the stream of a request without a response, if each request has a stream. */
  readonly endExchange: (id: unknown) => Effect.Effect<void>
  /** Ends the server's side. */
  readonly end: Effect.Effect<void>
  /** Returns whether the client has ended its side. */
  readonly ended: () => boolean
}

/** Returns the frames that the server sends synchronously for a message. */
export type Script = (message: JsonRpc.Message) => ReadonlyArray<unknown>

const idOf = (frame: unknown): unknown => typeof frame === "object" && frame !== null && "id" in frame ? frame.id : null

const isResponse = (frame: unknown): boolean => typeof frame === "object" && frame !== null && !("method" in frame)

/** Creates a server at this end of a transport. */
export const make = Effect.fnUntraced(function*(
  transport: Transport.Transport["Service"],
  script: Script = () => []
): Effect.fn.Return<RawServer, never, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Effect.scope)
  const connection = yield* Effect.orDie(Scope.provide(transport.connect, scope))
  const received: Array<JsonRpc.Message> = []
  const inbox = yield* Queue.unbounded<JsonRpc.Message>()
  const origins = new Map<unknown, Transport.StreamOrigin>()
  const ended = Deferred.makeUnsafe<void>()
  let latest: Transport.StreamOrigin | undefined

  const sendOne = (frame: unknown) =>
    connection.send({
      // A test can send a frame that is not a message.
      message: frame as JsonRpc.Message,
      replyTo: isResponse(frame) ? origins.get(idOf(frame)) ?? latest : latest,
      last: isResponse(frame) && origins.has(idOf(frame))
    })

  // The client may have closed the connection, which is no failure of the server.
  const send = (...frames: ReadonlyArray<unknown>) => Effect.ignore(Effect.forEach(frames, sendOne, { discard: true }))

  yield* Effect.forkIn(
    Effect.tap(
      connection.run(({ frame, origin }) => {
        if (Result.isFailure(frame)) return
        for (const message of JsonRpc.messages(frame.success)) {
          if (JsonRpc.isRequest(message) && origin !== undefined) {
            origins.set(message.id, origin)
            latest = origin
          }
          received.push(message)
          Queue.offerUnsafe(inbox, message)
          const frames = script(message)
          if (frames.length > 0) Effect.runFork(send(...frames))
        }
      }),
      () => Effect.sync(() => Deferred.doneUnsafe(ended, Exit.void))
    ),
    scope,
    { startImmediately: true }
  )

  return {
    received,
    receive: Queue.take(inbox),
    send,
    sendOnOpenStream: (id, message) =>
      Effect.ignore(connection.send({ message, replyTo: origins.get(id), last: false })),
    endExchange: (id) =>
      Effect.sync(() => {
        const origin = origins.get(id)
        if (origin !== undefined) connection.endExchange?.(origin)
      }),
    end: Scope.close(scope, Exit.void),
    ended: () => Deferred.isDoneUnsafe(ended)
  }
})

/** The result of `initialize` of a server with tools and logging. */
export const initializeResult = (
  over: { readonly [name: string]: unknown } = {}
) => ({
  protocolVersion: Revision.latestLegacy,
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: "raw-server", version: "1.0.0" },
  ...over
})

/** Makes a script that replies to `initialize`, and passes other messages to another script. */
export const replyToInitialize =
  (script: Script = () => [], result: object = initializeResult()): Script => (message) =>
    JsonRpc.isRequest(message) && message.method === "initialize"
      ? [JsonRpc.success(message.id, result)]
      : script(message)

/** A script that replies to pings. */
export const replyToPings: Script = (message) =>
  JsonRpc.isRequest(message) && message.method === "ping" ? [JsonRpc.success(message.id, {})] : []
