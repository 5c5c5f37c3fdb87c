import { CloseReason } from "@effect-mcp/protocol"
import type { Hosted, HostFull, OpenOptions, Shape } from "@effect-mcp/session/SessionHost"
import type { Connection, Inbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as InitializeRequest from "./InitializeRequest.ts"

/** The same, unless it is an `initialize` that is longer than this. */
const bounded = (inbound: Inbound, maxInitializeBytes: number): Inbound => {
  const { bytes = 0, frame } = inbound
  return bytes > maxInitializeBytes && Result.isSuccess(frame) && InitializeRequest.is(frame.success)
    ? { ...inbound, frame: Result.fail({ _tag: "TooLarge", limitBytes: maxInitializeBytes }) }
    : inbound
}

/**
 * The sessions that a host keeps for the clients of one server that stay connected: one for each connection. Whoever is connected is
 * there, however little it says.
 */
export class SessionPerConnection {
  readonly #host: Shape
  readonly #maxInitializeBytes: number
  readonly #sessions = new Set<Hosted>()
  #leaving = false

  constructor(host: Shape, maxInitializeBytes: number) {
    this.#host = host
    this.#maxInitializeBytes = maxInitializeBytes
  }

  /** The server is about to go. */
  get isLeaving(): boolean {
    return this.#leaving
  }

  /** Opens a session that is as long as its connection, and ends at the latest when the server goes. */
  open(
    connect: Transport["Service"]["connect"],
    options: OpenOptions
  ): Effect.Effect<void, HostFull | TransportError.TransportError> {
    return Effect.suspend(() => {
      let hosted: Hosted | undefined
      let isOver = false
      const end = Effect.sync(() => {
        isOver = true
        if (hosted !== undefined) this.#sessions.delete(hosted)
      })
      const connected = Effect.map(connect, (connection): Connection => ({
        ...connection,
        run: (deliver, hooks) =>
          connection.run((inbound) => {
            hosted?.touch()
            deliver(bounded(inbound, this.#maxInitializeBytes))
          }, hooks)
      }))
      let used = false
      const once: Transport["Service"]["connect"] = Effect.suspend(() => {
        if (used) return Effect.fail(TransportError.make({ _tag: "InUse" }))
        used = true
        return Effect.andThen(Effect.addFinalizer(() => end), connected)
      })
      return Effect.flatMap(this.#host.open({ connect: once }, options), (opened) => {
        hosted = opened
        opened.hold()
        if (!isOver) this.#sessions.add(opened)
        // Who goes has closed all that were open, and this one was not yet.
        return this.#leaving ? opened.close(CloseReason.requested) : Effect.void
      })
    }).pipe(Effect.uninterruptible)
  }

  /** Ends all sessions, those that are about to open included, and waits until those that were open have ended. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#leaving = true
    return Effect.forEach(this.#sessions, (hosted) => hosted.close(CloseReason.requested), {
      concurrency: "unbounded",
      discard: true
    })
  })
}
