import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, Transport, type TransportError } from "@effect-mcp/session"
import { RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/testing/TestClock"
import { endOf, handshakeMessages, makeHost, openOperating, openSession, store, withStore } from "./support/hosts.ts"
import { call, settled, start, text, tools } from "./support/sessions.ts"

const ada = { id: "ada" }
const grace = { id: "grace" }

const rejectionOf = (
  error: SessionHost.HostFullError | SessionHost.OwnerUnknownError | TransportError.TransportError
) => error._tag === "HostFullError" ? [error.scope, error.limit, error.retryAfterMillis] : [error._tag]

/** Opens a session on a host without a slot for it, and returns the error. */
const rejection = (host: SessionHost.SessionHostShape, options: Partial<SessionHost.OpenOptions> = {}) =>
  Effect.map(Effect.flip(openSession(host, options)), rejectionOf)

const evicted = (of: "handshake" | "held" | "idle", afterMillis: number): CloseReason.CloseReason => ({
  _tag: "Evicted",
  afterMillis,
  of
})

const ids = (all: ReadonlyArray<{ readonly hosted: SessionHost.Hosted }>) => all.map(({ hosted }) => hosted.id)

const idsIn = (host: SessionHost.SessionHostShape) => Effect.map(host.sessions, (all) => all.map(({ id }) => id))

describe("the eviction of a session whose handshake is not finished", () => {
  it.effect("a newcomer evicts the oldest session after its grace of 3 seconds", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 3 } })
      const first = yield* openSession(host, { principal: grace })
      yield* TestClock.adjust(1000)
      const second = yield* openSession(host)
      const operating = yield* openOperating(host)
      yield* TestClock.adjust(1999)
      assert.deepStrictEqual(yield* rejection(host), ["host", 3, 1000])
      yield* TestClock.adjust(1)
      const newcomer = yield* openSession(host)
      assert.deepStrictEqual(yield* first.hosted.session.closed, evicted("handshake", 3000))
      assert.isFalse(first.link.isOpen())
      assert.isUndefined(host.find(first.hosted.id))
      // The second session has 1 s of its grace left, and the newcomer all of it.
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["host", 3, 1000])
      yield* TestClock.adjust(1000)
      const last = yield* openSession(host, { principal: ada })
      assert.deepStrictEqual(yield* idsIn(host), ids([operating, newcomer, last]))
      assert.deepStrictEqual(yield* second.hosted.session.closed, evicted("handshake", 3000))
    }))

  it.effect("retryAfterMillis is the time until the grace of the oldest session ends", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1 } })
      yield* openSession(host)
      yield* TestClock.adjust(500)
      const [, , wait] = yield* rejection(host)
      assert.strictEqual(wait, 2500)
      yield* TestClock.adjust(2500)
      yield* openSession(host)
    }))

  it.effect("a held session is evicted only after it is released", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1 }, limits: { initializeTimeout: "Infinity" } })
      const { hosted } = yield* openSession(host)
      const release = hosted.hold()
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* rejection(host), ["host", 1, undefined])
      assert.isFalse((yield* host.health).accepting)
      release()
      assert.isTrue((yield* host.health).accepting)
      yield* openSession(host)
      assert.deepStrictEqual(yield* hosted.session.closed, evicted("handshake", 10_000))
    }))

  it.effect("a client that opens sessions quickly has no grace, so that it cannot keep all others out", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 40 } })
      const honest = yield* openSession(host, { client: "honest" })
      const hostile = yield* Effect.forEach(Array.from({ length: 39 }), () => openSession(host, { client: "hostile" }))
      // The hostile client gets no more slots, and the others get one at once.
      assert.deepStrictEqual(yield* rejection(host, { client: "hostile" }), ["host", 40, 3000])
      const others = [
        yield* openSession(host, { client: "another" }),
        yield* openSession(host, { principal: ada }),
        yield* openOperating(host, { client: "honest" })
      ]
      assert.deepStrictEqual(yield* idsIn(host), ids([honest, ...hostile.slice(3), ...others]))
      // A client that is not distinguished has no advantage over the hostile one.
      assert.deepStrictEqual(yield* rejection(host), ["host", 40, 3000])
    }))

  it.effect("a client with 16 unfinished handshakes more than the newcomer still has its grace", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 16 } })
      yield* Effect.forEach(Array.from({ length: 16 }), () => openSession(host, { client: "office" }))
      assert.deepStrictEqual(yield* rejection(host, { client: "another" }), ["host", 16, 3000])
    }))
})

