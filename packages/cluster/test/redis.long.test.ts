/** The stores in Redis. */
import { McpStores } from "@effect-mcp/cluster"
import { EventStore, SessionOwners, SessionStore, UsedStates } from "@effect-mcp/session"
import { EventStoreSuite, SessionOwnersSuite, SessionStoreSuite } from "@effect-mcp/testing/vitest"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as RateLimiter from "effect/persistence/RateLimiter"
import * as Redis from "effect/persistence/Redis"
import type * as Scope from "effect/Scope"
import * as ChangesRedis from "../src/internal/bus/ChangesRedis.ts"
import * as Digest from "../src/internal/Digest.ts"
import * as Principal from "../src/internal/Principal.ts"
import type * as RedisStores from "../src/internal/redis/RedisStores.ts"
import * as bundles from "./support/bundles.ts"
import * as rates from "./support/rates.ts"
import { keysOf, newPrefix, newStores, redis, redisAt, storesOf } from "./support/redis.ts"
import { startServer } from "./support/redisServer.ts"
import { isRunning } from "./support/services.ts"

const isRedisRunning = isRunning("Redis", "the stores of @effect-mcp/cluster in Redis")

if (isRedisRunning) {
  EventStoreSuite.suite("Redis", Effect.map(newStores(), ({ events }) => events), { runs: 30 })
  SessionOwnersSuite.suite("Redis", Effect.map(newStores(), ({ owners }) => owners))
  SessionStoreSuite.suite("Redis", Effect.map(newStores(), ({ sessions }) => sessions), { runs: 30 })
}

/** Runs a test with keys of its own. */
const over = <A, E>(test: (prefix: string) => Effect.Effect<A, E, Redis.Redis | Scope.Scope>) =>
  Effect.provide(Effect.scoped(Effect.flatMap(newPrefix, test)), redis)

const lease = { process: "one", address: "http://one.test:3000", millis: 60_000 }

const sessionOf = (id: string, { epoch = 1, principal = "ada" }: { epoch?: number; principal?: string } = {}) => ({
  id,
  principal,
  handshakeMessages: [],
  openedAt: 1,
  usedAt: 1,
  epoch
})

const streamOf = (session: string, stream = "a", epoch = 1): EventStore.WrittenStream => ({
  session,
  stream,
  epoch,
  requests: [1]
})

/** Appends events to a new stream, and returns the ids. */
const appended = (
  events: RedisStores.Stores["events"],
  stream: EventStore.WrittenStream,
  data: ReadonlyArray<string>
) => Effect.forEach(data, (text) => events.append(stream, text))

/** Returns those of these events that are not stored any more. */
const missing = (events: RedisStores.Stores["events"], session: string, ids: ReadonlyArray<string>) =>
  Effect.filter(ids, (id) => Effect.map(events.replay(session, id), (replay) => replay === undefined))

/** Returns the sum of all weights, and the number beside it, which have to be the same. */
const weighed = (prefix: string, name: string) =>
  Effect.gen(function*() {
    const { send } = yield* Redis.Redis
    const weights = yield* send<ReadonlyArray<string>>("HVALS", `${prefix}${name}:weights`)
    const bytes = yield* send<string | null>("GET", `${prefix}${name}:bytes`)
    return [weights.reduce((sum, weight) => sum + Number.parseInt(weight, 10), 0), Number(bytes)] as const
  }).pipe(Effect.provide(redis))

