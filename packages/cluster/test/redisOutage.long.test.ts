/** Outages of Redis: a server of its own is stopped under load, and started again with and without its data. */
import { type EventStore, SessionOwners } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as References from "effect/References"
import type * as Scope from "effect/Scope"
import { inspect } from "node:util"
import * as Digest from "../src/internal/Digest.ts"
import { redisAt, storesOf } from "./support/redis.ts"
import { startServer } from "./support/redisServer.ts"
import { isRunning } from "./support/services.ts"

/** Where Redis runs, its program is installed. */
const isRedisRunning = isRunning("Redis", "outages of Redis")

const leaseMillis = 1_000

/** Starts a process: a client of its own, the stores over it, and a lease. */
const startProcess = Effect.fnUntraced(function*(port: number, address: string) {
  const context = yield* Layer.build(Layer.fresh(redisAt(port)))
  const stores = yield* Effect.provide(storesOf({}), context)
  const owners = yield* SessionOwners.make(stores.owners, { address, leaseTime: leaseMillis })
  const lost: Array<string> = []
  yield* owners.onLost((session) => void lost.push(session))
  yield* owners.awaitLease
  return { ...stores, owners, store: stores.owners, lost, address }
})

type Process = Effect.Success<ReturnType<typeof startProcess>>

const sessionsOf = ({ address }: Process) => ["a", "b", "c"].map((name) => `${address}/${name}`)

const streamOf = (session: string, epoch = 1): EventStore.WrittenStream => ({
  session,
  stream: "s",
  epoch,
  requests: [1]
})

/** Starts processes that own three sessions each. */
const startProcesses = (port: number) =>
  Effect.forEach(["http://one.test", "http://two.test", "http://three.test"], (address) =>
    Effect.gen(function*() {
      const process = yield* startProcess(port, address)
      for (const session of sessionsOf(process)) {
        assert.strictEqual(yield* process.owners.claim(session, 0), 1)
        yield* process.sessions.create({
          id: session,
          principal: undefined,
          handshakeMessages: [],
          openedAt: 1,
          usedAt: 1,
          epoch: 1
        })
      }
      return process
    }))

/** Tries to take all sessions of other processes for as long as it runs. Returns those that it got. */
const taking = (process: Process, others: ReadonlyArray<string>, taken: Array<string>) =>
  Effect.forever(Effect.andThen(
    Effect.forEach(others, (session) =>
      Effect.map(
        Effect.exit(process.owners.claim(session, 1)),
        (exit) => {
          if (Exit.isSuccess(exit) && exit.value !== undefined) taken.push(session)
        }
      ), { discard: true }),
    Effect.sleep(20)
  ))

/** Appends to the sessions of a process for as long as it runs, and remembers what was confirmed. */
const appending = (process: Process, confirmed: Map<string, Array<string>>) =>
  Effect.forEach(sessionsOf(process), (session) =>
    Effect.gen(function*() {
      const ids: Array<string> = []
      confirmed.set(session, ids)
      while (true) {
        const exit = yield* Effect.exit(process.events.append(streamOf(session), `"${ids.length}"`))
        if (Exit.isSuccess(exit)) ids.push(exit.value)
        else yield* Effect.sleep(20)
      }
    }), { concurrency: "unbounded", discard: true })

/** Runs a test in a scope. The client warns of each attempt to connect. */
const quiet = <A, E>(test: Effect.Effect<A, E, Scope.Scope>) =>
  Effect.provideService(Effect.scoped(test), References.MinimumLogLevel, "Error")

const timed = (effect: Effect.Effect<unknown, unknown>) =>
  Effect.gen(function*() {
    const start = performance.now()
    const exit = yield* Effect.exit(effect)
    return { exit, millis: performance.now() - start }
  })

