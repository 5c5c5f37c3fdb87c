import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as References from "effect/References"
import * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import { SignInQueue, turnMillis } from "../../src/internal/access/SignInQueue.ts"

/** Asks for a turn. Returns its scope, its fiber, and whether it waits. */
const ask = (queue: SignInQueue, isWanted = false) =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    let waits = false
    const onWait = Effect.sync(() => {
      waits = true
    })
    const fiber = yield* Effect.forkChild(Scope.provide(queue.turn({ isWanted, onWait }), scope), {
      startImmediately: true
    })
    return { scope, fiber, waits: () => waits, has: () => fiber.pollUnsafe() !== undefined }
  })

const settled = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("the queue of sign-ins", () => {
  it.effect("gives one turn at a time, in the order in which they were asked for", () =>
    Effect.gen(function*() {
      const queue = new SignInQueue()
      const turns = [yield* ask(queue), yield* ask(queue), yield* ask(queue)]
      for (let turn = 0; turn < 3; turn++) {
        yield* settled
        assert.deepStrictEqual(turns.map(({ has }) => has()), turns.map((_, index) => index <= turn))
        yield* Scope.close(turns[turn]?.scope ?? (yield* Scope.make()), Exit.void)
      }
      assert.deepStrictEqual(turns.map(({ waits }) => waits()), [false, true, true])
    }))

  it.effect("does not let a person wait, for whose turn others wait as well", () =>
    Effect.gen(function*() {
      const queue = new SignInQueue()
      const first = yield* ask(queue)
      const wanted = yield* ask(queue, true)
      const last = yield* ask(queue)
      yield* settled
      assert.deepStrictEqual([wanted.has(), wanted.waits(), last.has()], [true, false, false])
      yield* Scope.close(first.scope, Exit.void)
      yield* settled
      assert.isFalse(last.has())
      yield* Scope.close(wanted.scope, Exit.void)
      yield* settled
      assert.isTrue(last.has())
    }))

  it.effect("forgets who leaves, before the turn and as it begins", () =>
    Effect.gen(function*() {
      const queue = new SignInQueue()
      const first = yield* ask(queue)
      const leaving = yield* ask(queue)
      const surprised = yield* ask(queue)
      const last = yield* ask(queue)
      yield* Fiber.interrupt(leaving.fiber)
      yield* Effect.all([Scope.close(first.scope, Exit.void), Fiber.interrupt(surprised.fiber)], {
        concurrency: "unbounded"
      })
      yield* Scope.close(surprised.scope, Exit.void)
      yield* settled
      assert.isTrue(last.has())
    }))

  it.effect("passes the turn on after 5 minutes, once", () =>
    Effect.gen(function*() {
      const queue = new SignInQueue()
      const first = yield* ask(queue)
      const second = yield* ask(queue)
      const third = yield* ask(queue)
      yield* TestClock.adjust(turnMillis - 1)
      assert.isFalse(second.has())
      yield* TestClock.adjust(1)
      yield* settled
      assert.isTrue(second.has())
      yield* Scope.close(first.scope, Exit.void)
      yield* settled
      assert.isFalse(third.has())
    }))

  it.effect("gives back the turn of a sign-in that is interrupted at any operation", () =>
    Effect.gen(function*() {
      const queue = new SignInQueue()
      const onWait = Effect.void
      for (let operations = 2; operations < 20; operations++) {
        for (const isWanted of [false, true]) {
          const asking = Effect.scoped(Effect.andThen(queue.turn({ isWanted, onWait }), Effect.never))
          const fiber = yield* Effect.forkChild(Effect.provideService(asking, References.MaxOpsBeforeYield, operations))
          yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          yield* settled
          const next = yield* ask(queue)
          assert.isTrue(next.has(), `a fiber that yields after ${operations} operations`)
          yield* Scope.close(next.scope, Exit.void)
        }
      }
    }))
})
