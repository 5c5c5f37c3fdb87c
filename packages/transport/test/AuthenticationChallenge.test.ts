/** The challenges of `WWW-Authenticate` (RFC 9110, section 11). */
import { AuthenticationChallenge } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const { bounds, find, parse, print } = AuthenticationChallenge

/** Returns challenges as plain data: scheme, parameters and token68. */
const plain = (header: string) =>
  parse(header).map(({ parameters, scheme, token68 }) => [scheme, { ...parameters }, ...token68 ? [token68] : []])

describe("[AUT-05] the challenges of a header", () => {
  const metadata = "https://example.com/.well-known/oauth-protected-resource"
  const cases: Readonly<Record<string, readonly [header: string, ...expected: ReadonlyArray<unknown>]>> = {
    "a scheme alone": ["Bearer", ["Bearer", {}]],
    "parameters, quoted and not": [
      `Bearer error=invalid_token, resource_metadata="${metadata}"`,
      ["Bearer", { error: "invalid_token", resource_metadata: metadata }]
    ],
    "commas and other challenges in a quoted value": [
      "Bearer realm=\"a, Basic realm=x, b\", scope=\"x y\"",
      ["Bearer", { realm: "a, Basic realm=x, b", scope: "x y" }]
    ],
    "escaped characters": ["Bearer realm=\"a \\\"b\\\" \\\\ c\"", ["Bearer", { realm: "a \"b\" \\ c" }]],
    "several challenges, joined by a proxy": [
      "Basic realm=\"notes\", Bearer scope=\"notes:read\", Negotiate",
      ["Basic", { realm: "notes" }],
      ["Bearer", { scope: "notes:read" }],
      ["Negotiate", {}]
    ],
    "a token68": ["Negotiate YWJj==, DPoP algs=\"ES256\"", ["Negotiate", {}, "YWJj=="], ["DPoP", { algs: "ES256" }]],
    "spaces around signs, and empty elements": [
      " , ,Bearer  realm = \"a\" ,, scope=b , ",
      ["Bearer", { realm: "a", scope: "b" }]
    ],
    "names of any case, of which the first counts": [
      "Bearer Scope=\"one\", SCOPE=\"two\"",
      ["Bearer", { scope: "one" }]
    ],
    "the names of members of all objects": [
      "Bearer __proto__=\"a\", constructor=\"b\"",
      ["Bearer", { ["__proto__"]: "a", constructor: "b" }]
    ],
    "nothing": [""],
    "a parameter without a scheme, and the challenge after it": ["realm=\"a\", Bearer scope=b", ["Bearer", {
      scope: "b"
    }]],
    "a quoted string that does not end": ["Basic realm=a, Bearer realm=\"b", ["Basic", { realm: "a" }], ["Bearer", {}]],
    "a text between two challenges": ["Bearer a=b \u0000@, Basic realm=x", ["Bearer", { a: "b" }], ["Basic", {
      realm: "x"
    }]]
  }
  for (const [name, [header, ...expected]] of Object.entries(cases)) {
    it(`are read: ${name}`, () => assert.deepStrictEqual(plain(header), expected))
  }

  it("are found by their schemes, without case", () => {
    assert.strictEqual(find(parse("basic realm=a, BEARER scope=b"), "Bearer")?.parameters["scope"], "b")
    assert.isUndefined(find(parse("Basic realm=a"), "Bearer"))
  })

  it("inherit no parameters", () => assert.isUndefined(find(parse("Bearer"), "Bearer")?.parameters["toString"]))
})

describe("[AUT-05] a header beyond its bounds", () => {
  it("has so many challenges, parameters and characters", () => {
    assert.lengthOf(parse("Bearer,".repeat(bounds.maxChallenges + 5)), bounds.maxChallenges)
    const parameters = Array.from({ length: bounds.maxParameters + 5 }, (_, index) => `p${index}=v`).join(", ")
    const [first, second] = parse(`Bearer ${parameters}, Basic realm=x`)
    assert.lengthOf(Object.keys(first?.parameters ?? {}), bounds.maxParameters)
    assert.strictEqual(second?.scheme, "Basic")
    const long = `Bearer realm="${"x".repeat(bounds.maxCharacters)}"`
    assert.deepStrictEqual(plain(long), [["Bearer", {}]])
  })

  const hostile: Readonly<Record<string, string>> = {
    "quotes": "Bearer realm=" + "\"".repeat(1_000_000),
    "escapes": `Bearer realm="${"\\".repeat(1_000_000)}`,
    "commas": ",".repeat(1_000_000),
    "spaces": "Bearer" + " ".repeat(1_000_000),
    "spaces and commas": "Bearer " + " ,".repeat(500_000) + "=",
    "names": "Bearer " + "a".repeat(1_000_000),
    "signs": "Bearer a" + "=".repeat(1_000_000),
    "schemes": "a ".repeat(500_000),
    "parameters": "Bearer " + "a=b,".repeat(250_000)
  }
  for (const [name, header] of Object.entries(hostile)) {
    it(`of 1 MB is read up to its bound only: ${name}`, () => {
      assert.deepStrictEqual(parse(header), parse(header.slice(0, bounds.maxCharacters)))
    })
  }
})

describe("a printed challenge", () => {
  const token = Schema.String.check(Schema.isPattern(/^[A-Za-z][A-Za-z0-9_-]{0,10}$/))
  // The characters of a header: visible ones, spaces and tabs.
  const value = Schema.String.check(Schema.isPattern(/^[\t\x20-\x7e]{0,20}$/))
  const parameters = Schema.Array(Schema.Tuple([token, value])).check(Schema.isMaxLength(5))

  it.effect("is read as it was, however many follow each other", () =>
    Effect.gen(function*() {
      const arbitrary = Arbitrary.schema(Schema.Array(Schema.Tuple([token, parameters])))
      for (const sample of yield* Arbitrary.sampleEffect(arbitrary, { count: 200, seed: 1 })) {
        const challenges = sample.slice(0, bounds.maxChallenges).map(([scheme, all]) => ({
          scheme,
          parameters: Object.fromEntries(all.map(([name, value]) => [name.toLowerCase(), value]))
        }))
        const header = challenges.map(({ parameters, scheme }) => print(scheme, parameters)).join(", ")
        const read = parse(header).map(({ parameters, scheme }) => ({ scheme, parameters: { ...parameters } }))
        assert.deepStrictEqual(read, challenges)
      }
    }))

  it("has no characters that a header cannot have, and no absent parameters", () => {
    const header = print("Bearer", { realm: "a\r\nSet-Cookie: x=y\u0000é", scope: undefined })
    assert.strictEqual(header, "Bearer realm=\"aSet-Cookie: x=y\"")
    assert.strictEqual(print("Bearer"), "Bearer")
  })
})
