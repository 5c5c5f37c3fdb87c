/**
 * The laws of every `SessionOwners.OwnerStore`. Each law is an effect, which any test runner can run.
 * `SessionOwnersSuite.suite` of the entry `/vitest` makes a Vitest test of each.
 *
 * @stability unstable
 */
import type { SessionOwners } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import { likeIds, newId, oddIds } from "../internal/laws/ids.ts"
import { lawOf } from "../internal/laws/Law.ts"
import type { StoreLaw } from "./StoreLaw.ts"

type Store = SessionOwners.OwnerStore

/** The time limit of a process for one operation, after which the process interrupts it. */
const operationTimeout = "5 seconds"

/** A lease that stands for as long as any law runs, in milliseconds. */
const long = 3_600_000

/** A lease that a law waits for, in milliseconds. */
const short = 300

const unknown: SessionOwners.Location = { _tag: "Unknown" }

/** Returns the lease of a process that no store has seen. */
const newLease = (): Effect.Effect<SessionOwners.ProcessLease> =>
  Effect.map(newId, (process) => ({ process, address: `http://${process}.test:3000`, millis: long }))

/** Begins the lease of a new process. */
const begin = Effect.fnUntraced(function*(store: Store) {
  const lease = yield* newLease()
  assert.strictEqual(yield* store.renew(lease), false)
  return lease
})

/** Begins the lease of a process that may take sessions over: it has stood for the time of a short lease. */
const beginOlder = Effect.fnUntraced(function*(store: Store) {
  const lease = yield* begin(store)
  yield* over
  return { ...lease, millis: short }
})

/** Waits until a short lease that begins now is over, also by a clock that counts whole seconds of a second process. */
const over = Effect.sleep(short + 200)

/** Renews a lease for a short time, and waits until it is over. */
const end = (store: Store, lease: SessionOwners.ProcessLease) =>
  Effect.andThen(store.renew({ ...lease, millis: short }), over)

const ownedBy = ({ address, process }: SessionOwners.ProcessLease, epoch: number): SessionOwners.Location => ({
  _tag: "Owned",
  epoch,
  process,
  address
})

const free = (epoch: number): SessionOwners.Location => ({ _tag: "Free", epoch })

const located = (store: Store, session: string, expected: SessionOwners.Location) =>
  Effect.map(store.locate(session), (location) => assert.deepStrictEqual({ ...location }, { ...expected }, session))

/**
 * Returns the laws for a store. Each law uses a store of its own, which ends with it, and processes and sessions that
 * did not exist before. The laws wait for leases, so they run on the live clock.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import { SessionOwnersLaws } from "@effect-mcp/testing/laws"
 * import * as Effect from "effect/Effect"
 *
 * const laws = SessionOwnersLaws.laws(SessionOwners.makeStoreInMemory)
 * export const kept = Effect.as(Effect.forEach(laws, ({ run }) => run, { concurrency: "unbounded" }), true) // => true
 * ```
 *
 * @category laws
 */
