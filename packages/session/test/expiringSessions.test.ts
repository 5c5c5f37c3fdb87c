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
import { arrive, endOf, host, settle, store, withStore } from "./support/hosts.ts"
import { call, initialize, initialized, introduce, settled, start, text, tools } from "./support/sessions.ts"

const minute = 60_000

const idle: CloseReason.CloseReason = { _tag: "Expired", afterMillis: 30 * minute, of: "idle" }

describe("sessions of a host", () => {
  it.effect("expire when nobody has used them for half an hour", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      const { hosted, link } = yield* settle(shape)
      yield* TestClock.adjust(10 * minute)
      hosted.touch()
      yield* TestClock.adjust(30 * minute - 1)
      assert.strictEqual(shape.find(hosted.id), hosted)
      yield* TestClock.adjust(1)
      assert.isUndefined(shape.find(hosted.id))
      assert.deepStrictEqual(yield* hosted.session.closed, idle)
      assert.isFalse(link.isOpen())
    }))

  it.effect("do not expire while somebody holds them, and have all their time when they are let go", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      const { hosted } = yield* settle(shape)
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

  it.effect("do not expire while a request is in flight, of either side", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ slow: Effect.as(Effect.sleep("45 minutes"), text("done")) }))
      const serving = yield* settle(shape)
      const asking = yield* settle(shape)
      yield* serving.raw.send(call(1, "slow"))
      yield* settled
      const ping = yield* start(asking.hosted.session.ping({ timeout: "45 minutes" }))
      yield* TestClock.adjust(45 * minute)
      assert.deepStrictEqual<unknown>(yield* serving.raw.response, JsonRpc.success(1, text("done")))
      assert.isDefined(ping.pollUnsafe())
      // They were in use until now, or until the host has seen that they are no more.
      yield* TestClock.adjust(30 * minute - 1)
      assert.isUndefined(yield* endOf(serving.hosted))
      assert.isUndefined(yield* endOf(asking.hosted))
      yield* TestClock.adjust(1001)
      assert.deepStrictEqual(yield* serving.hosted.session.closed, idle)
      assert.deepStrictEqual(yield* asking.hosted.session.closed, idle)
    }))

  it.effect("expire of age, whatever is done with them", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { maxAge: "1 hour" } })
      const { hosted } = yield* settle(shape)
      hosted.hold()
      yield* TestClock.adjust(60 * minute - 1)
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "Expired", afterMillis: 60 * minute, of: "age" })
    }))

  it.effect("end if they are not opened within half a minute, whatever else is said", () =>
    Effect.gen(function*() {
      const shape = yield* host()
      const silent = yield* arrive(shape)
      const busy = yield* arrive(shape)
      const quick = yield* settle(shape)
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

  it.effect("end if the handshake is not finished a minute after initialize, whatever else is done", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { limits: { initializeTimeout: "Infinity" } })
      const { hosted, raw } = yield* arrive(shape)
      const ready = yield* arrive(shape)
      const asking = yield* arrive(shape)
      yield* TestClock.adjust("10 minutes")
      for (const { raw } of [ready, asking]) {
        yield* raw.send(initialize())
        yield* raw.response
      }
      yield* ready.raw.send(initialized)
      yield* asking.raw.send(JsonRpc.request(1, "tools/list", undefined))
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
      assert.deepStrictEqual((yield* shape.sessions).map(({ id, operating }) => [id, operating]), [
        [ready.hosted.id, true],
        [asking.hosted.id, true]
      ])
    }))

  it.effect("that are restored before their handshake is finished get the full time for it again", () =>
    Effect.gen(function*() {
      const { service } = store()
      const scope = yield* Scope.make()
      const first = yield* host().pipe(withStore(service), Scope.provide(scope))
      const { hosted } = yield* settle(first, { id: "kept" })
      yield* first.remember(hosted, [initialize()])
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("5 minutes")
      const second = yield* host().pipe(withStore(service))
      const pair = yield* MemoryTransport.make()
      const restored = yield* second.restore("kept", pair.server, { kind: "memory" })
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual<unknown>(restored, { _tag: "Restored", hosted: second.find("kept") })
      yield* TestClock.adjust("1 second")
      assert.isUndefined(second.find("kept"))
    }))

  it.effect("have their time, however the clock on the wall is set", () =>
    Effect.gen(function*() {
      let set = 0
      const clock = yield* Clock.Clock
      const onTheWall: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + set,
        currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + set),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe() + BigInt(set) * 1_000_000n,
        currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe() + BigInt(set) * 1_000_000n),
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      }
      const shape = yield* Effect.provideService(host(), Clock.Clock, onTheWall)
      const { hosted } = yield* settle(shape)
      const day = 24 * 60 * minute
      for (const change of [day, -2 * day]) {
        yield* TestClock.adjust(20 * minute)
        assert.isUndefined(yield* endOf(hosted))
        hosted.touch()
        set += change
      }
      yield* TestClock.adjust(29 * minute)
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust(31 * minute)
      assert.deepStrictEqual(yield* hosted.session.closed, idle)
    }))

  it.effect("are looked at together, at most once a second, by one fiber, which is there only while they are", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      let looks = 0
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
            looks++
            return clock.sleep(duration)
          })
      }
      // A clock that has been moved once warns nobody, for which it would take fibers of its own.
      yield* TestClock.adjust(1)
      const scope = yield* Scope.make()
      const shape = yield* host({}, { sessions: { idle: "10 minutes" } }).pipe(
        Effect.provideService(Clock.Clock, counting),
        Scope.provide(scope),
        census.count
      )
      assert.strictEqual(census.living(), 0)
      const open = Effect.gen(function*() {
        const pair = yield* MemoryTransport.make()
        const hosted = yield* shape.open(pair.server, { kind: "memory" })
        const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
        yield* introduce(raw)
        return hosted
      })
      const hosted = yield* open
      // The reader, and the fiber that looks.
      assert.strictEqual(census.living(), 2)
      for (let count = 0; count < 99; count++) {
        yield* TestClock.adjust(10)
        yield* open
      }
      assert.strictEqual(census.living(), 101)
      yield* TestClock.adjust("601 seconds")
      assert.deepStrictEqual((yield* hosted.session.closed)._tag, "Expired")
      assert.deepStrictEqual(yield* shape.sessions, [])
      assert.strictEqual(census.living(), 0)
      // Until the first could have failed to open, until it was idle for too long, and a second more for the others.
      assert.strictEqual(looks, 3)
      yield* Scope.close(scope, Exit.void)
    }))

  it.effect("are counted: how many there are, and what has ended by time or was not let in", () =>
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
      const shape = yield* host({}, { sessions: { max: 2, idle: "1 minute" } })
      yield* settle(shape)
      yield* arrive(shape)
      yield* Effect.flip(arrive(shape))
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
