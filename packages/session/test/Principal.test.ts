/** Principals: their ids, scopes and times. */
import { Principal } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"

describe("a principal", () => {
  it("[AUT-55] has an id that no other pair of issuer and subject has", () => {
    const characters = ["a", "\"", ",", "[", "\\", " ", "|", "%", "\u0000", "\ud800"]
    const texts = ["", ...characters, ...characters.flatMap((one) => characters.map((other) => one + other))]
    const ids = texts.flatMap((issuer) => texts.map((subject) => Principal.idOf(issuer, subject)))
    assert.strictEqual(new Set(ids).size, texts.length ** 2)
    assert.notStrictEqual(Principal.idOf("https://a", "b c"), Principal.idOf("https://a b", "c"))
    assert.notStrictEqual(Principal.idOf("a\",\"b", "c"), Principal.idOf("a", "b\",\"c"))
    assert.notStrictEqual(Principal.idOf("", "ab"), Principal.idOf("a", "b"))
    const ofTenants = ["", "a", "b"].map((tenant) => Principal.idOf("a", "b", tenant))
    assert.strictEqual(new Set([...ids, ...ofTenants]).size, ids.length + ofTenants.length)
  })

  it("[AUT-46] has the scopes that are granted to it, and an anonymous sender has none", () => {
    assert.isTrue(Principal.hasScopes({ id: "ada", scopes: ["a", "b"] }, ["b", "a"]))
    assert.isFalse(Principal.hasScopes({ id: "ada", scopes: ["a"] }, ["a", "b"]))
    assert.isFalse(Principal.hasScopes({ id: "ada", claims: { scope: "a" } }, ["a"]))
    assert.isFalse(Principal.hasScopes(undefined, ["a"]))
    assert.isTrue(Principal.hasScopes(undefined, []))
  })

  it("[AUT-03] has expired from its time on", () => {
    const ada = { id: "ada", expiresAt: 1_000 }
    assert.deepStrictEqual([999, 1_000, 1_001].map((now) => Principal.isExpired(ada, now)), [false, true, true])
    assert.isFalse(Principal.isExpired({ id: "ada" }, Number.MAX_SAFE_INTEGER))
    assert.isTrue(Principal.isExpired({ id: "ada", expiresAt: Number.NaN }, 0))
    assert.isFalse(Principal.isExpired(undefined, 0))
  })
})