export const laws = (make: Effect.Effect<Store, unknown, Scope.Scope>): ReadonlyArray<StoreLaw> => {
  const law = lawOf(make)
  return [
    law("a session that was not claimed is unknown, and has no later epoch", function*(store) {
      const lease = yield* begin(store)
      for (const session of [...oddIds, yield* newId]) {
        yield* located(store, session, unknown)
        assert.strictEqual(yield* store.claim(session, 1, lease), undefined, session)
        yield* located(store, session, unknown)
      }
    }),

    law("a new session belongs to the process that claims it first", function*(store) {
      const session = yield* newId
      const [one, other] = [yield* begin(store), yield* begin(store)]
      assert.strictEqual(yield* store.claim(session, 0, one), 1)
      yield* located(store, session, ownedBy(one, 1))
      for (const epoch of [0, 1, 2]) assert.strictEqual(yield* store.claim(session, epoch, other), undefined)
      assert.strictEqual(yield* store.claim(session, 0, one), undefined)
      yield* located(store, session, ownedBy(one, 1))
    }),

    law("of processes that claim a session at the same time, one becomes its owner", function*(store) {
      const leases = yield* Effect.forEach(Array.from({ length: 8 }), () => beginOlder(store), {
        concurrency: "unbounded"
      })
      const session = yield* newId
      for (const epoch of [0, 1, 2]) {
        const claims = yield* Effect.forEach(
          leases,
          (lease) => Effect.suspend(() => store.claim(session, epoch, lease)),
          { concurrency: "unbounded" }
        )
        const winners = leases.filter((_, index) => claims[index] === epoch + 1)
        assert.deepStrictEqual(claims.filter((claim) => claim !== undefined), [epoch + 1])
        for (const winner of winners) yield* located(store, session, ownedBy(winner, epoch + 1))
        yield* store.release(session, epoch + 1)
      }
    }),

    law("the owner of a session may claim it again, with the next epoch", function*(store) {
      const session = yield* newId
      const lease = yield* begin(store)
      yield* store.claim(session, 0, lease)
      assert.strictEqual(yield* store.claim(session, 1, lease), 2)
      assert.strictEqual(yield* store.claim(session, 1, lease), undefined)
      yield* located(store, session, ownedBy(lease, 2))
    }),

    law("a released session is free, keeps its epoch, and belongs to the next that claims it", function*(store) {
      const session = yield* newId
      const [one, other] = [yield* begin(store), yield* begin(store)]
      yield* store.claim(session, 0, one)
      yield* store.release(session, 1)
      yield* located(store, session, free(1))
      assert.strictEqual(yield* store.claim(session, 0, other), undefined)
      assert.strictEqual(yield* store.claim(session, 1, other), 2)
      yield* located(store, session, ownedBy(other, 2))
    }),

    law("a process of an earlier epoch neither releases nor removes a session", function*(store) {
      const session = yield* newId
      const [one, other] = [yield* begin(store), yield* begin(store)]
      yield* store.claim(session, 0, one)
      yield* store.release(session, 1)
      yield* store.claim(session, 1, other)
      yield* store.release(session, 1)
      yield* store.remove(session, 1)
      yield* located(store, session, ownedBy(other, 2))
      yield* store.remove(session, 2)
      yield* located(store, session, unknown)
      yield* store.release(session, 2)
      yield* located(store, session, unknown)
    }),

    law("the sessions of a process whose lease is over are free", function*(store) {
      const session = yield* newId
      const dying = yield* begin(store)
      const other = yield* beginOlder(store)
      yield* store.claim(session, 0, dying)
      yield* end(store, dying)
      yield* located(store, session, free(1))
      assert.strictEqual(yield* store.claim(session, 1, dying), undefined)
      assert.strictEqual(yield* store.claim(session, 1, other), 2)
      yield* located(store, session, ownedBy(other, 2))
    }),

    law("a process takes a session over only after its own lease has stood for one lease time", function*(store) {
      const session = yield* newId
      const dying = yield* begin(store)
      yield* store.claim(session, 0, dying)
      yield* end(store, dying)
      const young = yield* begin(store)
      assert.strictEqual(yield* store.claim(session, 1, young), undefined)
      yield* located(store, session, free(1))
      // A session without an owner is not taken from anyone.
      const released = yield* newId
      yield* store.claim(released, 0, young)
      yield* store.release(released, 1)
      assert.strictEqual(yield* store.claim(released, 1, yield* begin(store)), 2)
      yield* over
      assert.strictEqual(yield* store.claim(session, 1, { ...young, millis: short }), 2)
    }),

    law("after an outage, the sessions stay with their owners", function*(store) {
      const leases = yield* Effect.forEach(Array.from({ length: 3 }), () => begin(store))
      const sessions = yield* Effect.forEach(leases, (lease) => Effect.tap(newId, (id) => store.claim(id, 0, lease)))
      yield* Effect.forEach(leases, (lease) => end(store, lease), { concurrency: "unbounded" })
      // All leases are over. The processes return one after another, and each asks for all sessions.
      for (const returning of leases) {
        assert.strictEqual(yield* store.renew({ ...returning, millis: long }), false)
        for (const [index, session] of sessions.entries()) {
          if (leases[index] === returning) continue
          assert.strictEqual(yield* store.claim(session, 1, { ...returning, millis: long }), undefined)
        }
      }
      for (const [index, lease] of leases.entries()) {
        yield* located(store, sessions[index] ?? "", ownedBy(lease, 1))
        assert.deepStrictEqual(
          yield* store.lost(lease.process, [{ session: sessions[index] ?? "", epoch: 1 }]),
          []
        )
      }
    }),

    law("a renewal tells whether the lease stood until then", function*(store) {
      const lease = yield* begin(store)
      assert.strictEqual(yield* store.renew({ ...lease, millis: short }), true)
      yield* over
      assert.strictEqual(yield* store.renew(lease), false)
      assert.strictEqual(yield* store.renew(lease), true)
    }),

    law("a process without a lease claims nothing, and one that has retired has none", function*(store) {
      const session = yield* newId
      assert.strictEqual(yield* store.claim(session, 0, yield* newLease()), undefined)
      yield* located(store, session, unknown)
      const [one, other] = [yield* begin(store), yield* beginOlder(store)]
      yield* store.claim(session, 0, one)
      yield* store.retire(one.process)
      yield* located(store, session, free(1))
      assert.strictEqual(yield* store.claim(session, 1, one), undefined)
      assert.strictEqual(yield* store.claim(session, 1, other), 2)
      yield* store.retire(one.process)
      yield* store.retire((yield* newLease()).process)
      yield* located(store, session, ownedBy(other, 2))
    }),

    law("a process learns which sessions it has lost", function*(store) {
      const [one, other] = [yield* begin(store), yield* begin(store)]
      const ids = yield* likeIds
      for (const id of ids) yield* store.claim(id, 0, one)
      const [kept = "", taken = "", again = "", removed = ""] = ids
      yield* store.release(taken, 1)
      yield* store.claim(taken, 1, other)
      yield* store.claim(again, 1, one)
      yield* store.remove(removed, 1)
      const claimed = [kept, taken, again, removed].map((session) => ({ session, epoch: 1 }))
      const lost = yield* store.lost(one.process, claimed)
      assert.deepStrictEqual([...lost].toSorted(), [taken, again, removed].toSorted())
      const many = Array.from({ length: 500 }, (_, index) => ({ session: `${kept}/${index}`, epoch: 1 }))
      assert.strictEqual((yield* store.lost(one.process, many)).length, 500)
      assert.deepStrictEqual(yield* store.lost(one.process, []), [])
    }),

    law("sessions with similar ids are separate", function*(store) {
      const [one, other] = [yield* begin(store), yield* begin(store)]
      const ids = yield* likeIds
      for (const [index, id] of ids.entries()) {
        assert.strictEqual(yield* store.claim(id, 0, index % 2 === 0 ? one : other), 1)
      }
      for (const [index, id] of ids.entries()) yield* located(store, id, ownedBy(index % 2 === 0 ? one : other, 1))
    }),

    law("every operation ends within 5 seconds, for any arguments, and none throws or dies", function*(store) {
      const lease = yield* begin(store)
      const texts = [...oddIds, "", "é漢🙂", "'\"\\", "x".repeat(10_000)]
      for (const text of texts) {
        const operations = [
          () => store.renew({ process: text, address: text, millis: 1 }),
          () => store.locate(text),
          () => store.claim(text, 0, { ...lease, address: text }),
          () => store.release(text, 1),
          () => store.remove(text, 1),
          () => store.lost(text, [{ session: text, epoch: 1 }]),
          () => store.retire(text)
        ]
        for (const operation of operations) {
          const attempt = Effect.exit(Effect.suspend<unknown, unknown, never>(operation))
          const exit = yield* Effect.timeoutOption(attempt, operationTimeout)
          assert.ok(Option.isSome(exit), `an operation with ${text.slice(0, 20)} took longer than ${operationTimeout}`)
        }
      }
    })
  ]
}
