/** The states of an authorization that a session waits for. */
import { TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as AuthorizationWait from "../../../src/internal/client/AuthorizationWait.ts"

/** An authorization that the test changes. */
const make = () => {
  const acted = Deferred.makeUnsafe<void, TransportError.TransportError>()
  let changed = Deferred.makeUnsafe<TransportError.AuthorizationRequired>()
  const state = (members: Partial<TransportError.AuthorizationRequired>): TransportError.AuthorizationRequired => ({
    _tag: "AuthorizationRequired",
    target: "http://127.0.0.1/mcp",
    since: 1,
    authorized: Deferred.await(acted),
    changed: Deferred.await(changed),
    ...members
  })
  const change = (members: Partial<TransportError.AuthorizationRequired>) => {
    const before = changed
    changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(before, Effect.succeed(state(members)))
  }
  return { acted, state, change }
}

const settled = Effect.repeat(Effect.yieldNow, { times: 10 })

describe("the wait for a person", () => {
  it.effect("reports each state in order, and ends with the act of the person", () =>
    Effect.gen(function*() {
      const { acted, change, state } = make()
      const reported: Array<unknown> = []
      const waiting = yield* Effect.forkChild(
        AuthorizationWait.authorized(
          state({ isQueued: true }),
          (state) => Effect.sync(() => reported.push(AuthorizationWait.eventOf(state)))
        ),
        { startImmediately: true }
      )
      yield* settled
      change({ url: "https://as.example/one" })
      yield* settled
      change({ url: "https://as.example/two", code: "ABCD" })
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      Deferred.doneUnsafe(acted, Effect.void)
      yield* settled
      assert.deepStrictEqual(waiting.pollUnsafe(), Exit.void)
      const event = { _tag: "AuthorizationAwaited", code: undefined, since: 1 }
      assert.deepStrictEqual(reported, [
        { ...event, url: undefined, isQueued: true },
        { ...event, url: "https://as.example/one" },
        { ...event, url: "https://as.example/two", code: "ABCD" }
      ])
    }))

  it.effect("fails as the person refuses, and reports nothing more", () =>
    Effect.gen(function*() {
      const { acted, change, state } = make()
      let reports = 0
      const waiting = yield* Effect.forkChild(
        AuthorizationWait.authorized(state({}), () => Effect.sync(() => void reports++)),
        { startImmediately: true }
      )
      yield* settled
      const error = TransportError.make({
        _tag: "AuthorizationFailed",
        target: "http://127.0.0.1/mcp",
        problem: "the person has refused",
        cause: undefined
      })
      Deferred.doneUnsafe(acted, Effect.fail(error))
      yield* settled
      change({ url: "https://as.example/one" })
      yield* settled
      assert.deepStrictEqual(waiting.pollUnsafe(), Exit.fail(error))
      assert.strictEqual(reports, 1)
    }))

  it.effect("reports the first state of an authorization that does not change", () =>
    Effect.gen(function*() {
      const { acted, state } = make()
      const { changed: _changed, ...constant } = state({ url: "https://as.example" })
      const reported: Array<unknown> = []
      const waiting = yield* Effect.forkChild(
        AuthorizationWait.authorized(constant, ({ url }) => Effect.sync(() => reported.push(url))),
        { startImmediately: true }
      )
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      Deferred.doneUnsafe(acted, Effect.void)
      yield* settled
      assert.deepStrictEqual([waiting.pollUnsafe(), reported], [Exit.void, ["https://as.example"]])
    }))

  for (
    const [what, members] of [
      ["authorized dies", { authorized: Effect.die(new Error("broken")) }],
      ["authorized interrupts itself", { authorized: Effect.interrupt }]
    ] as const
  ) {
    it.effect(`fails if ${what}`, () =>
      Effect.gen(function*() {
        const { state } = make()
        const exit = yield* Effect.exit(AuthorizationWait.authorized(state(members), () => Effect.void))
        const failure = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : Option.none()
        assert.include(Option.getOrThrow(failure).message, "the authorization has ended without a result")
      }))
  }

  it.effect("goes on if changed dies", () =>
    Effect.gen(function*() {
      const { acted, state } = make()
      const waiting = yield* Effect.forkChild(
        AuthorizationWait.authorized(state({ changed: Effect.die(new Error("broken")) }), () => Effect.void),
        { startImmediately: true }
      )
      yield* settled
      assert.isUndefined(waiting.pollUnsafe())
      Deferred.doneUnsafe(acted, Effect.void)
      assert.strictEqual(yield* Fiber.join(waiting), undefined)
    }))

  it.effect("ends with its caller, although the effects of the authorization cannot be interrupted", () =>
    Effect.gen(function*() {
      const { state } = make()
      const endless = Effect.uninterruptible(Effect.never)
      for (const members of [{ authorized: endless }, { changed: endless }]) {
        const waiting = yield* Effect.forkChild(AuthorizationWait.authorized(state(members), () => Effect.void), {
          startImmediately: true
        })
        yield* settled
        const interrupting = yield* Effect.forkChild(Fiber.interrupt(waiting))
        yield* settled
        assert.isDefined(interrupting.pollUnsafe())
      }
    }))
})
