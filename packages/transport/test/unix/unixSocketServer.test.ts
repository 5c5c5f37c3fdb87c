import { SessionHost } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { UnixSocketClient, UnixSocketServer } from "@effect-mcp/transport"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SocketServer } from "effect/socket/SocketServer"
import * as TestClock from "effect/testing/TestClock"
import { execFileSync, spawn } from "node:child_process"
import { fixture, until } from "../fixtures/process.ts"
import { openings } from "../support/openings.ts"
import { hostOf, text, tools } from "../support/server.ts"
import { call, connect, initialize, initialized, join, ping, serve } from "../support/unixServer.ts"

const greeting = tools({ greet: Effect.succeed(text("hello")) })

/** A tool that waits until it may go on, and what became of it. */
const waiting = () => {
  const go = Deferred.makeUnsafe<void>()
  const seen = { begun: 0, interrupted: 0 }
  const handlers = tools({
    wait: Effect.suspend(() => {
      seen.begun++
      return Effect.as(Deferred.await(go), text("done"))
    }).pipe(Effect.onInterrupt(() => Effect.sync(() => seen.interrupted++)))
  })
  return { go: Deferred.done(go, Exit.void), handlers, seen }
}

const greeted = (id: number) => ({ jsonrpc: "2.0", id, result: text("hello") })

const large = "x".repeat(3_000_000)

const codeOf = (message: { readonly [key: string]: unknown } | undefined): unknown => {
  const error = message?.["error"]
  return typeof error === "object" && error !== null ? Reflect.get(error, "code") : undefined
}

const isEmpty = (host: SessionHost.SessionHostShape) =>
  Effect.gen(function*() {
    while ((yield* host.health).sessions > 0) yield* Effect.sleep("5 millis")
  })

describe.concurrent("what clients say", () => {
  it.live("[STD-02] may come in any pieces, with carriage returns, and without a last newline", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({
        echo: ({ said }) => Effect.succeed(text(String(said)))
      }))
      const client = yield* join({ path: server.path })
      const line = Buffer.from(`${JSON.stringify(call(1, "echo", { said: "aé漢😀" }))}\r\n`)
      for (const byte of line) {
        client.socket.write(Uint8Array.of(byte))
        yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      }
      assert.deepStrictEqual((yield* client.answer(1))?.["result"], text("aé漢😀"))
      client.socket.end(JSON.stringify(call(2, "echo", { said: "the last" })))
      assert.deepStrictEqual((yield* client.answer(2))?.["result"], text("the last"))
      yield* client.over
      assert.isTrue(client.ended)
      assert.isUndefined(client.broken)
    }))

  it.live("[STD-02] costs only itself where it is no JSON, no UTF-8, or too large", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { socket: { maxMessageBytes: 1000 } })
      const client = yield* join({ path: server.path })
      client.socket.write("npm warn\n")
      client.say(call(1, "greet"))
      client.socket.write(Uint8Array.of(0x22, 0xE6, 0xBC, 0x22, 0x0A))
      client.say(call(2, "greet"))
      client.say(call(3, "greet", { tooLarge: "x".repeat(100_000) }))
      client.say(call(4, "greet"))
      for (const id of [1, 2, 4]) assert.deepStrictEqual(yield* client.answer(id), greeted(id))
      yield* until(() => client.messages.filter((message) => codeOf(message) === -32_700).length === 3)
      assert.isFalse(client.messages.some(({ id }) => id === 3))
    }))
})

describe.concurrent("initialize", () => {
  it.live("that is too long is not taken, and the next one is", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const client = yield* connect({ path: server.path })
      const clientInfo = { name: "x".repeat(70_000), version: "1.0.0" }
      client.say({ ...initialize, id: "long", params: { ...initialize.params, clientInfo } })
      client.say(initialize, initialized)
      yield* client.answer(initialize.id)
      assert.isFalse(client.messages.some(({ id }) => id === "long"))
      assert.strictEqual(client.messages.filter((message) => codeOf(message) === -32_700).length, 1)
      // Nothing else is bounded like that.
      client.say(call(1, "greet", { long: "x".repeat(70_000) }))
      assert.deepStrictEqual(yield* client.answer(1), greeted(1))
    }))

  it.live("may be as long as the server says", () =>
    Effect.gen(function*() {
      const length = JSON.stringify(initialize).length
      for (const [maxInitializeBytes, isTaken] of [[length, true], [length - 1, false]] as const) {
        const server = yield* serve(greeting, { socket: { maxInitializeBytes } })
        const client = yield* connect({ path: server.path })
        client.say(initialize, ping(1))
        yield* until(() => client.messages.length === 2)
        assert.strictEqual(client.messages.some(({ id }) => id === initialize.id), isTaken)
      }
    }))
})