describe.runIf(isRedisRunning)("the stores in Redis", () => {
  it.live("the deleted sessions of a principal are lost for their owners, and weigh nothing", () =>
    Effect.gen(function*() {
      const { owners, prefix, sessions } = yield* newStores()
      yield* owners.renew(lease)
      const own = Array.from({ length: 600 }, (_, index) => `s${index}`)
      yield* Effect.forEach(own, (id) => sessions.create(sessionOf(id)), { concurrency: 50, discard: true })
      yield* owners.claim("owned", 0, lease)
      yield* owners.claim("other", 0, lease)
      yield* sessions.create(sessionOf("owned"))
      yield* sessions.create(sessionOf("other", { principal: "bob" }))
      yield* sessions.removeAllOf?.("ada") ?? Effect.void
      const asked = ["owned", "other"].map((session) => ({ session, epoch: 1 }))
      assert.deepStrictEqual(yield* owners.lost(lease.process, asked), ["owned"])
      assert.deepStrictEqual(yield* owners.locate("owned"), { _tag: "Unknown" })
      assert.isUndefined(yield* owners.claim("owned", 1, lease))
      assert.isUndefined(yield* sessions.load("s599"))
      assert.isDefined(yield* sessions.load("other"))
      const [sum, bytes] = yield* weighed(prefix, "sessions")
      assert.strictEqual(sum, bytes)
      assert.isAbove(bytes, 0)
    }).pipe(Effect.scoped, Effect.provide(redis)))

  it.live("a claim fences the writes of the former owner in every store at once", () =>
    Effect.gen(function*() {
      const { events, owners, sessions } = yield* newStores()
      yield* owners.renew(lease)
      yield* owners.claim("s", 0, lease)
      yield* sessions.create(sessionOf("s"))
      yield* events.append(streamOf("s"), "1")
      assert.strictEqual(yield* owners.claim("s", 1, lease), 2)
      const writes = [
        () => sessions.create(sessionOf("s")),
        () => sessions.save(sessionOf("s")),
        () => sessions.touch("s", 1, 2),
        () => sessions.remove("s", 1),
        () => events.append(streamOf("s"), "late"),
        () => events.end(streamOf("s")),
        () => events.takeOver("s", 1),
        () => events.drop("s", 1)
      ]
      for (const write of writes) {
        const error = yield* Effect.flip(Effect.suspend<unknown, { readonly _tag: string }, never>(write))
        assert.strictEqual(error._tag, "SupersededError")
      }
      assert.strictEqual((yield* sessions.load("s"))?.usedAt, 1)
      const [stream] = yield* events.takeOver("s", 2)
      assert.deepStrictEqual(stream?.events.map(({ data }) => data), ["1"])
    }))

  it.live("a late write of a session that was dropped changes nothing", () =>
    Effect.gen(function*() {
      const { events } = yield* newStores()
      yield* events.append(streamOf("s"), "1")
      yield* events.takeOver("s", 2)
      yield* events.drop("s", 2)
      assert.strictEqual((yield* Effect.flip(events.append(streamOf("s"), "late")))._tag, "SupersededError")
    }))

  it.live("a stream of a session that is not stored is deleted after a minute, unless the session is created", () =>
    Effect.gen(function*() {
      const { events, prefix, sessions } = yield* newStores()
      const { send } = yield* Redis.Redis
      const minute = 60_000
      const lifetime = (session: string) => Effect.map(send("PTTL", `${prefix}events:${Digest.of(session)}`), Number)
      yield* events.append(streamOf("begun"), "1")
      yield* sessions.create(sessionOf("ended"))
      yield* events.append(streamOf("ended"), "1")
      yield* sessions.remove("ended", 1)
      yield* events.drop("ended", 1)
      yield* events.append(streamOf("ended"), "late")
      for (const session of ["begun", "ended"]) assert.isAtMost(yield* lifetime(session), minute)
      yield* sessions.create(sessionOf("begun"))
      yield* events.append(streamOf("begun"), "2")
      assert.isAbove(yield* lifetime("begun"), minute)
      // It counts for the principal of its session from now on.
      const ada = Principal.keyOf("ada")
      const [sum, bytes] = yield* weighed(prefix, "streams")
      const own = Number(yield* send("GET", `${prefix}streams:bytes:${ada}`))
      assert.deepStrictEqual(yield* send("ZCARD", `${prefix}streams:of:${ada}`), 1)
      assert.isAbove(own, 1_280)
      // The minute is over.
      const due = yield* send<ReadonlyArray<string>>("ZRANGE", `${prefix}streams:ended`, "0", "-1")
      assert.lengthOf(due, 1)
      for (const member of due) yield* send("ZADD", `${prefix}streams:ended`, "1", member)
      yield* events.append(streamOf("begun"), "3")
      assert.strictEqual(sum, bytes)
      assert.deepStrictEqual(yield* send("HLEN", `${prefix}streams:weights`), 1)
      assert.deepStrictEqual(
        yield* weighed(prefix, "streams"),
        [
          Number(yield* send("GET", `${prefix}streams:bytes:${ada}`)),
          Number(yield* send("GET", `${prefix}streams:bytes`))
        ]
      )
    }).pipe(Effect.provide(redis)))

  it.live("a session that ends leaves no data, and every key expires and names no session", () =>
    over((prefix) =>
      Effect.gen(function*() {
        const stores = Layer.build(McpStores.layerRedis({ prefix, owners: { address: lease.address } }))
        const context = yield* stores
        yield* Effect.gen(function*() {
          const owners = yield* SessionOwners.SessionOwners
          const sessions = yield* SessionStore.SessionStore
          const events = yield* EventStore.EventStore
          const { use } = yield* UsedStates.UsedStates
          const limiter = yield* RateLimiter.make
          yield* owners.awaitLease
          for (const id of ["secret-1", "secret-2"]) {
            assert.strictEqual(yield* owners.claim(id, 0), 1)
            yield* sessions.create(sessionOf(id))
            yield* sessions.touch(id, 1, 5)
            yield* events.append(streamOf(id, "a"), "1")
            yield* events.append(streamOf(id, "b"), "1")
            yield* events.end(streamOf(id, "b"))
            yield* use(`secret-${id}`, Date.now() + 60_000, "ada")
            yield* limiter.consume({ key: id, limit: 10, window: "1 minute", algorithm: "token-bucket" })
          }
          yield* events.takeOver("secret-3", 1)
          yield* ChangesRedis.connection(yield* Redis.Redis, `${prefix}changes`).send("a change")
          const { send } = yield* Redis.Redis
          const keys = yield* keysOf(prefix)
          assert.isAbove(keys.length, 15)
          assert.include(keys, `${prefix}changes`)
          for (const key of keys) {
            assert.isAbove(Number(yield* send("PTTL", key)), 0, key)
            if (!key.startsWith(`${prefix}rate:`)) assert.notInclude(key, "secret", key)
          }
          for (const id of ["secret-1", "secret-2"]) {
            yield* sessions.remove(id, 1)
            yield* events.drop(id, 1)
            yield* owners.remove(id, 1)
          }
        }).pipe(Effect.provide(context))
        // The epochs of dropped sessions stay for an hour.
        const left = (yield* keysOf(prefix)).map((key) => key.slice(prefix.length).split(":")[0])
        const names = new Set(left.filter((name) => !["used", "rate", "process", "changes"].includes(name ?? "")))
        assert.deepStrictEqual([...names].toSorted(), ["events", "sessions", "streams"])
        assert.deepStrictEqual(yield* weighed(prefix, "sessions"), [0, 0])
        assert.deepStrictEqual(yield* weighed(prefix, "streams"), [0, 0])
      })
    ))

  it.live("a full stream drops its oldest events, and keeps one that is larger than a stream may be", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores({ events: { maxEventsPerStream: 5, maxBytesPerStream: 3_000 } })
      const few = yield* appended(events, streamOf("s"), ["1", "2", "3", "4", "5", "6", "7"])
      assert.deepStrictEqual(yield* missing(events, "s", few), few.slice(0, 2))
      const large = yield* appended(events, streamOf("s", "b"), Array.from({ length: 4 }, () => "x".repeat(800)))
      assert.deepStrictEqual(yield* missing(events, "s", large), large.slice(0, 2))
      const [huge = ""] = yield* appended(events, streamOf("s", "b"), ["x".repeat(10_000)])
      assert.deepStrictEqual(yield* missing(events, "s", [...large, huge]), large)
      assert.deepStrictEqual(...yield* weighed(prefix, "streams"))
    }))

  it.live("a full session, and a full store, drop the oldest events of the stream that was used least recently", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores({ events: { maxBytesPerSession: 10_000, maxBytes: 15_000 } })
      const old = yield* appended(events, streamOf("s", "old"), ["x".repeat(2_000), "x".repeat(2_000)])
      const used = yield* appended(events, streamOf("s", "used"), ["x".repeat(2_000)])
      yield* missing(events, "s", old)
      const next = yield* appended(events, streamOf("s", "next"), ["x".repeat(2_000)])
      assert.deepStrictEqual(yield* missing(events, "s", [...old, ...used, ...next]), used)
      // The other session makes room for the store.
      const other = yield* appended(events, streamOf("other", "a"), Array.from({ length: 4 }, () => "x".repeat(2_000)))
      const left = yield* missing(events, "s", [...old, ...next])
      assert.deepStrictEqual(yield* missing(events, "other", other), [])
      assert.isAbove(left.length, 0)
      assert.deepStrictEqual(left, [...old, ...next].slice(0, left.length))
      const [sum, bytes] = yield* weighed(prefix, "streams")
      assert.strictEqual(sum, bytes)
      assert.isAtMost(bytes, 15_000)
    }))

  it.live("a principal with too many events drops its own, those of its least recently used stream first", () =>
    Effect.gen(function*() {
      const { events, prefix, sessions } = yield* newStores({ events: { maxBytesPerPrincipal: 10_000 } })
      for (const id of ["a1", "a2"]) yield* sessions.create(sessionOf(id))
      yield* sessions.create(sessionOf("b", { principal: "bob" }))
      const two = ["x".repeat(2_000), "x".repeat(2_000)]
      const anonymous = yield* appended(events, streamOf("unknown"), [...two, ...two, ...two])
      const bob = yield* appended(events, streamOf("b"), two)
      const first = yield* appended(events, streamOf("a1"), two)
      const second = yield* appended(events, streamOf("a2"), ["x".repeat(2_000)])
      // A replay counts as use.
      yield* missing(events, "a1", first)
      const third = yield* appended(events, streamOf("a1", "b"), ["x".repeat(2_000)])
      assert.deepStrictEqual(yield* missing(events, "a2", second), second)
      assert.deepStrictEqual(yield* missing(events, "a1", [...first, ...third]), [])
      assert.deepStrictEqual(yield* missing(events, "b", bob), [])
      assert.deepStrictEqual(yield* missing(events, "unknown", anonymous), [])
      assert.deepStrictEqual(...yield* weighed(prefix, "streams"))
      for (const id of ["a1", "a2"]) yield* events.drop(id, 1)
      const ada = Principal.keyOf("ada")
      const left = yield* Effect.flatMap(
        Redis.Redis,
        ({ send }) =>
          Effect.all([send("GET", `${prefix}streams:bytes:${ada}`), send("EXISTS", `${prefix}streams:of:${ada}`)])
      )
        .pipe(Effect.provide(redis))
      assert.deepStrictEqual(left, ["0", 0])
    }))

  it.live("many small events make room for a large one", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores({ events: { maxEventsPerStream: 2_000, maxBytes: 120_000 } })
      const small = yield* Effect.forEach(Array.from({ length: 1_000 }), () => events.append(streamOf("s"), "small"), {
        concurrency: 50
      })
      const [large = ""] = yield* appended(events, streamOf("other"), ["x".repeat(100_000)])
      assert.deepStrictEqual(yield* missing(events, "other", [large]), [])
      const lost = yield* missing(events, "s", small)
      // Each of them counts 54 bytes.
      assert.isAbove(lost.length, 600)
      assert.isBelow(lost.length, 700)
      const [sum, bytes] = yield* weighed(prefix, "streams")
      assert.strictEqual(sum, bytes)
      assert.isAtMost(bytes, 120_000)
    }))

  it.live("a session with thousands of streams is dropped", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores()
      const names = Array.from({ length: 1_000 }, (_, index) => String(index))
      const ids = yield* Effect.forEach(names, (name) => events.append(streamOf("s", name), "1"), { concurrency: 50 })
      yield* events.drop("s", 1)
      assert.strictEqual((yield* missing(events, "s", ids)).length, names.length)
      assert.deepStrictEqual(yield* weighed(prefix, "streams"), [0, 0])
    }))

  it.live("an event takes at most 50 bytes more than its text, and a stream with one event at most 1,300", () =>
    over((prefix) =>
      Effect.gen(function*() {
        const { events } = yield* storesOf({ prefix })
        const { send } = yield* Redis.Redis
        const used = Effect.flatMap(keysOf(prefix), (keys) =>
          Effect.map(
            Effect.forEach(keys, (key) => send<number>("MEMORY", "USAGE", key, "SAMPLES", "0")),
            (sizes) => sizes.reduce((sum, size) => sum + size, 0)
          ))
        const many = Array.from({ length: 1_000 }, (_, index) => index)
        yield* Effect.forEach(many, () => events.append(streamOf("s"), "x".repeat(250)), { concurrency: 50 })
        assert.isBelow((yield* used) / many.length, 300)
        yield* events.drop("s", 1)
        yield* Effect.forEach(many, (index) => events.append(streamOf(`s${index}`), "x".repeat(250)), {
          concurrency: 50
        })
        assert.isBelow((yield* used) / many.length, 1_300 + 250)
      })
    ))

  it.live("an ended stream is deleted after its time, and its room is free again", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores({ events: { endedStreamTimeout: 300 } })
      const ids = yield* appended(events, streamOf("s"), ["1", "2"])
      yield* events.end(streamOf("s"))
      assert.deepStrictEqual(yield* missing(events, "s", ids), [])
      yield* Effect.sleep("400 millis")
      assert.deepStrictEqual(yield* missing(events, "s", ids), ids)
      // Any process frees the room with its next event.
      yield* events.append(streamOf("other"), "1")
      yield* events.drop("other", 1)
      assert.deepStrictEqual(yield* weighed(prefix, "streams"), [0, 0])
    }))

  it.live("a stream that expired unused begins anew, and its old ids replay nothing", () =>
    Effect.gen(function*() {
      const { events, prefix } = yield* newStores({ events: { unusedStreamTimeout: 300 } })
      const ids = yield* appended(events, streamOf("s"), ["1", "2"])
      yield* Effect.sleep("400 millis")
      const [next = ""] = yield* appended(events, streamOf("s"), ["3"])
      assert.deepStrictEqual(yield* missing(events, "s", [...ids, next]), ids)
      assert.deepStrictEqual(...yield* weighed(prefix, "streams"))
    }))

  it.live("the least recently used session makes room, that of the principal first", () =>
    Effect.gen(function*() {
      const { prefix, sessions } = yield* newStores({ sessions: { maxSessions: 4, maxSessionsPerPrincipal: 2 } })
      const stored = (ids: ReadonlyArray<string>) =>
        Effect.filter(ids, (id) => Effect.map(sessions.load(id), (session) => session !== undefined))
      const pause = Effect.sleep("2 millis")
      for (const id of ["a1", "a2", "a1", "a3"]) {
        yield* Effect.andThen(pause, sessions.create(sessionOf(id)))
      }
      assert.deepStrictEqual(yield* stored(["a1", "a2", "a3"]), ["a1", "a3"])
      yield* pause
      for (const id of ["b1", "b2"]) {
        yield* Effect.andThen(pause, sessions.create(sessionOf(id, { principal: "bob" })))
      }
      yield* Effect.andThen(pause, sessions.touch("a1", 1, 2))
      yield* Effect.andThen(pause, sessions.create(sessionOf("c1", { principal: "eve" })))
      assert.deepStrictEqual(yield* stored(["a1", "a3", "b1", "b2", "c1"]), ["a1", "b1", "b2", "c1"])
      assert.deepStrictEqual(...yield* weighed(prefix, "sessions"))
    }))

  it.live("a session that a process serves makes no room while there is another one", () =>
    Effect.gen(function*() {
      const { owners, sessions } = yield* newStores({ sessions: { maxSessions: 2 } })
      yield* owners.renew(lease)
      yield* owners.claim("served", 0, lease)
      for (const id of ["served", "other", "newest"]) {
        yield* Effect.andThen(Effect.sleep("2 millis"), sessions.create(sessionOf(id)))
      }
      const found = yield* Effect.forEach(["served", "other", "newest"], (id) => sessions.load(id))
      assert.deepStrictEqual(found.map((session) => session?.id), ["served", undefined, "newest"])
    }))

  it.live("sessions that have expired by a shorter idleTimeout make room for one with a longer one", () =>
    Effect.gen(function*() {
      // A script that loops for ever would stop the server of this machine. A client does not end before its server.
      const server = yield* startServer
      yield* Effect.gen(function*() {
        const context = yield* Layer.build(redisAt(server.port))
        const storesWith = (idleTimeout: number) =>
          Effect.provide(storesOf({ sessions: { idleTimeout, maxSessionsPerPrincipal: 2 }, timeout: 5_000 }), context)
        const { sessions: before } = yield* storesWith(200)
        const { sessions: after } = yield* storesWith(7 * 86_400_000)
        for (const id of ["1", "2"]) yield* before.create(sessionOf(id))
        while ((yield* before.load("1")) !== undefined || (yield* before.load("2")) !== undefined) {
          yield* Effect.sleep("50 millis")
        }
        for (const id of ["3", "4", "5"]) yield* Effect.andThen(Effect.sleep("2 millis"), after.create(sessionOf(id)))
        const left = yield* Effect.filter(
          ["3", "4", "5"],
          (id) => Effect.map(after.load(id), (session) => session !== undefined)
        )
        assert.deepStrictEqual(left, ["4", "5"])
      }).pipe(Effect.onError(() => server.signal("SIGKILL")))
    }))

  it.live("after an outage, no session makes room before its owner could return", () =>
    Effect.gen(function*() {
      const leaseMillis = 3_600_000
      const { owners, prefix, sessions } = yield* newStores({ sessions: { maxSessions: 2 }, leaseMillis })
      const { send } = yield* Redis.Redis
      const pause = Effect.sleep("2 millis")
      const left = (...ids: ReadonlyArray<string>) =>
        Effect.filter(ids, (id) => Effect.map(sessions.load(id), (session) => session !== undefined))
      const [away, back] = [{ ...lease, process: "away" }, { ...lease, process: "back" }]
      for (const one of [away, back]) yield* owners.renew(one)
      for (const id of ["old", "new"]) {
        yield* owners.claim(id, 0, away)
        yield* Effect.andThen(pause, sessions.create(sessionOf(id)))
      }
      yield* owners.retire("away")
      yield* owners.claim("more", 0, back)
      yield* Effect.andThen(pause, sessions.create(sessionOf("more")))
      assert.deepStrictEqual(yield* left("old", "new", "more"), ["old", "new", "more"])
      // A session that no process owns makes room at once.
      yield* owners.release("new", 1)
      yield* Effect.andThen(pause, sessions.save(sessionOf("more")))
      assert.deepStrictEqual(yield* left("old", "new", "more"), ["old", "more"])
      yield* owners.claim("last", 0, back)
      yield* Effect.andThen(pause, sessions.create(sessionOf("last")))
      assert.deepStrictEqual(yield* left("old", "more", "last"), ["old", "more", "last"])
      // The lease of the process has stood for the time of a lease.
      const process = `${prefix}process:${Digest.of("back")}`
      yield* send("HINCRBY", process, "s", String(-leaseMillis))
      yield* Effect.andThen(pause, sessions.save(sessionOf("last")))
      assert.deepStrictEqual(yield* left("old", "more", "last"), ["more", "last"])
      assert.deepStrictEqual(...yield* weighed(prefix, "sessions"))
    }).pipe(Effect.provide(redis)))

  it.live("a session expires unused", () =>
    Effect.gen(function*() {
      const { prefix, sessions } = yield* newStores({ sessions: { idleTimeout: 3_600_000 } })
      const { send } = yield* Redis.Redis
      const row = (session: string) => `${prefix}session:${Digest.of(session)}`
      for (const session of ["used", "looked up"]) {
        yield* sessions.create(sessionOf(session))
        yield* send("PEXPIRE", row(session), "60000")
      }
      yield* sessions.touch("used", 1, 2)
      // Any principal can cause this.
      yield* sessions.load("looked up")
      assert.isAbove(Number(yield* send("PTTL", row("used"))), 60_000)
      assert.isAtMost(Number(yield* send("PTTL", row("looked up"))), 60_000)
      const { sessions: shortLived } = yield* newStores({ sessions: { idleTimeout: 100 } })
      yield* shortLived.create(sessionOf("s"))
      while ((yield* shortLived.load("s")) !== undefined) yield* Effect.sleep("20 millis")
    }).pipe(Effect.provide(redis)))

  it.live("a session that is too large is not stored", () =>
    Effect.gen(function*() {
      const { prefix, sessions } = yield* newStores({ sessions: { maxBytesPerSession: 1_000, maxBytes: 5_000 } })
      const large = { ...sessionOf("large"), subscriptions: ["x".repeat(1_000)] }
      assert.match(String((yield* Effect.flip(sessions.create(large))).cause), /set sessions.maxBytesPerSession/)
      // Of sessions that were used in the same millisecond, any makes room.
      for (const id of ["1", "2", "3", "4", "5", "6"]) {
        yield* Effect.andThen(Effect.sleep("2 millis"), sessions.create(sessionOf(id)))
      }
      const [sum, bytes] = yield* weighed(prefix, "sessions")
      assert.strictEqual(sum, bytes)
      assert.isAtMost(bytes, 5_000)
      assert.isDefined(yield* sessions.load("6"))
    }))
})

