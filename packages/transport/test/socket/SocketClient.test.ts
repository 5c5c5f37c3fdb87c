import { Revision } from "@effect-mcp/protocol"
import { ClientSession, HandshakeError, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { SocketClient } from "@effect-mcp/transport/node"
import * as NodeSocket from "@effect/platform-node/NodeSocket"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as fs from "node:fs"
import * as Net from "node:net"
import * as path from "node:path"
import { openSockets } from "../support/openSockets.ts"
import { until } from "../support/process.ts"
import { info, text, tools } from "../support/server.ts"
import { temporaryDirectory } from "../support/temporaryDirectory.ts"
import { serve } from "../support/unixServer.ts"

const message = (data: unknown) => ({ jsonrpc: "2.0", method: "notifications/message", params: { data } }) as const

const outbound = (data: unknown): Transport.Outbound => ({ message: message(data), replyTo: undefined, last: false })

/** A listener whose connections only the test reads. */
const listener = Effect.gen(function*() {
  const directory = yield* temporaryDirectory
  const at = path.join(directory, "s")
  const accepted: Array<Net.Socket> = []
  yield* Effect.acquireRelease(
    Effect.callback<Net.Server>((resume) => {
      const server = Net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
        accepted.push(socket.on("error", () => {}))
      })
      server.listen(at, () => resume(Effect.succeed(server)))
    }),
    (server) =>
      Effect.sync(() => {
        accepted.forEach((socket) => socket.destroy())
        server.close()
      })
  )
  return { accepted, at }
})

const transportAt = (at: string, options?: SocketClient.Options) =>
  Effect.provide(Transport.Transport, SocketClient.layerUnix({ path: at, ...options }))

const connectAt = (at: string, options?: SocketClient.Options) =>
  Effect.flatMap(transportAt(at, options), (transport) => transport.connect)

/** Opens a connection. Returns it, and the server's end of it. */
const connected = Effect.fnUntraced(function*(options?: SocketClient.Options) {
  const { accepted, at } = yield* listener
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const connection = yield* Scope.provide(connectAt(at, options), scope)
  yield* until(() => accepted.length === 1)
  const [server] = accepted
  if (server === undefined) return yield* Effect.die(new Error("no connection"))
  return { connection, server, close: Scope.close(scope, Exit.void) }
})

/** Reads a socket to its end. */
const readAll = (socket: Net.Socket): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    socket.on("data", (chunk) => chunks.push(chunk))
    socket.once("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString())))
    socket.resume()
  })

