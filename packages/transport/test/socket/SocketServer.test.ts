import { SessionHost } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { SocketClient, SocketServer } from "@effect-mcp/transport/node"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as EffectSocketServer from "effect/socket/SocketServer"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync, spawn } from "node:child_process"
import { openSockets } from "../support/openSockets.ts"
import { fixture, until } from "../support/process.ts"
import { hostOf, text, tools } from "../support/server.ts"
import { call, connect, initialize, initialized, openSession, ping, serve } from "../support/unixServer.ts"

const greeting = tools({ greet: Effect.succeed(text("hello")) })

/** Returns a tool that waits until `release`, and the numbers of its starts and interruptions. */
const waiting = () => {
  const released = Deferred.makeUnsafe<void>()
  const counts = { started: 0, interrupted: 0 }
  const handlers = tools({
    wait: Effect.suspend(() => {
      counts.started++
      return Effect.as(Deferred.await(released), text("done"))
    }).pipe(Effect.onInterrupt(() => Effect.sync(() => counts.interrupted++)))
  })
  return { counts, handlers, release: Deferred.done(released, Exit.void) }
}

const greetingResponse = (id: number) => ({ jsonrpc: "2.0", id, result: text("hello") })

const large = "x".repeat(3_000_000)

const codeOf = (message: { readonly [key: string]: unknown } | undefined): unknown => {
  const error = message?.["error"]
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined
}

const awaitNoSessions = (host: SessionHost.SessionHostShape) =>
  Effect.gen(function*() {
    while ((yield* host.health).sessions > 0) yield* Effect.sleep("5 millis")
  })

describe.concurrent("messages of clients", () => {
  it.live("[TRN-04] [STD-02] are read in pieces of any size, with carriage returns, and without a last newline", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({
        echo: ({ value }) => Effect.succeed(text(String(value)))
      }))
      const client = yield* openSession({ path: server.path })
      const line = Buffer.from(`${JSON.stringify(call(1, "echo", { value: "aé漢😀" }))}\r\n`)
      for (const byte of line) {
        client.socket.write(Uint8Array.of(byte))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.["result"], text("aé漢😀"))
      client.socket.end(JSON.stringify(call(2, "echo", { value: "the last" })))
      assert.deepStrictEqual((yield* client.awaitResponse(2))?.["result"], text("the last"))
      yield* client.awaitEnd
      assert.isTrue(client.ended)
      assert.isUndefined(client.broken)
    }))

  it.live("[STD-02] are rejected if they are not JSON, not UTF-8 or too large, and the next one is served", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { socket: { maxMessageBytes: 1000 } })
      const client = yield* openSession({ path: server.path })
      client.socket.write("npm warn\n")
      client.send(call(1, "greet"))
      client.socket.write(Uint8Array.of(0x22, 0xE6, 0xBC, 0x22, 0x0A))
      client.send(call(2, "greet"))
      client.send(call(3, "greet", { tooLarge: "x".repeat(100_000) }))
      client.send(call(4, "greet"))
      for (const id of [1, 2, 4]) assert.deepStrictEqual(yield* client.awaitResponse(id), greetingResponse(id))
      yield* until(() => client.messages.filter((message) => codeOf(message) === -32_700).length === 3)
      assert.isFalse(client.messages.some(({ id }) => id === 3))
    }))
})

describe.concurrent("an initialize request", () => {
  it.live("above 64 KiB is rejected, and a smaller one is accepted then", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const client = yield* connect({ path: server.path })
      const clientInfo = { name: "x".repeat(70_000), version: "1.0.0" }
      client.send({ ...initialize, id: "long", params: { ...initialize.params, clientInfo } })
      client.send(initialize, initialized)
      yield* client.awaitResponse(initialize.id)
      assert.isFalse(client.messages.some(({ id }) => id === "long"))
      assert.strictEqual(client.messages.filter((message) => codeOf(message) === -32_700).length, 1)
      // This limit holds for no other message.
      client.send(call(1, "greet", { long: "x".repeat(70_000) }))
      assert.deepStrictEqual(yield* client.awaitResponse(1), greetingResponse(1))
    }))

  it.live("is accepted up to maxInitializeBytes", () =>
    Effect.gen(function*() {
      const length = JSON.stringify(initialize).length
      for (const [maxInitializeBytes, isAccepted] of [[length, true], [length - 1, false]] as const) {
        const server = yield* serve(greeting, { socket: { maxInitializeBytes } })
        const client = yield* connect({ path: server.path })
        client.send(initialize, ping(1))
        yield* until(() => client.messages.length === 2)
        assert.strictEqual(client.messages.some(({ id }) => id === initialize.id), isAccepted)
      }
    }))
})

