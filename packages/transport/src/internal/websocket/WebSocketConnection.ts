import { CloseReason } from "@effect-mcp/protocol"
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
import { monotonicMillis } from "../shared/monotonicMillis.ts"
import { atMost } from "../shared/nodeTimers.ts"
import * as Turns from "../shared/Turns.ts"
import * as CloseCode from "./CloseCode.ts"
import type { Heartbeat } from "./Heartbeat.ts"
import type { SocketControl } from "./SocketControl.ts"
import * as WebSocketFraming from "./WebSocketFraming.ts"
import { WebSocketWriter } from "./WebSocketWriter.ts"

/** What both sides say of a connection. */
export interface Options {
  /** Which side this is, when it closes. */
  readonly side: Effect.Effect<CloseCode.Side>
  readonly limits: WebSocketFraming.Limits
  /** How long the peer may take to answer a close frame. */
  readonly closeMillis: number
  readonly heartbeat: Heartbeat
  /** Who sends what comes in, where somebody has found out. */
  readonly principal?: Principal | undefined
  /** The unfinished messages of the server, if this connection counts among its own. */
  readonly incoming?: IncomingMessages | undefined
}

/**
 * The most bytes of the answer to a ping, which has no payload. It belongs to no message: a client that only answers
 * pings would seem to send a longer and longer one.
 */
const pongBytes = 14

/** How often a pong may come: no more often than pings are sent. A message in pieces of a few bytes is no pong. */
const pongMillis = 1000

/** A piece of the input with more messages is read in a turn of its own. A large message costs less without turns. */
const manyMessages = 64

/** After so many pieces in a row with few messages, pieces are read as they come. */
const trustedPieces = 32

/** Events of a WebSocket carry what went wrong, where they know it. */
export const errorIn = (event: unknown): unknown =>
  Predicate.hasProperty(event, "error") && event.error instanceof Error ? event.error : event

const brokenRules = (event: unknown): Error => {
  const cause = errorIn(event)
  return new Error(`the WebSocket broke: ${cause instanceof Error ? cause.message : "nobody says why"}`, { cause })
}

/** What was wrong, if anything was, when reading ended. */
const problemOf = ({ reason }: Socket.SocketError): Error | undefined =>
  reason._tag === "SocketCloseError"
    ? CloseCode.problem(reason.code, reason.closeReason ?? "")
    : brokenRules("cause" in reason ? reason.cause : undefined)

const writeFailed = (cause: Error) => TransportError.make({ _tag: "WriteFailed", cause })

const peerEnded: Transport.End = { exit: undefined, writable: false }

/**
 * A session's connection over a WebSocket, which lives in the scope. The wire is asked for when the WebSocket is open.
 */
export const make = Effect.fnUntraced(function*<E>(
  socket: Socket.Socket,
  wireOf: Effect.Effect<SocketControl, E>,
  options: Options
): Effect.fn.Return<Transport.Connection, Socket.SocketError | E, Scope.Scope> {
  const { closeMillis, heartbeat, incoming, limits, principal, side } = options
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function*() {
      const { pull } = yield* restore(socket.reader)
      const messages = yield* socket.writer
      const wire = yield* wireOf
      let messagesTaken = Number.POSITIVE_INFINITY
      let largePieces = 0
      wire.readInTurns?.(() => {
        largePieces = messagesTaken > manyMessages ? 0 : largePieces + 1
        messagesTaken = 0
        return largePieces < trustedPieces
      })
      const writer = new WebSocketWriter(messages, wire, yield* MemoryBudget)
      let reason: CloseReason.CloseReason = CloseReason.requested
      let cutBecause: Error | undefined
      const cut = (why: Error) => {
        cutBecause = why
        writer.end(writeFailed(why))
        wire.cut()
      }

      const rest = wire.pulse === undefined ? () => {} : heartbeat.watch(
        wire.pulse,
        () => cut(new Error("nothing was heard of the peer any more, and it answered no ping"))
      )
      const unfinished = wire.onReceived === undefined ? undefined : incoming?.watch(cut)
      const clock = yield* Clock.Clock
      let pongAt = Number.NEGATIVE_INFINITY
      let unfinishedBytes = 0
      const unlisten = unfinished === undefined ? undefined : wire.onReceived?.((bytes) => {
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

      // What still comes in is for nobody, but behind it comes the peer's close frame.
      const answered = Effect.ignore(Effect.forever(pull, { disableYield: true }))

      yield* Effect.addFinalizer(() =>
        Effect.suspend(() => {
          rest()
          unlisten?.()
          unfinished?.end()
          writer.end(writeFailed(new Error("the connection is closed")))
          const closed = Effect.flatMap(side, (ours) => {
            const { code, text } = CloseCode.farewell(reason, ours)
            return Effect.ignore(messages.write(new Socket.CloseEvent(code, text)))
          })
          return atMost(Effect.andThen(closed, Effect.andThen(answered, wire.gone)), closeMillis)
        }).pipe(
          Effect.andThen(Effect.sync(wire.cut))
        )
      )

      const run: Transport.Connection["run"] = (deliver) => {
        const take = (data: string | Uint8Array) => {
          unfinishedBytes = 0
          unfinished?.update(0)
          messagesTaken++
          const inbound = WebSocketFraming.inbound(data, limits)
          deliver(principal === undefined ? inbound : { ...inbound, principal })
        }
        return Effect.flatMap(pull, (batch) => Turns.frames(batch, take)).pipe(
          Effect.forever({ disableYield: true }),
          Effect.catch((error): Effect.Effect<Transport.End, TransportError.TransportError> => {
            const problem = cutBecause ?? problemOf(error)
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
        send: ({ message }) => writer.send(message),
        onSessionEnd: (why) => {
          reason = why
        }
      }
      return connection
    })
  )
})
