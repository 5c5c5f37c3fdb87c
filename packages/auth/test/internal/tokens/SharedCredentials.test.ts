import { OAuthError, TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { inspect } from "node:util"
import type { CredentialsEvent, Options, RefreshableTokens } from "../../../src/internal/tokens/Credentials.ts"
import * as SharedCredentials from "../../../src/internal/tokens/SharedCredentials.ts"
import * as StoredTokens from "../../../src/internal/tokens/StoredTokens.ts"
import { type Fault, lifetime, RotatingIssuer } from "../../support/rotatingIssuer.ts"
import { key } from "../../support/tokenStores.ts"

type Store = TokenStore.TokenStore["Service"]

/** The operations of a store that fail now. */
type Failing = Set<"acquire" | "read" | "release" | "remove" | "write">

/** Returns a store whose operations fail when a test wants that. */
const faulty = (store: Store, failing: Failing): Store => {
  const guard = <A>(
    operation: TokenStore.TokenStoreError["operation"] & ("acquire" | "read" | "release" | "remove" | "write"),
    effect: Effect.Effect<A, TokenStore.TokenStoreError>
  ) =>
    Effect.suspend(() =>
      failing.has(operation)
        ? Effect.fail(
          new TokenStore.TokenStoreError({ operation, reason: { _tag: "Unavailable", cause: "read-only" } })
        )
        : effect
    )
  return {
    keys: store.keys,
    read: (key) => guard("read", store.read(key)),
    write: (key, text, expected) => guard("write", store.write(key, text, expected)),
    remove: (key, expected) => guard("remove", store.remove(key, expected)),
    acquire: (key, owner, millis) => guard("acquire", store.acquire(key, owner, millis)),
    release: (key, owner) => guard("release", store.release(key, owner))
  }
}

/** Makes credentials, and a list of their events. */
const credentialsOf = Effect.fnUntraced(
  function*(store: Store, issuer: RotatingIssuer, options: Partial<Options> = {}) {
    const events: Array<CredentialsEvent> = []
    const onEvent = (event: CredentialsEvent) => Effect.sync(() => void events.push(event))
    const credentials = yield* SharedCredentials.make({
      store,
      key,
      refresh: (tokens) => issuer.refresh(tokens),
      onEvent,
      ...options
    })
    /** Stores the response to a sign-in, with these members. */
    const signInWith = (changes: Partial<StoredTokens.TokenResponse>) =>
      Effect.flatMap(
        Effect.all([issuer.signIn, Clock.currentTimeMillis]),
        ([response, sentAt]) => credentials.save({ ...response, ...changes }, { sentAt, scopes: ["notes:read"] })
      )
    const signIn = signInWith({})
    return { credentials, events, signIn, signInWith, tags: () => events.map(({ _tag }) => _tag) }
  }
)

/** Makes credentials of a person who has signed in. */
const signedIn = Effect.fnUntraced(function*(issuer = new RotatingIssuer(), options: Partial<Options> = {}) {
  const memory = yield* TokenStore.makeMemory()
  const failing: Failing = new Set()
  const store = faulty(memory, failing)
  const made = yield* credentialsOf(store, issuer, options)
  yield* made.signIn
  return { ...made, memory, store, failing, issuer }
})

/** Runs an effect while virtual time goes on. */
const timed = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>, millis = 120_000) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  // A single step of this length would let a fiber that polls run only once.
  for (let passed = 0; passed < millis && fiber.pollUnsafe() === undefined; passed += 100) yield* TestClock.adjust(100)
  return yield* Fiber.join(fiber)
})

const expire = TestClock.adjust(lifetime)

const textOf = (tokens: StoredTokens.StoredTokens | undefined) => tokens && Redacted.value(tokens.accessToken)

const storedIn = (store: Store) =>
  Effect.flatMap(store.read(key), (entry) =>
    entry === undefined ? Effect.succeed(undefined) : Effect.map(
      Effect.fromResult(StoredTokens.decode(entry.text)),
      textOf
    ))

const reasonOf = <A>(effect: Effect.Effect<A, OAuthError.OAuthError>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) ? result.failure.reason._tag : "Success")

const five = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.all(Array.from({ length: 5 }, () => effect), { concurrency: "unbounded" })

const times = (count: number, text: string) => Array.from({ length: count }, () => text)

/** An issuer whose requests end as the list says, and as the last one says after that. */
const issuerWith = (...faults: ReadonlyArray<Fault>) => {
  let request = 0
  return new RotatingIssuer(() => ({ fault: faults[request++] ?? faults.at(-1) ?? "Answered", latency: 50 }))
}

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
