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
import { arrive, endOf, handshakeMessages, host, settle, store, withStore } from "./support/hosts.ts"
import { call, settled, start, text, tools } from "./support/sessions.ts"

const ada = { id: "ada" }
const grace = { id: "grace" }

const refusalOf = (error: SessionHost.HostFull | TransportError.TransportError) =>
  error._tag === "HostFull" ? [error.scope, error.limit, error.retryAfterMillis] : [error._tag]

/** Returns the refusal of a host that has no room. */
const refused = (shape: SessionHost.SessionHostShape, options: Partial<SessionHost.OpenOptions> = {}) =>
  Effect.map(Effect.flip(arrive(shape, options)), refusalOf)

const evicted = (of: "handshake" | "held" | "idle", afterMillis: number): CloseReason.CloseReason => ({
  _tag: "Evicted",
  afterMillis,
  of
})

const ids = (all: ReadonlyArray<{ readonly hosted: SessionHost.Hosted }>) => all.map(({ hosted }) => hosted.id)

const idsIn = (shape: SessionHost.SessionHostShape) => Effect.map(shape.sessions, (all) => all.map(({ id }) => id))

describe("a full host evicts a session whose handshake is not finished", () => {
  it.effect("the oldest first, for any newcomer, once its 3 seconds of grace are over", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 3 } })
      const first = yield* arrive(shape, { principal: grace })
      yield* TestClock.adjust(1000)
      const second = yield* arrive(shape)
      const operating = yield* settle(shape)
      yield* TestClock.adjust(1999)
      assert.deepStrictEqual(yield* refused(shape), ["host", 3, 1000])
      yield* TestClock.adjust(1)
      const newcomer = yield* arrive(shape)
      assert.deepStrictEqual(yield* first.hosted.session.closed, evicted("handshake", 3000))
      assert.isFalse(first.link.isOpen())
      assert.isUndefined(shape.find(first.hosted.id))
      // The next has its grace, too, and the newcomer all of it.
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["host", 3, 1000])
      yield* TestClock.adjust(1000)
      const last = yield* arrive(shape, { principal: ada })
      assert.deepStrictEqual(yield* idsIn(shape), ids([operating, newcomer, last]))
      assert.deepStrictEqual(yield* second.hosted.session.closed, evicted("handshake", 3000))
    }))

  it.effect("Retry-After tells when the grace of the oldest ends", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1 } })
      yield* arrive(shape)
      yield* TestClock.adjust(500)
      const [, , wait] = yield* refused(shape)
      assert.strictEqual(wait, 2500)
      yield* TestClock.adjust(2500)
      yield* arrive(shape)
    }))

  it.effect("but not one that a connection holds, whose time is over in a minute", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1 }, limits: { initializeTimeout: "Infinity" } })
      const { hosted } = yield* arrive(shape)
      const release = hosted.hold()
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* refused(shape), ["host", 1, undefined])
      assert.isFalse((yield* shape.health).accepting)
      release()
      assert.isTrue((yield* shape.health).accepting)
      yield* arrive(shape)
      assert.deepStrictEqual(yield* hosted.session.closed, evicted("handshake", 10_000))
    }))

  it.effect("without its grace, where one client reopens so fast that it would keep all others out", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 40 } })
      const honest = yield* arrive(shape, { client: "honest" })
      const hostile = yield* Effect.forEach(Array.from({ length: 39 }), () => arrive(shape, { client: "hostile" }))
      // It cannot have more than it has, and the others find room at once.
      assert.deepStrictEqual(yield* refused(shape, { client: "hostile" }), ["host", 40, 3000])
      const others = [
        yield* arrive(shape, { client: "another" }),
        yield* arrive(shape, { principal: ada }),
        yield* settle(shape, { client: "honest" })
      ]
      assert.deepStrictEqual(yield* idsIn(shape), ids([honest, ...hostile.slice(3), ...others]))
      // Clients that are not told apart have the same rights.
      assert.deepStrictEqual(yield* refused(shape), ["host", 40, 3000])
    }))

  it.effect("and no client that is not far ahead of the newcomer loses its grace", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 16 } })
      yield* Effect.forEach(Array.from({ length: 16 }), () => arrive(shape, { client: "office" }))
      assert.deepStrictEqual(yield* refused(shape, { client: "another" }), ["host", 16, 3000])
    }))
})

