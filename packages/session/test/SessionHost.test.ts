import { CloseReason, JsonRpc, McpError } from "@effect-mcp/protocol"
import { type Handlers, MemoryTransport, SessionHost, Transport, TransportError } from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/testing/TestClock"
import { endOf, makeHost, openOperating, openSession } from "./support/hosts.ts"
import { call, info, performHandshake, recorder, settled, start, text, tools, traced } from "./support/sessions.ts"

const ada = { id: "ada" }
const grace = { id: "grace" }

const scopeOf = (error: SessionHost.HostFullError | SessionHost.OwnerUnknownError | TransportError.TransportError) =>
  error._tag === "HostFullError" ? [error.scope, error.limit] : []

describe("a host", () => {
  it.effect("serves its sessions independently, with the services of the program that made it", () =>
    Effect.gen(function*() {
      class Answer extends Context.Service<Answer, string>()("test/Answer") {}
      const made = SessionHost.make({
        "tools/call": () => Effect.map(Answer, (answer) => text(answer))
      }, { info, capabilities: { logging: {} } }).pipe(Effect.provideService(Answer, "42"))
      const host = yield* made
      const one = yield* openOperating(host)
      const two = yield* openOperating(host)
      yield* one.raw.send(call(1, "x"))
      yield* two.raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* one.raw.response, JsonRpc.success(1, text("42")))
      assert.deepStrictEqual<unknown>(yield* two.raw.response, JsonRpc.success(1, text("42")))
      // The log level of one client does not affect the other.
      yield* one.raw.send(JsonRpc.request(2, "logging/setLevel", { level: "error" }))
      yield* one.raw.response
      yield* one.hosted.session.log({ level: "info", data: "mild" })
      yield* two.hosted.session.log({ level: "info", data: "mild" })
      yield* settled
      assert.deepStrictEqual(yield* one.raw.pending, [])
      assert.strictEqual((yield* two.raw.pending).length, 1)
    }))

  it.effect("[SHS-21] [SHS-22] assigns random ids in visible ASCII to sessions", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const ids = new Set<string>()
      for (let count = 0; count < 50; count++) {
        const { hosted } = yield* openSession(host)
        assert.match(hosted.id, /^[\x21-\x7e]{32,}$/)
        // A UUID of version 4, of which 122 bits are random.
        assert.match(hosted.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        ids.add(hosted.id)
      }
      assert.strictEqual(ids.size, 50)
      const { hosted } = yield* openSession(host, { id: "chosen" })
      assert.strictEqual(hosted.id, "chosen")
      assert.strictEqual(host.find("chosen"), hosted)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(openSession(host, { id: "chosen" }))))
    }))

  it.effect("[SHS-26] finds a session until it begins to close", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }), { limits: { gracefulTimeout: "5 seconds" } })
      const { hosted, raw } = yield* openOperating(host)
      assert.strictEqual(host.find(hosted.id), hosted)
      yield* raw.send(call(1, "wait"))
      yield* settled
      const closing = yield* start(hosted.close(CloseReason.requested))
      assert.isUndefined(host.find(hosted.id))
      assert.deepStrictEqual(yield* host.sessions, [])
      // It keeps its slot until it has closed completely.
      assert.strictEqual((yield* host.health).sessions, 1)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(closing)
      assert.strictEqual((yield* host.health).sessions, 0)
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.requested)
    }))

  it.effect("removes a session as soon as its transport ends, fails or stalls", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { limits: { writeTimeout: "1 second" } })
      const ended = yield* openOperating(host, { principal: ada })
      const broken = yield* openOperating(host)
      const stalled = yield* openOperating(host)
      ended.link.endReading()
      broken.link.breakReading(TransportError.make({ _tag: "ReadFailed", cause: "reset" }))
      yield* settled
      assert.isUndefined(host.find(ended.hosted.id))
      assert.isUndefined(host.find(broken.hosted.id))
      stalled.link.stall()
      yield* stalled.raw.send(JsonRpc.request(1, "ping", undefined))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* stalled.hosted.session.closed, { _tag: "PeerStalled", afterMillis: 1000 })
      assert.deepStrictEqual(yield* host.health, {
        accepting: true,
        ready: true,
        draining: false,
        sessions: 0,
        handshaking: 0,
        limit: 10_000,
        retryAfterMillis: undefined
      })
      for (const { link } of [ended, broken, stalled]) assert.isFalse(link.isOpen())
    }))

  it.effect("closes a session with the given reason, and its observer receives it", () =>
    Effect.gen(function*() {
      const record = recorder()
      const ids: Array<string> = []
      const host = yield* makeHost({}, {
        observe: (event, id) => {
          record.observe(event)
          ids.push(id)
        }
      })
      const { hosted } = yield* openOperating(host)
      const reason: CloseReason.CloseReason = { _tag: "Expired", afterMillis: 7, of: "age" }
      yield* hosted.close(reason)
      yield* hosted.close(CloseReason.requested)
      assert.deepStrictEqual(record.of("Closed").map((event) => event.reason), [reason])
      assert.deepStrictEqual(new Set(ids), new Set([hosted.id]))
    }))

  it.effect("opens as many sessions as its limit, and another one after one has closed", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 2 } })
      const { hosted } = yield* openSession(host)
      yield* openSession(host)
      assert.isFalse((yield* host.health).accepting)
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(openSession(host))), ["host", 2])
      yield* hosted.close(CloseReason.requested)
      yield* openSession(host)
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(openSession(host))), ["host", 2])
    }))

  it.effect("opens as many sessions of one principal as the limit of a principal", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { maxPerPrincipal: 1 } })
      const { hosted } = yield* openSession(host, { principal: ada })
      const rejected = yield* Effect.flip(openSession(host, { principal: ada }))
      assert.deepStrictEqual(scopeOf(rejected), ["principal", 1])
      assert.include(rejected.message, "this principal: it has 1")
      yield* openSession(host, { principal: grace })
      yield* openSession(host)
      yield* openSession(host)
      assert.strictEqual(hosted.principal, ada)
      yield* hosted.close(CloseReason.requested)
      yield* openSession(host, { principal: ada })
    }))

  it.effect("assigns a slot to a session before it connects, and frees the slot if connecting fails", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1, maxPerPrincipal: 1 } })
      const gate = yield* Deferred.make<void, TransportError.TransportError>()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Deferred.await(gate), Effect.die("connected"))
      }
      const opening = yield* start(host.open(slow, { kind: "slow", principal: ada }))
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(openSession(host))), ["host", 1])
      assert.deepStrictEqual(yield* host.sessions, [])
      const failure = TransportError.make({ _tag: "ConnectFailed", target: "nowhere", cause: "no" })
      yield* Deferred.fail(gate, failure)
      assert.strictEqual(yield* Effect.flip(Fiber.join(opening)), failure)
      yield* openSession(host, { principal: ada })
    }))

  it.effect("closes the connection and frees the slot if the caller is interrupted while connecting", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      let open = 0
      const count = (change: number) =>
        Effect.sync(() => {
          open += change
        })
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.acquireRelease(count(1), () => count(-1)), Effect.never)
      }
      const opening = yield* start(host.open(slow, { kind: "slow" }))
      assert.strictEqual(open, 1)
      yield* Fiber.interrupt(opening)
      assert.strictEqual(open, 0)
      assert.strictEqual((yield* host.health).sessions, 0)
    }))

  it.effect("frees the slot if the caller is interrupted at any step", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({}), { sessions: { maxPerPrincipal: 1 } })
      for (let steps = 3; steps < 20; steps++) {
        for (let after = 0; after < 40; after++) {
          const pair = yield* MemoryTransport.make()
          const opening = yield* Effect.forkChild(
            host.open(pair.server, { kind: "memory", principal: ada }).pipe(
              Effect.provideService(Scheduler.MaxOpsBeforeYield, steps)
            )
          )
          for (let turn = 0; turn < after; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(opening)
          const exit = yield* Fiber.await(opening)
          if (Exit.isSuccess(exit)) yield* exit.value.close(CloseReason.requested)
          for (const { id } of yield* host.sessions) yield* host.find(id)?.close(CloseReason.requested) ?? Effect.void
          assert.strictEqual((yield* host.health).sessions, 0, `${steps} steps, ${after} turns`)
        }
      }
      yield* openSession(host, { principal: ada })
    }))

  it.effect("lists its sessions", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }))
      yield* TestClock.adjust(1000)
      const { hosted, raw } = yield* openSession(host, { principal: ada })
      const row: SessionHost.SessionInfo = {
        id: hosted.id,
        kind: "memory",
        principal: "ada",
        client: undefined,
        revision: undefined,
        operating: false,
        openedAt: 1000,
        usedAt: 1000,
        inFlight: 0,
        held: 0
      }
      assert.deepStrictEqual(yield* host.sessions, [row])
      yield* performHandshake(raw, "2025-06-18")
      yield* raw.send(call(1, "wait"))
      yield* settled
      yield* TestClock.adjust(1000)
      hosted.touch()
      const release = hosted.hold()
      assert.deepStrictEqual(yield* host.sessions, [
        { ...row, client: info, revision: "2025-06-18", operating: true, usedAt: 2000, inFlight: 1, held: 1 }
      ])
      release()
      release()
      assert.deepStrictEqual((yield* host.sessions).map(({ held }) => held), [0])
    }))

  it.effect("law 2: has no fiber and no connection after its scope has closed", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { effect, seen } = traced(Effect.never)
      const links = yield* census.count(Effect.scoped(Effect.gen(function*() {
        const host = yield* makeHost(tools({ wait: effect }))
        const sessions = yield* Effect.forEach([1, 2, 3], () => openOperating(host))
        yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "wait")))
        yield* settled
        return sessions.map(({ link }) => link)
      })))
      assert.deepStrictEqual(links.map((link) => link.isOpen()), [false, false, false])
      assert.deepStrictEqual(seen.filter((event) => event === "interrupted").length, 3)
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("does not use the services of the caller that opens a session", () =>
    Effect.gen(function*() {
      class Caller extends Context.Service<Caller, string>()("test/Caller") {}
      const seen: Array<boolean> = []
      const look = Effect.map(Effect.context<never>(), (context) => {
        seen.push("value" in Context.getOption(context, Caller))
      })
      const handlers: Handlers.Handlers<"client"> = {
        "tools/call": () => Effect.andThen(look, Effect.fail(McpError.invalidParams("none")))
      }
      const host = yield* makeHost(handlers)
      const pair = yield* MemoryTransport.make()
      const transport: Transport.Transport["Service"] = { connect: Effect.tap(pair.server.connect, () => look) }
      yield* Effect.provideService(host.open(transport, { kind: "memory" }), Caller, "a request")
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* performHandshake(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.response
      assert.deepStrictEqual(seen, [false, false])
    }))

  it.effect("is one host for each constant of its Layer", () =>
    Effect.gen(function*() {
      const layer = SessionHost.layer(tools({}), { info })
      const id = Effect.gen(function*() {
        const host = yield* SessionHost.SessionHost
        return (yield* openSession(host, { id: "x" })).hosted.id
      })
      const found = Effect.map(SessionHost.SessionHost, (host) => host.find("x")?.id)
      const seen = yield* Effect.provide(Effect.zip(id, Effect.provide(found, layer)), layer)
      assert.deepStrictEqual(seen, ["x", "x"])
      assert.isUndefined(yield* Effect.provide(found, Layer.fresh(layer)))
    }))

  it.effect("accepts calls of the members of a closed session, which have no effect", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const { hosted } = yield* openOperating(host)
      yield* hosted.close(CloseReason.requested)
      hosted.touch()
      hosted.hold()()
      assert.deepStrictEqual(yield* endOf(hosted), CloseReason.requested)
    }))
})