describe("connect", () => {
  it.live("fails with the path and the system's error if there is no file, or no server at it", () =>
    Effect.gen(function*() {
      const directory = yield* temporaryDirectory
      const nowhere = path.join(directory, "nowhere")
      const notes = path.join(directory, "notes")
      fs.writeFileSync(notes, "")
      for (const [at, code] of [[nowhere, "ENOENT"], [notes, "ECONNREFUSED"], [`${notes}/s`, "ENOTDIR"]] as const) {
        const error = yield* Effect.flip(Effect.scoped(connectAt(at)))
        assert.strictEqual(error.message, `could not connect to ${at}: connect ${code} ${at}`)
        assert.ok(error.reason._tag === "ConnectFailed")
        assert.strictEqual(error.reason.target, at)
      }
    }))

  it.live("fails for an empty path, instead of connecting over TCP", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(Effect.scoped(connectAt("")))
      assert.strictEqual(error.message, "could not connect to : the path is empty")
    }))

  it.live("opens a socket for each session", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ greet: Effect.succeed(text("hello")) }))
      const transport = yield* transportAt(server.path)
      const session = Effect.provideService(
        ClientSession.make({ info, revisions: Revision.legacy }),
        Transport.Transport,
        transport
      )
      yield* Effect.scoped(Effect.gen(function*() {
        const two = yield* Effect.all([session, session])
        for (const one of two) assert.deepStrictEqual((yield* one.callTool("greet")).content, text("hello").content)
        assert.lengthOf(yield* server.host.sessions, 2)
        yield* two[0].close
        while ((yield* server.host.health).sessions > 1) yield* Effect.sleep("5 millis")
        yield* two[1].ping()
      }))
      while ((yield* server.host.health).sessions > 0) yield* Effect.sleep("5 millis")
    }))

  it.live("carries one session after another over any socket of Effect", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ greet: Effect.succeed(text("hello")) }))
      yield* Effect.gen(function*() {
        const transport = yield* SocketClient.make()
        const session = Effect.provideService(
          ClientSession.make({ info, revisions: Revision.legacy }),
          Transport.Transport,
          transport
        )
        for (let count = 0; count < 2; count++) {
          yield* Effect.scoped(Effect.gen(function*() {
            const one = yield* session
            assert.deepStrictEqual((yield* one.callTool("greet")).content, text("hello").content)
            assert.strictEqual((yield* Effect.flip(Effect.scoped(transport.connect))).reason._tag, "InUse")
          }))
          while ((yield* server.host.health).sessions > 0) yield* Effect.sleep("5 millis")
        }
      }).pipe(Effect.provide(NodeSocket.layerNet({ path: server.path })))
    }))

  it.live("fails with the error of any socket of Effect", () =>
    Effect.gen(function*() {
      const at = path.join(yield* temporaryDirectory, "nowhere")
      const error = yield* Transport.Transport.pipe(
        Effect.flatMap(({ connect }) => Effect.flip(Effect.scoped(connect))),
        Effect.provide(Layer.provide(SocketClient.layer(), NodeSocket.layerNet({ path: at })))
      )
      assert.strictEqual(error.message, `could not connect to the server of the socket: connect ENOENT ${at}`)
    }))

  it.live("works as a Layer, whose handshake fails with the host's reason if the host is full", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({}), { session: { sessions: { max: 1 } } })
      const session = ClientSession.layer({ info, revisions: Revision.legacy }).pipe(
        Layer.provide(SocketClient.layerUnix({ path: server.path }))
      )
      const error = yield* Effect.gen(function*() {
        yield* Effect.flatMap(ClientSession.ClientSession, (first) => first.ping())
        return yield* Effect.flip(Layer.build(Layer.fresh(session)))
      }).pipe(Effect.provide(session), Effect.scoped)
      assert.instanceOf(error, HandshakeError.HandshakeError)
      assert.include(
        error.message,
        "no room for another session: the host has 1 (sessions.max), and none of them can be evicted"
      )
    }))

  it.live("[law 2] leaves no fiber and no socket, whenever it is interrupted", () =>
    Effect.gen(function*() {
      const { at } = yield* listener
      const opened = yield* openSockets
      const fibers = FiberCount.make()
      yield* fibers.count(Effect.gen(function*() {
        for (let steps = 0; steps < 60; steps++) {
          const fiber = yield* Effect.forkChild(
            Effect.scoped(Effect.andThen(connectAt(at), Effect.never))
          )
          for (let step = 0; step < steps; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
        }
      }))
      yield* until(() => fibers.living() === 0)
      yield* until(() => opened.clients() === 0)
      assert.isAbove(opened.accepted(), 0)
    }))
})

describe.concurrent("run", () => {
  it.live("[STD-02] delivers whole frames in order, and ends when the server ends its side", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected({ maxMessageBytes: 100 })
      const input = Buffer.from(`{"data":"漢😀"}\r\nnpm warn\n"${"x".repeat(100)}"\n{"last":`)
      for (const byte of input) server.write(Uint8Array.of(byte))
      server.end("true}")
      const frames: Array<unknown> = []
      const end = yield* connection.run(({ frame }) => frames.push(frame))
      assert.deepStrictEqual(frames, [
        Result.succeed({ data: "漢😀" }),
        Result.fail({ _tag: "NotJson", text: "npm warn" }),
        Result.fail({ _tag: "TooLarge", limitBytes: 100 }),
        Result.succeed({ last: true })
      ])
      // After the server has ended its side, replies cannot be sent.
      assert.deepStrictEqual(end, { exit: undefined, writable: false })
    }))

  it.live("fails with ReadFailed and the system's error if the connection breaks", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected()
      const frames: Array<unknown> = []
      const reading = yield* Effect.forkChild(Effect.flip(connection.run(({ frame }) => frames.push(frame))))
      server.write("1\n")
      yield* until(() => frames.length === 1)
      // The server has not read this message, so closing it resets the connection.
      yield* connection.send(outbound("unread"))
      yield* Effect.sleep("50 millis")
      server.destroy()
      const error = yield* Fiber.join(reading)
      assert.strictEqual(error.message, "reading from the peer failed: read ECONNRESET")
      assert.strictEqual(error.reason._tag, "ReadFailed")
    }))
})

