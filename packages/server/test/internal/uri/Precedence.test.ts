/** Which template a URI belongs to, if several match it. */
import { UriTemplate } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Precedence from "../../../src/internal/uri/Precedence.ts"

const make = (template: string): UriTemplate.UriTemplate => Result.getOrThrow(UriTemplate.make<string>(template))

describe("the most literal template", () => {
  it.each<ReadonlyArray<string>>([
    ["tasks://all/{id}", "tasks://{id}", "tasks://{+path}"],
    ["x:{a}", "x:{+a}"],
    ["x{/a}", "x{/a*}"],
    ["x/{a}", "x/{a}{?b}"],
    // A triplet counts as one character.
    ["x:ab{c}", "x:%C3{c}"],
    // With the same figures, by their texts.
    ["/a/{name}", "/{kind}/b"]
  ])("is the first one: %s", (...templates) => {
    assert.deepStrictEqual(
      templates.toReversed().map(make).toSorted(Precedence.order).map(({ template }) => template),
      templates
    )
  })
})

describe("two templates that are as literal", () => {
  it.each<readonly [one: string, other: string, uri: string]>([
    ["tasks://{id}", "tasks://{name}", "tasks://"],
    ["/{kind}/b", "/a/{name}", "/a/b"],
    ["/{a}.b/{c}", "/d.{e}/{f}", "/d..b/"],
    ["x:{a}:{b}", "x:{c}:{d}", "x::"],
    ["{a,b}", "{c,d}", ","],
    ["x:{a}:{b}", "x:{c}@{d}", "x::@"],
    ["x{/a*}{?b}", "x{/c*}{?d}", "x"],
    ["x/{+a}", "x/{+b}", "x/"],
    ["x{.a}", "x{.b}", "x"],
    ["x?a={b}", "x?a={c}", "x?a="],
    ["é/{a}", "%C3%A9/{b}", "é/"],
    // With variables that may be absent.
    ["s:-{.e}", "s:{x}b", "s:-.b"],
    ["s:-{.e}{?q}", "s:{x}b{?r}", "s:-.b"],
    ["s:{a}/b{.c}", "s:b/{x,y}", "s:b/b.,"],
    ["s:ab{/c}", "s:{a}/b", "s:ab/b"],
    ["s:abc{/d,e}", "s:{a}/b/{c}", "s:abc/b/"],
    ["s:a{/d,e,f}", "s:{a}/{b,c}", "s:a/,"]
  ])("%s and %s both match %s", (one, other, uri) => {
    assert.strictEqual(Precedence.conflict(make(one), make(other)), uri)
    assert.isDefined(make(one).match(uri))
    assert.isDefined(make(other).match(uri))
  })

  it.each<readonly [one: string, other: string]>([
    ["a/{x}", "b/{x}"],
    ["{x}.a", "{x}.b"],
    ["x:{a}/b", "x:{a}/c"],
    ["x/{a}/{b}", "x/y{c}{?d}"],
    ["x?a={b}", "x?c={b}"],
    ["x:{a}?b=1", "x:{a}?b=2"]
  ])("%s and %s match no URI together", (one, other) => {
    assert.isUndefined(Precedence.conflict(make(one), make(other)))
  })

  it("are no pair if one of them is more literal", () => {
    assert.isUndefined(Precedence.conflict(make("x:{a}"), make("x:{a}/b")))
    assert.isUndefined(Precedence.conflict(make("x:{a}"), make("x:{+a}")))
  })

  it.each([["x:{a}", "x:{a}/b"], ["x:a{b}", "x:b{a}"]])(
    "are not compared further if their ranks or their first characters differ: %s and %s",
    (...templates) => {
      const [one, other] = templates.map((text): Precedence.Ranked => {
        const template = make(text)
        return {
          template: text,
          [Precedence.TypeId]: {
            ...template[Precedence.TypeId],
            get forms(): never {
              return assert.fail("the forms are compared")
            }
          }
        }
      })
      assert.isUndefined(one && other && Precedence.conflict(one, other))
    }
  )
})
