/** The JSON of entries: what is written is read, and what is not is an error without a part of the text. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { inspect } from "node:util"
import * as StoredRegistration from "../../../src/internal/tokens/StoredRegistration.ts"
import * as StoredTokens from "../../../src/internal/tokens/StoredTokens.ts"

const Time = Schema.Int.check(Schema.isGreaterThan(0))

const Members = Schema.Struct({
  accessToken: Schema.NonEmptyString,
  tokenType: Schema.Literals(["Bearer", "DPoP"]),
  refreshToken: Schema.UndefinedOr(Schema.NonEmptyString),
  scopes: Schema.UndefinedOr(Schema.Array(Schema.String)),
  issuedAt: Time,
  expiresAt: Schema.UndefinedOr(Time),
  proofKey: Schema.UndefinedOr(Schema.NonEmptyString)
})

const redacted = (text: string | undefined) => text === undefined ? undefined : Redacted.make(text)

const tokensOf = (members: typeof Members.Type): StoredTokens.StoredTokens => ({
  ...members,
  accessToken: Redacted.make(members.accessToken),
  refreshToken: redacted(members.refreshToken),
  proofKey: redacted(members.proofKey)
})

const shown = (tokens: StoredTokens.StoredTokens) => ({
  ...tokens,
  accessToken: Redacted.value(tokens.accessToken),
  refreshToken: tokens.refreshToken && Redacted.value(tokens.refreshToken),
  proofKey: tokens.proofKey && Redacted.value(tokens.proofKey)
})

const tokens = tokensOf({
  accessToken: "the-access-token",
  tokenType: "Bearer",
  refreshToken: "the-refresh-token",
  scopes: ["notes:read"],
  issuedAt: 1,
  expiresAt: 2,
  proofKey: undefined
})

describe("the JSON of entries", () => {
  it.effect("tokens are read as they were written", () =>
    Effect.gen(function*() {
      const outcome = yield* Arbitrary.checkEffect(Arbitrary.schema(Members), (members) =>
        Effect.sync(() => {
          const decoded = Result.getOrThrow(StoredTokens.decode(StoredTokens.encode(tokensOf(members))))
          assert.deepStrictEqual(shown(decoded), { ...members })
          return true
        }), { runs: 200 })
      assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
    }))

  it("a text that is no JSON of tokens is Corrupt, one of a newer format Newer, and no error has a part of it", () => {
    const text = Redacted.value(StoredTokens.encode(tokens))
    const texts = [
      ["Corrupt", ""],
      ["Corrupt", text.slice(0, -1)],
      ["Corrupt", `[${text}]`],
      ["Corrupt", text.replace("\"format\":1", "\"format\":0")],
      ["Corrupt", text.replace("\"format\":1", "\"format\":\"2\"")],
      ["Corrupt", text.replace("\"tokens\"", "\"registration\"")],
      ["Corrupt", text.replace("\"Bearer\"", "\"mac\"")],
      ["Corrupt", text.replace("\"the-access-token\"", "\"\"")],
      ["Corrupt", text.replace("\"expiresAt\":2", "\"expiresAt\":\"the-access-token\"")],
      ["Newer", text.replace("\"format\":1", "\"format\":2")],
      ["Newer", "{\"format\":7,\"secret\":\"the-access-token\"}"]
    ] as const
    for (const [tag, each] of texts) {
      const decoded = StoredTokens.decode(Redacted.make(each))
      assert.isTrue(Result.isFailure(decoded) && decoded.failure.reason._tag === tag, each)
      assert.notInclude(inspect(decoded, { depth: 20, showHidden: true }), "the-")
    }
  })

  it("tokens are no registration", () => {
    assert.isTrue(Result.isFailure(StoredRegistration.decode(StoredTokens.encode(tokens))))
  })

  it("a response without a usable lifetime has no expiry, and a long one is at most a number", () => {
    const response = { ...tokens, scopes: undefined }
    for (const expiresInMillis of [undefined, Number.NaN, Number.POSITIVE_INFINITY, 1e300]) {
      assert.isUndefined(StoredTokens.ofResponse({ ...response, expiresInMillis }, 1000).expiresAt)
    }
    assert.strictEqual(StoredTokens.ofResponse({ ...response, expiresInMillis: 5.5 }, 1000).expiresAt, 1006)
  })
})