describe.concurrent("a session", () => {
  it.live("counts each message as a use", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const client = yield* openSession({ path: server.path })
      const usedAt = Effect.map(server.host.sessions, ([session]) => session?.usedAt ?? 0)
      const before = yield* usedAt
      yield* Effect.sleep("20 millis")
      client.send(ping(1))
      yield* client.awaitResponse(1)
      assert.isAbove(yield* usedAt, before)
    }))
})

describe.concurrent("a client that disconnects", () => {
  it.live("[law 5] receives its replies if it ended only its own side", () =>
    Effect.gen(function*() {
      const { counts, handlers, release } = waiting()
      const server = yield* serve(handlers, { session: { limits: { gracefulTimeout: "1 minute" } } })
      const client = yield* openSession({ path: server.path })
      client.send(call(1, "wait"))
      client.socket.end()
      yield* until(() => counts.started === 1)
      // The server notices the end before the reply exists.
      while ((yield* server.host.sessions).length > 0) yield* Effect.sleep("5 millis")
      yield* release
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.["result"], text("done"))
      yield* client.awaitEnd
      assert.isTrue(client.ended)
      yield* awaitNoSessions(server.host)
    }))

  it.live("leaves no session if it is killed, and another session continues", () =>
    Effect.gen(function*() {
      const { counts, handlers, release } = waiting()
      const server = yield* serve(handlers)
      const other = yield* openSession({ path: server.path })
      other.send(call(1, "wait"))
      yield* until(() => counts.started === 1)
      const input = [initialize, initialized, call(1, "wait")].map((message) => `${JSON.stringify(message)}\n`).join("")
      const program = `require("node:net").connect(${JSON.stringify(server.path)}).write(${JSON.stringify(input)})`
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, ["-e", `${program}; setInterval(() => {}, 1000)`], { stdio: "ignore" })
        ),
        (running) => Effect.sync(() => running.kill("SIGKILL"))
      )
      yield* until(() => counts.started === 2)
      child.kill("SIGKILL")
      yield* until(() => counts.interrupted === 1)
      while ((yield* server.host.health).sessions > 1) yield* Effect.sleep("5 millis")
      yield* release
      assert.deepStrictEqual((yield* other.awaitResponse(1))?.["result"], text("done"))
    }))

  it.live("does not hold its session if it breaks the connection while replies wait for it", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ large: Effect.succeed(text(large)) }), {
        socket: { closeTimeout: "1 hour" }
      })
      const client = yield* openSession({ path: server.path })
      client.socket.pause()
      for (let id = 1; id <= 5; id++) client.send(call(id, "large"))
      yield* until(() => client.socket.readableLength > 0)
      client.socket.destroy()
      yield* awaitNoSessions(server.host)
    }))
})

