import { TokenStore } from "@effect-mcp/auth"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import type { CredentialsEvent, Options, TokensKey } from "../../../src/internal/tokens/Credentials.ts"
import * as SharedCredentials from "../../../src/internal/tokens/SharedCredentials.ts"
import * as StoredTokens from "../../../src/internal/tokens/StoredTokens.ts"
import { lifetime, RotatingIssuer } from "../../support/rotatingIssuer.ts"

type Store = TokenStore.TokenStore["Service"]

const key: TokensKey = {
  _tag: "Tokens",
  issuer: "https://as.example",
  resource: "https://notes.example/mcp",
  client: "client",
  account: "ada"
}

/** Makes credentials, and a list of their events. */
const credentialsOf = Effect.fnUntraced(
  function*(store: Store, issuer: RotatingIssuer, options: Partial<Options> = {}) {
    const events: Array<CredentialsEvent["_tag"]> = []
    const onEvent = (event: CredentialsEvent) => Effect.sync(() => void events.push(event._tag))
    const credentials = yield* SharedCredentials.make({
      store,
      key,
      refresh: (tokens) => issuer.refresh(tokens),
      onEvent,
      ...options
    })
    const signIn = Effect.flatMap(
      Effect.all([issuer.signIn, Clock.currentTimeMillis]),
      ([response, sentAt]) => credentials.save(response, { sentAt, scopes: ["notes:read"] })
    )
    return { credentials, events, signIn }
  }
)

/** Runs an effect while virtual time goes on. */
const timed = Effect.fnUntraced(function*<A, E>(effect: Effect.Effect<A, E>, millis = 60_000) {
  const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
  yield* TestClock.adjust(millis)
  return yield* Fiber.join(fiber)
})

const textOf = (tokens: StoredTokens.StoredTokens | undefined) => tokens && Redacted.value(tokens.accessToken)

describe("shared credentials", () => {
  it.effect("without tokens, a person has to sign in, and no request is sent", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const { credentials } = yield* credentialsOf(yield* TokenStore.makeMemory(), issuer)
      assert.isUndefined(yield* credentials.current)
      assert.isUndefined(yield* credentials.refreshIfNeeded)
      assert.isUndefined(yield* credentials.refreshAfter(Redacted.make("access-0")))
      assert.strictEqual(issuer.requests, 0)
    }))

  it.effect("tokens are refreshed before they expire, once for five calls, and stored", () =>
    Effect.gen(function*() {
      const issuer = new RotatingIssuer()
      const store = yield* TokenStore.makeMemory()
      const { credentials, events, signIn } = yield* credentialsOf(store, issuer)
      yield* signIn
      yield* TestClock.adjust(lifetime - 31_000)
      assert.strictEqual(textOf(yield* credentials.refreshIfNeeded), "access-1")
      assert.strictEqual(issuer.requests, 0)
      yield* TestClock.adjust(1000)
      const five = Effect.all(Array.from({ length: 5 }, () => credentials.refreshIfNeeded), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual((yield* timed(five)).map(textOf), Array.from({ length: 5 }, () => "access-2"))
      assert.strictEqual(issuer.requests, 1)
      assert.deepStrictEqual(events, ["Refreshed"])
      const entry = yield* store.read(key)
      const stored = entry && (yield* Effect.fromResult(StoredTokens.decode(entry.text)))
      assert.strictEqual(textOf(stored), "access-2")
      assert.deepStrictEqual(stored?.scopes, ["notes:read"])
      assert.isTrue(yield* store.acquire(key, "another", 1000))
    }))
})
