import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { type Transport, TransportError } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"

/**
 * A transport with a hand on it: it carries what the one below it carries, until a test stalls, breaks or ends it.
 */
export interface Link {
  readonly transport: Transport.Transport["Service"]
  /** What the session has given to the transport, in order; the last may still be waiting in it. */
  readonly handed: ReadonlyArray<JsonRpc.Message>
  /** Every frame that came to the session, in order. */
  readonly arrived: ReadonlyArray<unknown>
  /** From now on whatever is sent waits. */
  readonly stall: () => void
  /** What waits goes on. */
  readonly recover: () => void
  /** Lets one message through of those that wait. */
  readonly letOne: () => void
  /** What is sent from now on fails with this; `undefined` ends that. */
  readonly failSends: (error: TransportError.TransportError | undefined) => void
  /** Brings the session a frame that the peer never sent. */
  readonly deliver: (frame: unknown, bytes?: number) => void
  /** Brings the session bytes that are no frame. */
  readonly deliverBad: (error: Transport.FrameError) => void
  /** Ends the peer's side, and only that: `send` still works. */
  readonly endReading: (exit?: CloseReason.ProcessExit) => void
  /** Breaks the peer's side. */
  readonly breakReading: (error: TransportError.TransportError) => void
  /** Ends reading in a way of the test's choice. */
  readonly stopReading: (exit: Exit.Exit<Transport.End, TransportError.TransportError>) => void
  /** Is the connection still held? */
  readonly isOpen: () => boolean
}

/** A write that failed. */
export const writeFailed = TransportError.make({ _tag: "WriteFailed", cause: new Error("broken pipe") })

/** A read that failed. */
export const readFailed = TransportError.make({ _tag: "ReadFailed", cause: new Error("connection reset") })

export const over = (below: Transport.Transport["Service"]): Link => {
  const handed: Array<JsonRpc.Message> = []
  const arrived: Array<unknown> = []
  const waiting: Array<Deferred.Deferred<void>> = []
  const readingEnd = Deferred.makeUnsafe<Transport.End, TransportError.TransportError>()
  let failure: TransportError.TransportError | undefined
  let deliverTo: ((inbound: Transport.Inbound) => void) | undefined
  let stalled = false
  let open = false

  const inject = (inbound: Transport.Inbound) => {
    if (deliverTo === undefined) throw new Error("nobody reads")
    if (Result.isSuccess(inbound.frame)) arrived.push(inbound.frame.success)
    deliverTo(inbound)
  }

  /** What carries a message, as it is: a transport that needs no fiber to send needs none behind this either. */
  const through = (
    frame: JsonRpc.Frame,
    send: () => Effect.Effect<void, TransportError.TransportError>
  ): Effect.Effect<void, TransportError.TransportError> => {
    if (failure !== undefined) return Effect.fail(failure)
    handed.push(...JsonRpc.messages(frame))
    if (!stalled) return send()
    const turn = Deferred.makeUnsafe<void>()
    waiting.push(turn)
    return Effect.andThen(Deferred.await(turn), Effect.suspend(send))
  }

  const wrap = (connection: Transport.Connection): Transport.Connection => ({
    ...connection,
    run: (deliver) =>
      Effect.suspend(() => {
        deliverTo = deliver
        return Effect.raceFirst(connection.run(inject), Deferred.await(readingEnd))
      }),
    send: (outbound) => through(outbound.message, () => connection.send(outbound)),
    ...(connection.request === undefined
      ? undefined
      : { request: (message: JsonRpc.Request) => through(message, () => connection.request?.(message) ?? Effect.void) })
  })

  return {
    transport: {
      connect: Effect.gen(function*() {
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            open = false
          })
        )
        const connection = yield* below.connect
        open = true
        return wrap(connection)
      })
    },
    handed,
    arrived,
    stall: () => {
      stalled = true
    },
    recover: () => {
      stalled = false
      for (const turn of waiting.splice(0)) Deferred.doneUnsafe(turn, Exit.void)
    },
    letOne: () => {
      const turn = waiting.shift()
      if (turn !== undefined) Deferred.doneUnsafe(turn, Exit.void)
    },
    failSends: (error) => {
      failure = error
    },
    deliver: (frame, bytes) =>
      inject({ frame: Result.succeed(frame), ...(bytes === undefined ? undefined : { bytes }) }),
    deliverBad: (error) => inject({ frame: Result.fail(error) }),
    endReading: (exit) => {
      Deferred.doneUnsafe(readingEnd, Exit.succeed({ exit, writable: true }))
    },
    breakReading: (error) => {
      Deferred.doneUnsafe(readingEnd, Exit.fail(error))
    },
    stopReading: (exit) => {
      Deferred.doneUnsafe(readingEnd, exit)
    },
    isOpen: () => open
  }
}