describe.concurrent("the end of a session", () => {
  it.live("waits until a client that reads has everything that was sent", () =>
    Effect.gen(function*() {
      const started = Deferred.makeUnsafe<void>()
      const server = yield* serve(
        tools({
          large: Effect.andThen(
            Deferred.done(started, Exit.void),
            Effect.as(Effect.uninterruptible(Effect.sleep("50 millis")), text(large))
          )
        }),
        { session: { limits: { gracefulTimeout: "1 minute" } }, socket: { closeTimeout: "1 minute" } }
      )
      const client = yield* openSession({ path: server.path })
      client.socket.pause()
      client.send(call(1, "large"))
      yield* Deferred.await(started)
      const stopping = yield* Effect.forkChild(server.stop)
      yield* Effect.sleep("100 millis")
      assert.isUndefined(stopping.pollUnsafe())
      client.socket.resume()
      yield* Fiber.join(stopping)
      yield* client.awaitEnd
      assert.isTrue(client.ended)
      assert.deepStrictEqual(client.messages.at(-1)?.["result"], text(large))
    }))

  it.live("reads the messages of a client meanwhile, because it may read only after it has written", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ large: Effect.succeed(text(large)) }), {
        socket: { closeTimeout: "1 minute" }
      })
      const client = yield* openSession({ path: server.path })
      client.socket.pause()
      client.send(call(1, "large"))
      yield* until(() => client.socket.readableLength > 0)
      const stopping = yield* Effect.forkChild(server.stop)
      while ((yield* server.host.sessions).length > 0) yield* Effect.sleep("5 millis")
      // The client reads only after its write has completed.
      client.socket.write(Buffer.alloc(10_000_000, " "), () => client.socket.resume())
      yield* Fiber.join(stopping)
      yield* client.awaitEnd
      assert.isTrue(client.ended)
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.["result"], text(large))
    }))

  it.live("is a normal end for a client that sends at the same moment", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      for (let attempt = 0; attempt < 20; attempt++) {
        const client = yield* openSession({ path: server.path })
        const [listing] = yield* server.host.sessions
        const hosted = server.host.find(listing?.id ?? "")
        client.send(ping(1))
        yield* hosted?.close({ _tag: "Requested" }) ?? Effect.die("no session")
        yield* client.awaitEnd
        assert.isUndefined(client.broken)
        assert.isTrue(client.ended)
      }
    }))

  it.live("waits for a client that does not read no longer than closeTimeout", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ large: Effect.succeed(text(large)) }), {
        socket: { closeTimeout: "100 millis" }
      })
      const client = yield* openSession({ path: server.path })
      client.socket.pause()
      client.send(call(1, "large"))
      yield* until(() => client.socket.readableLength > 0)
      const [{ id } = { id: "" }] = yield* server.host.sessions
      yield* server.host.find(id)?.close({ _tag: "Requested" }) ?? Effect.die("no session")
      client.socket.resume()
      yield* client.awaitEnd
      assert.isBelow(client.bytes, large.length)
    }))

  it.live("closes only its own connection", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => openSession({ path: server.path }))
      assert.deepStrictEqual(
        (yield* server.host.sessions).map(({ held, kind }) => ({ held, kind })),
        clients.map(() => ({ held: 1, kind: "unix-socket" }))
      )
      clients.forEach((client, index) => client.send(call(index, "greet")))
      for (const [index, client] of clients.entries()) {
        assert.deepStrictEqual(yield* client.awaitResponse(index), greetingResponse(index))
        assert.deepStrictEqual(client.messages.map(({ id }) => id), ["hello", index])
      }
      const [first] = yield* server.host.sessions
      yield* server.host.find(first?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.die("no session")
      yield* clients[0]?.awaitEnd ?? Effect.void
      for (const client of clients.slice(1)) {
        client.send(ping(100))
        yield* client.awaitResponse(100)
      }
    }))

  it.live("is not caused by idleness while its client is connected", () =>
    Effect.gen(function*() {
      const clock = yield* Layer.build(TestClock.layer())
      const server = yield* serve(greeting, {
        session: { sessions: { idleTimeout: "10 minutes" } },
        services: Layer.succeedContext(clock)
      })
      const client = yield* openSession({ path: server.path })
      yield* Effect.provide(TestClock.adjust("1 day"), clock)
      client.send(ping(1))
      yield* client.awaitResponse(1)
      assert.isFalse(client.ended)
    }))
})

describe.concurrent("a client for which the host has no room", () => {
  const overloaded = (id: string | number | undefined, message: string) => ({
    jsonrpc: "2.0",
    ...(id !== undefined && { id }),
    error: { code: -31_010, message }
  })

  const full = "no room for another session: the host has 1 (sessions.max), and none of them can be evicted"

  it.live("receives the reason, with the id of its first message", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 1 } } })
      const first = yield* openSession({ path: server.path })
      const second = yield* connect({ path: server.path })
      second.send(initialize)
      yield* second.awaitEnd
      assert.deepStrictEqual(second.messages, [overloaded(initialize.id, full)])
      assert.isTrue(second.ended)
      // There is room again after the first session has ended.
      first.socket.end()
      yield* awaitNoSessions(server.host)
      yield* openSession({ path: server.path })
    }))

  it.live("receives the reason without an id if its first message has none, or if it sends nothing", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 1 } } })
      yield* openSession({ path: server.path })
      for (const input of ["nonsense\n", `${JSON.stringify(initialized)}\n`, "incomplete", ""]) {
        const client = yield* connect({ path: server.path })
        client.socket.write(input)
        yield* client.awaitEnd
        assert.deepStrictEqual(client.messages, [overloaded(undefined, full)])
      }
      const halfClosed = yield* connect({ path: server.path })
      halfClosed.socket.end()
      yield* halfClosed.awaitEnd
      assert.deepStrictEqual(halfClosed.messages, [overloaded(undefined, full)])
    }))

  it.live("receives the reason that the host is shutting down", () =>
    Effect.gen(function*() {
      const { counts, handlers, release } = waiting()
      const server = yield* serve(handlers, { session: { limits: { gracefulTimeout: "1 minute" } } })
      const client = yield* openSession({ path: server.path })
      client.send(call(1, "wait"))
      yield* until(() => counts.started === 1)
      const stopping = yield* Effect.forkChild(server.stop)
      while (!(yield* server.host.health).draining) yield* Effect.sleep("5 millis")
      const late = yield* connect({ path: server.path })
      late.send(initialize)
      yield* late.awaitEnd
      assert.deepStrictEqual(late.messages, [
        overloaded(initialize.id, "no room for another session: the host is shutting down")
      ])
      yield* release
      assert.deepStrictEqual((yield* client.awaitResponse(1))?.["result"], text("done"))
      yield* Fiber.join(stopping)
      yield* client.awaitEnd
      assert.isTrue(client.ended)
    }))

  it.live("does not delay the shutdown of the server", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 0 } } })
      const clients = yield* Effect.forEach(Array.from({ length: 10 }), () => connect({ path: server.path }))
      yield* server.stop
      for (const client of clients) yield* client.awaitEnd
    }))
})

