import { JsonRpc, Revision } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"

/**
 * A server that says what it is told to, right or wrong.
 */
export interface RawServer {
  /** Everything the client has said. */
  readonly received: ReadonlyArray<JsonRpc.Message>
  /** Waits for the next thing the client says. */
  readonly receive: Effect.Effect<JsonRpc.Message>
  /**
   * Says these frames, one right behind the other. A response takes the stream of its request, the rest that of the latest
   * request, where there are streams.
   */
  readonly say: (...frames: ReadonlyArray<unknown>) => Effect.Effect<void>
  /** Says something on the stream of this request, and leaves it open whatever it was. */
  readonly sayOpen: (id: unknown, frame: JsonRpc.Message) => Effect.Effect<void>
  /** Ends the stream of this request without a response, where there are streams. */
  readonly settle: (id: unknown) => Effect.Effect<void>
  /** Ends the server's side. */
  readonly end: Effect.Effect<void>
  /** Has the client ended its side? */
  readonly ended: () => boolean
}

/** What the server says about a message in the very step it comes in. */
export type Script = (message: JsonRpc.Message) => ReadonlyArray<unknown>

const idOf = (frame: unknown): unknown => typeof frame === "object" && frame !== null && "id" in frame ? frame.id : null

const isResponse = (frame: unknown): boolean => typeof frame === "object" && frame !== null && !("method" in frame)

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

  const sayOne = (frame: unknown) =>
    connection.send({
      // A scripted server may say what is no message at all.
      message: frame as JsonRpc.Message,
      replyTo: isResponse(frame) ? origins.get(idOf(frame)) ?? latest : latest,
      last: isResponse(frame) && origins.has(idOf(frame))
    })

  // Whether anybody is left to hear it is not this server's concern.
  const say = (...frames: ReadonlyArray<unknown>) => Effect.ignore(Effect.forEach(frames, sayOne, { discard: true }))

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
          const answers = script(message)
          if (answers.length > 0) Effect.runFork(say(...answers))
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
    say,
    sayOpen: (id, message) => Effect.ignore(connection.send({ message, replyTo: origins.get(id), last: false })),
    settle: (id) =>
      Effect.sync(() => {
        const origin = origins.get(id)
        if (origin !== undefined) connection.endExchange?.(origin)
      }),
    end: Scope.close(scope, Exit.void),
    ended: () => Deferred.isDoneUnsafe(ended)
  }
})

/** The answer to `initialize` of a server that has tools and logs. */
export const initializeResult = (
  over: { readonly [name: string]: unknown } = {}
) => ({
  protocolVersion: Revision.latest,
  capabilities: { tools: {}, logging: {} },
  serverInfo: { name: "raw-server", version: "1.0.0" },
  ...over
})

/** A script that answers `initialize`, and hands everything else to another. */
export const shakesHands = (script: Script = () => [], result: object = initializeResult()): Script => (message) =>
  JsonRpc.isRequest(message) && message.method === "initialize"
    ? [JsonRpc.success(message.id, result)]
    : script(message)

/** A script that answers every ping. */
export const pongs: Script = (message) =>
  JsonRpc.isRequest(message) && message.method === "ping" ? [JsonRpc.success(message.id, {})] : []
