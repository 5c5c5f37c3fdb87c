/**
 * A transport of one's own: MCP over a TCP socket, one message a line, on Node. Both ends are the same but for how they come by
 * their socket. It keeps the laws of `@effect-mcp/testing`; `test/socketTransport.test.ts` puts it through them.
 *
 * The framing is that of stdio, which the specification asks of every stream of bytes. What is left for the transport is when a
 * message counts as sent, and what each way to end means.
 */
import { Transport, TransportError } from "@effect-mcp/session"
import { JsonLines } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

/** How long the last lines may take to be written when the session has ended. */
const flushWithin = "1 second"

/** Whoever reads or writes tells of an error. One that nobody listened to would end the process. */
const unheard = () => {}

/** Ends the stream behind what was sent, and waits until that is written, but not for a peer that does not read. */
const close = (socket: Net.Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.destroyed) return resume(Effect.void)
    socket.once("close", () => resume(Effect.void))
    socket.end(() => resume(Effect.void))
  }).pipe(
    Effect.interruptible,
    Effect.timeoutOption(flushWithin),
    Effect.andThen(Effect.sync(() => socket.destroy()))
  )

/** Reads until the peer's side ends. An end in good order is a half-close; everything else is an error. */
const run = (socket: Net.Socket): Transport.Connection["run"] => (deliver) =>
  Effect.callback<Transport.End, TransportError.TransportError>((resume) => {
    // A chunk may end anywhere, also within a character: the decoder keeps what is not a line yet.
    const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }))
    const onData = (chunk: Uint8Array) => decoder.push(chunk)
    const onEnd = () => {
      decoder.finish()
      resume(Effect.succeed({ exit: undefined, writable: socket.writable }))
    }
    const fail = (cause: unknown) => resume(Effect.fail(TransportError.make({ _tag: "ReadFailed", cause })))
    // It may have broken or ended already, and then there is nothing to listen to.
    const onClose = () => fail(socket.errored ?? new Error("the connection is closed"))
    if (socket.readableEnded) return onEnd()
    if (socket.destroyed) return onClose()
    socket.on("data", onData).once("end", onEnd).once("close", onClose)
    return Effect.sync(() => {
      socket.off("data", onData).off("end", onEnd).off("close", onClose)
      // What still comes is for nobody, and must not keep the end from being seen.
      socket.resume()
    })
  })

/** A message has been sent once the socket has passed it on, so that a peer which does not read makes the session wait. */
const send = (socket: Net.Socket): Transport.Connection["send"] => ({ message }) =>
  Effect.callback<void, TransportError.TransportError>((resume) => {
    const line = JsonLines.encode(message)
    if (Result.isFailure(line)) return resume(Effect.fail(line.failure))
    socket.write(
      line.success,
      (cause) => resume(cause ? Effect.fail(TransportError.make({ _tag: "WriteFailed", cause })) : Effect.void)
    )
  })

/** A connection over a socket that is open. It owns the socket: when the scope closes, the socket does. */
const connection = (socket: Net.Socket): Effect.Effect<Transport.Connection, never, Scope.Scope> =>
  Effect.as(Effect.acquireRelease(Effect.succeed(socket), close), { run: run(socket), send: send(socket) })

/** An end over a socket that is open already, with `allowHalfOpen`, as a server accepts it. It carries one session. */
export const over = (socket: Net.Socket): Layer.Layer<Transport.Transport> => {
  socket.on("error", unheard)
  let taken = false
  return Layer.succeed(Transport.Transport, {
    connect: Effect.suspend((): Effect.Effect<Transport.Connection, TransportError.TransportError, Scope.Scope> => {
      if (taken) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      taken = true
      return connection(socket)
    })
  })
}

/** Opens a socket, or says what it could not reach. */
const dial = (port: number, host: string): Effect.Effect<Net.Socket, TransportError.TransportError> =>
  Effect.callback<Net.Socket, TransportError.TransportError>((resume) => {
    const socket = Net.connect({ port, host, allowHalfOpen: true })
    const fail = (cause: unknown) =>
      resume(Effect.fail(TransportError.make({ _tag: "ConnectFailed", target: `${host}:${port}`, cause })))
    socket.once("error", fail)
    socket.once("connect", () => {
      socket.off("error", fail).on("error", unheard)
      resume(Effect.succeed(socket))
    })
    return Effect.sync(() => socket.destroy())
  })

/** The end that dials. Each session has a socket of its own. */
export const dialled = (port: number, host = "127.0.0.1"): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, {
    connect: Effect.uninterruptibleMask((restore) => Effect.flatMap(restore(dial(port, host)), connection))
  })
