/** Credentials of a person who has signed in, and stores and issuers that fail. */
import { type OAuthError, TokenStore } from "@effect-mcp/auth"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"
import type { CredentialsEvent, Options } from "../../src/internal/tokens/Credentials.ts"
import * as SharedCredentials from "../../src/internal/tokens/SharedCredentials.ts"
import * as StoredTokens from "../../src/internal/tokens/StoredTokens.ts"
import { type Fault, lifetime, RotatingIssuer } from "./rotatingIssuer.ts"
import { key } from "./tokenStores.ts"

export type Store = TokenStore.TokenStore["Service"]

/** The operations of a store that fail now. */
export type Failing = Set<"acquire" | "read" | "release" | "remove" | "write">

/** Returns a store whose operations fail when a test wants that. */
export const faulty = (store: Store, failing: Failing): Store => {
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
export const credentialsOf = Effect.fnUntraced(
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
export const signedIn = Effect.fnUntraced(function*(issuer = new RotatingIssuer(), options: Partial<Options> = {}) {
  const memory = yield* TokenStore.makeMemory()
  const failing: Failing = new Set()
  const store = faulty(memory, failing)
  const made = yield* credentialsOf(store, issuer, options)
  yield* made.signIn
  return { ...made, memory, store, failing, issuer }
})

/** Runs an effect while virtual time goes on. */
export const timed = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>, millis = 120_000) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  // A single step of this length would let a fiber that polls run only once.
  for (let passed = 0; passed < millis && fiber.pollUnsafe() === undefined; passed += 100) yield* TestClock.adjust(100)
  return yield* Fiber.join(fiber)
})

export const expire = TestClock.adjust(lifetime)

export const textOf = (tokens: StoredTokens.StoredTokens | undefined) => tokens && Redacted.value(tokens.accessToken)

export const storedIn = (store: Store) =>
  Effect.flatMap(store.read(key), (entry) =>
    entry === undefined ? Effect.succeed(undefined) : Effect.map(
      Effect.fromResult(StoredTokens.decode(entry.text)),
      textOf
    ))

export const reasonOf = <A>(effect: Effect.Effect<A, OAuthError.OAuthError>) =>
  Effect.map(Effect.result(effect), (result) => Result.isFailure(result) ? result.failure.reason._tag : "Success")

export const five = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.all(Array.from({ length: 5 }, () => effect), { concurrency: "unbounded" })

export const times = (count: number, text: string) => Array.from({ length: count }, () => text)

/** An issuer whose requests end as the list says, and as the last one says after that. */
export const issuerWith = (...faults: ReadonlyArray<Fault>) => {
  let request = 0
  return new RotatingIssuer(() => ({ fault: faults[request++] ?? faults.at(-1) ?? "Answered", latency: 50 }))
}
