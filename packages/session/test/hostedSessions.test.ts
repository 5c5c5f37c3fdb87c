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
import { arrive, endOf, host, settle } from "./support/hosts.ts"
import { call, info, introduce, recorder, settled, start, text, tools, traced } from "./support/sessions.ts"

const ada = { id: "ada" }
const grace = { id: "grace" }

const scopeOf = (error: SessionHost.HostFull | TransportError.TransportError) =>
  error._tag === "HostFull" ? [error.scope, error.limit] : []

describe("a host", () => {
  it.effect("serves each session by itself, with the services that it was made with", () =>
    Effect.gen(function*() {
      class Answer extends Context.Service<Answer, string>()("test/Answer") {}
      const made = SessionHost.make({
        "tools/call": () => Effect.map(Answer, (answer) => text(answer))
      }, { info, capabilities: { logging: {} } }).pipe(Effect.provideService(Answer, "42"))
      const shape = yield* made
      const one = yield* settle(shape)
      const two = yield* settle(shape)
      yield* one.raw.send(call(1, "x"))
      yield* two.raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* one.raw.response, JsonRpc.success(1, text("42")))
      assert.deepStrictEqual<unknown>(yield* two.raw.response, JsonRpc.success(1, text("42")))
      // What one client sets is nothing to the other.
      yield* one.raw.send(JsonRpc.request(2, "logging/setLevel", { level: "error" }))
      yield* one.raw.response
      yield* one.hosted.session.log({ level: "info", data: "mild" })
      yield* two.hosted.session.log({ level: "info", data: "mild" })
      yield* settled
      assert.deepStrictEqual(yield* one.raw.pending, [])
      assert.strictEqual((yield* two.raw.pending).length, 1)
    }))

  it.effect("[SHS-21] [SHS-22] names sessions by ids that nobody can guess, in visible ASCII", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      const ids = new Set<string>()
      for (let count = 0; count < 50; count++) {
        const { hosted } = yield* arrive(shape)
        assert.match(hosted.id, /^[\x21-\x7e]{32,}$/)
        // 122 bits of it are random, all but those that say which kind of id it is.
        assert.match(hosted.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
        ids.add(hosted.id)
      }
      assert.strictEqual(ids.size, 50)
      const { hosted } = yield* arrive(shape, { id: "chosen" })
      assert.strictEqual(hosted.id, "chosen")
      assert.strictEqual(shape.find("chosen"), hosted)
      assert.isTrue(Exit.hasDies(yield* Effect.exit(arrive(shape, { id: "chosen" }))))
    }))

  it.effect("[SHS-26] finds a session until it begins to end, and no longer", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ wait: Effect.never }), { limits: { gracefulCloseTimeout: "5 seconds" } })
      const { hosted, raw } = yield* settle(shape)
      assert.strictEqual(shape.find(hosted.id), hosted)
      yield* raw.send(call(1, "wait"))
      yield* settled
      const closing = yield* start(hosted.close(CloseReason.requested))
      assert.isUndefined(shape.find(hosted.id))
      assert.deepStrictEqual(yield* shape.sessions, [])
      // It has its place until nothing of it is left.
      assert.strictEqual((yield* shape.health).sessions, 1)
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.join(closing)
      assert.strictEqual((yield* shape.health).sessions, 0)
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.requested)
    }))

  it.effect("forgets at once what ends by itself", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { limits: { writeTimeout: "1 second" } })
      const ended = yield* settle(shape, { principal: ada })
      const broken = yield* settle(shape)
      const stalled = yield* settle(shape)
      ended.link.endReading()
      broken.link.breakReading(TransportError.make({ _tag: "ReadFailed", cause: "reset" }))
      yield* settled
      assert.isUndefined(shape.find(ended.hosted.id))
      assert.isUndefined(shape.find(broken.hosted.id))
      stalled.link.stall()
      yield* stalled.raw.send(JsonRpc.request(1, "ping", undefined))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* stalled.hosted.session.closed, { _tag: "PeerStalled", afterMillis: 1000 })
      assert.deepStrictEqual(yield* shape.health, {
        accepting: true,
        draining: false,
        sessions: 0,
        handshaking: 0,
        limit: 10_000,
        retryAfterMillis: undefined
      })
      for (const { link } of [ended, broken, stalled]) assert.isFalse(link.isOpen())
    }))

  it.effect("closes a session for the reason it is given, and says it to whoever watches", () =>
    Effect.gen(function*() {
      const record = recorder()
      const ids: Array<string> = []
      const shape = yield* host({}, {
        observe: (event, id) => {
          record.observe(event)
          ids.push(id)
        }
      })
      const { hosted } = yield* settle(shape)
      const reason: CloseReason.CloseReason = { _tag: "Expired", afterMillis: 7, of: "age" }
      yield* hosted.close(reason)
      yield* hosted.close(CloseReason.requested)
      assert.deepStrictEqual(record.of("Closed").map((event) => event.reason), [reason])
      assert.deepStrictEqual(new Set(ids), new Set([hosted.id]))
    }))

  it.effect("lets in as many as it may have, and one more when one has gone", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 2 } })
      const { hosted } = yield* arrive(shape)
      yield* arrive(shape)
      assert.isFalse((yield* shape.health).accepting)
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(arrive(shape))), ["host", 2])
      yield* hosted.close(CloseReason.requested)
      yield* arrive(shape)
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(arrive(shape))), ["host", 2])
    }))

  it.effect("lets in as many of one principal as one may have", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { maxPerPrincipal: 1 } })
      const { hosted } = yield* arrive(shape, { principal: ada })
      const refused = yield* Effect.flip(arrive(shape, { principal: ada }))
      assert.deepStrictEqual(scopeOf(refused), ["principal", 1])
      assert.include(refused.message, "this principal: it has 1")
      yield* arrive(shape, { principal: grace })
      yield* arrive(shape)
      yield* arrive(shape)
      assert.strictEqual(hosted.principal, ada)
      yield* hosted.close(CloseReason.requested)
      yield* arrive(shape, { principal: ada })
    }))

  it.effect("a connection that is being made has a place, and gives it back if it comes to nothing", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1, maxPerPrincipal: 1 } })
      const gate = yield* Deferred.make<void, TransportError.TransportError>()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Deferred.await(gate), Effect.die("it never comes to this"))
      }
      const opening = yield* start(shape.open(slow, { kind: "slow", principal: ada }))
      assert.deepStrictEqual(scopeOf(yield* Effect.flip(arrive(shape))), ["host", 1])
      assert.deepStrictEqual(yield* shape.sessions, [])
      const failure = TransportError.make({ _tag: "ConnectFailed", target: "nowhere", cause: "no" })
      yield* Deferred.fail(gate, failure)
      assert.strictEqual(yield* Effect.flip(Fiber.join(opening)), failure)
      yield* arrive(shape, { principal: ada })
    }))

  it.effect("whoever gives up while a connection is made leaves nothing behind", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      let open = 0
      const count = (change: number) =>
        Effect.sync(() => {
          open += change
        })
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.acquireRelease(count(1), () => count(-1)), Effect.never)
      }
      const opening = yield* start(shape.open(slow, { kind: "slow" }))
      assert.strictEqual(open, 1)
      yield* Fiber.interrupt(opening)
      assert.strictEqual(open, 0)
      assert.strictEqual((yield* shape.health).sessions, 0)
    }))

  it.effect("nor does who gives up before that, in whatever step", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({}), { sessions: { maxPerPrincipal: 1 } })
      for (let steps = 3; steps < 20; steps++) {
        for (let after = 0; after < 40; after++) {
          const pair = yield* MemoryTransport.make()
          const opening = yield* Effect.forkChild(
            shape.open(pair.server, { kind: "memory", principal: ada }).pipe(
              Effect.provideService(Scheduler.MaxOpsBeforeYield, steps)
            )
          )
          for (let turn = 0; turn < after; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(opening)
          const exit = yield* Fiber.await(opening)
          if (Exit.isSuccess(exit)) yield* exit.value.close(CloseReason.requested)
          for (const { id } of yield* shape.sessions) yield* shape.find(id)?.close(CloseReason.requested) ?? Effect.void
          assert.strictEqual((yield* shape.health).sessions, 0, `${steps} steps, ${after} turns`)
        }
      }
      yield* arrive(shape, { principal: ada })
    }))

  it.effect("lists who is there", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ wait: Effect.never }))
      yield* TestClock.adjust(1000)
      const { hosted, raw } = yield* arrive(shape, { principal: ada })
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
      assert.deepStrictEqual(yield* shape.sessions, [row])
      yield* introduce(raw, "2025-06-18")
      yield* raw.send(call(1, "wait"))
      yield* settled
      yield* TestClock.adjust(1000)
      hosted.touch()
      const release = hosted.hold()
      assert.deepStrictEqual(yield* shape.sessions, [
        { ...row, client: info, revision: "2025-06-18", operating: true, usedAt: 2000, inFlight: 1, held: 1 }
      ])
      release()
      release()
      assert.deepStrictEqual((yield* shape.sessions).map(({ held }) => held), [0])
    }))

  it.effect("law 2: when its scope has closed nothing of it or its sessions is left", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { effect, seen } = traced(Effect.never)
      const links = yield* census.count(Effect.scoped(Effect.gen(function*() {
        const shape = yield* host(tools({ wait: effect }))
        const sessions = yield* Effect.forEach([1, 2, 3], () => settle(shape))
        yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "wait")))
        yield* settled
        return sessions.map(({ link }) => link)
      })))
      assert.deepStrictEqual(links.map((link) => link.isOpen()), [false, false, false])
      assert.deepStrictEqual(seen.filter((word) => word === "interrupted").length, 3)
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("does not keep what surrounds whoever opens a session", () =>
    Effect.gen(function*() {
      class Asking extends Context.Service<Asking, string>()("test/Asking") {}
      const seen: Array<boolean> = []
      const look = Effect.map(Effect.context<never>(), (context) => {
        seen.push("value" in Context.getOption(context, Asking))
      })
      const handlers: Handlers.Handlers<"client"> = {
        "tools/call": () => Effect.andThen(look, Effect.fail(McpError.invalidParams("none")))
      }
      const shape = yield* host(handlers)
      const pair = yield* MemoryTransport.make()
      const transport: Transport.Transport["Service"] = { connect: Effect.tap(pair.server.connect, () => look) }
      yield* Effect.provideService(shape.open(transport, { kind: "memory" }), Asking, "a request")
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* introduce(raw)
      yield* raw.send(call(1, "x"))
      yield* raw.response
      assert.deepStrictEqual(seen, [false, false])
    }))

  it.effect("one constant of its Layer is one host", () =>
    Effect.gen(function*() {
      const layer = SessionHost.layer(tools({}), { info })
      const id = Effect.gen(function*() {
        const shape = yield* SessionHost.SessionHost
        return (yield* arrive(shape, { id: "x" })).hosted.id
      })
      const found = Effect.map(SessionHost.SessionHost, (shape) => shape.find("x")?.id)
      const seen = yield* Effect.provide(Effect.zip(id, Effect.provide(found, layer)), layer)
      assert.deepStrictEqual(seen, ["x", "x"])
      assert.isUndefined(yield* Effect.provide(found, Layer.fresh(layer)))
    }))

  it.effect("a session that ended is still there for whoever has it", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      const { hosted } = yield* settle(shape)
      yield* hosted.close(CloseReason.requested)
      hosted.touch()
      hosted.hold()()
      assert.deepStrictEqual(yield* endOf(hosted), CloseReason.requested)
    }))
})