it.live("[law 2] a server leaves no fiber and no socket, however its clients disconnect", () =>
  Effect.gen(function*() {
    const opened = yield* openSockets
    const fibers = FiberCount.make()
    yield* fibers.count(Effect.scoped(Effect.gen(function*() {
      const { counts, handlers } = waiting()
      const server = yield* serve(handlers, {
        session: { sessions: { max: 8 } },
        socket: { closeTimeout: "50 millis" }
      })
      const clients = yield* Effect.forEach(Array.from({ length: 8 }), () => openSession({ path: server.path }))
      for (const client of clients) client.send(call(1, "wait"))
      yield* until(() => counts.started === 8)
      const silent = yield* connect({ path: server.path })
      yield* until(() => opened.accepted() === 9)
      assert.deepStrictEqual([opened.clients(), opened.servers()], [9, 1])
      clients[0]?.socket.destroy()
      clients[1]?.socket.end()
      clients[2]?.socket.pause()
      clients[3]?.socket.write("incomplete")
      // The other sessions end with their server.
      yield* server.stop
      yield* silent.awaitEnd
    })))
    yield* until(() => fibers.living() === 0)
    yield* until(() => opened.all() === 0)
  }))

it.live("a server of TCP sockets serves sessions in the same way", () =>
  Effect.gen(function*() {
    const { counts, handlers, release } = waiting()
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const layer = SocketServer.layer({ closeTimeout: "50 millis" }).pipe(
      Layer.provideMerge(NodeSocketServer.layer({ port: 0, host: "127.0.0.1", allowHalfOpen: true })),
      Layer.provideMerge(hostOf(handlers, { session: { limits: { gracefulTimeout: "1 minute" } } }))
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    const { address } = Context.get(context, EffectSocketServer.SocketServer)
    const host = Context.get(context, SessionHost.SessionHost)
    if (address._tag === "UnixPathAddress") return assert.fail("no port")
    const client = yield* openSession({ port: address.port, host: "127.0.0.1" })
    assert.deepStrictEqual((yield* host.sessions).map(({ kind }) => kind), ["tcp"])
    client.send(call(1, "wait"))
    client.socket.end()
    yield* until(() => counts.started === 1)
    while ((yield* host.sessions).length > 0) yield* Effect.sleep("5 millis")
    yield* release
    assert.deepStrictEqual((yield* client.awaitResponse(1))?.["result"], text("done"))
    yield* client.awaitEnd
    // Without a drain, the sessions end with the server, also that of a client that does not read.
    const second = yield* openSession({ port: address.port, host: "127.0.0.1" })
    second.socket.pause()
    yield* Scope.close(scope, Exit.void)
    second.socket.resume()
    yield* second.awaitEnd
  }))

it("the server and the client load neither HTTP nor WebSockets", () => {
  for (const name of ["SocketServer", "SocketClient"]) {
    const module = new URL(`../../src/node/${name}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loadedModules.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(
      loaded.filter((url) => /\/effect\/(src|dist)\/http\/Http|undici|NodeHttp|\/ws\/|^node:https?$/.test(url)),
      []
    )
  }
  assert.isFunction(SocketClient.make)
})
