/**
 * A transport that is not part of the library: MCP over a TCP socket on Node, with one message per line. It keeps the
 * laws of `@effect-mcp/testing`, which `test/socketTransport.test.ts` checks:
 *
 * ```sh
 * npx vitest run packages/examples/test/socketTransport.test.ts
 * ```
 *
 * The framing is that of stdio. This module decides when a message counts as sent, and how each kind of end is
 * reported.
 */
import { Transport, TransportError } from "@effect-mcp/session"
import { JsonLines } from "@effect-mcp/transport"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Net from "node:net"

/** The time in which the socket writes the last lines after the session has ended. */
const closeTimeout = "1 second"

/** Ignores an error, which `run` and `send` report. Without a listener, an error would end the process. */
const ignoreError = () => {}

/** Ends the stream and waits until the socket has written all lines, at most for `closeTimeout`. */
const close = (socket: Net.Socket): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    if (socket.destroyed) return resume(Effect.void)
    socket.once("close", () => resume(Effect.void))
    socket.end(() => resume(Effect.void))
  }).pipe(
    Effect.interruptible,
    Effect.timeoutOption(closeTimeout),
    Effect.andThen(Effect.sync(() => socket.destroy()))
  )

/** Reads until the peer's side ends. A half-close is a normal end. Every other end is an error. */
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
    // A socket that has broken or ended before this call emits no more events.
    const onClose = () => fail(socket.errored ?? new Error("the connection is closed"))
    if (socket.readableEnded) return onEnd()
    if (socket.destroyed) return onClose()
    socket.on("data", onData).once("end", onEnd).once("close", onClose)
    return Effect.sync(() => {
      socket.off("data", onData).off("end", onEnd).off("close", onClose)
      // Reads and discards the rest. Without this, the socket never reaches the end of the stream.
      socket.resume()
    })
  })

/** Sends a message. Completes after the socket has written it, so a peer that does not read makes the session wait. */
const send = (socket: Net.Socket): Transport.Connection["send"] => ({ message }) =>
  Effect.callback<void, TransportError.TransportError>((resume) => {
    const line = JsonLines.encode(message)
    if (Result.isFailure(line)) return resume(Effect.fail(line.failure))
    socket.write(
      line.success,
      (cause) => resume(cause ? Effect.fail(TransportError.make({ _tag: "WriteFailed", cause })) : Effect.void)
    )
  })

/** A connection over an open socket. The socket closes with the scope. */
const connection = (socket: Net.Socket): Effect.Effect<Transport.Connection, never, Scope.Scope> =>
  Effect.as(Effect.acquireRelease(Effect.succeed(socket), close), { run: run(socket), send: send(socket) })

/** The server's end, over an accepted socket with `allowHalfOpen`. It carries one session. */
export const over = (socket: Net.Socket): Layer.Layer<Transport.Transport> => {
  socket.on("error", ignoreError)
  let isInUse = false
  return Layer.succeed(Transport.Transport, {
    connect: Effect.suspend((): Effect.Effect<Transport.Connection, TransportError.TransportError, Scope.Scope> => {
      if (isInUse) return Effect.fail(TransportError.make({ _tag: "InUse" }))
      isInUse = true
      return connection(socket)
    })
  })
}

/** Opens a socket. Fails with the address if it cannot connect. */
const dial = (port: number, host: string): Effect.Effect<Net.Socket, TransportError.TransportError> =>
  Effect.callback<Net.Socket, TransportError.TransportError>((resume) => {
    const socket = Net.connect({ port, host, allowHalfOpen: true })
    const fail = (cause: unknown) =>
      resume(Effect.fail(TransportError.make({ _tag: "ConnectFailed", target: `${host}:${port}`, cause })))
    socket.once("error", fail)
    socket.once("connect", () => {
      socket.off("error", fail).on("error", ignoreError)
      resume(Effect.succeed(socket))
    })
    return Effect.sync(() => socket.destroy())
  })

/** The client's end. Each session opens a socket of its own. */
export const connectTo = (port: number, host = "127.0.0.1"): Layer.Layer<Transport.Transport> =>
  Layer.succeed(Transport.Transport, {
    connect: Effect.uninterruptibleMask((restore) => Effect.flatMap(restore(dial(port, host)), connection))
  })
