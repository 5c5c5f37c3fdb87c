import { Metrics, SessionOwners } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as TestClock from "effect/testing/TestClock"
import { settled, start } from "../../support/sessions.ts"

const withoutLogger = Effect.provide(Logger.layer([]))

/** Runs an effect with its own registry of metrics. */
const withRegistry = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(effect, Metric.MetricRegistry, new Map()))

/** Makes a process whose calls wait or fail, and a second one that reaches the same store without faults. */
const makeProcesses = Effect.gen(function*() {
  const store = yield* SessionOwners.makeStoreInMemory
  const state: {
    isAway: boolean
    gate: Deferred.Deferred<void> | undefined
    /** While it is there, the answers to claims wait for it. */
    claims: Deferred.Deferred<void> | undefined
    losesAnswers: boolean
    /** Whether renewals take effect and fail all the same. */
    losesReplies: boolean
    lookups: number
    /** The time of each answer to which sessions are lost, in milliseconds. */
    answerMillis: number
    /** While it is there, the store executes claims and their ends when the test says so, after their deadlines. */
    late: Array<() => Effect.Effect<unknown, SessionOwners.SessionOwnersError>> | undefined
    /** The session whose claims fail. */
    failing: string | undefined
  } = {
    isAway: false,
    gate: undefined,
    claims: undefined,
    losesAnswers: false,
    losesReplies: false,
    lookups: 0,
    answerMillis: 0,
    late: undefined,
    failing: undefined
  }
  const lately = <A>(call: () => Effect.Effect<A, SessionOwners.SessionOwnersError>) =>
    Effect.suspend(() => {
      if (state.late === undefined) return call()
      state.late.push(call)
      return Effect.never
    })
  const faulty: SessionOwners.OwnerStore = {
    ...store,
    renew: (lease) =>
      Effect.suspend(() => {
        if (state.isAway) return Effect.die(new Error("away"))
        const renewed = Effect.flatMap(
          Effect.suspend(() => store.renew(lease)),
          (stood) => state.losesReplies ? Effect.die(new Error("the reply is lost")) : Effect.succeed(stood)
        )
        return state.gate === undefined
          ? renewed
          : Effect.uninterruptible(Effect.andThen(Deferred.await(state.gate), renewed))
      }),
    locate: (session) => {
      state.lookups++
      return store.locate(session)
    },
    claim: (session, epoch, lease) =>
      Effect.tap(
        lately(() => session === state.failing ? Effect.die(new Error("away")) : store.claim(session, epoch, lease)),
        () => Effect.suspend(() => state.claims === undefined ? Effect.void : Deferred.await(state.claims))
      ),
    lost: (process, sessions) =>
      Effect.suspend(() => {
        if (state.losesAnswers) return Effect.die(new Error("away"))
        const lost = store.lost(process, sessions)
        return state.answerMillis === 0 ? lost : Effect.andThen(Effect.sleep(state.answerMillis), lost)
      }),
    release: (session, epoch) => lately(() => store.release(session, epoch)),
    remove: (session, epoch) => lately(() => store.remove(session, epoch)),
    retire: (process) => store.retire(process)
  }
  const one = yield* SessionOwners.make(faulty, { address: "http://one" })
  const two = yield* SessionOwners.make({
    renew: (lease) => store.renew(lease),
    retire: (process) => store.retire(process),
    locate: (session) => store.locate(session),
    claim: (session, epoch, lease) => store.claim(session, epoch, lease),
    release: (session, epoch) => store.release(session, epoch),
    remove: (session, epoch) => store.remove(session, epoch),
    lost: (process, sessions) => store.lost(process, sessions)
  }, { address: "http://two" })
  yield* one.awaitLease
  yield* two.awaitLease
  const lost: Array<readonly [session: string, epoch: number, isAlive: boolean]> = []
  yield* one.onLost((session, epoch) => void lost.push([session, epoch, one.isAlive()]))
  return { store, state, one, two, lost }
})

/** Claims the session `s` until the claim has timed out. Returns what executes it in the store afterwards. */
const loseClaim = Effect.fnUntraced(function*(
  { one, state }: Effect.Success<typeof makeProcesses>,
  epoch: number
) {
  const late: NonNullable<typeof state.late> = []
  state.late = late
  const lost = yield* start(Effect.exit(one.claim("s", epoch)))
  yield* TestClock.adjust(5000)
  assert.isTrue(Exit.isFailure(yield* Fiber.join(lost)))
  state.late = undefined
  return () => late[0]?.() ?? Effect.void
})

