import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, Transport } from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { endOf, makeHost, openOperating, openSession, store, withStore } from "./support/hosts.ts"
import { call, initialize, initialized, performHandshake, settled, start, text, tools } from "./support/sessions.ts"

const minute = 60_000

const idle: CloseReason.CloseReason = { _tag: "Expired", afterMillis: 30 * minute, of: "idle" }

describe("the sessions of a host", () => {
  it.effect("expire after 30 minutes without use", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const { hosted, link } = yield* openOperating(host)
      yield* TestClock.adjust(10 * minute)
      hosted.touch()
      yield* TestClock.adjust(30 * minute - 1)
      assert.strictEqual(host.find(hosted.id), hosted)
      yield* TestClock.adjust(1)
      assert.isUndefined(host.find(hosted.id))
      assert.deepStrictEqual(yield* hosted.session.closed, idle)
      assert.isFalse(link.isOpen())
    }))

  it.effect("do not expire while they are held, and get the full idle time after the last release", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const { hosted } = yield* openOperating(host)
      const one = hosted.hold()
      const two = hosted.hold()
      yield* TestClock.adjust(95 * minute)
      one()
      one()
      yield* TestClock.adjust(95 * minute)
      assert.isUndefined(yield* endOf(hosted))
      two()
      yield* TestClock.adjust(30 * minute - 1)
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* hosted.session.closed, idle)
    }))

  it.effect("do not expire while a request of the client or the server is in flight", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ slow: Effect.as(Effect.sleep("45 minutes"), text("done")) }))
      const serving = yield* openOperating(host)
      const requesting = yield* openOperating(host)
      yield* serving.raw.send(call(1, "slow"))
      yield* settled
      const ping = yield* start(requesting.hosted.session.ping({ timeout: "45 minutes" }))
      yield* TestClock.adjust(45 * minute)
      assert.deepStrictEqual<unknown>(yield* serving.raw.response, JsonRpc.success(1, text("done")))
      assert.isDefined(ping.pollUnsafe())
      // They were in use until now, or until the next check of the host.
      yield* TestClock.adjust(30 * minute - 1)
      assert.isUndefined(yield* endOf(serving.hosted))
      assert.isUndefined(yield* endOf(requesting.hosted))
      yield* TestClock.adjust(1001)
      assert.deepStrictEqual(yield* serving.hosted.session.closed, idle)
      assert.deepStrictEqual(yield* requesting.hosted.session.closed, idle)
    }))

  it.effect("expire at their maximum age even if they are held", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { maxAge: "1 hour" } })
      const { hosted } = yield* openOperating(host)
      hosted.hold()
      yield* TestClock.adjust(60 * minute - 1)
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "Expired", afterMillis: 60 * minute, of: "age" })
    }))

  it.effect("close 30 seconds after opening without an initialize, even if they are used otherwise", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const silent = yield* openSession(host)
      const busy = yield* openSession(host)
      const quick = yield* openOperating(host)
      yield* TestClock.adjust(29_999)
      busy.hosted.touch()
      busy.hosted.hold()
      yield* busy.raw.send(JsonRpc.request(1, "ping", undefined))
      yield* busy.raw.response
      assert.isUndefined(yield* endOf(busy.hosted))
      yield* TestClock.adjust(1)
      const late: CloseReason.CloseReason = { _tag: "HandshakeTimeout", afterMillis: 30_000 }
      assert.deepStrictEqual(yield* silent.hosted.session.closed, late)
      assert.deepStrictEqual(yield* busy.hosted.session.closed, late)
      assert.isUndefined(yield* endOf(quick.hosted))
    }))

  it.effect("close 60 seconds after initialize with an unfinished handshake, even if they are used otherwise", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { limits: { initializeTimeout: "Infinity" } })
      const { hosted, raw } = yield* openSession(host)
      const ready = yield* openSession(host)
      const requesting = yield* openSession(host)
      yield* TestClock.adjust("10 minutes")
      for (const { raw } of [ready, requesting]) {
        yield* raw.send(initialize())
        yield* raw.response
      }
      yield* ready.raw.send(initialized)
      yield* requesting.raw.send(JsonRpc.request(1, "tools/list", undefined))
      yield* raw.send(initialize())
      yield* raw.response
      yield* TestClock.adjust("59 seconds")
      hosted.hold()
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* raw.response
      yield* TestClock.adjust("999 millis")
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "HandshakeTimeout", afterMillis: minute })
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* host.sessions).map(({ id, operating }) => [id, operating]), [
        [ready.hosted.id, true],
        [requesting.hosted.id, true]
      ])
    }))

  it.effect("get the full time for an unfinished handshake again when they are restored", () =>
    Effect.gen(function*() {
      const { service } = store()
      const scope = yield* Scope.make()
      const first = yield* makeHost().pipe(withStore(service), Scope.provide(scope))
      const { hosted } = yield* openOperating(first, { id: "kept" })
      yield* first.remember(hosted, [initialize()])
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("5 minutes")
      const second = yield* makeHost().pipe(withStore(service))
      const pair = yield* MemoryTransport.make()
      const restored = yield* second.restore("kept", pair.server, { kind: "memory" })
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual<unknown>(restored, { _tag: "Restored", hosted: second.find("kept") })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(second.find("kept"))
    }))

  it.effect("keep their idle time when the wall clock jumps", () =>
    Effect.gen(function*() {
      let offset = 0
      const clock = yield* Clock.Clock
      const wallClock: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + offset,
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + offset),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(offset) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      }
      const host = yield* Effect.provideService(makeHost(), Clock.Clock, wallClock)
      const { hosted } = yield* openOperating(host)
      const day = 24 * 60 * minute
      for (const change of [day, -2 * day]) {
        yield* TestClock.adjust(20 * minute)
        assert.isUndefined(yield* endOf(hosted))
        hosted.touch()
        offset += change
      }
      yield* TestClock.adjust(29 * minute)
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust(31 * minute)
      assert.deepStrictEqual(yield* hosted.session.closed, idle)
    }))

  it.effect("are checked together, at most once a second, by one fiber that exists only while there are sessions", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      let checks = 0
      const clock = yield* Clock.Clock
      const counting: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe(),
        currentTimeMillis: clock.currentTimeMillis,
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) =>
          Effect.suspend(() => {
            checks++
            return clock.sleep(duration)
          })
      }
      // A test clock that was never adjusted starts a fiber for its warning, which would be counted.
      yield* TestClock.adjust(1)
      const scope = yield* Scope.make()
      const host = yield* makeHost({}, { sessions: { idleTimeout: "10 minutes" } }).pipe(
        Effect.provideService(Clock.Clock, counting),
        Scope.provide(scope),
        census.count
      )
      assert.strictEqual(census.living(), 0)
      const open = Effect.gen(function*() {
        const pair = yield* MemoryTransport.make()
        const hosted = yield* host.open(pair.server, { kind: "memory" })
        const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
        yield* performHandshake(raw)
        return hosted
      })
      const hosted = yield* open
      // The read loop of the session, and the fiber of the checks.
      assert.strictEqual(census.living(), 2)
      for (let count = 0; count < 99; count++) {
        yield* TestClock.adjust(10)
        yield* open
      }
      assert.strictEqual(census.living(), 101)
      yield* TestClock.adjust("601 seconds")
      assert.deepStrictEqual((yield* hosted.session.closed)._tag, "Expired")
      assert.deepStrictEqual(yield* host.sessions, [])
      assert.strictEqual(census.living(), 0)
      // The initialize timeout of the first session, its idle timeout, and one second later that of the others.
      assert.strictEqual(checks, 3)
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("are counted in metrics: the open, the expired and the rejected ones", () =>
    Effect.gen(function*() {
      const valueOf = (id: string) =>
        Effect.map(
          Metric.snapshot,
          (all) =>
            all.flatMap((one) =>
              one.id === id && (one.type === "Gauge" || one.type === "Counter")
                ? [{
                  ...Object.fromEntries(Object.entries(one.attributes ?? {}).filter(([name]) => name !== "unit")),
                  value: Number(one.type === "Gauge" ? one.state.value : one.state.count)
                }]
                : []
            )
        )
      const host = yield* makeHost({}, { sessions: { max: 2, idleTimeout: "1 minute" } })
      yield* openOperating(host)
      yield* openSession(host)
      yield* Effect.flip(openSession(host))
      const kind = { "mcp.session.kind": "memory" }
      assert.deepStrictEqual(yield* valueOf("mcp.server.sessions"), [{ ...kind, value: 2 }])
      assert.deepStrictEqual<unknown>(yield* valueOf("mcp.server.sessions.rejected"), [
        { ...kind, "error.type": "host", value: 1 }
      ])
      yield* TestClock.adjust("1 minute")
      yield* settled
      assert.deepStrictEqual(yield* valueOf("mcp.server.sessions"), [{ ...kind, value: 0 }])
      assert.deepStrictEqual<unknown>(yield* valueOf("mcp.server.sessions.expired"), [
        { ...kind, "mcp.session.expiry": "initialize", value: 1 },
        { ...kind, "mcp.session.expiry": "idle", value: 1 }
      ])
    }).pipe((effect) => Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))))
})
