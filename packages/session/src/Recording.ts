/**
 * Writing down what crosses a transport: who, when, what. A recording is a transport around a transport; the session above it
 * and the wire below it notice nothing.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Stream from "effect/Stream"
import * as Subscriptions from "./internal/engine/Subscriptions.ts"
import * as Limits from "./Limits.ts"
import { MemoryBudget } from "./MemoryBudget.ts"
import { type Connection, type FrameError, type Inbound, Transport } from "./Transport.ts"

/**
 * One frame. `at` is milliseconds since 1970 by the program's `Clock`. `Sent` is what the session handed to the transport, whether
 * or not it could be delivered; `Received` what the transport delivered; `Unreadable` bytes that came and are no frame.
 *
 * @category models
 */
export type Entry =
  | { readonly _tag: "Sent"; readonly at: number; readonly frame: JsonRpc.Frame }
  | { readonly _tag: "Received"; readonly at: number; readonly frame: unknown }
  | { readonly _tag: "Unreadable"; readonly at: number; readonly error: FrameError }

/**
 * A transport that is being recorded, and what was.
 *
 * @category models
 */
export interface Recording {
  /** Put it where the recorded transport stood. */
  readonly transport: Transport["Service"]
  /** What passes from when the stream is run; a reader that lags by more than 1,024, or by more than 32 MiB, loses the oldest. */
  readonly entries: Stream.Stream<Entry>
}

/** What is kept for a reader of `entries`: what a session keeps for a follower, unless told otherwise. */
const { maxNotificationBytes: bytes, maxNotifications: capacity } = Limits.make()

const recorded = (
  transport: Transport["Service"],
  clock: Clock.Clock,
  record: (entry: Entry, bytes: number | undefined) => void
): Transport["Service"] => {
  const sent = (frame: JsonRpc.Frame) =>
    Effect.sync(() => record({ _tag: "Sent", at: clock.currentTimeMillisUnsafe(), frame }, undefined))
  const received = ({ bytes, frame }: Inbound) => {
    const at = clock.currentTimeMillisUnsafe()
    record(
      Result.isSuccess(frame)
        ? { _tag: "Received", at, frame: frame.success }
        : { _tag: "Unreadable", at, error: frame.failure },
      bytes
    )
  }
  return {
    connect: Effect.map(transport.connect, (connection): Connection => {
      const { request } = connection
      return {
        ...connection,
        run: (deliver, hooks) =>
          connection.run((inbound) => {
            received(inbound)
            deliver(inbound)
          }, hooks),
        send: (outbound) => Effect.andThen(sent(outbound.message), connection.send(outbound)),
        ...(request === undefined ? undefined : {
          request: (message: JsonRpc.Request) => Effect.andThen(sent(message), request(message))
        })
      }
    })
  }
}

/**
 * Records a transport for whoever reads `entries`.
 *
 * @example
 * ```ts
 * import { MemoryTransport, Recording } from "@effect-mcp/session"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * export const watched = Effect.gen(function*() {
 *   const pair = yield* MemoryTransport.make()
 *   const { entries, transport } = yield* Recording.make(pair.client)
 *   yield* Effect.forkScoped(Stream.runForEach(entries, (entry) => Console.error(Recording.toJsonLine(entry))))
 *   return transport
 * })
 * ```
 *
 * @category constructors
 */
export const make = (transport: Transport["Service"]): Effect.Effect<Recording> =>
  Effect.gen(function*() {
    const clock = yield* Clock.Clock
    const subscriptions = new Subscriptions.Subscriptions({ capacity, bytes, budget: yield* MemoryBudget })
    return {
      transport: recorded(transport, clock, (entry, bytes) => subscriptions.publish("entries", entry, bytes)),
      entries: subscriptions.follow<Entry>("entries")
    }
  })

/**
 * Records the transport below, entry by entry and at once. `record` must not throw.
 *
 * @example
 * ```ts
 * import { Recording, type Transport } from "@effect-mcp/session"
 * import * as Layer from "effect/Layer"
 *
 * const lines: Array<string> = []
 * export const kept = (transport: Layer.Layer<Transport.Transport>) =>
 *   Layer.provide(Recording.layer((entry) => lines.push(Recording.toJsonLine(entry))), transport)
 * ```
 *
 * @category layers
 */
export const layer = (record: (entry: Entry) => void): Layer.Layer<Transport, never, Transport> =>
  Layer.effect(
    Transport,
    Effect.gen(function*() {
      return recorded(yield* Transport, yield* Clock.Clock, (entry) => record(entry))
    })
  )

/**
 * The entry as one line of JSON, without the newline. A frame that is not JSON is written as `null`.
 *
 * @example
 * ```ts
 * import { Recording } from "@effect-mcp/session"
 *
 * export const line = Recording.toJsonLine({ _tag: "Received", at: 0, frame: { jsonrpc: "2.0", id: 1, result: {} } })
 * // => "{\"_tag\":\"Received\",\"at\":0,\"frame\":{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}}"
 * ```
 *
 * @category formatting
 */
export const toJsonLine = (entry: Entry): string => {
  try {
    return JSON.stringify(entry)
  } catch {
    return JSON.stringify({ ...entry, frame: null })
  }
}