describe("the eviction of a session of the newcomer's principal", () => {
  it.effect("the least recently used session is evicted if it is unused for 3 seconds", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 3 } })
      const other = yield* openOperating(host, { principal: grace })
      const one = yield* openOperating(host, { principal: ada })
      const two = yield* openOperating(host, { principal: ada })
      yield* TestClock.adjust("1 minute")
      one.hosted.touch()
      const three = yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* two.hosted.session.closed, evicted("idle", 60_000))
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["host", 3, 3000])
      yield* TestClock.adjust("3 seconds")
      const four = yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* idsIn(host), ids([other, three, four]))
    }))

  it.effect("a session of another principal is not evicted, even if it is unused for 29 minutes", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1 } })
      const { hosted } = yield* openOperating(host, { principal: grace })
      yield* TestClock.adjust("29 minutes")
      for (const principal of [ada, undefined]) {
        assert.deepStrictEqual(yield* rejection(host, { principal }), ["host", 1, undefined])
      }
      assert.strictEqual(host.find(hosted.id), hosted)
    }))

  it.effect("a session that is held or has requests in flight is not evicted", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }), { sessions: { max: 3 } })
      const held = yield* openOperating(host, { principal: ada })
      const serving = yield* openOperating(host, { principal: ada })
      const requesting = yield* openOperating(host, { principal: ada })
      const release = held.hosted.hold()
      yield* serving.raw.send(call(1, "wait"))
      yield* start(requesting.hosted.session.ping())
      yield* settled
      yield* TestClock.adjust("10 seconds")
      // Sessions with requests in flight count as used now, so the time starts anew.
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["principal", 3, 3000])
      release()
      yield* TestClock.adjust("3 seconds")
      yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* held.hosted.session.closed, evicted("idle", 3000))
      for (const { hosted } of [serving, requesting]) assert.isUndefined(yield* endOf(hosted))
    }))

  it.effect("at most 64 sessions are checked for one newcomer", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }), { sessions: { max: 101 } })
      const all = yield* Effect.forEach(Array.from({ length: 101 }), () => openOperating(host, { principal: ada }))
      const idle = all.pop()
      for (const { raw } of all) yield* raw.send(call(1, "wait"))
      yield* settled
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["principal", 101, 1000])
      // A checked session with requests in flight counts as used now.
      const checked = (yield* host.sessions).filter(({ usedAt }) => usedAt === 10_000)
      assert.strictEqual(checked.length, 64)
      yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* endOf(idle?.hosted ?? assert.fail("none")), evicted("idle", 10_000))
    }))
})

describe("a principal at its limit", () => {
  it.effect("evicts its own sessions: an unfinished handshake, then the least recently used one", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { maxPerPrincipal: 2 } })
      const anonymous = yield* openSession(host)
      const unused = yield* openOperating(host, { principal: ada })
      const unfinished = yield* openSession(host, { principal: ada })
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["principal", 2, 3000])
      yield* TestClock.adjust("3 seconds")
      const one = yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* unfinished.hosted.session.closed, evicted("handshake", 3000))
      const two = yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* unused.hosted.session.closed, evicted("idle", 3000))
      assert.deepStrictEqual(yield* idsIn(host), ids([anonymous, one, two]))
    }))

  it.effect("has 1,000 sessions by default, and at most as many as the host", () =>
    Effect.gen(function*() {
      const hold = (host: SessionHost.SessionHostShape) =>
        Effect.map(
          host.open({ connect: connectSilently }, { kind: "quiet", principal: ada }),
          (hosted) => hosted.hold()
        )
      const connectSilently: Transport.Transport["Service"]["connect"] = Effect.succeed({
        run: () => Effect.never,
        send: () => Effect.void
      })
      const host = yield* makeHost()
      yield* Effect.repeat(hold(host), { times: 999 })
      assert.deepStrictEqual(rejectionOf(yield* Effect.flip(hold(host))), ["principal", 1000, undefined])
      const small = yield* makeHost({}, { sessions: { max: 2, maxPerPrincipal: 3 } })
      yield* Effect.repeat(hold(small), { times: 1 })
      assert.deepStrictEqual(rejectionOf(yield* Effect.flip(hold(small))), ["principal", 2, undefined])
    }))
})

