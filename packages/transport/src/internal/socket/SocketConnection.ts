/** The connection of one session over a socket of any kind: each line is one message. */
import type { Connection, End, Inbound } from "@effect-mcp/session/Transport"
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as Sink from "effect/Sink"
import * as Socket from "effect/socket/Socket"
import type { Socket as NetSocket } from "node:net"
import * as JsonLines from "../../JsonLines.ts"
import type { IncomingMessages } from "../shared/IncomingMessages.ts"
import * as LineWriter from "../shared/LineWriter.ts"
import { delay } from "../shared/nodeTimers.ts"
import * as SocketShutdown from "../shared/SocketShutdown.ts"
import * as Turns from "../shared/Turns.ts"

/** The settings of a connection. */
export interface Settings {
  /** The largest message to read, in bytes. */
  readonly maxMessageBytes?: number | undefined
  /** The most arrays, objects and members of a message to read. */
  readonly maxMessageNodes?: number | undefined
  /** The most bytes that wait before senders do. */
  readonly maxSendBufferBytes?: number | undefined
  /** The time that the peer has to read the last messages when the scope closes. */
  readonly closeTimeout?: Duration.Input | undefined
  /** The time that the peer then has to end its own side. Default 0. */
  readonly peerTimeout?: Duration.Input | undefined
  /** The unfinished messages of the server, to which this connection adds its own. */
  readonly incoming?: IncomingMessages | undefined
}

/** The close code of a peer that has ended its side. */
const normalClosure = 1000

const causeOf = ({ reason }: Socket.SocketError): unknown =>
  "cause" in reason && reason.cause !== undefined ? reason.cause : reason

const isOfWriting = (cause: unknown): boolean =>
  cause instanceof Error && "syscall" in cause && cause.syscall === "write"

/** Returns the error of `run`. The reader also receives the errors of writes. */
const brokenReading = (error: Socket.SocketError): TransportError.TransportError => {
  const cause = causeOf(error)
  return TransportError.make({ _tag: isOfWriting(cause) ? "WriteFailed" : "ReadFailed", cause })
}

const brokenWriting = (cause: unknown): TransportError.TransportError =>
  TransportError.make({ _tag: "WriteFailed", cause })

/**
 * Opens the socket. Closing the scope writes what was sent, within a bound, and closes the socket. For a socket of
 * Node, `node` is the socket below it. It shows two facts that a socket of Effect does not: whether the peer may still
 * read after it has ended its side, and when the last bytes are written.
 */
export const open = Effect.fnUntraced(function*(
  socket: Socket.Socket,
  node: NetSocket | undefined,
  settings: Settings
): Effect.fn.Return<Connection, Socket.SocketError, Scope.Scope> {
  const pull = yield* Socket.readerBytes(socket)
  const { write } = yield* socket.writer
  const writer = yield* LineWriter.make({
    sink: Sink.forEach((bytes: Uint8Array) =>
      // A destroyed socket never emits that it has room again.
      Effect.suspend(() =>
        node?.destroyed === true
          ? Effect.fail(brokenWriting(node.errored ?? new Error("the socket is closed")))
          : Effect.mapError(write(bytes), (error) => brokenWriting(causeOf(error)))
      )
    ),
    highWaterBytes: settings.maxSendBufferBytes,
    explain: (error) => Effect.succeed(error instanceof TransportError.TransportError ? error : brokenWriting(error))
  })

  const finished = node === undefined
    ? writer.close
    : SocketShutdown.finished(node, writer.close, settings.peerTimeout ?? 0)
  const destroy = Effect.suspend(() => {
    if (node === undefined) return Effect.ignore(write(new Socket.CloseEvent(normalClosure)))
    node.destroy()
    return Effect.void
  })
  yield* Effect.addFinalizer(() =>
    Effect.raceFirst(finished, Effect.andThen(delay(settings.closeTimeout ?? "3 seconds"), destroy))
  )

  const evicted = Deferred.makeUnsafe<never, TransportError.TransportError>()
  const unfinished = settings.incoming?.watch((cause) => {
    Deferred.doneUnsafe(evicted, Exit.fail(TransportError.make({ _tag: "ReadFailed", cause })))
  })
  if (unfinished !== undefined) yield* Effect.addFinalizer(() => Effect.sync(unfinished.end))

  const run = (deliver: (inbound: Inbound) => void): Effect.Effect<End, TransportError.TransportError> =>
    Effect.suspend(() => {
      const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }), {
        maxMessageBytes: settings.maxMessageBytes,
        maxMessageNodes: settings.maxMessageNodes
      })
      const push = Turns.bytes((chunk) => {
        decoder.push(chunk)
        unfinished?.update(decoder.keptBytes())
      })
      const reading = Effect.flatMap(pull, push).pipe(
        Effect.forever({ disableYield: true }),
        Effect.catch((error): Effect.Effect<End, TransportError.TransportError> => {
          const { reason } = error
          if (reason._tag !== "SocketCloseError" || reason.code !== normalClosure) {
            return Effect.fail(brokenReading(error))
          }
          decoder.finish()
          // Without `allowHalfOpen`, Node ends both sides, but a little later.
          return Effect.succeed({
            exit: undefined,
            writable: node !== undefined && node.allowHalfOpen && node.writable
          })
        })
      )
      return unfinished === undefined ? reading : Effect.raceFirst(reading, Deferred.await(evicted))
    })

  return { run, send: writer.send }
})
