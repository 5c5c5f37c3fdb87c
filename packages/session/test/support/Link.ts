import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { type Transport, TransportError } from "@effect-mcp/session"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"

/**
 * A transport around a transport. It passes all messages through until a test stalls it, fails it or ends it.
 */
export interface Link {
  readonly transport: Transport.Transport["Service"]
  /** The messages that the session passed to `send`, in order. The last one may not have been sent yet. */
  readonly sent: ReadonlyArray<JsonRpc.Message>
  /** The frames that the session received, in order. */
  readonly received: ReadonlyArray<unknown>
  /** Stalls the link: all later messages wait. */
  readonly stall: () => void
  /** Sends the waiting messages, and ends the stall. */
  readonly resume: () => void
  /** Sends the first waiting message. */
  readonly releaseOne: () => void
  /** Fails all later sends with this error. `undefined` ends that. */
  readonly failSending: (error: TransportError.TransportError | undefined) => void
  /** Delivers a frame to the session as if the peer had sent it. */
  readonly deliver: (frame: unknown, bytes?: number) => void
  /** Delivers unreadable bytes to the session. */
  readonly deliverUnreadable: (error: Transport.FrameError) => void
  /** Ends the peer's side. `send` still works. */
  readonly endReading: (exit?: CloseReason.ProcessExit) => void
  /** Fails the reading. */
  readonly breakReading: (error: TransportError.TransportError) => void
  /** Ends the reading with this exit. */
  readonly stopReading: (exit: Exit.Exit<Transport.End, TransportError.TransportError>) => void
  /** Returns whether the connection is open. */
  readonly isOpen: () => boolean
}

/** The error of a write that failed. */
export const writeFailed = TransportError.make({ _tag: "WriteFailed", cause: new Error("broken pipe") })

/** The error of a read that failed. */
export const readFailed = TransportError.make({ _tag: "ReadFailed", cause: new Error("connection reset") })

/** Creates a link over a transport. */
export const over = (below: Transport.Transport["Service"]): Link => {
  const sent: Array<JsonRpc.Message> = []
  const received: Array<unknown> = []
  const waiting: Array<Deferred.Deferred<void>> = []
  const readingEnd = Deferred.makeUnsafe<Transport.End, TransportError.TransportError>()
  let failure: TransportError.TransportError | undefined
  let deliverTo: ((inbound: Transport.Inbound) => void) | undefined
  let stalled = false
  let open = false

  const inject = (inbound: Transport.Inbound) => {
    if (deliverTo === undefined) throw new Error("the session does not read from the link")
    if (Result.isSuccess(inbound.frame)) received.push(inbound.frame.success)
    deliverTo(inbound)
  }

  /** Sends a message by the wrapped transport, without a fiber if that transport needs none. */
  const sendThrough = (
    frame: JsonRpc.Frame,
    send: () => Effect.Effect<void, TransportError.TransportError>
  ): Effect.Effect<void, TransportError.TransportError> => {
    if (failure !== undefined) return Effect.fail(failure)
    sent.push(...JsonRpc.messages(frame))
    if (!stalled) return send()
    const turn = Deferred.makeUnsafe<void>()
    waiting.push(turn)
    return Effect.andThen(Deferred.await(turn), Effect.suspend(send))
  }

  const wrap = (connection: Transport.Connection): Transport.Connection => ({
    ...connection,
    run: (deliver, hooks) =>
      Effect.suspend(() => {
        deliverTo = deliver
        return Effect.raceFirst(connection.run(inject, hooks), Deferred.await(readingEnd))
      }),
    send: (outbound) => sendThrough(outbound.message, () => connection.send(outbound)),
    ...(connection.request === undefined
      ? undefined
      : {
        request: (message: JsonRpc.Request) => sendThrough(message, () => connection.request?.(message) ?? Effect.void)
      })
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
    sent,
    received,
    stall: () => {
      stalled = true
    },
    resume: () => {
      stalled = false
      for (const turn of waiting.splice(0)) Deferred.doneUnsafe(turn, Exit.void)
    },
    releaseOne: () => {
      const turn = waiting.shift()
      if (turn !== undefined) Deferred.doneUnsafe(turn, Exit.void)
    },
    failSending: (error) => {
      failure = error
    },
    deliver: (frame, bytes) =>
      inject({ frame: Result.succeed(frame), ...(bytes === undefined ? undefined : { bytes }) }),
    deliverUnreadable: (error) => inject({ frame: Result.fail(error) }),
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