describe.concurrent("a session", () => {
  it.live("is used whenever something comes", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const client = yield* join({ path: server.path })
      const usedAt = Effect.map(server.host.sessions, ([session]) => session?.usedAt ?? 0)
      const before = yield* usedAt
      yield* Effect.sleep("20 millis")
      client.say(ping(1))
      yield* client.answer(1)
      assert.isAbove(yield* usedAt, before)
    }))
})

describe.concurrent("the end of a client", () => {
  it.live("[law 5] one that stops sending gets its replies", () =>
    Effect.gen(function*() {
      const { go, handlers, seen } = waiting()
      const server = yield* serve(handlers, { session: { limits: { gracefulCloseTimeout: "1 minute" } } })
      const client = yield* join({ path: server.path })
      client.say(call(1, "wait"))
      client.socket.end()
      yield* until(() => seen.begun === 1)
      // The server knows of the end before the reply is there.
      while ((yield* server.host.sessions).length > 0) yield* Effect.sleep("5 millis")
      yield* go
      assert.deepStrictEqual((yield* client.answer(1))?.["result"], text("done"))
      yield* client.over
      assert.isTrue(client.ended)
      yield* isEmpty(server.host)
    }))

  it.live("one that was killed leaves nothing, and nobody else hears of it", () =>
    Effect.gen(function*() {
      const { go, handlers, seen } = waiting()
      const server = yield* serve(handlers)
      const other = yield* join({ path: server.path })
      other.say(call(1, "wait"))
      yield* until(() => seen.begun === 1)
      const words = [initialize, initialized, call(1, "wait")].map((message) => `${JSON.stringify(message)}\n`).join("")
      const program = `require("node:net").connect(${JSON.stringify(server.path)}).write(${JSON.stringify(words)})`
      const child = yield* Effect.acquireRelease(
        Effect.sync(() =>
          spawn(process.execPath, ["-e", `${program}; setInterval(() => {}, 1000)`], { stdio: "ignore" })
        ),
        (running) => Effect.sync(() => running.kill("SIGKILL"))
      )
      yield* until(() => seen.begun === 2)
      child.kill("SIGKILL")
      yield* until(() => seen.interrupted === 1)
      while ((yield* server.host.health).sessions > 1) yield* Effect.sleep("5 millis")
      yield* go
      assert.deepStrictEqual((yield* other.answer(1))?.["result"], text("done"))
    }))

  it.live("one that breaks off while much waits for it does not hold its session", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ tell: Effect.succeed(text(large)) }), {
        socket: { flushTimeout: "1 hour" }
      })
      const client = yield* join({ path: server.path })
      client.socket.pause()
      for (let id = 1; id <= 5; id++) client.say(call(id, "tell"))
      yield* until(() => client.socket.readableLength > 0)
      client.socket.destroy()
      yield* isEmpty(server.host)
    }))
})

