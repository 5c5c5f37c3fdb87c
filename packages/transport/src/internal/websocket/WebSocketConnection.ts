/** The connection of one session over a WebSocket, for clients and servers. */
import { CloseReason } from "@effect-mcp/protocol"
import { monotonicMillis } from "@effect-mcp/session/internal"
import { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type { Principal } from "@effect-mcp/session/Principal"
import type * as Transport from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import * as Socket from "effect/socket/Socket"
import type { IncomingMessages } from "../shared/IncomingMessages.ts"
import { atMost } from "../shared/nodeTimers.ts"
import * as Turns from "../shared/Turns.ts"
import * as CloseCode from "./CloseCode.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import type { SocketControl } from "./SocketControl.ts"
import * as WebSocketFraming from "./WebSocketFraming.ts"
import { WebSocketWriter } from "./WebSocketWriter.ts"

/** The settings of a connection. */
export interface Options {
  /** The side of this connection, when it closes. */
  readonly side: Effect.Effect<CloseCode.Side>
  readonly limits: WebSocketFraming.Limits
  /** The time that the peer has to answer a close frame. */
  readonly closeMillis: number
  readonly heartbeat: Heartbeat
  /** The sender of all messages, if it is known. */
  readonly principal?: Principal | undefined
  /** Whether the sender was authenticated, or accepted as anonymous. Default: a client authenticates no server. */
  readonly authenticates?: boolean
  /** The unfinished messages of the server, to which this connection adds its own. */
  readonly incoming?: IncomingMessages | undefined
}

/**
 * The most bytes of a pong, whose payload is empty. A pong belongs to no message: without this, a client that only
 * answers pings would seem to send an ever longer message.
 */
const pongBytes = 14

/** The shortest time between pongs, which is that of pings. More chunks of a few bytes belong to a message. */
const pongMillis = 1000

/** The most turns in which the messages that wait are read, if the WebSocket cannot be paused. */
const turnsOfBatch = 8

/** Returns the error in an event of a WebSocket, if it has one. */
export const errorIn = (event: unknown): unknown =>
  Predicate.hasProperty(event, "error") && event.error instanceof Error ? event.error : event

const broken = (event: unknown): Error => {
  const cause = errorIn(event)
  return new Error(
    `the WebSocket broke: ${cause instanceof Error ? cause.message : "the platform reports no reason"}`,
    { cause }
  )
}

/** Returns the error with which reading ended, if it did not end normally. */
const problemOf = ({ reason }: Socket.SocketError): Error | undefined =>
  reason._tag === "SocketCloseError"
    ? CloseCode.problem(reason.code, reason.closeReason ?? "")
    : broken("cause" in reason ? reason.cause : undefined)

const writeFailed = (cause: Error) => TransportError.make({ _tag: "WriteFailed", cause })

const peerEnded: Transport.End = { exit: undefined, writable: false }

/**
 * Opens a connection, which lives in the scope. `controlOf` runs after the WebSocket is open.
 */
export const make = Effect.fnUntraced(function*<E>(
  socket: Socket.Socket,
  controlOf: Effect.Effect<SocketControl, E>,
  options: Options
): Effect.fn.Return<Transport.Connection, Socket.SocketError | E, Scope.Scope> {
  const { authenticates = false, closeMillis, heartbeat, incoming, limits, principal, side } = options
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { pull } = yield* restore(socket.reader)
      const messages = yield* socket.writer
      const control = yield* controlOf
      control.setWaiting?.(true)
      const writer = new WebSocketWriter(messages, control, yield* MemoryBudget)
      let reason: CloseReason.CloseReason = CloseReason.requested
      let destroyedBecause: Error | undefined
      const destroy = (why: Error) => {
        destroyedBecause = why
        writer.end(writeFailed(why))
        control.destroy()
      }

      const unwatch = control.pulse === undefined ? () => {} : heartbeat.watch(
        control.pulse,
        () => destroy(new Error("the peer is dead: it sent nothing and answered no ping"))
      )
      const unfinished = control.onReceived === undefined ? undefined : incoming?.watch(destroy)
      const clock = yield* Clock.Clock
      let pongAt = Number.NEGATIVE_INFINITY
      let unfinishedBytes = 0
      const unlisten = unfinished === undefined ? undefined : control.onReceived?.((bytes) => {
        if (bytes <= pongBytes) {
          const now = monotonicMillis(clock)
          if (now - pongAt >= pongMillis) {
            pongAt = now
            return
          }
        }
        unfinishedBytes += bytes
        unfinished.update(unfinishedBytes)
      })

      let isClosing = false

      /** Reads messages in turns, until the connection ends. */
      const readWith = (take: (data: string | Uint8Array) => void): Effect.Effect<never, Socket.SocketError> => {
        const takeAll = Turns.frames(take, control.setWaiting === undefined ? turnsOfBatch : undefined)
        const next = Effect.suspend(() => {
          control.setWaiting?.(false)
          return pull
        })
        return Effect.flatMap(next, (batch) => {
          control.setWaiting?.(true)
          return takeAll(batch)
        }).pipe(
          Effect.forever({ disableYield: true }),
          // While the connection closes, it is read although its program has stopped to.
          Effect.ensuring(Effect.sync(() => isClosing ? undefined : control.setWaiting?.(true)))
        )
      }

      // Discards the input, until the peer's close frame ends it.
      const answered = Effect.ignore(readWith(() => {}))

      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          isClosing = true
          unwatch()
          unlisten?.()
          unfinished?.end()
          writer.end(writeFailed(new Error("the connection is closed")))
          const closed = Effect.flatMap(side, (ours) => {
            const { code, text } = CloseCode.closeFrame(reason, ours)
            return Effect.ignore(messages.write(new Socket.CloseEvent(code, text)))
          })
          return atMost(Effect.andThen(closed, Effect.andThen(answered, control.closed)), closeMillis)
        }).pipe(
          Effect.andThen(Effect.sync(control.destroy))
        )
      )

      const run: Transport.Connection["run"] = (deliver) => {
        const take = (data: string | Uint8Array) => {
          unfinishedBytes = 0
          unfinished?.update(0)
          const inbound = WebSocketFraming.inbound(data, limits)
          deliver(principal === undefined ? inbound : { ...inbound, principal })
        }
        return readWith(take).pipe(
          Effect.catch((error): Effect.Effect<Transport.End, TransportError.TransportError> => {
            const problem = destroyedBecause ?? problemOf(error)
            if (problem === undefined) {
              writer.end(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
              return Effect.succeed(peerEnded)
            }
            writer.end(writeFailed(problem))
            return Effect.fail(TransportError.make({ _tag: "ReadFailed", cause: problem }))
          })
        )
      }

      const connection: Transport.Connection = {
        run,
        authenticates,
        send: ({ message }) => writer.send(message),
        onSessionEnd: (why) => {
          reason = why
        }
      }
      return connection
    })
  )
})
