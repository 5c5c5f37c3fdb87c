import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { inspect } from "node:util"
import { lifetime, RotatingIssuer } from "../../support/rotatingIssuer.ts"
import {
  credentialsOf,
  expire,
  type Failing,
  faulty,
  five,
  reasonOf,
  signedIn,
  type Store,
  storedIn,
  textOf,
  timed,
  times
} from "../../support/signedIn.ts"
import { key } from "../../support/tokenStores.ts"

describe("a store that fails", () => {
  it.effect("tokens that cannot be written after a rotation are an event, and are written later", () =>
    Effect.gen(function*() {
      const { credentials, events, failing, issuer, memory, store, tags } = yield* signedIn()
      const other = yield* credentialsOf(store, issuer)
      yield* expire
      failing.add("write")
      assert.deepStrictEqual((yield* timed(five(credentials.refreshIfNeeded))).map(textOf), times(5, "access-2"))
      assert.deepStrictEqual(tags(), ["NotSaved", "Refreshed"])
      assert.strictEqual(yield* storedIn(memory), "access-1")
      // The refresh token in the store is used. Another process waits, because it would revoke all tokens.
      assert.strictEqual(yield* timed(reasonOf(other.credentials.refreshIfNeeded)), "Unavailable")
      assert.strictEqual(issuer.requests, 1)
      // This process goes on with the tokens in memory.
      failing.add("read").add("acquire")
      yield* expire
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-3")
      failing.clear()
      yield* TestClock.adjust(60_000)
      assert.strictEqual(yield* storedIn(memory), "access-3")
      assert.strictEqual(tags().at(-1), "Saved")
      yield* TestClock.adjust(60_000)
      assert.strictEqual(textOf(yield* timed(other.credentials.refreshIfNeeded)), "access-3")
      assert.isFalse(issuer.isRevoked)
      assert.notInclude(inspect(events, { depth: 20 }), "access-")
    }))

  it.effect("tokens that are not saved are dropped if another process has removed the entry", () =>
    Effect.gen(function*() {
      const { credentials, failing, issuer, memory } = yield* signedIn()
      const other = yield* credentialsOf(memory, issuer)
      yield* expire
      failing.add("write")
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
      yield* other.credentials.remove
      failing.clear()
      yield* TestClock.adjust(60_000)
      assert.isUndefined(yield* memory.read(key))
      assert.isUndefined(yield* credentials.current)
    }))

  it.effect("invalid_grant is not believed while the store cannot be read", () =>
    Effect.gen(function*() {
      const { failing, issuer, memory, store } = yield* signedIn()
      issuer.isRevoked = true
      const { credentials } = yield* credentialsOf(store, issuer, {
        refresh: (tokens) =>
          Effect.suspend(() => {
            failing.add("read")
            return issuer.refresh(tokens)
          })
      })
      yield* expire
      assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "StoreFailed")
      assert.strictEqual(yield* storedIn(memory), "access-1")
    }))

  it.effect("tokens that are not saved are written when the program ends", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const memory = yield* TokenStore.makeMemory()
      const failing: Failing = new Set()
      const scope = yield* Scope.make()
      const { credentials, signIn } = yield* Scope.provide(credentialsOf(faulty(memory, failing), issuer), scope)
      yield* signIn
      yield* expire
      failing.add("write")
      yield* timed(credentials.refreshIfNeeded)
      failing.clear()
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.isTrue(yield* memory.acquire(key, "another", 1000), "the lease is not released")
    }))

  it.effect("a write whose response was lost is not written twice", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const memory = yield* TokenStore.makeMemory()
      let isLost = true
      const store: Store = {
        ...memory,
        write: (key, text, expected) =>
          Effect.flatMap(memory.write(key, text, expected), (version) => {
            if (!isLost) return Effect.succeed(version)
            isLost = false
            return Effect.fail(
              new TokenStore.TokenStoreError({ operation: "write", reason: { _tag: "Unavailable", cause: "lost" } })
            )
          })
      }
      const { signIn, tags } = yield* credentialsOf(store, issuer)
      yield* signIn
      const version = (yield* memory.read(key))?.version
      yield* TestClock.adjust(10_000)
      assert.deepStrictEqual(tags(), ["NotSaved", "Saved"])
      assert.strictEqual((yield* memory.read(key))?.version, version)
    }))

  it.effect("a store without leases is an error, and the refresh token is not used", () =>
    Effect.gen(function*() {
      const { credentials, failing, issuer } = yield* signedIn()
      failing.add("acquire").add("write")
      yield* TestClock.adjust(lifetime - 30_000)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-1")
      yield* expire
      assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "StoreFailed")
      assert.strictEqual(issuer.requests, 0)
      failing.clear()
      yield* TestClock.adjust(60_000)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
    }))

  it.effect("an operation that never ends, and one that throws, are errors after ten seconds", () =>
    Effect.gen(function*() {
      const { memory } = yield* signedIn()
      const issuer = new RotatingIssuer()
      for (const read of [() => Effect.never, () => Effect.die(new Error("defect"))]) {
        const { credentials } = yield* credentialsOf({ ...memory, read }, issuer)
        assert.strictEqual(yield* timed(reasonOf(credentials.current), 11_000), "StoreFailed")
      }
    }))

  for (const [problem, text] of [["Corrupt", "{"], ["Corrupt", "{}"], ["Newer", "{\"format\":2}"]] as const) {
    it.effect(`an entry that is ${problem} is an error, and no refresh or sign-in overwrites it: ${text}`, () =>
      Effect.gen(function*() {
        const issuer = new RotatingIssuer()
        const memory = yield* TokenStore.makeMemory()
        const version = yield* memory.write(key, Redacted.make(text), undefined)
        const { credentials, signIn, tags } = yield* credentialsOf(memory, issuer)
        const error = yield* Effect.flip(credentials.current)
        assert.isTrue(error.reason._tag === "StoreFailed" && error.reason.error.reason._tag === problem)
        assert.strictEqual(yield* reasonOf(credentials.refreshIfNeeded), "StoreFailed")
        yield* signIn
        assert.deepStrictEqual(tags(), ["NotSaved"])
        assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-1")
        yield* TestClock.adjust(200_000)
        assert.strictEqual((yield* memory.read(key))?.version, version)
      }))
  }
})
