/** The sessions of a server with one session for each connection. */
import { CloseReason } from "@effect-mcp/protocol"
import type { Hosted, HostFullError, OpenOptions, SessionHostShape } from "@effect-mcp/session/SessionHost"
import type { Connection, Inbound, Transport } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as InitializeRequest from "./InitializeRequest.ts"

/** Returns the frame, or `TooLarge` instead of an `initialize` that is too large. */
const bounded = (inbound: Inbound, maxInitializeBytes: number): Inbound => {
  const { bytes = 0, frame } = inbound
  return bytes > maxInitializeBytes && Result.isSuccess(frame) && InitializeRequest.is(frame.success)
    ? { ...inbound, frame: Result.fail({ _tag: "TooLarge", limitBytes: maxInitializeBytes }) }
    : inbound
}

/**
 * Opens and holds a session for each connection, so that a session does not end for being idle while it is connected.
 */
export class SessionPerConnection {
  readonly #host: SessionHostShape
  readonly #maxInitializeBytes: number
  readonly #sessions = new Set<Hosted>()
  #closing = false

  constructor(host: SessionHostShape, maxInitializeBytes: number) {
    this.#host = host
    this.#maxInitializeBytes = maxInitializeBytes
  }

  /** Whether the server is shutting down. */
  get isClosing(): boolean {
    return this.#closing
  }

  /** Opens a session that lasts as long as its connection, and ends at the latest with the server. */
  open(
    connect: Transport["Service"]["connect"],
    options: OpenOptions
  ): Effect.Effect<void, HostFullError | TransportError.TransportError> {
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
        // `close` has closed the open sessions, and this one was not open yet.
        return this.#closing ? opened.close(CloseReason.requested) : Effect.void
      })
    }).pipe(
      // A session that belongs to its connection is not shared, and needs no owner.
      Effect.catchTag("OwnerUnknownError", Effect.die),
      Effect.uninterruptible
    )
  }

  /** Ends all sessions, also those that are still opening, and waits for the open ones. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#closing = true
    return Effect.forEach(this.#sessions, (hosted) => hosted.close(CloseReason.requested), {
      concurrency: "unbounded",
      discard: true
    })
  })
}