describe("a full host evicts a session of the newcomer's principal", () => {
  it.effect("the one that is unused for longest, and for 3 seconds at least", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 3 } })
      const other = yield* settle(shape, { principal: grace })
      const one = yield* settle(shape, { principal: ada })
      const two = yield* settle(shape, { principal: ada })
      yield* TestClock.adjust("1 minute")
      one.hosted.touch()
      const three = yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* two.hosted.session.closed, evicted("idle", 60_000))
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["host", 3, 3000])
      yield* TestClock.adjust("3 seconds")
      const four = yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* idsIn(shape), ids([other, three, four]))
    }))

  it.effect("never one of another principal, however long it is unused", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1 } })
      const { hosted } = yield* settle(shape, { principal: grace })
      yield* TestClock.adjust("29 minutes")
      for (const principal of [ada, undefined]) {
        assert.deepStrictEqual(yield* refused(shape, { principal }), ["host", 1, undefined])
      }
      assert.strictEqual(shape.find(hosted.id), hosted)
    }))

  it.effect("never one that is held or has requests in flight", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ wait: Effect.never }), { sessions: { max: 3 } })
      const held = yield* settle(shape, { principal: ada })
      const serving = yield* settle(shape, { principal: ada })
      const asking = yield* settle(shape, { principal: ada })
      const release = held.hosted.hold()
      yield* serving.raw.send(call(1, "wait"))
      yield* start(asking.hosted.session.ping())
      yield* settled
      yield* TestClock.adjust("10 seconds")
      // They are in use now: that is what the time counts from.
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["principal", 3, 3000])
      release()
      yield* TestClock.adjust("3 seconds")
      yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* held.hosted.session.closed, evicted("idle", 3000))
      for (const { hosted } of [serving, asking]) assert.isUndefined(yield* endOf(hosted))
    }))

  it.effect("looking at 64 sessions at most, so that a newcomer costs little however many are in use", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ wait: Effect.never }), { sessions: { max: 101 } })
      const all = yield* Effect.forEach(Array.from({ length: 101 }), () => settle(shape, { principal: ada }))
      const idle = all.pop()
      for (const { raw } of all) yield* raw.send(call(1, "wait"))
      yield* settled
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["principal", 101, 1000])
      // A session that was looked at and has requests in flight is in use.
      const looked = (yield* shape.sessions).filter(({ usedAt }) => usedAt === 10_000)
      assert.strictEqual(looked.length, 64)
      yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* endOf(idle?.hosted ?? assert.fail("none")), evicted("idle", 10_000))
    }))
})

describe("a principal at its limit", () => {
  it.effect("makes room among its own sessions: an unfinished handshake, then what is unused for longest", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { maxPerPrincipal: 2 } })
      const stranger = yield* arrive(shape)
      const unused = yield* settle(shape, { principal: ada })
      const unfinished = yield* arrive(shape, { principal: ada })
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["principal", 2, 3000])
      yield* TestClock.adjust("3 seconds")
      const one = yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* unfinished.hosted.session.closed, evicted("handshake", 3000))
      const two = yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* unused.hosted.session.closed, evicted("idle", 3000))
      assert.deepStrictEqual(yield* idsIn(shape), ids([stranger, one, two]))
    }))

  it.effect("has 1,000 sessions unless told otherwise, and no more than the host", () =>
    Effect.gen(function*() {
      const hold = (shape: SessionHost.SessionHostShape) =>
        Effect.map(shape.open({ connect: quiet }, { kind: "quiet", principal: ada }), (hosted) => hosted.hold())
      const quiet: Transport.Transport["Service"]["connect"] = Effect.succeed({
        run: () => Effect.never,
        send: () => Effect.void
      })
      const shape = yield* host()
      yield* Effect.repeat(hold(shape), { times: 999 })
      assert.deepStrictEqual(refusalOf(yield* Effect.flip(hold(shape))), ["principal", 1000, undefined])
      const small = yield* host({}, { sessions: { max: 2, maxPerPrincipal: 3 } })
      yield* Effect.repeat(hold(small), { times: 1 })
      assert.deepStrictEqual(refusalOf(yield* Effect.flip(hold(small))), ["principal", 2, undefined])
    }))
})