describe("the eviction of an anonymous session", () => {
  it.effect("anonymous clients evict sessions that are unused for 5 minutes, at most 10 per second", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 12 } })
      const all = yield* Effect.forEach(Array.from({ length: 12 }), () => openOperating(host))
      const [first] = all
      yield* TestClock.adjust("1 minute")
      first?.hosted.touch()
      assert.deepStrictEqual(yield* rejection(host), ["host", 12, 240_000])
      assert.isFalse((yield* host.health).accepting)
      yield* TestClock.adjust("4 minutes")
      assert.isTrue((yield* host.health).accepting)
      for (let count = 0; count < 10; count++) yield* openOperating(host)
      assert.deepStrictEqual(yield* rejection(host), ["host", 12, 1000])
      assert.isFalse((yield* host.health).accepting)
      for (const { hosted } of all.slice(1, 11)) {
        assert.deepStrictEqual(yield* hosted.session.closed, evicted("idle", 300_000))
      }
      yield* TestClock.adjust("1 second")
      yield* openOperating(host)
      assert.deepStrictEqual(yield* endOf(all[11]?.hosted ?? assert.fail("none")), evicted("idle", 301_000))
      assert.isUndefined(yield* endOf(first?.hosted ?? assert.fail("none")))
    }))

  it.effect("a principal evicts sessions that are unused for 3 seconds, up to its own limit", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 14, maxPerPrincipal: 12 } })
      yield* Effect.forEach(Array.from({ length: 14 }), () => openOperating(host))
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["host", 14, 3000])
      yield* TestClock.adjust("3 seconds")
      for (let count = 0; count < 12; count++) yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["principal", 12, 3000])
      assert.strictEqual((yield* host.sessions).filter(({ principal }) => principal === undefined).length, 2)
    }))

  it.effect("a client with more than half of the slots loses sessions after 3 seconds, at the limited rate", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 12, maxAnonymousEvictionsPerSecond: 2 } })
      const honest = yield* Effect.forEach(["a", "b", "c"], (client) => openOperating(host, { client }))
      yield* TestClock.adjust("1 minute")
      const hostile = yield* Effect.forEach(Array.from({ length: 9 }), () => openOperating(host, { client: "hostile" }))
      assert.deepStrictEqual(yield* rejection(host, { client: "e" }), ["host", 12, 3000])
      assert.deepStrictEqual(yield* rejection(host, { client: "hostile" }), ["host", 12, 3000])
      yield* TestClock.adjust("3 seconds")
      const others = [yield* openOperating(host, { client: "e" }), yield* openOperating(host, { client: "f" })]
      // The rate applies here, too, and the hostile client keeps half of the slots.
      assert.deepStrictEqual(yield* rejection(host, { client: "g" }), ["host", 12, 1000])
      yield* TestClock.adjust("1 second")
      others.push(yield* openOperating(host, { client: "g" }))
      assert.deepStrictEqual(yield* rejection(host, { client: "h" }), ["host", 12, 236_000])
      assert.deepStrictEqual(yield* idsIn(host), ids([...honest, ...hostile.slice(3), ...others]))
    }))

  it.effect("a client replaces its own session after 3 seconds, before those of others and at the limited rate", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 5, maxAnonymousEvictionsPerSecond: 2 } })
      const [other] = yield* Effect.forEach(["other", "another"], (client) => openOperating(host, { client }))
      yield* TestClock.adjust("10 minutes")
      const own = yield* Effect.forEach(Array.from({ length: 3 }), () => openOperating(host, { client: "own" }))
      yield* TestClock.adjust("1 second")
      own[0]?.hosted.touch()
      // Of the others, any could be evicted: they are unused for 10 minutes.
      yield* TestClock.adjust("2 seconds")
      own.push(yield* openOperating(host, { client: "own" }))
      own.push(yield* openOperating(host, { client: "own" }))
      assert.deepStrictEqual(yield* rejection(host, { client: "own" }), ["host", 5, 1000])
      for (const { hosted } of own.slice(1, 3)) {
        assert.deepStrictEqual(yield* hosted.session.closed, evicted("idle", 3000))
      }
      assert.isUndefined(yield* endOf(own[0]?.hosted ?? assert.fail("none")))
      assert.isUndefined(yield* endOf(other?.hosted ?? assert.fail("none")))
    }))

  it.effect("a client replaces no session of its own that is held or has requests in flight", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }), {
        sessions: { max: 2, anonymousEvictionTimeout: "20 minutes" }
      })
      const held = yield* openOperating(host, { client: "own" })
      held.hosted.hold()
      const busy = yield* openOperating(host, { client: "own" })
      yield* busy.raw.send(call(1, "wait"))
      yield* settled
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual((yield* rejection(host, { client: "own" })).slice(0, 2), ["host", 2])
      assert.deepStrictEqual(yield* idsIn(host), ids([held, busy]))
    }))

  it.effect("such a client loses its sessions before others do, even if it uses them more often", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 5 } })
      const honest = yield* openOperating(host, { client: "a" })
      const hostile = yield* Effect.forEach(Array.from({ length: 4 }), () => openOperating(host, { client: "hostile" }))
      for (let minute = 0; minute < 6; minute++) {
        yield* TestClock.adjust("1 minute")
        for (const { hosted } of hostile) hosted.touch()
      }
      yield* TestClock.adjust("3 seconds")
      const newcomer = yield* openOperating(host, { client: "b" })
      assert.deepStrictEqual(yield* idsIn(host), ids([honest, ...hostile.slice(1), newcomer]))
    }))

  it.effect("such a client loses a session even if more than 64 sessions of others are unused for longer", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 200 } })
      const others = Array.from({ length: 80 }, (_, index) => `client ${index}`)
      yield* Effect.forEach(others, (client) => openOperating(host, { client }))
      const hostile = yield* Effect.forEach(
        Array.from({ length: 120 }),
        () => openOperating(host, { client: "hostile" })
      )
      yield* TestClock.adjust("3 seconds")
      yield* openOperating(host, { client: "newcomer" })
      assert.deepStrictEqual(yield* endOf(hostile[0]?.hosted ?? assert.fail("none")), evicted("idle", 3000))
    }))

  it.effect("such a client loses the session that is held for longest if all are held and in use", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(tools({ wait: Effect.never }), { sessions: { max: 70 } })
      const honest = yield* Effect.forEach(Array.from({ length: 3 }), () => openOperating(host, { client: "a" }))
      for (const { hosted } of honest) hosted.hold()
      const hostile = yield* Effect.forEach(
        Array.from({ length: 67 }),
        () => openOperating(host, { client: "hostile" })
      )
      for (const { hosted, raw } of hostile) {
        hosted.hold()
        yield* raw.send(call(1, "wait"))
      }
      yield* settled
      assert.deepStrictEqual(yield* rejection(host, { client: "b" }), ["host", 70, 3000])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* rejection(host, { client: "hostile" }), ["host", 70, undefined])
      const others = [yield* openOperating(host, { client: "b" }), yield* openOperating(host, { principal: ada })]
      assert.deepStrictEqual(yield* idsIn(host), ids([...honest, ...hostile.slice(2), ...others]))
      const [first] = hostile
      assert.deepStrictEqual(yield* endOf(first?.hosted ?? assert.fail("none")), evicted("held", 3000))
    }))

  it.effect("a held session of a client with half of the slots or fewer is not evicted", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 4 } })
      for (const client of ["a", "a", "b", "b"]) (yield* openOperating(host, { client })).hosted.hold()
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* rejection(host, { client: "c" }), ["host", 4, undefined])
    }))

  it.effect("no anonymous session is evicted for an anonymous client if the options forbid it", () =>
    Effect.gen(function*() {
      for (
        const options of [{ anonymousEvictionTimeout: "Infinity" }, { maxAnonymousEvictionsPerSecond: 0 }] as const
      ) {
        const host = yield* makeHost({}, { sessions: { max: 1, ...options } })
        yield* openOperating(host, { client: "hostile" })
        yield* TestClock.adjust("29 minutes")
        assert.deepStrictEqual(yield* rejection(host, { client: "honest" }), ["host", 1, 60_000])
        assert.deepStrictEqual(yield* rejection(host, { client: "hostile" }), ["host", 1, 60_000])
      }
    }))
})

