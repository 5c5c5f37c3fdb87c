import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { headersOf, plainHeaders } from "../../../../src/internal/http/client/ProgramHeaders.ts"

it.effect("headers may be absent, values or an effect, and are sent with names in lower case", () =>
  Effect.gen(function*() {
    assert.deepStrictEqual(yield* headersOf(undefined), {})
    assert.deepStrictEqual(yield* headersOf({ A: "1" }), { A: "1" })
    assert.deepStrictEqual(yield* headersOf(Effect.succeed({ B: "2" })), { B: "2" })
    assert.deepStrictEqual(plainHeaders({ "X-Key": Redacted.make("secret"), B: "2" }), { "x-key": "secret", b: "2" })
  }))