describe("a full host evicts an anonymous session", () => {
  it.effect("for an anonymous client once it is unused for 5 minutes, and 10 in a second", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 12 } })
      const all = yield* Effect.forEach(Array.from({ length: 12 }), () => settle(shape))
      const [first] = all
      yield* TestClock.adjust("1 minute")
      first?.hosted.touch()
      assert.deepStrictEqual(yield* refused(shape), ["host", 12, 240_000])
      assert.isFalse((yield* shape.health).accepting)
      yield* TestClock.adjust("4 minutes")
      assert.isTrue((yield* shape.health).accepting)
      for (let count = 0; count < 10; count++) yield* settle(shape)
      assert.deepStrictEqual(yield* refused(shape), ["host", 12, 1000])
      assert.isFalse((yield* shape.health).accepting)
      for (const { hosted } of all.slice(1, 11)) {
        assert.deepStrictEqual(yield* hosted.session.closed, evicted("idle", 300_000))
      }
      yield* TestClock.adjust("1 second")
      yield* settle(shape)
      assert.deepStrictEqual(yield* endOf(all[11]?.hosted ?? assert.fail("none")), evicted("idle", 301_000))
      assert.isUndefined(yield* endOf(first?.hosted ?? assert.fail("none")))
    }))

  it.effect("for a principal after 3 seconds, as often as it may have sessions", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 14, maxPerPrincipal: 12 } })
      yield* Effect.forEach(Array.from({ length: 14 }), () => settle(shape))
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["host", 14, 3000])
      yield* TestClock.adjust("3 seconds")
      for (let count = 0; count < 12; count++) yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["principal", 12, 3000])
      assert.strictEqual((yield* shape.sessions).filter(({ principal }) => principal === undefined).length, 2)
    }))

  it.effect("of a client that has more than half of the places after 3 seconds, however often it uses them", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 12, maxAnonymousEvictionsPerSecond: 2 } })
      const honest = yield* Effect.forEach(["a", "b", "c"], (client) => settle(shape, { client }))
      yield* TestClock.adjust("1 minute")
      const hostile = yield* Effect.forEach(Array.from({ length: 9 }), () => settle(shape, { client: "hostile" }))
      assert.deepStrictEqual(yield* refused(shape, { client: "e" }), ["host", 12, 3000])
      assert.deepStrictEqual(yield* refused(shape, { client: "hostile" }), ["host", 12, 240_000])
      yield* TestClock.adjust("3 seconds")
      const others = [yield* settle(shape, { client: "e" }), yield* settle(shape, { client: "f" })]
      // The rate holds for these, too, and half of the places are left to it.
      assert.deepStrictEqual(yield* refused(shape, { client: "g" }), ["host", 12, 1000])
      yield* TestClock.adjust("1 second")
      others.push(yield* settle(shape, { client: "g" }))
      assert.deepStrictEqual(yield* refused(shape, { client: "h" }), ["host", 12, 236_000])
      assert.deepStrictEqual(yield* idsIn(shape), ids([...honest, ...hostile.slice(3), ...others]))
    }))

  it.effect("of such a client before one of a client that is unused for minutes, however often it uses its own", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 5 } })
      const honest = yield* settle(shape, { client: "a" })
      const hostile = yield* Effect.forEach(Array.from({ length: 4 }), () => settle(shape, { client: "hostile" }))
      for (let minute = 0; minute < 6; minute++) {
        yield* TestClock.adjust("1 minute")
        for (const { hosted } of hostile) hosted.touch()
      }
      yield* TestClock.adjust("3 seconds")
      const newcomer = yield* settle(shape, { client: "b" })
      assert.deepStrictEqual(yield* idsIn(shape), ids([honest, ...hostile.slice(1), newcomer]))
    }))

  it.effect("of such a client though more than 64 sessions of others are unused for longer", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 200 } })
      const others = Array.from({ length: 80 }, (_, index) => `client ${index}`)
      yield* Effect.forEach(others, (client) => settle(shape, { client }))
      const hostile = yield* Effect.forEach(Array.from({ length: 120 }), () => settle(shape, { client: "hostile" }))
      yield* TestClock.adjust("3 seconds")
      yield* settle(shape, { client: "newcomer" })
      assert.deepStrictEqual(yield* endOf(hostile[0]?.hosted ?? assert.fail("none")), evicted("idle", 3000))
    }))

  it.effect("of such a client though it holds all of them and waits in each, the one that is held for longest", () =>
    Effect.gen(function*() {
      const shape = yield* host(tools({ wait: Effect.never }), { sessions: { max: 70 } })
      const honest = yield* Effect.forEach(Array.from({ length: 3 }), () => settle(shape, { client: "a" }))
      for (const { hosted } of honest) hosted.hold()
      const hostile = yield* Effect.forEach(Array.from({ length: 67 }), () => settle(shape, { client: "hostile" }))
      for (const { hosted, raw } of hostile) {
        hosted.hold()
        yield* raw.send(call(1, "wait"))
      }
      yield* settled
      assert.deepStrictEqual(yield* refused(shape, { client: "b" }), ["host", 70, 3000])
      yield* TestClock.adjust("3 seconds")
      assert.deepStrictEqual(yield* refused(shape, { client: "hostile" }), ["host", 70, undefined])
      const others = [yield* settle(shape, { client: "b" }), yield* settle(shape, { principal: ada })]
      assert.deepStrictEqual(yield* idsIn(shape), ids([...honest, ...hostile.slice(2), ...others]))
      const [first] = hostile
      assert.deepStrictEqual(yield* endOf(first?.hosted ?? assert.fail("none")), evicted("held", 3000))
    }))

  it.effect("that is held, of no client that has half of the places or less", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 4 } })
      for (const client of ["a", "a", "b", "b"]) (yield* settle(shape, { client })).hosted.hold()
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* refused(shape, { client: "c" }), ["host", 4, undefined])
    }))

  it.effect("never, where the options say so", () =>
    Effect.gen(function*() {
      for (
        const options of [{ anonymousEvictionTimeout: "Infinity" }, { maxAnonymousEvictionsPerSecond: 0 }] as const
      ) {
        const shape = yield* host({}, { sessions: { max: 1, ...options } })
        yield* settle(shape, { client: "hostile" })
        yield* TestClock.adjust("29 minutes")
        assert.deepStrictEqual(yield* refused(shape, { client: "honest" }), ["host", 1, 60_000])
      }
    }))
})

