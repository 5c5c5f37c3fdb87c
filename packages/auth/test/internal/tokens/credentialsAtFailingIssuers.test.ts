import { OAuthError } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { inspect } from "node:util"
import { lifetime, RotatingIssuer } from "../../support/rotatingIssuer.ts"
import { expire, five, issuerWith, reasonOf, signedIn, storedIn, textOf, timed } from "../../support/signedIn.ts"
import { key } from "../../support/tokenStores.ts"

describe("an issuer that fails", () => {
  for (const fault of ["Broken", "Lost", "Unreachable"] as const) {
    it.effect(`keeps its tokens, and is asked again with back-off: ${fault}`, () =>
      Effect.gen(function*() {
        const { credentials, events, issuer, memory } = yield* signedIn(issuerWith(fault))
        yield* TestClock.adjust(lifetime - 30_000)
        // They have not expired yet.
        assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-1")
        yield* TestClock.adjust(30_000)
        assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "Unavailable")
        for (let second = 0; second < 600; second++) {
          assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "Unavailable")
          yield* TestClock.adjust(1000)
        }
        assert.isAtMost(issuer.requests, 30)
        assert.isAtLeast(events.length, 8)
        assert.deepStrictEqual(new Set(events.map(({ _tag }) => _tag)), new Set(["RefreshFailed"]))
        assert.strictEqual(yield* storedIn(memory), "access-1")
      }))
  }

  it.effect("is used again when it works again", () =>
    Effect.gen(function*() {
      const { credentials } = yield* signedIn(issuerWith("Broken", "Broken", "Answered"))
      yield* expire
      for (let attempt = 0; attempt < 2; attempt++) {
        assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "Unavailable")
        yield* TestClock.adjust(10_000)
      }
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
    }))

  it.effect("is not asked before the time that it demands", () =>
    Effect.gen(function*() {
      let requests = 0
      const refresh = () => {
        requests++
        return Effect.fail(
          OAuthError.make({ _tag: "Unavailable", url: key.issuer, problem: "status 429", retryAfterMillis: 100_000 })
        )
      }
      const { credentials } = yield* signedIn(new RotatingIssuer(), { refresh })
      yield* expire
      const before = yield* Clock.currentTimeMillis
      while ((yield* Clock.currentTimeMillis) < before + 95_000) {
        yield* timed(reasonOf(credentials.refreshIfNeeded))
        yield* TestClock.adjust(1000)
      }
      assert.strictEqual(requests, 1)
      yield* TestClock.adjust(10_000)
      yield* timed(reasonOf(credentials.refreshIfNeeded))
      assert.strictEqual(requests, 2)
    }))

  it.effect("a request that throws, and one that never ends, fail as Unavailable, without a text of the request", () =>
    Effect.gen(function*() {
      const requests = [
        () => {
          throw new Error("access-secret")
        },
        () => Effect.die(new Error("access-secret")),
        () => Effect.never
      ]
      for (const refresh of requests) {
        const { credentials, events } = yield* signedIn(new RotatingIssuer(), { refresh })
        yield* expire
        const error = yield* timed(Effect.flip(credentials.refreshIfNeeded))
        assert.strictEqual(error.reason._tag, "Unavailable")
        assert.notInclude(inspect([error, events], { depth: 20 }), "access-secret")
      }
    }))

  it.effect("an error other than invalid_grant is returned, and the tokens are kept", () =>
    Effect.gen(function*() {
      const error = OAuthError.make({
        _tag: "TokenRequestFailed",
        issuer: key.issuer,
        status: 401,
        error: "invalid_client"
      })
      const { credentials, memory } = yield* signedIn(new RotatingIssuer(), { refresh: () => Effect.fail(error) })
      yield* expire
      assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "TokenRequestFailed")
      assert.strictEqual(yield* storedIn(memory), "access-1")
    }))

  it.effect("tokens that it has revoked are removed, and a person has to sign in", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory, signIn, tags } = yield* signedIn()
      issuer.isRevoked = true
      yield* expire
      assert.deepStrictEqual(yield* timed(five(credentials.refreshIfNeeded)), [
        undefined,
        undefined,
        undefined,
        undefined,
        undefined
      ])
      assert.isUndefined(yield* credentials.refreshIfNeeded)
      assert.isUndefined(yield* memory.read(key))
      assert.strictEqual(issuer.requests, 1)
      assert.deepStrictEqual(tags(), ["Revoked"])
      yield* signIn
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-2")
    }))

  it.effect("revoked tokens that the store cannot remove are not used again", () =>
    Effect.gen(function*() {
      const { credentials, failing, issuer, memory, signIn } = yield* signedIn()
      issuer.isRevoked = true
      failing.add("remove")
      yield* expire
      assert.isUndefined(yield* timed(credentials.refreshIfNeeded))
      assert.isUndefined(yield* timed(credentials.refreshIfNeeded))
      assert.strictEqual(issuer.requests, 1)
      yield* signIn
      assert.strictEqual(yield* storedIn(memory), "access-2")
    }))
})