describe.concurrent("send", () => {
  it.live("waits while the server reads nothing, and keeps the order", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected({ maxSendBufferBytes: 64 * 1024 })
      const count = 100
      const padding = "x".repeat(32 * 1024)
      let taken = 0
      const sending = yield* Effect.forkChild(Effect.forEach(
        Array.from({ length: count }, (_, index) => index),
        (index) => Effect.tap(connection.send(outbound(`${index} ${padding}`)), () => Effect.sync(() => taken++)),
        { discard: true }
      ))
      yield* Effect.sleep("100 millis")
      assert.isUndefined(sending.pollUnsafe())
      // The system, Node and the buffer hold some of the messages.
      assert.isBelow(taken, count)
      const all = yield* Effect.forkChild(readAll(server))
      yield* Fiber.join(sending)
      yield* close
      const lines = (yield* Fiber.join(all)).split("\n")
      assert.deepStrictEqual(
        lines,
        Array.from({ length: count }, (_, index) => JSON.stringify(message(`${index} ${padding}`))).concat("")
      )
    }))

  it.live("fails with WriteFailed after the server has closed the connection, also if it waits already", () =>
    Effect.gen(function*() {
      const { connection, server } = yield* connected({ maxSendBufferBytes: 1, closeTimeout: "1 hour" })
      const flood = yield* Effect.forkChild(Effect.flip(Effect.forever(connection.send(outbound("x".repeat(100_000))))))
      yield* Effect.sleep("50 millis")
      assert.isUndefined(flood.pollUnsafe())
      server.destroy()
      const error = yield* Fiber.join(flood)
      assert.strictEqual(error.reason._tag, "WriteFailed")
      assert.match(error.message, /^writing to the peer failed: .*(EPIPE|ECONNRESET|closed|ended)/)
      assert.strictEqual((yield* Effect.flip(connection.send(outbound(1)))).reason._tag, "WriteFailed")
      assert.include(["ReadFailed", "WriteFailed"], (yield* Effect.flip(connection.run(() => {}))).reason._tag)
    }))

  it.live("fails with Unserializable for a value that JSON cannot represent, and sends the next message", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected()
      const error = yield* Effect.flip(connection.send(outbound(1n)))
      assert.strictEqual(error.reason._tag, "Unserializable")
      yield* connection.send(outbound("next"))
      const all = yield* Effect.forkChild(readAll(server))
      yield* close
      assert.strictEqual(yield* Fiber.join(all), `${JSON.stringify(message("next"))}\n`)
    }))
})

describe.concurrent("closing", () => {
  it.live("first writes what was sent", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected({ closeTimeout: "1 minute" })
      const data = "x".repeat(5_000_000)
      yield* connection.send(outbound(data))
      const closing = yield* Effect.forkChild(close)
      yield* Effect.sleep("50 millis")
      assert.isUndefined(closing.pollUnsafe())
      assert.strictEqual(yield* readAll(server), `${JSON.stringify(message(data))}\n`)
      yield* Fiber.join(closing)
    }))

  it.live("loses no message, at whichever write the system has no more room", () =>
    Effect.gen(function*() {
      const data = "x".repeat(50_000)
      for (let count = 1; count <= 8; count++) {
        const { close, connection, server } = yield* connected({ closeTimeout: "1 minute" })
        for (let sent = 0; sent < count; sent++) {
          yield* connection.send(outbound(data))
          // Each message is a separate write, which Node accepts although the system does not.
          yield* Effect.sleep("2 millis")
        }
        const closing = yield* Effect.forkChild(close)
        yield* Effect.sleep("10 millis")
        assert.strictEqual(yield* readAll(server), `${JSON.stringify(message(data))}\n`.repeat(count))
        yield* Fiber.join(closing)
      }
    }))

  it.live("waits for a server that does not read no longer than closeTimeout", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected({ closeTimeout: "50 millis" })
      yield* connection.send(outbound("x".repeat(5_000_000)))
      yield* close
      assert.isBelow((yield* readAll(server)).length, 5_000_000)
    }))

  it.live("does not wait for a server that has closed the connection", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected({ closeTimeout: "1 hour" })
      yield* connection.send(outbound("x".repeat(5_000_000)))
      server.destroy()
      yield* Effect.exit(connection.run(() => {}))
      yield* close
    }))

  it.live("does not wait for a server that closed the connection before the first message", () =>
    Effect.gen(function*() {
      const { close, connection, server } = yield* connected({ closeTimeout: "1 hour" })
      server.destroy()
      yield* connection.run(() => {})
      yield* Effect.sleep("20 millis")
      yield* connection.send(outbound("x".repeat(5_000_000)))
      yield* close
    }))
})