describe("the place of an evicted session", () => {
  it.effect("is the newcomer's, which is not connected before nothing is left of the session", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1 } })
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect)
      }
      yield* shape.open(slow, { kind: "slow" })
      yield* TestClock.adjust("3 seconds")
      const coming = yield* start(arrive(shape))
      assert.isUndefined(coming.pollUnsafe())
      assert.strictEqual((yield* shape.health).sessions, 1)
      // The place is taken: no other newcomer gets it meanwhile.
      assert.deepStrictEqual(yield* refused(shape), ["host", 1, undefined])
      yield* Deferred.succeed(gate, undefined)
      const { hosted } = yield* Fiber.join(coming)
      assert.deepStrictEqual(yield* idsIn(shape), [hosted.id])
    }))

  it.effect("is free again when the newcomer leaves before it is connected", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 1, maxPerPrincipal: 1 } })
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect)
      }
      yield* shape.open(slow, { kind: "slow", principal: ada })
      yield* TestClock.adjust("3 seconds")
      const coming = yield* start(arrive(shape, { principal: ada }))
      yield* Fiber.interrupt(coming)
      assert.strictEqual((yield* shape.health).sessions, 0)
      yield* settle(shape, { principal: ada })
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.strictEqual((yield* shape.health).sessions, 1)
      assert.deepStrictEqual(yield* refused(shape, { principal: ada }), ["principal", 1, 3000])
    }))

  it.effect("is counted, by what was evicted", () =>
    Effect.gen(function*() {
      const shape = yield* host({}, { sessions: { max: 2 } })
      yield* arrive(shape)
      yield* settle(shape, { principal: ada })
      yield* TestClock.adjust("3 seconds")
      yield* settle(shape)
      yield* settle(shape, { principal: ada })
      const counted = (yield* Metric.snapshot).flatMap((one) =>
        one.id === "mcp.server.sessions.evicted" && one.type === "Counter"
          ? [[one.attributes?.["mcp.session.eviction"], Number(one.state.count)]]
          : []
      )
      assert.deepStrictEqual(counted, [["handshake", 1], ["idle", 1]])
    }).pipe((effect) => Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))))
})

