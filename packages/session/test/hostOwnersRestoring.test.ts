import { JsonRpc } from "@effect-mcp/protocol"
import { type Principal, type SessionHost, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import { endOf } from "./support/hosts.ts"
import { makeService, openShared, pass, pause, restoreShared, resume } from "./support/processes.ts"
import { call, start, text, tools } from "./support/sessions.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

const ada = { principal: { id: "ada" } }

const withoutLogger = Effect.provide(Logger.layer([]))

describe("a session of another process", () => {
  it.effect("is elsewhere while the lease of its owner stands, and is not claimed", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      yield* openShared(one, "s", ada)
      yield* pass(10_000)
      const elsewhere = { _tag: "Elsewhere", address: "http://one", process: one.owners.process }
      assert.deepStrictEqual<unknown>(yield* two.host.locate("s"), elsewhere)
      assert.deepStrictEqual<unknown>((yield* restoreShared(two, "s", ada)).outcome, elsewhere)
      assert.deepStrictEqual(two.calls, [])
      assert.strictEqual((yield* two.host.health).sessions, 0)
    }))

  it.effect("[SHS-26] is not found by another principal, which causes no claim", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      yield* openShared(one, "s", ada)
      pause(one)
      yield* pass(5000)
      for (const principal of [{ id: "bob" }, undefined]) {
        assert.deepStrictEqual((yield* restoreShared(two, "s", { principal })).outcome, notFound)
      }
      assert.deepStrictEqual((yield* restoreShared(two, "unknown", ada)).outcome, notFound)
      assert.deepStrictEqual(two.calls, [])
    }).pipe(withoutLogger))

  it.effect("[SHS-26] costs any other principal what an unknown one costs, and fails with the store alike", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      let loads = 0
      let isAway = false
      const stored: typeof sessionStore = {
        ...sessionStore,
        load: (id) =>
          Effect.suspend(() => {
            loads++
            return isAway ? Effect.fail(new SessionStore.SessionStoreError({ cause: "away" })) : sessionStore.load(id)
          })
      }
      const one = yield* startProcess("one", {}, { stored })
      const two = yield* startProcess("two", {}, { stored })
      yield* openShared(one, "s", ada)
      for (const { host } of [one, two]) {
        loads = 0
        assert.isTrue(yield* host.belongs("s", ada.principal))
        assert.isTrue(yield* host.belongs("s", ada.principal, () => assert.fail("the store is not asked")))
        assert.strictEqual(loads, host === one.host ? 0 : 1, "an own session is looked up once")
        for (const principal of [{ id: "bob" }, undefined]) {
          for (const id of ["s", "unknown"]) {
            loads = 0
            assert.isFalse(yield* host.belongs(id, principal))
            assert.strictEqual((yield* restoreShared({ ...one, host }, id, { principal })).outcome._tag, "NotFound")
            assert.strictEqual(loads, 2)
          }
        }
      }
      isAway = true
      for (const process of [one, two]) {
        for (const id of ["s", "unknown"]) {
          const error = yield* Effect.flip(process.host.belongs(id, { id: "bob" }))
          assert.strictEqual(error._tag, "SessionStoreError")
          const failed = yield* Effect.flip(restoreShared(process, id, { principal: { id: "bob" } }))
          assert.strictEqual(failed._tag, "SessionStoreError")
        }
      }
    }).pipe(withoutLogger))

  it.effect("is looked up by at most 4 calls at a time, for 5 seconds each", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const running = { now: 0, most: 0 }
      let millis = 10
      const stored: typeof sessionStore = {
        ...sessionStore,
        load: (id) =>
          Effect.suspend(() => {
            running.most = Math.max(running.most, ++running.now)
            return Effect.andThen(Effect.sleep(millis), sessionStore.load(id)).pipe(
              Effect.ensuring(Effect.sync(() => running.now--))
            )
          })
      }
      const { host } = yield* startProcess("one", {}, { stored })
      const flood = () =>
        Effect.forEach(Array.from({ length: 100 }), (_, index) =>
          start(Effect.exit(host.belongs(`s${index}`, undefined))))
      const found = yield* flood()
      yield* pass(300)
      assert.isTrue((yield* Fiber.joinAll(found)).every((exit) =>
        Exit.isSuccess(exit) && !exit.value
      ))
      assert.deepStrictEqual(running, { now: 0, most: 4 })
      millis = 60_000
      const late = yield* flood()
      yield* pass(5000)
      assert.isTrue((yield* Fiber.joinAll(late)).every((exit) => Exit.isFailure(exit)))
      assert.deepStrictEqual(running, { now: 0, most: 4 })
    }).pipe(withoutLogger))

  it.effect("is looked up soon although another client floods the host with unknown ids", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const stored: typeof sessionStore = {
        ...sessionStore,
        load: (id) => Effect.andThen(Effect.sleep(10), sessionStore.load(id))
      }
      const { host } = yield* startProcess("one", {}, { stored })
      const look = (principal: Principal.Principal | undefined, client?: string) =>
        start(host.belongs("unknown", principal, () => client))
      const flood = Array.from({ length: 100 })
      const floods = [
        ...yield* Effect.forEach(flood, () => look({ id: "eve" })),
        ...yield* Effect.forEach(flood, () => look(undefined, "10.0.0.1"))
      ]
      const others = [yield* look({ id: "ada" }), yield* look(undefined, "10.0.0.2")]
      yield* Fiber.interrupt(yield* look({ id: "bob" }))
      yield* pass(30)
      assert.deepStrictEqual(others.map((fiber) => fiber.pollUnsafe()), [Exit.succeed(false), Exit.succeed(false)])
      yield* pass(500)
      assert.isTrue(floods.every((fiber) => fiber.pollUnsafe() !== undefined))
      // All turns are free again.
      const later = yield* Effect.forEach([1, 2, 3, 4], () => look({ id: "eve" }))
      yield* pass(10)
      assert.isTrue(later.every((fiber) => fiber.pollUnsafe() !== undefined))
    }))

  it.effect("that has expired is deleted only if no process owns it", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two", {}, { sessions: { idleTimeout: "10 seconds" } })
      yield* openShared(one, "s")
      yield* pass(80_000)
      assert.strictEqual((yield* restoreShared(two, "s")).outcome._tag, "Elsewhere")
      assert.deepStrictEqual(two.calls, [])
      assert.isDefined(yield* sessionStore.load("s"))
      pause(one)
      yield* pass(3000)
      assert.deepStrictEqual((yield* restoreShared(two, "s")).outcome, notFound)
      assert.isUndefined(yield* sessionStore.load("s"))
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
      assert.deepStrictEqual(two.calls, ["claim s 1", "remove s 2"])
    }).pipe(withoutLogger))

  it.effect("that has expired stays with its owner after an outage, if another process is back first", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two", {}, { sessions: { idleTimeout: "10 seconds" } })
      const { hosted } = yield* openShared(one, "s")
      yield* pass(80_000)
      for (const { faults } of [one, two]) faults.isAway = true
      yield* pass(4000)
      two.faults.isAway = false
      yield* pass(600)
      const restoring = yield* start(restoreShared(two, "s"))
      yield* pass(400)
      one.faults.isAway = false
      yield* pass(2000)
      assert.strictEqual((yield* Fiber.join(restoring)).outcome._tag, "Elsewhere")
      assert.isDefined(yield* sessionStore.load("s"))
      assert.isUndefined(yield* endOf(hosted))
      assert.isTrue(yield* one.host.ready(hosted))
    }).pipe(withoutLogger))

  it.effect("that seemed to have expired is restored if its owner has stored a use until it was claimed", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* openShared(one, "s")
      const late: typeof sessionStore = {
        ...sessionStore,
        load: (id) => Effect.tap(sessionStore.load(id), () => Effect.orDie(sessionStore.touch(id, 1, 80_000)))
      }
      const sessions = { idleTimeout: "10 seconds" } as const
      const two = yield* startProcess("two", {}, { sessions, stored: late })
      yield* pass(80_000)
      pause(one)
      yield* pass(3000)
      assert.strictEqual((yield* restoreShared(two, "s")).outcome._tag, "Restored")
    }).pipe(withoutLogger))

  it.effect("that has expired is claimed until the store has deleted it", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* openShared(one, "s")
      let isFailing = true
      const stored: typeof sessionStore = {
        ...sessionStore,
        remove: (id, epoch) =>
          Effect.suspend(() =>
            isFailing
              ? Effect.fail(new SessionStore.SessionStoreError({ cause: "away" }))
              : sessionStore.remove(id, epoch)
          )
      }
      const two = yield* startProcess("two", {}, { sessions: { idleTimeout: "10 seconds" }, stored })
      const three = yield* startProcess("three")
      yield* pass(80_000)
      pause(one)
      yield* pass(3000)
      assert.deepStrictEqual((yield* restoreShared(two, "s")).outcome, notFound)
      assert.deepStrictEqual((yield* restoreShared(two, "s")).outcome, notFound)
      assert.strictEqual((yield* restoreShared(three, "s")).outcome._tag, "Elsewhere")
      isFailing = false
      yield* pass(30_000)
      assert.isUndefined(yield* sessionStore.load("s"))
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
    }).pipe(withoutLogger))

  for (const end of ["was killed", "has shut down"] as const) {
    it.effect(`that only a connection used for longer than its idle time is taken over after its owner ${end}`, () =>
      Effect.gen(function*() {
        const { start: startProcess } = yield* makeService
        const sessions = { idleTimeout: "2 minutes" } as const
        const scope = yield* Scope.make()
        const one = yield* Scope.provide(startProcess("one", {}, { sessions }), scope)
        const two = yield* startProcess("two", {}, { sessions })
        const { hosted } = yield* openShared(one, "s")
        hosted.hold()
        yield* pass(10 * 60_000 + 20_000)
        if (end === "was killed") pause(one)
        else yield* Scope.close(scope, Exit.void)
        yield* pass(3000)
        assert.strictEqual((yield* restoreShared(two, "s")).outcome._tag, "Restored")
        yield* resume(one)
        if (end === "was killed") yield* Scope.close(scope, Exit.void)
      }).pipe(withoutLogger))
  }

  it.effect("is taken over when the lease of its owner is over, and not before", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one", handlers)
      const two = yield* startProcess("two", handlers)
      yield* openShared(one, "s", ada)
      yield* pass(3000)
      pause(one)
      yield* pass(1400)
      assert.strictEqual((yield* restoreShared(two, "s", ada)).outcome._tag, "Elsewhere")
      yield* pass(1600)
      const epochs: Array<number> = []
      const restored = yield* restoreShared(two, "s", { ...ada, onEpoch: (epoch) => void epochs.push(epoch) })
      assert.strictEqual(restored.outcome._tag, "Restored")
      assert.deepStrictEqual(epochs, [2])
      assert.strictEqual((yield* sessionStore.load("s"))?.epoch, 2)
      yield* restored.raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* restored.raw.response, JsonRpc.success(1, text("x")))
    }).pipe(withoutLogger))

  it.effect("without a living owner fails the caller after 5 seconds, until the lease of this process has stood", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* openShared(one, "s")
      pause(one)
      const two = yield* startProcess("two")
      yield* pass(2000)
      two.faults.isAway = true
      yield* pass(2000)
      const waiting = yield* start(Effect.flip(restoreShared(two, "s")))
      yield* pass(5000)
      const error = yield* Fiber.join(waiting)
      assert.strictEqual(error._tag === "OwnerUnknownError" ? error.problem : error._tag, "claim")
      two.faults.isAway = false
      const restoring = yield* start(restoreShared(two, "s"))
      yield* pass(1500)
      assert.isUndefined(restoring.pollUnsafe(), "the lease has not stood for one lease time")
      yield* pass(1500)
      assert.strictEqual((yield* Fiber.join(restoring)).outcome._tag, "Restored")
    }).pipe(withoutLogger))

  it.effect("is restored as its owner saved it last, also while another process was about to claim it", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* openShared(one, "s", ada)
      let loads = 0
      const late: typeof sessionStore = {
        ...sessionStore,
        load: (id) =>
          Effect.tap(
            sessionStore.load(id),
            (session) =>
              session === undefined || loads++ > 0
                ? Effect.void
                : Effect.orDie(sessionStore.save({ ...session, logLevel: "error" }))
          )
      }
      const two = yield* startProcess("two", {}, { stored: late })
      yield* pass(3000)
      pause(one)
      yield* pass(3000)
      assert.strictEqual((yield* restoreShared(two, "s", ada)).outcome._tag, "Restored")
      const { epoch, logLevel } = (yield* sessionStore.load("s")) ?? {}
      assert.deepStrictEqual({ epoch, logLevel }, { epoch: 2, logLevel: "error" })
    }).pipe(withoutLogger))

  it.effect("is not restored, and has no owner, if it was deleted while another process was about to claim it", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* openShared(one, "s", ada)
      const late: typeof sessionStore = {
        ...sessionStore,
        load: (id) => Effect.tap(sessionStore.load(id), () => Effect.orDie(sessionStore.remove(id, 1)))
      }
      const two = yield* startProcess("two", {}, { stored: late })
      yield* pass(3000)
      pause(one)
      yield* pass(3000)
      assert.deepStrictEqual((yield* restoreShared(two, "s", ada)).outcome, notFound)
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
      assert.strictEqual((yield* two.host.health).sessions, 0)
    }).pipe(withoutLogger))

  it.effect("is claimed by one of two processes; the other one finds it there", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      const three = yield* startProcess("three")
      yield* openShared(one, "s")
      yield* pass(2000)
      pause(one)
      yield* pass(3000)
      const restoring = yield* Effect.forEach([two, three], (process) => start(restoreShared(process, "s")))
      yield* pass(1000)
      const outcomes = (yield* Fiber.joinAll(restoring)).map(({ outcome }) => outcome._tag)
      assert.deepStrictEqual(outcomes.toSorted(), ["Elsewhere", "Restored"])
    }).pipe(withoutLogger))

  it.effect("stays with its owner after an outage of the store of owners", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      const { hosted } = yield* openShared(one, "s")
      yield* pass(3000)
      for (const { faults } of [one, two]) faults.isAway = true
      yield* pass(10_000)
      two.faults.isAway = false
      const restoring = yield* start(restoreShared(two, "s"))
      yield* pass(1000)
      one.faults.isAway = false
      yield* pass(2000)
      assert.strictEqual((yield* Fiber.join(restoring)).outcome._tag, "Elsewhere")
      assert.isUndefined(yield* endOf(hosted))
      assert.isTrue(yield* one.host.ready(hosted))
      assert.deepStrictEqual(two.calls.filter((name) => name !== "claim s 1"), [])
    }).pipe(withoutLogger))
})