describe("the slot of an evicted session", () => {
  it.effect("is assigned to the newcomer, which connects only after the session has closed completely", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1 } })
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect)
      }
      yield* host.open(slow, { kind: "slow" })
      yield* TestClock.adjust("3 seconds")
      const opening = yield* start(openSession(host))
      assert.isUndefined(opening.pollUnsafe())
      assert.strictEqual((yield* host.health).sessions, 1)
      // No other newcomer gets the slot until then.
      assert.deepStrictEqual(yield* rejection(host), ["host", 1, undefined])
      yield* Deferred.succeed(gate, undefined)
      const { hosted } = yield* Fiber.join(opening)
      assert.deepStrictEqual(yield* idsIn(host), [hosted.id])
    }))

  it.effect("is freed if the newcomer is interrupted before it connects", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 1, maxPerPrincipal: 1 } })
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect)
      }
      yield* host.open(slow, { kind: "slow", principal: ada })
      yield* TestClock.adjust("3 seconds")
      const opening = yield* start(openSession(host, { principal: ada }))
      yield* Fiber.interrupt(opening)
      assert.strictEqual((yield* host.health).sessions, 0)
      yield* openOperating(host, { principal: ada })
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.strictEqual((yield* host.health).sessions, 1)
      assert.deepStrictEqual(yield* rejection(host, { principal: ada }), ["principal", 1, 3000])
    }))

  it.effect("is counted in a metric by the kind of eviction", () =>
    Effect.gen(function*() {
      const host = yield* makeHost({}, { sessions: { max: 2 } })
      yield* openSession(host)
      yield* openOperating(host, { principal: ada })
      yield* TestClock.adjust("3 seconds")
      yield* openOperating(host)
      yield* openOperating(host, { principal: ada })
      const counted = (yield* Metric.snapshot).flatMap((one) =>
        one.id === "mcp.server.sessions.evicted" && one.type === "Counter"
          ? [[one.attributes?.["mcp.session.eviction"], Number(one.state.count)]]
          : []
      )
      assert.deepStrictEqual(counted, [["handshake", 1], ["idle", 1]])
    }).pipe((effect) => Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))))
})

