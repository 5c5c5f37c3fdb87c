/**
 * Recordings of the frames that cross a transport, with their direction and time. A recording is a transport around a
 * transport, and changes nothing for the session above it or the peer below it.
 *
 * @stability unstable
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
 * One frame of a recording. `at` is the time in milliseconds since 1970, by the `Clock` of the program.
 *
 * - `Sent`: the session gave the frame to the transport, which may have failed to deliver it.
 * - `Received`: the transport delivered the frame.
 * - `Unreadable`: the transport received bytes that are no frame.
 *
 * @category models
 */
export type Entry =
  | { readonly _tag: "Sent"; readonly at: number; readonly frame: JsonRpc.Frame }
  | { readonly _tag: "Received"; readonly at: number; readonly frame: unknown }
  | { readonly _tag: "Unreadable"; readonly at: number; readonly error: FrameError }

/**
 * A recorded transport, and the entries of its recording.
 *
 * @category models
 */
export interface Recording {
  /** The transport to provide instead of the recorded one. */
  readonly transport: Transport["Service"]
  /**
   * Streams the entries from the start of the stream. A consumer that lags by more than 1,024 entries, or by more than
   * 32 MiB, loses the oldest.
   */
  readonly entries: Stream.Stream<Entry>
}

/** The bounds of the buffer of `entries`: the defaults of the streams of a session. */
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
 * Records a transport as a stream of entries.
 *
 * @example
 * ```ts
 * import { MemoryTransport, Recording } from "@effect-mcp/session"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * export const recorded = Effect.gen(function*() {
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
 * Provides a recording of the transport that it is provided with. It calls `record` with each entry synchronously.
 * `record` must not throw.
 *
 * @example
 * ```ts
 * import { Recording, type Transport } from "@effect-mcp/session"
 * import * as Layer from "effect/Layer"
 *
 * const lines: Array<string> = []
 * export const recorded = (transport: Layer.Layer<Transport.Transport>) =>
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
 * Returns an entry as one line of JSON, without the newline. A frame that JSON cannot carry is written as `null`.
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
