import { assert, describe, it } from "@effect/vitest"
import * as ScopeSelection from "../../../src/internal/discovery/ScopeSelection.ts"
import type { Target } from "../../../src/internal/discovery/Target.ts"
import { challengeOf } from "../../support/discovery.ts"

const targetWith = (scopes: ReadonlyArray<string> | undefined, listed?: Array<string>): Target => ({
  server: new URL("https://mcp.example/mcp"),
  resource: "https://mcp.example/mcp",
  sendsResource: true,
  issuer: "https://issuer.example",
  metadata: { issuer: "https://issuer.example", ...(listed === undefined ? {} : { scopes_supported: listed }) },
  scopes,
  isLegacy: false
})

const { select } = ScopeSelection

describe("the scopes of an authorization", () => {
  it("[AUT-26] are those of the challenge, else those of the metadata, else none", () => {
    const target = targetWith(["a", "b"])
    assert.deepStrictEqual(select({ target, challenge: challengeOf({ scope: "c a" }) }), ["c", "a"])
    assert.deepStrictEqual(select({ target, challenge: challengeOf({}) }), ["a", "b"])
    assert.isUndefined(select({ target: targetWith(undefined) }))
    assert.isUndefined(select({ target: targetWith([]) }))
  })

  it("[AUT-27] of a challenge count, whatever the metadata lists", () => {
    const target = targetWith(["a"], ["a"])
    assert.deepStrictEqual(select({ target, challenge: challengeOf({ scope: "unlisted" }) }), ["unlisted"])
  })

  it("[AUT-36] [AUT-49] have offline_access exactly if the authorization server lists it", () => {
    assert.deepStrictEqual(select({ target: targetWith(["a", "offline_access"]) }), ["a"])
    assert.deepStrictEqual(select({ target: targetWith(["a"], ["offline_access"]) }), ["a", "offline_access"])
    assert.deepStrictEqual(select({ target: targetWith(["a"], ["offline_access"]), isOffline: false }), ["a"])
    // Alone, it would take the place of the default scopes.
    assert.isUndefined(select({ target: targetWith(undefined, ["offline_access"]) }))
  })

  it("[AUT-39] of a step-up are the union of those that were requested and those of the challenge", () => {
    const challenge = challengeOf({ scope: "write" })
    const target = targetWith(["read", "write", "admin"])
    assert.deepStrictEqual(select({ target, challenge, requested: ["read"] }), ["read", "write"])
  })

  it("leave out what is no scope, and are bounded", () => {
    assert.deepStrictEqual(ScopeSelection.parse("a  \"b\" a c\\d é"), ["a"])
    assert.lengthOf(ScopeSelection.parse(Array.from({ length: 5000 }, (_, index) => `s${index}`).join(" ")), 200)
  })
})