describe("an evicted session of a host with a store", () => {
  const handlers = tools({ x: Effect.succeed(text("x")) })

  it.effect("stays in the store, and is restored when its client returns", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost(handlers, { sessions: { max: 1 } }).pipe(withStore(service))
      const first = yield* openOperating(host, { id: "first", principal: ada })
      yield* host.remember(first.hosted, handshakeMessages)
      yield* TestClock.adjust("10 seconds")
      const second = yield* openOperating(host, { id: "second", principal: ada })
      yield* host.remember(second.hosted, handshakeMessages)
      assert.deepStrictEqual(Array.from(kept.keys()), ["first", "second"])
      yield* TestClock.adjust("10 seconds")
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* host.restore("first", pair.server, { kind: "memory", principal: ada })
      assert.deepStrictEqual(yield* second.hosted.session.closed, evicted("idle", 10_000))
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
      assert.deepStrictEqual(Array.from(kept.keys()), ["first", "second"])
    }))

  it.effect("is restored even if its client returns while the session still closes", () =>
    Effect.gen(function*() {
      const { service } = store()
      const host = yield* makeHost(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      const hosted = yield* host.open(
        { connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect) },
        { kind: "slow", id: "first", principal: ada }
      )
      yield* Effect.forEach(handshakeMessages, (message) => raw.send(message))
      yield* settled
      yield* host.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("3 seconds")
      const opening = yield* start(openSession(host, { principal: ada }))
      assert.deepStrictEqual(yield* endOf(hosted), evicted("idle", 3000))
      const newPair = yield* MemoryTransport.make()
      const restoring = yield* start(host.restore("first", newPair.server, { kind: "memory", principal: ada }))
      assert.isUndefined(restoring.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* (yield* Fiber.join(opening)).hosted.close(CloseReason.requested)
      const exit = yield* Fiber.await(restoring)
      // The host decides its slot after the old session has closed completely.
      if (Exit.isFailure(exit)) yield* host.restore("first", newPair.server, { kind: "memory", principal: ada })
      assert.deepStrictEqual(yield* idsIn(host), ["first"])
    }))

  it.effect("is deleted from the store if its handshake was not finished: a flood must not fill the store", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost(handlers, { sessions: { max: 1 } }).pipe(withStore(service))
      const { hosted } = yield* openSession(host, { id: "first" })
      yield* host.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("3 seconds")
      yield* openSession(host, { id: "second" })
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("does not call the store if it was never saved", () =>
    Effect.gen(function*() {
      const { calls, service } = store()
      const host = yield* makeHost(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      yield* openOperating(host, { principal: ada })
      yield* TestClock.adjust("3 seconds")
      yield* openOperating(host, { principal: ada })
      assert.deepStrictEqual(calls, [])
    }))
})
