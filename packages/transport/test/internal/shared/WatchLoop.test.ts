import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import * as WatchLoop from "../../../src/internal/shared/WatchLoop.ts"

it.effect("the loop checks at each interval, only while there is something to check, and starts once", () =>
  Effect.gen(function*() {
    let checks = 0
    const start = yield* WatchLoop.make(1_000, Effect.sync(() => ++checks % 3 !== 0))
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(checks, 0)
    start()
    start()
    yield* Effect.yieldNow
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(checks, 3)
    start()
    yield* Effect.yieldNow
    yield* TestClock.adjust("1 second")
    assert.strictEqual(checks, 4)
  }))

it.effect("[law 2] the loop ends with the scope", () =>
  Effect.gen(function*() {
    let checks = 0
    const scope = yield* Scope.make()
    const start = yield* Scope.provide(WatchLoop.make(1_000, Effect.sync(() => ++checks > 0)), scope)
    start()
    yield* Effect.yieldNow
    yield* TestClock.adjust("2 seconds")
    yield* Scope.close(scope, Exit.void)
    yield* TestClock.adjust("10 seconds")
    assert.strictEqual(checks, 2)
  }))
