import { ErrorCode, JsonRpc } from "@effect-mcp/protocol"
import type { Connection, Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type { Socket } from "effect/socket/Socket"
import type { Socket as NetSocket } from "node:net"
import * as ClientAddress from "../shared/ClientAddress.ts"
import { delay } from "../shared/nodeTimers.ts"
import type { SessionPerConnection } from "../shared/SessionPerConnection.ts"
import * as UnixSocketConnection from "./UnixSocketConnection.ts"

/** How long whoever is not let in may take to say its first word, under whose id it is told why. */
const firstWordWithin = "1 second"

/** How long that word may be, in bytes. */
const firstWordBytes = 64 * 1024

/** How long a client may take to end its side when its session has ended: it may be saying something at that moment. */
const answeredWithin = "500 millis"

/** How long it may take to read why. */
const lastWordsWithin = "2 seconds"

/** How long a client of another machine says nothing before that is asked whether it is still there. */
const keepAliveMillis = 15_000

const idOf = ({ frame }: Inbound): JsonRpc.Request["id"] | undefined => {
  if (Result.isFailure(frame)) return undefined
  const classified = JsonRpc.classify(frame.success)
  return classified._tag === "Request" ? classified.message.id : undefined
}

/** The id of the first thing that comes, if it has one and comes in time. */
const firstId = (
  run: Connection["run"]
): Effect.Effect<JsonRpc.Request["id"] | undefined, TransportError.TransportError> =>
  Effect.suspend(() => {
    const first = Deferred.makeUnsafe<JsonRpc.Request["id"] | undefined>()
    const reading = run((inbound) => Deferred.doneUnsafe(first, Exit.succeed(idOf(inbound))))
    return Effect.raceAllFirst([
      Deferred.await(first),
      Effect.andThen(reading, Effect.undefined),
      Effect.andThen(delay(firstWordWithin), Effect.undefined)
    ])
  })

/** Whoever knows why it was not let in can say so to a person, and try again later. */
const refuse = (socket: Socket, node: NetSocket | undefined, problem: string): Effect.Effect<void> => {
  const settings: UnixSocketConnection.Settings = {
    maxMessageBytes: firstWordBytes,
    flushTimeout: lastWordsWithin,
    answeredWithin
  }
  return Effect.gen(function*() {
    const connection = yield* UnixSocketConnection.open(socket, node, settings)
    const id = yield* firstId(connection.run)
    const error = { code: ErrorCode.Overloaded, message: problem }
    yield* connection.send({ message: JsonRpc.failure(id, error), replyTo: undefined, last: true })
  }).pipe(Effect.scoped, Effect.ignore)
}

/** Clients of the same machine have no addresses. */
const clientOf = (node: NetSocket | undefined): string | undefined =>
  node?.remoteAddress === undefined ? undefined : ClientAddress.normalize(node.remoteAddress)

/** What serves the sockets of one server: opens a session over each, or tells it why there is none. */
export const make = (sessions: SessionPerConnection, kind: string, settings: UnixSocketConnection.Settings) =>
(
  socket: Socket,
  node: NetSocket | undefined
): Effect.Effect<void> => {
  // A socket that nobody has opened would be nobody's to close.
  const letGo = node === undefined
    ? Effect.ignore(Effect.scoped(socket.reader))
    : Effect.sync(() => node.destroy())
  // Whoever is connected is held, which one whose machine has gone without a word would be for ever.
  if (kind === "tcp") node?.setKeepAlive(true, keepAliveMillis)
  const connect = Effect.mapError(
    UnixSocketConnection.open(socket, node, { answeredWithin, ...settings }),
    (cause) => TransportError.make({ _tag: "ConnectFailed", target: "a client", cause })
  )
  return sessions.open(connect, { kind, client: clientOf(node) }).pipe(
    Effect.catchTags({
      HostFull: (full) => refuse(socket, node, full.message),
      // Whoever has gone meanwhile need not be told.
      TransportError: () => letGo
    }),
    Effect.onInterrupt(() => letGo)
  )
}