describe.runIf(isRedisRunning)("outages of Redis", () => {
  it.live(
    "after an outage the sessions stay with their owners, and what was confirmed is stored",
    () =>
      quiet(Effect.gen(function*() {
        const server = yield* startServer
        const processes = yield* startProcesses(server.port)
        const all = processes.flatMap(sessionsOf)
        // Every process could take a session over before the outage: its lease has stood for long enough.
        yield* Effect.sleep(leaseMillis + 100)
        const taken: Array<string> = []
        const confirmed = new Map<string, Array<string>>()
        const load = yield* Effect.forEach(processes, (process) => {
          const others = all.filter((session) => !sessionsOf(process).includes(session))
          return Effect.forEach([taking(process, others, taken), appending(process, confirmed)], (work) =>
            Effect.forkChild(work))
        })
        yield* Effect.sleep(300)
        yield* server.signal("SIGKILL")
        yield* Effect.sleep(100)
        for (const { events, store } of processes) {
          const append = yield* timed(events.append(streamOf("other"), "1"))
          const locate = yield* timed(store.locate("other"))
          for (const { exit, millis } of [append, locate]) {
            assert.isTrue(Exit.isFailure(exit))
            assert.isBelow(millis, 1_000)
          }
        }
        yield* Effect.sleep(2 * leaseMillis)
        for (const { owners } of processes) {
          assert.isFalse(owners.isAlive())
        }
        yield* server.start
        for (const { owners } of processes) {
          yield* Effect.timeout(owners.awaitLease, "5 seconds")
        }
        // Those that try to take sessions have enough time for it: all leases have stood for one lease time.
        yield* Effect.sleep(2 * leaseMillis)
        for (const fiber of load.flat()) {
          yield* Fiber.interrupt(fiber)
        }
        assert.deepStrictEqual(taken, [])
        for (const process of processes) {
          assert.deepStrictEqual(process.lost, [])
          for (const session of sessionsOf(process)) {
            assert.deepStrictEqual({ ...yield* process.store.locate(session) }, {
              _tag: "Owned",
              epoch: 1,
              process: process.owners.process,
              address: process.address
            })
            assert.strictEqual((yield* process.sessions.load(session))?.epoch, 1)
            const ids = confirmed.get(session) ?? []
            assert.isAbove(ids.length, 10)
            const [stream] = yield* process.events.takeOver(session, 1)
            const stored = new Set(
              stream?.events.map(({ id }) =>
                id
              )
            )
            // The limit of a stream is 1,000 events.
            assert.deepStrictEqual(ids.slice(-900).filter((id) => !stored.has(id)), [])
          }
        }
      })),
    60_000
  )

  it.live(
    "a Redis that returns without its data has lost the sessions, and every owner learns it",
    () =>
      quiet(Effect.gen(function*() {
        const server = yield* startServer
        const processes = yield* startProcesses(server.port)
        yield* server.signal("SIGKILL")
        yield* server.forget
        // The outage is shorter than a lease, and is noticed all the same.
        yield* server.start
        for (const process of processes) {
          yield* Effect.sleep(200)
          while (process.lost.length < 3) yield* Effect.sleep(50)
          yield* process.owners.awaitLease
          assert.deepStrictEqual(process.lost.toSorted(), sessionsOf(process))
          for (const session of sessionsOf(process)) {
            assert.strictEqual((yield* process.store.locate(session))._tag, "Unknown")
            assert.isUndefined(yield* process.sessions.load(session))
          }
        }
      })),
    60_000
  )

  it.live("a server that lost its last writes gives no session to two processes", () =>
    quiet(Effect.gen(function*() {
      const server = yield* startServer
      const [one, two] = yield* startProcesses(server.port)
      if (one === undefined || two === undefined) return assert.fail("there are three processes")
      const [session = ""] = sessionsOf(one)
      yield* Effect.sleep(leaseMillis + 100)
      yield* one.owners.release(session, 1)
      assert.strictEqual(yield* two.owners.claim(session, 1), 2)
      // The row as it was before, which a replica could have.
      yield* one.redis.send("HSET", `mcp:session:${Digest.of(session)}`, "e", "1", "o", "another")
      yield* server.signal("SIGKILL")
      yield* server.start
      while (two.lost.length === 0) yield* Effect.sleep(50)
      assert.deepStrictEqual(two.lost, [session])
      assert.deepStrictEqual({ ...yield* two.store.locate(session) }, { _tag: "Free", epoch: 1 })
    })), 60_000)

  it.live(
    "commands that wait for a Redis that hangs are bounded, and further ones fail at once",
    () =>
      quiet(Effect.gen(function*() {
        const server = yield* startServer
        const context = yield* Layer.build(Layer.fresh(redisAt(server.port)))
        const { events } = yield* Effect.provide(storesOf({ timeout: 2_000 }), context)
        yield* events.append(streamOf("s"), "1")
        yield* server.signal("SIGSTOP")
        const large = "x".repeat(16 * 1024 * 1024)
        const attempts = yield* Effect.forEach([1, 2, 3, 4, 5], () => timed(events.append(streamOf("s"), large)), {
          concurrency: "unbounded"
        })
        const early = attempts.filter(({ exit, millis }) => Exit.isFailure(exit) && millis < 1_000)
        assert.strictEqual(early.length, 2)
        yield* server.signal("SIGCONT")
      })),
    60_000
  )

  it.live(
    "a Redis without memory rejects new data, and leases, ends and deletions go on",
    () =>
      quiet(Effect.gen(function*() {
        const server = yield* startServer
        const [process] = yield* startProcesses(server.port)
        if (process === undefined) return assert.fail("there are three processes")
        const { events, owners, redis, sessions, store } = process
        const [session = "", other = ""] = sessionsOf(process)
        const first = yield* events.append(streamOf(session), "1")
        yield* events.append(streamOf(session), "2")
        yield* redis.send("CONFIG", "SET", "maxmemory", "1")
        const error = yield* Effect.flip(events.append(streamOf(session), "3"))
        assert.match(inspect(error), /OOM/)
        yield* Effect.sleep(2 * leaseMillis)
        assert.isTrue(owners.isAlive())
        assert.strictEqual((yield* store.locate(session))._tag, "Owned")
        assert.strictEqual((yield* sessions.load(session))?.id, session)
        assert.strictEqual((yield* events.replay(session, first))?.events.length, 1)
        yield* events.end(streamOf(session))
        yield* events.drop(session, 1)
        yield* sessions.touch(other, 1, 10)
        yield* sessions.remove(session, 1)
        yield* owners.remove(session, 1)
        assert.strictEqual((yield* store.locate(session))._tag, "Unknown")
        yield* redis.send("CONFIG", "SET", "maxmemory", "0")
        yield* events.append(streamOf(other), "1")
      })),
    60_000
  )

  it.live(
    "while Redis hangs every command fails at its deadline, and afterwards all goes on",
    () =>
      quiet(Effect.gen(function*() {
        const server = yield* startServer
        const context = yield* Layer.build(Layer.fresh(redisAt(server.port)))
        const stores = yield* Effect.provide(storesOf({ timeout: 300 }), context)
        const stream = streamOf("s")
        const first = yield* stores.events.append(stream, "1")
        yield* server.signal("SIGSTOP")
        const attempts = yield* Effect.forEach(
          Array.from({ length: 50 }),
          () => timed(stores.events.append(stream, "2")),
          { concurrency: "unbounded" }
        )
        for (const { exit, millis } of attempts) {
          assert.isTrue(Exit.isFailure(exit))
          assert.isBelow(millis, 3_000)
        }
        yield* server.signal("SIGCONT")
        yield* Effect.eventually(Effect.andThen(Effect.sleep(50), stores.events.append(stream, "3")))
        const replay = yield* stores.events.replay("s", first)
        assert.strictEqual(replay?.events.at(-1)?.data, "3")
      })),
    60_000
  )
})
