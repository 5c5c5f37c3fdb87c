import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import {
  AuthorizationHeaders,
  headersOf,
  plainHeaders
} from "../../../../src/internal/http/client/AuthorizationHeaders.ts"

it.effect("headers may be absent, values or an effect, and are sent with names in lower case", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* headersOf(undefined), {})
    assert.deepStrictEqual(yield* headersOf({ A: "1" }), { A: "1" })
    assert.deepStrictEqual(yield* headersOf(Effect.succeed({ B: "2" })), { B: "2" })
    assert.deepStrictEqual(plainHeaders({ "X-Key": Redacted.make("secret"), B: "2" }), { "x-key": "secret", b: "2" })
  }))

it.effect("requests that are rejected at the same time share one renewal", () =>
  Effect.gen(function*() {
    const challenges: Array<string | undefined> = []
    const headers = new AuthorizationHeaders((challenge) =>
      Effect.as(Effect.yieldNow, { authorization: `token ${challenges.push(challenge)}` })
    )
    const sentWith = headers.version
    const renewed = yield* Effect.all([headers.renew("a", sentWith), headers.renew("b", sentWith)], {
      concurrency: "unbounded"
    })
    assert.deepStrictEqual(renewed, [true, true])
    assert.deepStrictEqual(challenges, ["a"])
    assert.deepStrictEqual(headers.current, { authorization: "token 1" })
    assert.isTrue(yield* headers.renew("c", headers.version))
    assert.deepStrictEqual(challenges, ["a", "c"])
  }))

it.effect("nothing changes without `authorize`, or if it returns no headers", () =>
  Effect.gen(function*() {
    const without = new AuthorizationHeaders(undefined)
    assert.isFalse(yield* without.renew("a", without.version))
    const none = new AuthorizationHeaders(() => Effect.undefined)
    assert.isFalse(yield* none.renew("a", none.version))
    assert.deepStrictEqual(none.current, {})
  }))