describe("with a store, a session that is evicted", () => {
  const handlers = tools({ x: Effect.succeed(text("x")) })

  it.effect("is unloaded, and goes on when its client comes back", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const shape = yield* host(handlers, { sessions: { max: 1 } }).pipe(withStore(service))
      const first = yield* settle(shape, { id: "first", principal: ada })
      yield* shape.remember(first.hosted, handshakeMessages)
      yield* TestClock.adjust("10 seconds")
      const second = yield* settle(shape, { id: "second", principal: ada })
      yield* shape.remember(second.hosted, handshakeMessages)
      assert.deepStrictEqual(Array.from(kept.keys()), ["first", "second"])
      yield* TestClock.adjust("10 seconds")
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* shape.restore("first", pair.server, { kind: "memory", principal: ada })
      assert.deepStrictEqual(yield* second.hosted.session.closed, evicted("idle", 10_000))
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
      assert.deepStrictEqual(Array.from(kept.keys()), ["first", "second"])
    }))

  it.effect("is restored though its client comes back while it is being unloaded", () =>
    Effect.gen(function*() {
      const { service } = store()
      const shape = yield* host(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      const gate = yield* Deferred.make<void>()
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      const hosted = yield* shape.open(
        { connect: Effect.andThen(Effect.addFinalizer(() => Deferred.await(gate)), pair.server.connect) },
        { kind: "slow", id: "first", principal: ada }
      )
      yield* Effect.forEach(handshakeMessages, (message) => raw.send(message))
      yield* settled
      yield* shape.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("3 seconds")
      const coming = yield* start(arrive(shape, { principal: ada }))
      assert.deepStrictEqual(yield* endOf(hosted), evicted("idle", 3000))
      const back = yield* MemoryTransport.make()
      const restoring = yield* start(shape.restore("first", back.server, { kind: "memory", principal: ada }))
      assert.isUndefined(restoring.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* (yield* Fiber.join(coming)).hosted.close(CloseReason.requested)
      const exit = yield* Fiber.await(restoring)
      // Whether it finds room is decided when it is its turn.
      if (Exit.isFailure(exit)) yield* shape.restore("first", back.server, { kind: "memory", principal: ada })
      assert.deepStrictEqual(yield* idsIn(shape), ["first"])
    }))

  it.effect("before its handshake was finished is forgotten, so that a flood does not fill the store", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const shape = yield* host(handlers, { sessions: { max: 1 } }).pipe(withStore(service))
      const { hosted } = yield* arrive(shape, { id: "first" })
      yield* shape.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("3 seconds")
      yield* arrive(shape, { id: "second" })
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("and was never remembered is not asked for", () =>
    Effect.gen(function*() {
      const { calls, service } = store()
      const shape = yield* host(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      yield* settle(shape, { principal: ada })
      yield* TestClock.adjust("3 seconds")
      yield* settle(shape, { principal: ada })
      assert.deepStrictEqual(calls, [])
    }))
})