describe.runIf(isRedisRunning)("McpStores.layerRedis", () => {
  it.live("processes share sessions, states and changes, and a claim stops the writes of the owner before", () =>
    over((prefix) =>
      bundles.areShared((address) => Layer.provide(McpStores.layerRedis({ prefix, owners: { address } }), redis))
    ))
})

describe.runIf(isRedisRunning)("used states in Redis", () => {
  const hour = () => Date.now() + 3_600_000

  it.live("[MRTR-10] of processes that use a state at the same time, one is the first", () =>
    Effect.gen(function*() {
      const { usedStates } = yield* newStores()
      const uses = yield* Effect.forEach(Array.from({ length: 8 }), () => usedStates.use("state", hour(), "ada"), {
        concurrency: "unbounded"
      })
      assert.strictEqual(uses.filter((isFirst) => isFirst).length, 1)
      for (const id of ["", "a\u0000b", "\ud800", "x".repeat(10_000)]) {
        const use = Effect.suspend(() => usedStates.use(id, Number.POSITIVE_INFINITY, undefined))
        assert.deepStrictEqual(yield* Effect.all([use, use]), [true, false], id.slice(0, 9))
      }
    }))

  it.live("[MRTR-10] a principal has no more states than there is still room for, and expired ones take none", () =>
    Effect.gen(function*() {
      const { usedStates: { use } } = yield* newStores({ capacity: 8 })
      for (const id of ["e1", "e2", "e3"]) yield* use(id, Date.now() + 50, "ada")
      yield* Effect.sleep("100 millis")
      for (const id of ["1", "2", "3", "4"]) assert.isTrue(yield* use(id, hour(), "ada"))
      assert.match(String((yield* Effect.flip(use("5", hour(), "ada"))).cause), /set usedStates.capacity to allow more/)
      assert.isTrue(yield* use("5", hour(), undefined))
    }))
})

describe.runIf(isRedisRunning)("rates in Redis", () => {
  const limited = (test: Effect.Effect<void, unknown, RateLimiter.RateLimiter>) =>
    over((prefix) => Effect.provide(test, Layer.provide(RateLimiter.layer, McpStores.layerRedis({ prefix }))))

  for (const algorithm of ["fixed-window", "token-bucket"] as const) {
    it.live(`a ${algorithm} rejects what exceeds it, until the time has come`, () =>
      limited(rates.limits(algorithm, "a")))
  }

  it.live("a rate adapts to the answers of a service", () => limited(rates.adapts("a")))
})