describe.concurrent("the end of a session", () => {
  it.live("writes what was sent, however much it is", () =>
    Effect.gen(function*() {
      const begun = Deferred.makeUnsafe<void>()
      const server = yield* serve(
        tools({
          tell: Effect.andThen(
            Deferred.done(begun, Exit.void),
            Effect.as(Effect.uninterruptible(Effect.sleep("50 millis")), text(large))
          )
        }),
        { session: { limits: { gracefulCloseTimeout: "1 minute" } }, socket: { flushTimeout: "1 minute" } }
      )
      const client = yield* join({ path: server.path })
      client.socket.pause()
      client.say(call(1, "tell"))
      yield* Deferred.await(begun)
      const stopping = yield* Effect.forkChild(server.stop)
      yield* Effect.sleep("100 millis")
      assert.isUndefined(stopping.pollUnsafe())
      client.socket.resume()
      yield* Fiber.join(stopping)
      yield* client.over
      assert.isTrue(client.ended)
      assert.deepStrictEqual(client.messages.at(-1)?.["result"], text(large))
    }))

  it.live("takes what a client still says meanwhile, so that the client comes to read", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ tell: Effect.succeed(text(large)) }), {
        socket: { flushTimeout: "1 minute" }
      })
      const client = yield* join({ path: server.path })
      client.socket.pause()
      client.say(call(1, "tell"))
      yield* until(() => client.socket.readableLength > 0)
      const stopping = yield* Effect.forkChild(server.stop)
      while ((yield* server.host.sessions).length > 0) yield* Effect.sleep("5 millis")
      // It reads nothing until all that it says is taken.
      client.socket.write(Buffer.alloc(10_000_000, " "), () => client.socket.resume())
      yield* Fiber.join(stopping)
      yield* client.over
      assert.isTrue(client.ended)
      assert.deepStrictEqual((yield* client.answer(1))?.["result"], text(large))
    }))

  it.live("is seen in good order by a client that says something at the same moment", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      for (let attempt = 0; attempt < 20; attempt++) {
        const client = yield* join({ path: server.path })
        const [listing] = yield* server.host.sessions
        const hosted = server.host.find(listing?.id ?? "")
        client.say(ping(1))
        yield* hosted?.close({ _tag: "Requested" }) ?? Effect.die("no session")
        yield* client.over
        assert.isUndefined(client.broken)
        assert.isTrue(client.ended)
      }
    }))

  it.live("waits for a client that does not read no longer than it may take", () =>
    Effect.gen(function*() {
      const server = yield* serve(tools({ tell: Effect.succeed(text(large)) }), {
        socket: { flushTimeout: "100 millis" }
      })
      const client = yield* join({ path: server.path })
      client.socket.pause()
      client.say(call(1, "tell"))
      yield* until(() => client.socket.readableLength > 0)
      const [{ id } = { id: "" }] = yield* server.host.sessions
      yield* server.host.find(id)?.close({ _tag: "Requested" }) ?? Effect.die("there is none")
      client.socket.resume()
      yield* client.over
      assert.isBelow(client.bytes, large.length)
    }))

  it.live("is the end of its connection, and of no other", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting)
      const clients = yield* Effect.forEach(Array.from({ length: 20 }), () => join({ path: server.path }))
      assert.deepStrictEqual(
        (yield* server.host.sessions).map(({ held, kind }) => ({ held, kind })),
        clients.map(() => ({ held: 1, kind: "unix-socket" }))
      )
      clients.forEach((client, index) => client.say(call(index, "greet")))
      for (const [index, client] of clients.entries()) {
        assert.deepStrictEqual(yield* client.answer(index), greeted(index))
        assert.deepStrictEqual(client.messages.map(({ id }) => id), ["hello", index])
      }
      const [first] = yield* server.host.sessions
      yield* server.host.find(first?.id ?? "")?.close({ _tag: "Requested" }) ?? Effect.die("there is none")
      yield* clients[0]?.over ?? Effect.void
      for (const client of clients.slice(1)) {
        client.say(ping(100))
        yield* client.answer(100)
      }
    }))

  it.live("does not come of its silence, as long as it is connected", () =>
    Effect.gen(function*() {
      const clock = yield* Layer.build(TestClock.layer())
      const server = yield* serve(greeting, {
        session: { sessions: { idle: "10 minutes" } },
        surroundings: Layer.succeedContext(clock)
      })
      const client = yield* join({ path: server.path })
      yield* Effect.provide(TestClock.adjust("1 day"), clock)
      client.say(ping(1))
      yield* client.answer(1)
      assert.isFalse(client.ended)
    }))
})

describe.concurrent("who is not let in", () => {
  const overloaded = (id: string | number | undefined, message: string) => ({
    jsonrpc: "2.0",
    ...(id !== undefined && { id }),
    error: { code: -32_010, message }
  })

  const full = "no room for another session: the host has 1, and none of them can be evicted"

  it.live("is told why, under the id of what it said first", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 1 } } })
      const first = yield* join({ path: server.path })
      const second = yield* connect({ path: server.path })
      second.say(initialize)
      yield* second.over
      assert.deepStrictEqual(second.messages, [overloaded(initialize.id, full)])
      assert.isTrue(second.ended)
      // There is room again once the first has gone.
      first.socket.end()
      yield* isEmpty(server.host)
      yield* join({ path: server.path })
    }))

  it.live("is told so, too, if it said nothing that has an id, or nothing", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 1 } } })
      yield* join({ path: server.path })
      for (const words of ["nonsense\n", `${JSON.stringify(initialized)}\n`, "half a word", ""]) {
        const client = yield* connect({ path: server.path })
        client.socket.write(words)
        yield* client.over
        assert.deepStrictEqual(client.messages, [overloaded(undefined, full)])
      }
      const gone = yield* connect({ path: server.path })
      gone.socket.end()
      yield* gone.over
      assert.deepStrictEqual(gone.messages, [overloaded(undefined, full)])
    }))

  it.live("hears while the server ends that it is about to go", () =>
    Effect.gen(function*() {
      const { go, handlers, seen } = waiting()
      const server = yield* serve(handlers, { session: { limits: { gracefulCloseTimeout: "1 minute" } } })
      const client = yield* join({ path: server.path })
      client.say(call(1, "wait"))
      yield* until(() => seen.begun === 1)
      const stopping = yield* Effect.forkChild(server.stop)
      while (!(yield* server.host.health).draining) yield* Effect.sleep("5 millis")
      const late = yield* connect({ path: server.path })
      late.say(initialize)
      yield* late.over
      assert.deepStrictEqual(late.messages, [
        overloaded(initialize.id, "no room for another session: the host is shutting down")
      ])
      yield* go
      assert.deepStrictEqual((yield* client.answer(1))?.["result"], text("done"))
      yield* Fiber.join(stopping)
      yield* client.over
      assert.isTrue(client.ended)
    }))

  it.live("does not keep the server from going", () =>
    Effect.gen(function*() {
      const server = yield* serve(greeting, { session: { sessions: { max: 0 } } })
      const clients = yield* Effect.forEach(Array.from({ length: 10 }), () => connect({ path: server.path }))
      yield* server.stop
      for (const client of clients) yield* client.over
    }))
})