describe("a process with a lease", () => {
  it.effect("counts as dead before its lease is over in the store", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      yield* one.claim("s", 0)
      state.isAway = true
      yield* TestClock.adjust(1999)
      assert.isTrue(one.isAlive())
      yield* TestClock.adjust(1)
      assert.isFalse(one.isAlive())
      assert.strictEqual((yield* store.locate("s"))._tag, "Free")
      assert.isUndefined(yield* one.claim("t", 0))
    }).pipe(withoutLogger))

  it.effect("learns before it is alive again which sessions it has lost", () =>
    Effect.gen(function*() {
      const { lost, one, state, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      yield* one.claim("kept", 0)
      state.isAway = true
      yield* TestClock.adjust(3000)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      const waiting = yield* start(one.awaitLease)
      state.isAway = false
      yield* TestClock.adjust(500)
      yield* Fiber.join(waiting)
      assert.deepStrictEqual(lost, [["s", 1, false]])
      assert.isTrue(one.isAlive())
    }).pipe(withoutLogger))

  it.effect("asks for its sessions also after a renewal that was given up and took effect late", () =>
    Effect.gen(function*() {
      const { lost, one, state, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      const gate = yield* Deferred.make<void>()
      state.gate = gate
      yield* TestClock.adjust(3000)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      state.gate = undefined
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      yield* TestClock.adjust(1500)
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["s", 1, false]])
    }).pipe(withoutLogger))

  it.effect("asks for its sessions after a renewal whose reply was lost and may have said that it was over", () =>
    Effect.gen(function*() {
      const { lost, one, state, store, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      // The lease of the other process has to stand for the time of one lease.
      yield* TestClock.adjust(2000)
      yield* store.retire(one.process)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      state.losesReplies = true
      yield* TestClock.adjust(500)
      state.losesReplies = false
      assert.deepStrictEqual([one.isAlive(), lost], [true, []])
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(lost, [["s", 1, true]])
    }).pipe(withoutLogger))

  it.effect("asks for its sessions also if its lease was over before the answer to a renewal", () =>
    Effect.gen(function*() {
      const { lost, one, state, store, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      state.isAway = true
      yield* TestClock.adjust(1400)
      state.isAway = false
      const gate = yield* Deferred.make<void>()
      state.gate = gate
      yield* TestClock.adjust(700)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      // One of the failed renewals takes effect now, so the lease stands when the store receives the last one.
      yield* store.renew({ process: one.process, address: "http://one", millis: 2000 })
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["s", 1, false]])
    }).pipe(withoutLogger))

  it.effect("counts its sessions, take-overs, lost leases, and the durations of the calls that take time", () =>
    Effect.gen(function*() {
      const { one, state, two } = yield* makeProcesses
      const measured = Effect.gen(function*() {
        const renewals = yield* Metric.value(Metric.withAttributes(Metrics.serverStoreDuration, {
          "mcp.store.name": "OwnerStore",
          "mcp.store.operation": "renew",
          "error.type": "TimedOut"
        }))
        return {
          owned: (yield* Metric.value(Metrics.serverSessionsOwned)).value,
          takenOver: (yield* Metric.value(Metrics.serverSessionsTakenOver)).count,
          lost: (yield* Metric.value(Metrics.serverLeasesLost)).count,
          timedOut: [renewals.count, renewals.sum]
        }
      })
      yield* one.claim("s", 0)
      yield* one.claim("t", 0)
      yield* one.claim("t", 1)
      assert.deepStrictEqual(yield* measured, { owned: 2, takenOver: 1, lost: 0, timedOut: [0, 0] })
      yield* one.release("t", 1)
      assert.strictEqual((yield* measured).owned, 2, "the release is of an earlier epoch")
      yield* one.release("t", 2)
      yield* one.release("t", 2)
      assert.strictEqual((yield* measured).owned, 1)
      const gate = yield* Deferred.make<void>()
      state.gate = gate
      yield* TestClock.adjust(3000)
      assert.deepStrictEqual(yield* measured, { owned: 1, takenOver: 1, lost: 1, timedOut: [2, 2] })
      yield* two.claim("s", 1)
      assert.strictEqual((yield* measured).owned, 2)
      state.gate = undefined
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust(1500)
      assert.isTrue(one.isAlive())
      const { lost, owned, takenOver } = yield* measured
      assert.deepStrictEqual({ lost, owned, takenOver }, { lost: 1, owned: 1, takenOver: 2 })
    }).pipe(withoutLogger, withRegistry))

  it.effect("that retires is not alive, and its sessions are free at once", () =>
    Effect.gen(function*() {
      const owned = Effect.map(Metric.value(Metrics.serverSessionsOwned), ({ value }) => value)
      const { one, store } = yield* Effect.scoped(Effect.gen(function*() {
        const made = yield* makeProcesses
        yield* made.one.claim("s", 0)
        assert.strictEqual(yield* owned, 1)
        return made
      }))
      assert.strictEqual(yield* owned, 0)
      assert.isFalse(one.isAlive())
      assert.deepStrictEqual(yield* store.locate("s"), { _tag: "Free", epoch: 1 })
    }).pipe(withRegistry))

  it.effect("asks for its sessions if the store says that the lease was over, also before it is over here", () =>
    Effect.gen(function*() {
      const { lost, one, store, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      // The lease of the other process has to stand for the time of one lease.
      yield* TestClock.adjust(2000)
      // As a store that was restored from a copy.
      yield* store.retire(one.process)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      yield* TestClock.adjust(500)
      assert.deepStrictEqual(lost, [["s", 1, true]])
    }).pipe(withoutLogger))

  it.effect("is not alive while it cannot learn which sessions it has lost", () =>
    Effect.gen(function*() {
      const { lost, one, state, two } = yield* makeProcesses
      yield* one.claim("s", 0)
      state.isAway = true
      state.losesAnswers = true
      yield* TestClock.adjust(3000)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      state.isAway = false
      yield* TestClock.adjust(1500)
      assert.isFalse(one.isAlive())
      assert.deepStrictEqual(lost, [])
      state.losesAnswers = false
      yield* TestClock.adjust(500)
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["s", 1, false]])
    }).pipe(withoutLogger))

  it.effect("keeps its lease, and its sessions, while it asks for more of them than the time of a lease allows", () =>
    Effect.gen(function*() {
      const { lost, one, state, two } = yield* makeProcesses
      const sessions = Array.from({ length: 5_000 }, (_, index) => String(index))
      for (const session of sessions) yield* one.claim(session, 0)
      state.isAway = true
      yield* TestClock.adjust(2500)
      assert.strictEqual(yield* two.claim("17", 1), 2)
      state.isAway = false
      state.answerMillis = 400
      const waiting = yield* start(one.awaitLease)
      yield* TestClock.adjust(4000)
      assert.isFalse(one.isAlive())
      assert.isUndefined(yield* two.claim("18", 1))
      yield* TestClock.adjust(1000)
      yield* Fiber.join(waiting)
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["17", 1, false]])
    }).pipe(withoutLogger))

  it.effect("asks for all its sessions again if the lease was over while it asked", () =>
    Effect.gen(function*() {
      const { lost, one, state, store, two } = yield* makeProcesses
      for (let session = 0; session < 1_500; session++) yield* one.claim(String(session), 0)
      state.isAway = true
      yield* TestClock.adjust(2500)
      state.isAway = false
      state.answerMillis = 600
      yield* TestClock.adjust(700)
      // The store has answered for the sessions that were claimed last.
      assert.deepStrictEqual(lost, [])
      yield* store.retire(one.process)
      assert.strictEqual(yield* two.claim("1499", 1), 2)
      yield* TestClock.adjust(4000)
      assert.isTrue(one.isAlive())
      assert.deepStrictEqual(lost, [["1499", 1, false]])
    }).pipe(withoutLogger))

  it.effect("frees a session whose claim the store executes after its deadline, also if it does so much later", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      yield* one.claim("stored", 0)
      yield* one.release("stored", 1)
      const late: NonNullable<typeof state.late> = []
      state.late = late
      const claims = yield* Effect.forEach(
        [["soon", 0], ["late", 0], ["stored", 1]] as const,
        ([session, epoch]) => start(Effect.exit(one.claim(session, epoch)))
      )
      const interrupted = yield* start(one.claim("interrupted", 0))
      yield* Fiber.interrupt(interrupted)
      yield* TestClock.adjust(5000)
      for (const claim of claims) assert.isTrue(Exit.isFailure(yield* Fiber.join(claim)))
      state.late = undefined
      const [soon, ...others] = late.splice(0, 4)
      yield* soon?.() ?? Effect.void
      assert.strictEqual((yield* store.locate("soon"))._tag, "Owned")
      yield* TestClock.adjust(8000)
      for (const claim of others) yield* claim()
      for (const [session, epoch] of [["soon", 1], ["late", 1], ["interrupted", 1], ["stored", 2]] as const) {
        assert.deepStrictEqual(yield* store.locate(session), { _tag: "Free", epoch }, session)
      }
      // Another claim of the same session is not freed.
      assert.strictEqual(yield* one.claim("late", 1), 2)
      yield* TestClock.adjust(8000)
      assert.strictEqual((yield* store.locate("late"))._tag, "Owned")
    }).pipe(withoutLogger))

  it.effect("keeps a session that it has claimed again after a claim that was lost", () =>
    Effect.gen(function*() {
      const processes = yield* makeProcesses
      const { one, store } = processes
      yield* loseClaim(processes, 0)
      assert.strictEqual(yield* one.claim("s", 0), 1)
      yield* TestClock.adjust(8000)
      assert.strictEqual((yield* store.locate("s"))._tag, "Owned")
    }).pipe(withoutLogger))

  it.effect("frees a session whose release has failed", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      yield* one.claim("s", 0)
      state.late = []
      const releasing = yield* start(one.release("s", 1))
      yield* TestClock.adjust(5000)
      yield* Fiber.join(releasing)
      state.late = undefined
      assert.strictEqual((yield* store.locate("s"))._tag, "Owned")
      yield* TestClock.adjust(8000)
      assert.deepStrictEqual(yield* store.locate("s"), { _tag: "Free", epoch: 1 })
    }).pipe(withoutLogger))

  it.effect("keeps a session whose second claim has succeeded, and is answered after the first one is settled", () =>
    Effect.gen(function*() {
      const processes = yield* makeProcesses
      const { one, state, store } = processes
      yield* loseClaim(processes, 0)
      yield* TestClock.adjust(6000)
      const answer = yield* Deferred.make<void>()
      state.claims = answer
      const claiming = yield* start(one.claim("s", 0))
      state.claims = undefined
      yield* TestClock.adjust(4000)
      yield* Deferred.succeed(answer, undefined)
      assert.strictEqual(yield* Fiber.join(claiming), 1)
      yield* TestClock.adjust(4000)
      assert.isTrue(one.owns("s", 1))
      assert.strictEqual((yield* store.locate("s"))._tag, "Owned")
    }).pipe(withoutLogger))

  it.effect("frees a session whose late claim takes effect when another owner has ended", () =>
    Effect.gen(function*() {
      const processes = yield* makeProcesses
      const { one, store, two } = processes
      yield* two.claim("s", 0)
      const lateClaim = yield* loseClaim(processes, 1)
      yield* TestClock.adjust(8000)
      yield* store.retire(two.process)
      yield* lateClaim()
      const location = yield* store.locate("s")
      assert.strictEqual(location._tag === "Owned" ? location.process : location._tag, one.process)
      yield* TestClock.adjust(4000)
      assert.deepStrictEqual(yield* store.locate("s"), { _tag: "Free", epoch: 2 })
    }).pipe(withoutLogger))

  it.effect("frees a session also while the store fails for another one", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      const late: NonNullable<typeof state.late> = []
      state.late = late
      const claims = yield* Effect.forEach(["failing", "s"], (session) => start(one.claim(session, 0)))
      for (const claim of claims) yield* Fiber.interrupt(claim)
      state.failing = "failing"
      state.late = undefined
      yield* TestClock.adjust(12_000)
      yield* late[1]?.() ?? Effect.void
      assert.deepStrictEqual(yield* store.locate("s"), { _tag: "Free", epoch: 1 })
    }).pipe(withoutLogger))

  it.effect("names in its warnings the operation that is not settled", () =>
    Effect.gen(function*() {
      const warnings: Array<string> = []
      const logger = Logger.make(({ message }) =>
        void warnings.push(String(Array.isArray(message) ? message[0] : message))
      )
      yield* Effect.gen(function*() {
        const { one, state } = yield* makeProcesses
        for (const session of ["released", "removed"]) yield* one.claim(session, 0)
        state.late = []
        yield* Fiber.interrupt(yield* start(one.claim("claimed", 0)))
        yield* Fiber.interrupt(yield* start(one.release("released", 1)))
        yield* Fiber.interrupt(yield* start(one.remove("removed", 1)))
        yield* TestClock.adjust(30_000)
      }).pipe(Effect.provide(Logger.layer([logger])))
      assert.deepStrictEqual(Array.from(new Set(warnings)), [
        "the store of session owners failed to settle an earlier claim",
        "the store of session owners failed to settle an earlier release",
        "the store of session owners failed to settle an earlier remove"
      ])
    }))

  it.effect("deletes a session whose removal has failed, and makes it no second time if the store has deleted it", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      for (const session of ["deleted", "left"]) yield* one.claim(session, 0)
      const late: NonNullable<typeof state.late> = []
      state.late = late
      const removing = yield* Effect.forEach(["deleted", "left"], (session) => start(one.remove(session, 1)))
      yield* TestClock.adjust(5000)
      for (const fiber of removing) yield* Fiber.join(fiber)
      yield* late[0]?.() ?? Effect.void
      state.late = undefined
      assert.strictEqual((yield* store.locate("left"))._tag, "Owned")
      yield* TestClock.adjust(12_000)
      for (const session of ["deleted", "left"]) {
        assert.deepStrictEqual(yield* store.locate(session), { _tag: "Unknown" }, session)
      }
    }).pipe(withoutLogger))

  it.effect("frees a session whose release was interrupted", () =>
    Effect.gen(function*() {
      const { one, state, store } = yield* makeProcesses
      yield* one.claim("s", 0)
      state.late = []
      yield* Fiber.interrupt(yield* start(one.release("s", 1)))
      state.late = undefined
      assert.strictEqual((yield* store.locate("s"))._tag, "Owned")
      yield* TestClock.adjust(8000)
      assert.deepStrictEqual(yield* store.locate("s"), { _tag: "Free", epoch: 1 })
    }).pipe(withoutLogger))

  it.effect("has not claimed a session if its lease was over before the answer", () =>
    Effect.gen(function*() {
      const { one, state, two } = yield* makeProcesses
      const answer = yield* Deferred.make<void>()
      state.claims = answer
      const claiming = yield* start(one.claim("s", 0))
      state.isAway = true
      yield* TestClock.adjust(2500)
      assert.strictEqual(yield* two.claim("s", 1), 2)
      state.isAway = false
      yield* TestClock.adjust(1000)
      assert.isTrue(one.isAlive())
      yield* Deferred.succeed(answer, undefined)
      assert.isUndefined(yield* Fiber.join(claiming))
    }).pipe(withoutLogger))

  it.effect("has a lease from the time at which the renewal was sent", () =>
    Effect.gen(function*() {
      const { one, state } = yield* makeProcesses
      const gate = yield* Deferred.make<void>()
      state.gate = gate
      yield* TestClock.adjust(900)
      state.isAway = true
      yield* Deferred.succeed(gate, undefined)
      yield* settled
      yield* TestClock.adjust(1599)
      assert.isTrue(one.isAlive())
      yield* TestClock.adjust(1)
      assert.isFalse(one.isAlive())
    }).pipe(withoutLogger))

  it.effect("has no lease if either clock says that it is over, and claims nothing then", () =>
    Effect.gen(function*() {
      const store = yield* SessionOwners.makeStoreInMemory
      const clock = yield* Clock.Clock
      const ahead = { wall: 0, steady: 0 }
      const own: Clock.Clock = {
        ...clock,
        sleep: (duration) => clock.sleep(duration),
        currentTimeMillis: Effect.sync(() => own.currentTimeMillisUnsafe()),
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead.wall,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe() + BigInt(ahead.steady) * 1_000_000n
      }
      const one = yield* Effect.provideService(
        SessionOwners.make(store, { address: "http://one" }),
        Clock.Clock,
        own
      )
      yield* one.awaitLease
      // A suspended machine stops the monotonic clock. Setting the wall clock back does not stop it.
      for (const [wall, steady] of [[2000, 0], [0, 2000], [-5000, 2000]] as const) {
        assert.isTrue(one.isAlive())
        Object.assign(ahead, { wall, steady })
        assert.isFalse(one.isAlive())
        assert.isUndefined(yield* one.claim("s", 0))
        Object.assign(ahead, { wall: 0, steady: 0 })
      }
      assert.strictEqual(yield* one.claim("s", 0), 1)
    }))

  it.effect("remembers the place of a session of another process for one second", () =>
    Effect.gen(function*() {
      const { one, state, two } = yield* makeProcesses
      yield* two.claim("s", 0)
      for (let count = 0; count < 3; count++) assert.strictEqual((yield* one.locate("s"))._tag, "Owned")
      assert.strictEqual(state.lookups, 1)
      one.invalidate("s")
      yield* one.locate("s")
      assert.strictEqual(state.lookups, 2)
      yield* TestClock.adjust(1000)
      yield* one.locate("s")
      assert.strictEqual(state.lookups, 3)
    }))
})
