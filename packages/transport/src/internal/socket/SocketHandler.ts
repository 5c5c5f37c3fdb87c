/** The connections of a server of sockets: each opens a session, or receives an error with the reason. */
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
import * as SocketConnection from "./SocketConnection.ts"

/** The time that a rejected client has to send its first message, under whose id it receives the error. */
const firstMessageTimeout = "1 second"

/** The largest first message to read, in bytes. */
const maxFirstMessageBytes = 64 * 1024

/** The time that a client has to end its side after its session has ended: it may be sending at that moment. */
const peerTimeout = "500 millis"

/** The time that a rejected client has to read the error. */
const errorTimeout = "2 seconds"

/** The silence after which a TCP client is probed. */
const keepAliveMillis = 15_000

const idOf = ({ frame }: Inbound): JsonRpc.Request["id"] | undefined => {
  if (Result.isFailure(frame)) return undefined
  const classified = JsonRpc.classify(frame.success)
  return classified._tag === "Request" ? classified.message.id : undefined
}

/** Returns the id of the first message, if it has one and arrives in time. */
const firstId = (
  run: Connection["run"]
): Effect.Effect<JsonRpc.Request["id"] | undefined, TransportError.TransportError> =>
  Effect.suspend(() => {
    const first = Deferred.makeUnsafe<JsonRpc.Request["id"] | undefined>()
    const reading = run((inbound) => Deferred.doneUnsafe(first, Exit.succeed(idOf(inbound))))
    return Effect.raceAllFirst([
      Deferred.await(first),
      Effect.andThen(reading, Effect.undefined),
      Effect.andThen(delay(firstMessageTimeout), Effect.undefined)
    ])
  })

/** Sends a rejected client the reason, so that it can show it and try again later. */
const reject = (socket: Socket, node: NetSocket | undefined, problem: string): Effect.Effect<void> => {
  const settings: SocketConnection.Settings = {
    maxMessageBytes: maxFirstMessageBytes,
    closeTimeout: errorTimeout,
    peerTimeout
  }
  return Effect.gen(function*() {
    const connection = yield* SocketConnection.open(socket, node, settings)
    const id = yield* firstId(connection.run)
    const error = { code: ErrorCode.Overloaded, message: problem }
    yield* connection.send({ message: JsonRpc.failure(id, error), replyTo: undefined, last: true })
  }).pipe(Effect.scoped, Effect.ignore)
}

/** Returns the address of a client. Clients of Unix sockets have none. */
const clientOf = (node: NetSocket | undefined): string | undefined =>
  node?.remoteAddress === undefined ? undefined : ClientAddress.normalize(node.remoteAddress)

/**
 * Ends a connection whose first line is no JSON, and delivers nothing of it. A page in a browser can send an HTTP
 * request to any TCP port of its machine, and a line of the body could be a request that needs no handshake.
 */
const withoutHttp = ({ run, send }: Connection): Connection => ({
  send,
  run: (deliver) =>
    Effect.suspend(() => {
      const refused = Deferred.makeUnsafe<never, TransportError.TransportError>()
      let first: "expected" | "valid" | "refused" = "expected"
      const reading = run((inbound) => {
        if (first === "expected") first = Result.isSuccess(inbound.frame) ? "valid" : "refused"
        if (first === "valid") return deliver(inbound)
        Deferred.doneUnsafe(refused, Exit.fail(TransportError.make({ _tag: "ReadFailed", cause: notJson })))
      })
      return Effect.raceFirst(reading, Deferred.await(refused))
    })
})

const notJson = new Error("the first line of a connection over TCP has to be JSON")

/** Creates the handler of the sockets of one server. */
export const make = (sessions: SessionPerConnection, kind: string, settings: SocketConnection.Settings) =>
(
  socket: Socket,
  node: NetSocket | undefined
): Effect.Effect<void> => {
  // A socket that was never opened has no scope that closes it.
  const destroy = node === undefined
    ? Effect.ignore(Effect.scoped(socket.reader))
    : Effect.sync(() => node.destroy())
  // A connection holds its session. Without probes, a client whose machine has crashed would hold it forever.
  if (kind === "tcp") node?.setKeepAlive(true, keepAliveMillis)
  const connect = Effect.mapBoth(SocketConnection.open(socket, node, { peerTimeout, ...settings }), {
    onFailure: (cause) => TransportError.make({ _tag: "ConnectFailed", target: "a client", cause }),
    onSuccess: (connection) => kind === "tcp" ? withoutHttp(connection) : connection
  })
  return sessions.open(connect, { kind, client: clientOf(node) }).pipe(
    Effect.catchTags({
      HostFullError: (full) => reject(socket, node, full.message),
      // The client has disconnected meanwhile.
      TransportError: () => destroy
    }),
    Effect.onInterrupt(() => destroy)
  )
}