it.live("[law 2] nothing is left of a server and its clients, however they came to their ends", () =>
  Effect.gen(function*() {
    const opened = yield* openings
    const census = FiberCount.make()
    yield* census.count(Effect.scoped(Effect.gen(function*() {
      const { handlers, seen } = waiting()
      const server = yield* serve(handlers, {
        session: { sessions: { max: 8 } },
        socket: { flushTimeout: "50 millis" }
      })
      const clients = yield* Effect.forEach(Array.from({ length: 8 }), () => join({ path: server.path }))
      for (const client of clients) client.say(call(1, "wait"))
      yield* until(() => seen.begun === 8)
      const silent = yield* connect({ path: server.path })
      yield* until(() => opened.accepted() === 9)
      assert.deepStrictEqual([opened.clients(), opened.servers()], [9, 1])
      clients[0]?.socket.destroy()
      clients[1]?.socket.end()
      clients[2]?.socket.pause()
      clients[3]?.socket.write("half a wo")
      // Some come to their ends by the scope of their server.
      yield* server.stop
      yield* silent.over
    })))
    yield* until(() => census.living() === 0)
    yield* until(() => opened.all() === 0)
  }))

it.live("over the sockets of any server, such as one of TCP", () =>
  Effect.gen(function*() {
    const { go, handlers, seen } = waiting()
    const scope = yield* Effect.acquireRelease(Scope.make(), (made) => Scope.close(made, Exit.void))
    const layer = UnixSocketServer.layer({ flushTimeout: "50 millis" }).pipe(
      Layer.provideMerge(NodeSocketServer.layer({ port: 0, host: "127.0.0.1", allowHalfOpen: true })),
      Layer.provideMerge(hostOf(handlers, { session: { limits: { gracefulCloseTimeout: "1 minute" } } }))
    )
    const context = yield* Layer.buildWithScope(layer, scope)
    const { address } = Context.get(context, SocketServer)
    const host = Context.get(context, SessionHost.SessionHost)
    if (address._tag === "UnixPathAddress") return assert.fail("no port")
    const client = yield* join({ port: address.port, host: "127.0.0.1" })
    assert.deepStrictEqual((yield* host.sessions).map(({ kind }) => kind), ["tcp"])
    client.say(call(1, "wait"))
    client.socket.end()
    yield* until(() => seen.begun === 1)
    while ((yield* host.sessions).length > 0) yield* Effect.sleep("5 millis")
    yield* go
    assert.deepStrictEqual((yield* client.answer(1))?.["result"], text("done"))
    yield* client.over
    // Without a drain, those that it has opened end with it, also where they read nothing.
    const second = yield* join({ port: address.port, host: "127.0.0.1" })
    second.socket.pause()
    yield* Scope.close(scope, Exit.void)
    second.socket.resume()
    yield* second.over
  }))

it("neither half loads HTTP or WebSockets, which take their time", () => {
  for (const half of ["UnixSocketServer", "UnixSocketClient"]) {
    const module = new URL(`../../src/${half}.ts`, import.meta.url).href
    const loaded: ReadonlyArray<string> = JSON.parse(
      execFileSync(process.execPath, [fixture("loaded.mjs"), module], { encoding: "utf8" })
    )
    assert.include(loaded, module)
    assert.deepStrictEqual(
      loaded.filter((url) => /\/effect\/(src|dist)\/http\/Http|undici|NodeHttp|\/ws\/|^node:https?$/.test(url)),
      []
    )
  }
  assert.isFunction(UnixSocketClient.make)
})
