import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { RotatingIssuer } from "../../support/rotatingIssuer.ts"
import {
  credentialsOf,
  expire,
  five,
  signedIn,
  type Store,
  storedIn,
  textOf,
  timed,
  times
} from "../../support/signedIn.ts"
import { key } from "../../support/tokenStores.ts"

describe("tokens of several processes", () => {
  it.effect("the tokens that another process has renewed are used, without a request", () =>
    Effect.gen(function*() {
      const { credentials, issuer, store } = yield* signedIn()
      const other = yield* credentialsOf(store, issuer)
      yield* other.credentials.current
      yield* expire
      const all = Effect.all([five(credentials.refreshIfNeeded), five(other.credentials.refreshIfNeeded)], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual((yield* timed(all)).flat().map(textOf), times(10, "access-2"))
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("a lease is prolonged while the issuer is slow, so that no other process refreshes", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer(() => ({ fault: "Answered", latency: 28_000 }))
      const { credentials, store } = yield* signedIn(issuer, { lease: 3000 })
      const other = yield* credentialsOf(store, issuer, { lease: 3000 })
      yield* expire
      const both = Effect.all([credentials.refreshIfNeeded, other.credentials.refreshIfNeeded], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual((yield* timed(both)).map(textOf), times(2, "access-2"))
      assert.strictEqual(issuer.mostRunning, 1)
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("the lease of a dead process expires, and then another process refreshes", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn()
      yield* expire
      assert.isTrue(yield* memory.acquire(key, "a dead process", 10_000))
      const fiber = yield* Effect.forkChild(credentials.refreshIfNeeded, { startImmediately: true })
      yield* TestClock.adjust(9900)
      assert.strictEqual(issuer.requests, 0)
      assert.strictEqual(textOf(yield* timed(Fiber.join(fiber))), "access-2")
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("a process that keeps its lease for ever is an error, and no person is asked", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn()
      yield* expire
      assert.isTrue(yield* memory.acquire(key, "another process", 1_000_000))
      const error = yield* timed(Effect.flip(credentials.refreshIfNeeded))
      assert.strictEqual(error.reason._tag, "Unavailable")
      assert.include(error.message, "another process")
      assert.strictEqual(issuer.requests, 0)
    }))

  it.effect("a process that was suspended with the lease reads the store again before it sends the refresh token", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn(new RotatingIssuer(), { lease: 3000 })
      let isSuspended = false
      let reads = 0
      const suspended = yield* credentialsOf(
        {
          ...memory,
          acquire: (key, owner, millis) => isSuspended ? Effect.never : memory.acquire(key, owner, millis),
          // The process stops with the entry that it has read under the lease, which is its third read.
          read: (key) =>
            Effect.tap(memory.read(key), () =>
              Effect.gen(function*() {
                if (++reads !== 3) return
                isSuspended = true
                yield* Effect.sleep(9000)
                isSuspended = false
              }))
        },
        issuer,
        { lease: 3000 }
      )
      yield* expire
      const late = yield* Effect.forkChild(suspended.credentials.refreshIfNeeded, { startImmediately: true })
      yield* TestClock.adjust(100)
      assert.isTrue(isSuspended)
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
      assert.isTrue(isSuspended)
      assert.strictEqual(textOf(yield* timed(Fiber.join(late))), "access-2")
      assert.strictEqual(issuer.requests, 1)
    }))

  it.effect("invalid_grant is not believed if the store has newer tokens, and they stay", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory, tags } = yield* signedIn(new RotatingIssuer(), {})
      const other = yield* credentialsOf(memory, issuer)
      // The process has another store, which shows the newer tokens only after the request.
      let isStale = true
      const stale = yield* memory.read(key)
      const store: Store = {
        ...memory,
        read: (key) => Effect.suspend(() => isStale ? Effect.succeed(stale) : memory.read(key)),
        acquire: () => Effect.succeed(true)
      }
      const late = yield* credentialsOf(store, issuer, {
        refresh: (tokens) =>
          Effect.tapError(issuer.refresh(tokens), () =>
            Effect.sync(() => {
              isStale = false
              issuer.isRevoked = false
            }))
      })
      yield* expire
      assert.strictEqual(textOf(yield* timed(other.credentials.refreshIfNeeded)), "access-2")
      assert.strictEqual(textOf(yield* timed(late.credentials.refreshIfNeeded)), "access-2")
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.deepStrictEqual(late.tags(), [])
      assert.deepStrictEqual(tags(), [])
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
    }))

  it.effect("tokens that another process writes during the removal of revoked ones stay", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn()
      const other = yield* credentialsOf(memory, issuer)
      const store: Store = {
        ...memory,
        remove: (key, expected) =>
          Effect.andThen(Effect.orDie(Effect.ignore(other.signIn)), memory.remove(key, expected))
      }
      const loser = yield* credentialsOf(store, issuer)
      yield* expire
      issuer.isRevoked = true
      assert.strictEqual(textOf(yield* timed(loser.credentials.refreshIfNeeded)), "access-2")
      assert.strictEqual(yield* storedIn(memory), "access-2")
      assert.strictEqual(textOf(yield* timed(credentials.refreshIfNeeded)), "access-2")
    }))

  it.effect("tokens that another process has removed are not refreshed and not written again", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory } = yield* signedIn()
      const other = yield* credentialsOf(memory, issuer)
      assert.strictEqual(textOf(yield* other.credentials.remove), "access-1")
      yield* expire
      assert.isUndefined(yield* timed(credentials.refreshIfNeeded))
      assert.isUndefined(yield* memory.read(key))
      assert.strictEqual(issuer.requests, 0)
    }))

  it.effect("a sign-in replaces the tokens of another process", () =>
    Effect.gen(function*() {
      const { credentials, issuer, memory, signIn } = yield* signedIn()
      const other = yield* credentialsOf(memory, issuer)
      yield* other.signIn
      yield* signIn
      assert.strictEqual(yield* storedIn(memory), "access-3")
      assert.strictEqual(textOf(yield* credentials.current), "access-3")
    }))
})
