/** Transactions of different epochs, or of a lease and a claim, that overlap. */
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Database from "../../src/internal/sql/Database.ts"
import { sessionOf, streamOf } from "./limits.ts"
import { eventsOf, ownersOf, sessionsOf } from "./stores.ts"

/** The time in which a statement would end that does not wait for a lock. */
const moment = "300 millis"

/** Runs an operation in a transaction that stays open until the other one was tried and found waiting. */
const whileOpen = <A, E, B, F>(
  { atomic }: Database.Database,
  operation: Effect.Effect<A, E>,
  other: Effect.Effect<B, F>
) =>
  Effect.gen(function*() {
    const isDone = yield* Deferred.make<void>()
    const mayCommit = yield* Deferred.make<void>()
    const late = yield* Effect.forkChild(atomic(Effect.gen(function*() {
      const result = yield* operation
      yield* Deferred.succeed(isDone, undefined)
      yield* Deferred.await(mayCommit)
      return result
    })))
    yield* Deferred.await(isDone)
    const waiting = yield* Effect.forkChild(Effect.exit(other))
    yield* Effect.sleep(moment)
    const isWaiting = waiting.pollUnsafe() === undefined
    yield* Deferred.succeed(mayCommit, undefined)
    assert.isTrue(isWaiting, "the other operation did not wait")
    const first = yield* Fiber.join(late)
    return [first, yield* Effect.flatten(Fiber.join(waiting))] as const
  })

const young = { process: "young", address: "http://young.test", millis: 60_000 }
const old = { process: "old", address: "http://old.test", millis: 1 }

/** Begins the leases of two processes: one of which is over, and one that may take over. */
const begin = (database: Database.Database) =>
  Effect.gen(function*() {
    const owners = ownersOf(database)
    yield* owners.renew({ ...old, millis: 60_000 })
    yield* owners.renew(young)
    yield* owners.claim("s", 0, old)
    yield* sessionsOf(database).create(sessionOf("s", "ada"))
    yield* owners.renew(old)
    yield* Effect.sleep("10 millis")
    return owners
  })

/** The sessions of a principal that are deleted are lost for their owners, and no process can claim them. */
export const removedPrincipal = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    const owners = yield* begin(one)
    yield* owners.renew({ ...old, millis: 60_000 })
    yield* owners.claim("t", 0, young)
    yield* sessionsOf(one).create(sessionOf("t", "bob"))
    const { removeAllOf } = sessionsOf(other)
    yield* removeAllOf?.("ada") ?? Effect.void
    const sessions = [{ session: "s", epoch: 1 }, { session: "t", epoch: 1 }]
    assert.deepStrictEqual(yield* owners.lost(old.process, sessions.slice(0, 1)), ["s"])
    assert.deepStrictEqual(yield* owners.lost(young.process, sessions.slice(1)), [])
    assert.deepStrictEqual(yield* owners.locate("s"), { _tag: "Unknown" })
    assert.isUndefined(yield* owners.claim("s", 1, young))
    assert.isUndefined(yield* sessionsOf(one).load("s"))
    assert.isDefined(yield* sessionsOf(one).load("t"))
  })

const claim = (database: Database.Database) => ownersOf(database).claim("s", 1, { ...young, millis: 1 })

/** An append that commits late delays the claim, and its event is part of the take-over. */
export const appendFirst = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    yield* begin(one)
    // The row of the stream exists.
    yield* eventsOf(one).append(streamOf("s", "a"), "0")
    const [id, epoch] = yield* whileOpen(one, eventsOf(one).append(streamOf("s", "a"), "1"), claim(other))
    assert.strictEqual(epoch, 2)
    const [taken] = yield* eventsOf(other).takeOver("s", 2)
    assert.strictEqual(taken?.events.at(-1)?.id, id)
  })

/** A write of an earlier epoch that waits for a claim changes nothing. */
export const claimFirst = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    yield* begin(one)
    const [id] = [yield* eventsOf(other).append(streamOf("s", "a"), "0")]
    const sessions = sessionsOf(other)
    const writes = Effect.all([
      Effect.flip(eventsOf(other).append(streamOf("s", "a"), "1")),
      Effect.flip(eventsOf(other).append(streamOf("s", "b"), "1")),
      Effect.flip(eventsOf(other).end(streamOf("s", "a"))),
      Effect.flip(eventsOf(other).drop("s", 1)),
      Effect.flip(sessions.save(sessionOf("s", "bob"))),
      Effect.flip(sessions.touch("s", 1, Date.now() + 1_000_000)),
      Effect.flip(sessions.remove("s", 1))
    ], { concurrency: "unbounded" })
    const [epoch, errors] = yield* whileOpen(one, claim(one), writes)
    assert.strictEqual(epoch, 2)
    assert.deepStrictEqual(errors.map(({ _tag }) => _tag), Array.from(errors, () => "SupersededError"))
    const streams = yield* eventsOf(one).takeOver("s", 2)
    assert.deepStrictEqual(streams.map(({ events, stream }) => [stream, events]), [["a", [{ id, data: "0" }]]])
    assert.strictEqual((yield* sessions.load("s"))?.principal, "ada")
  })

/** A process that renews its lease while its session is claimed learns that it has lost the session. */
export const claimBeforeRenewal = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    yield* begin(one)
    const [epoch, stood] = yield* whileOpen(one, claim(one), ownersOf(other).renew(old))
    assert.deepStrictEqual([epoch, stood], [2, false])
    assert.deepStrictEqual(yield* ownersOf(other).lost("old", [{ session: "s", epoch: 1 }]), ["s"])
  })

/** A claim that waits for the renewal of the owner is refused. */
export const renewalBeforeClaim = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    yield* begin(one)
    const [, epoch] = yield* whileOpen(one, ownersOf(one).renew({ ...old, millis: 60_000 }), claim(other))
    assert.isUndefined(epoch)
    assert.deepStrictEqual(yield* ownersOf(other).lost("old", [{ session: "s", epoch: 1 }]), [])
  })

/** Of two claims that overlap, one succeeds. */
export const twoClaims = (one: Database.Database, other: Database.Database) =>
  Effect.gen(function*() {
    yield* begin(one)
    assert.deepStrictEqual(yield* whileOpen(one, claim(one), claim(other)), [2, undefined])
  })
