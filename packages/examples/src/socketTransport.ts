/**
 * A transport of your own: MCP over a TCP socket, one message per line, on Node. Both ends differ only in how they get
 * their socket. It keeps the laws of `@effect-mcp/testing`; `test/socketTransport.test.ts` checks them.
 *
 * The framing is that of stdio, which the specification recommends for every byte stream. The transport decides when a
 * message counts as sent, and what each kind of end means.
 */
import { Transport, TransportError } from "@effect-mcp/session"
import { JsonLines } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

/** The time to write the last lines after the session has ended. */
const flushWithin = "1 second"

/** Ignores errors, which reads and writes report. Without a listener, an error would end the process. */
const unheard = () => {}

/** Ends the stream, and waits until all lines are written; a peer that does not read is not waited for. */
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

/** Reads until the peer's side ends. A half-close is a normal end; anything else is an error. */
const run = (socket: Net.Socket): Transport.Connection["run"] => (deliver) =>
  Effect.callback<Transport.End, TransportError.TransportError>((resume) => {
    // A chunk may end anywhere, also within a character: the decoder keeps the incomplete line.
    const decoder = JsonLines.decoder((frame, bytes) => deliver({ frame, bytes }))
    const onData = (chunk: Uint8Array) => decoder.push(chunk)
    const onEnd = () => {
      decoder.finish()
      resume(Effect.succeed({ exit: undefined, writable: socket.writable }))
    }
    const fail = (cause: unknown) => resume(Effect.fail(TransportError.make({ _tag: "ReadFailed", cause })))
    // A socket that broke or ended already emits no more events.
    const onClose = () => fail(socket.errored ?? new Error("the connection is closed"))
    if (socket.readableEnded) return onEnd()
    if (socket.destroyed) return onClose()
    socket.on("data", onData).once("end", onEnd).once("close", onClose)
    return Effect.sync(() => {
      socket.off("data", onData).off("end", onEnd).off("close", onClose)
      // Reads and discards the rest: without it, the end of the stream is never reached.
      socket.resume()
    })
  })

/**
 * Sends a message. It counts as sent when the socket has written it, so a peer that does not read makes the session
 * wait.
 */
const send = (socket: Net.Socket): Transport.Connection["send"] => ({ message }) =>
  Effect.callback<void, TransportError.TransportError>((resume) => {
    const line = JsonLines.encode(message)
    if (Result.isFailure(line)) return resume(Effect.fail(line.failure))
    socket.write(
      line.success,
      (cause) => resume(cause ? Effect.fail(TransportError.make({ _tag: "WriteFailed", cause })) : Effect.void)
    )
  })

/** A connection over an open socket. When the scope closes, the socket closes. */
const connection = (socket: Net.Socket): Effect.Effect<Transport.Connection, never, Scope.Scope> =>
  Effect.as(Effect.acquireRelease(Effect.succeed(socket), close), { run: run(socket), send: send(socket) })

/** The end of a server, over an accepted socket with `allowHalfOpen`. It carries one session. */
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

/** Opens a socket; fails with the address that it could not connect to. */
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

/** The end of a client. Each session has its own socket. */
export const dialled = (port: number, host = "127.0.0.1"): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, {
    connect: Effect.uninterruptibleMask((restore) => Effect.flatMap(restore(dial(port, host)), connection))
  })
