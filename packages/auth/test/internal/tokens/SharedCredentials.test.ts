import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import type { RefreshableTokens } from "../../../src/internal/tokens/Credentials.ts"
import * as StoredTokens from "../../../src/internal/tokens/StoredTokens.ts"
import { lifetime, RotatingIssuer } from "../../support/rotatingIssuer.ts"
import {
  credentialsOf,
  expire,
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

describe("tokens of one process", () => {
  it.effect("without tokens, a person has to sign in, and no request is sent", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const { credentials } = yield* credentialsOf(yield* TokenStore.makeMemory(), issuer)
      assert.isUndefined(yield* credentials.current)
      assert.isUndefined(yield* credentials.refreshIfNeeded)
      assert.isUndefined(yield* timed(credentials.refreshAfter(Redacted.make("access-0"))))
      assert.isUndefined(yield* credentials.remove)
      assert.strictEqual(issuer.requests, 0)
    }))

  it.effect("tokens are refreshed before they expire, once for five calls, and stored", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const memory = yield* TokenStore.makeMemory()
      let reads = 0
      const read: Store["read"] = (key) =>
        Effect.suspend(() => {
          reads++
          return memory.read(key)
        })
      const { credentials, signIn, tags } = yield* credentialsOf({ ...memory, read }, issuer)
      yield* signIn
      yield* TestClock.adjust(lifetime - 31_000)
      reads = 0
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-1")
      assert.strictEqual(issuer.requests, 0)
      yield* TestClock.adjust(1000)
      assert.deepStrictEqual((yield* timed(five(credentials.refreshIfNeeded))).map(textOf), times(5, "access-2"))
      assert.strictEqual(issuer.requests, 1)
      // The store is read before the lease, and with it.
      assert.strictEqual(reads, 2)
      assert.deepStrictEqual(tags(), ["Refreshed"])
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.deepStrictEqual((yield* credentials.current)?.scopes, ["notes:read"])
      assert.isTrue(yield* memory.acquire(key, "another", 1000), "the lease is not released")
    }))

  it.effect("five calls whose token was rejected cause one refresh, and a late rejection causes none", () =>
    Effect.gen(function*() {
      const { credentials, issuer } = yield* signedIn()
      const rejected = Redacted.make("access-1")
      issuer.revokeAccess()
      assert.deepStrictEqual((yield* timed(five(credentials.refreshAfter(rejected)))).map(textOf), times(5, "access-2"))
      assert.strictEqual(textOf(yield* credentials.refreshAfter(rejected)), "access-2")
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("a rejection during a refresh that finds the tokens good causes another one", () =>
    Effect.gen(function*() {
      const { credentials, issuer } = yield* signedIn()
      const both = Effect.all([credentials.refreshAfter(Redacted.make("access-1")), credentials.refreshIfNeeded], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual((yield* timed(both)).map(textOf), ["access-2", "access-1"])
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("a short lifetime leaves most of it for requests", () =>
    Effect.gen(function*() {
      const { credentials, signInWith } = yield* signedIn()
      yield* signInWith({ expiresInMillis: 40_000 })
      yield* TestClock.adjust(29_000)
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-2")
      yield* TestClock.adjust(1000)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-3")
    }))

  it.effect("tokens without an expiry are refreshed only after a rejection", () =>
    Effect.gen(function*() {
      const { credentials, signInWith } = yield* signedIn()
      yield* signInWith({ expiresInMillis: undefined })
      yield* TestClock.adjust("1000 days")
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-2")
      assert.strictEqual(textOf(yield* timed(credentials.refreshAfter(Redacted.make("access-2")))), "access-3")
    }))

  it.effect("[AUT-37] tokens without a refresh token are used until they expire or are rejected", () =>
    Effect.gen(function*() {
      const { credentials, issuer, signInWith } = yield* signedIn()
      yield* signInWith({ refreshToken: undefined })
      yield* TestClock.adjust(lifetime - 1)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
      assert.isUndefined(yield* timed(credentials.refreshAfter(Redacted.make("access-2"))))
      yield* TestClock.adjust(1)
      assert.isUndefined(yield* timed(credentials.refreshIfNeeded))
      assert.strictEqual(issuer.requests, 0)
    }))

  it.effect("a response without a refresh token or scopes keeps those that were used", () =>
    Effect.gen(function*() {
      const used: Array<string> = []
      const refresh = ({ proofKey, refreshToken }: RefreshableTokens) => {
        used.push(Redacted.value(refreshToken))
        const response: StoredTokens.TokenResponse = {
          accessToken: Redacted.make(`access-${used.length}`),
          tokenType: "DPoP",
          refreshToken: undefined,
          scopes: undefined,
          expiresInMillis: 1000,
          proofKey: used.length === 1 ? Redacted.make("proof key") : proofKey
        }
        return Effect.succeed(response)
      }
      const { credentials, memory } = yield* signedIn(new RotatingIssuer(), { refresh })
      for (let count = 0; count < 3; count++) {
        yield* expire
        yield* timed(credentials.refreshIfNeeded)
      }
      assert.deepStrictEqual(used, times(3, "refresh-1"))
      const entry = yield* memory.read(key)
      const stored = entry && (yield* Effect.fromResult(StoredTokens.decode(entry.text)))
      assert.deepStrictEqual(stored?.scopes, ["notes:read"])
      assert.strictEqual(stored?.tokenType, "DPoP")
      assert.strictEqual(stored?.proofKey && Redacted.value(stored.proofKey), "proof key")
    }))

  it.effect("a caller that is interrupted does not interrupt the refresh", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn()
      yield* expire
      const fiber = yield* Effect.forkChild(credentials.refreshIfNeeded, { startImmediately: true })
      yield* TestClock.adjust(30)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("while tokens are good, a slow refresh delays a call by two seconds at most, and its result is used", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer(() => ({ fault: "Answered", latency: 20_000 }))
      const { credentials } = yield* signedIn(issuer)
      yield* TestClock.adjust(lifetime - 25_000)
      const before = yield* Clock.currentTimeMillis
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-1")
      assert.isAtMost((yield* Clock.currentTimeMillis) - before, 2100)
      yield* TestClock.adjust(20_000)
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-2")
      assert.strictEqual(issuer.requests, 1)
    }))
})

describe("the end of credentials", () => {
  it.effect("a refresh may end, and then nothing is left", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer(() => ({ fault: "Answered", latency: 3000 }))
      const memory = yield* TokenStore.makeMemory()
      const scope = yield* Scope.make()
      const { credentials, signIn } = yield* Scope.provide(credentialsOf(memory, issuer), scope)
      yield* signIn
      yield* expire
      const call = yield* Effect.forkChild(credentials.refreshIfNeeded, { startImmediately: true })
      yield* TestClock.adjust(10)
      yield* timed(Scope.close(scope, Exit.void))
      assert.strictEqual(textOf(yield* Fiber.join(call)), "access-2")
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.isTrue(yield* memory.acquire(key, "another", 1000), "the lease is not released")
      yield* expire
      assert.strictEqual(yield* timed(reasonOf(credentials.refreshIfNeeded)), "Unavailable")
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("a refresh that does not end in five seconds is interrupted, and its callers fail", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer(() => ({ fault: "Answered", latency: 20_000 }))
      const memory = yield* TokenStore.makeMemory()
      const scope = yield* Scope.make()
      const { credentials, signIn } = yield* Scope.provide(credentialsOf(memory, issuer), scope)
      yield* signIn
      yield* expire
      const call = yield* Effect.forkChild(reasonOf(credentials.refreshIfNeeded), { startImmediately: true })
      yield* TestClock.adjust(10)
      const before = yield* Clock.currentTimeMillis
      yield* timed(Scope.close(scope, Exit.void))
      assert.isAtMost((yield* Clock.currentTimeMillis) - before, 5100)
      assert.strictEqual(yield* Fiber.join(call), "Unavailable")
      assert.isTrue(yield* memory.acquire(key, "another", 1000), "the lease is not released")
    }))
})
