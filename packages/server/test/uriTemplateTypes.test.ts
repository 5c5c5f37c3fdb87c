/** The types of URI templates: their variables and values, and what does not compile. */
import { UriTemplate } from "@effect-mcp/server"
import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Result from "effect/Result"

describe("the types of a URI template", () => {
  it("list the names of its variables", () => {
    expectTypeOf<UriTemplate.Variables<"tasks://{owner}/{id:3}{/path*}{?q,page*}{#f}">>().toEqualTypeOf<
      "owner" | "id" | "path" | "q" | "page" | "f"
    >()
    expectTypeOf<UriTemplate.Variables<"tasks://all">>().toEqualTypeOf<never>()
    expectTypeOf<UriTemplate.Variables<"{a.b,c_1}{+d}{.e}{;f}{&g}">>().toEqualTypeOf<
      "a.b" | "c_1" | "d" | "e" | "f" | "g"
    >()
    expectTypeOf<UriTemplate.Variables<string>>().toEqualTypeOf<string>()
  })

  it("give a matched value for each variable, optional if it may be absent", () => {
    expectTypeOf<UriTemplate.Encoded<"tasks://{owner}/{id}">>().toEqualTypeOf<
      { readonly owner: string; readonly id: string }
    >()
    expectTypeOf<UriTemplate.Encoded<"{a}{.b}{/c*}{?e}{&f}{#g}">>().toEqualTypeOf<{
      readonly a: string
      readonly b?: string
      readonly c?: ReadonlyArray<string>
      readonly e?: string
      readonly f?: string
      readonly g?: string
    }>()
    expectTypeOf<UriTemplate.Encoded<"file:///{+path}">>().toEqualTypeOf<{ readonly path: string }>()
    expectTypeOf<UriTemplate.Encoded<"{x*}">>().toEqualTypeOf<{ readonly x: ReadonlyArray<string> }>()
    expectTypeOf<UriTemplate.Encoded<"tasks://all">>().toEqualTypeOf<{}>()
  })

  it("require a value to expand a variable that occurs in a simple expression and in another one", () => {
    expectTypeOf<UriTemplate.Values<"{x}/{y}{?x}">>().toEqualTypeOf<
      { readonly x: UriTemplate.Value; readonly y: UriTemplate.Value }
    >()
  })

  it("give a value the shape of its variable", () => {
    expectTypeOf<UriTemplate.Encoded<"{x}{?y,z*}", { x: "List"; z: "String" }>>().toEqualTypeOf<{
      readonly x: ReadonlyArray<string>
      readonly y?: string
      readonly z?: string
    }>()
  })

  it("give any value if the template is only known as a string", () => {
    expectTypeOf<UriTemplate.Encoded<string>>().toEqualTypeOf<{ readonly [name: string]: UriTemplate.MatchedValue }>()
    expectTypeOf(UriTemplate.make<string>).returns.toEqualTypeOf<
      Result.Result<UriTemplate.UriTemplate<string>, UriTemplate.UriTemplateError>
    >()
  })

  it("follow from a literal template and its shapes", () => {
    const template = Result.getOrThrow(
      UriTemplate.make("tasks://{id}{?fields,q}", { shapes: { fields: "List" } })
    )
    expectTypeOf(template.template).toEqualTypeOf<"tasks://{id}{?fields,q}">()
    expectTypeOf(template.match).returns.toEqualTypeOf<
      { readonly id: string; readonly fields?: ReadonlyArray<string>; readonly q?: string } | undefined
    >()
    expectTypeOf(template.expand).parameter(0).toEqualTypeOf<
      {
        readonly id: UriTemplate.Value
        readonly fields?: UriTemplate.Value | undefined
        readonly q?: UriTemplate.Value | undefined
      }
    >()
    expectTypeOf(template).toExtend<UriTemplate.UriTemplate>()
    expectTypeOf(template).toExtend<UriTemplate.Expander>()
  })

  it("accept what a template matches as what it expands", () => {
    expectTypeOf<UriTemplate.Encoded<"{x}{/y*}{?m*}">>().toExtend<UriTemplate.Values<"{x}{/y*}{?m*}">>()
  })

  it("reject the shape of a variable that the template does not have", () => {
    expectTypeOf<{ readonly idd: "List" }>().not.toExtend<UriTemplate.Shapes<"{id}">>()
    expectTypeOf<{ readonly id: "List" }>().toExtend<UriTemplate.Shapes<"{id}">>()
  })
})

/** `unknown` for a template that compiles, or the reason why it does not. */
type Matchable<Template extends string> = UriTemplate.Checked<Template> extends Template ? unknown
  : UriTemplate.Checked<Template>

describe("a literal template", () => {
  it("compiles if it can be matched", () => {
    expectTypeOf<
      & Matchable<"">
      & Matchable<"tasks://all">
      & Matchable<"tasks://{id}">
      & Matchable<"{a}/{b}:{c,d}">
      & Matchable<"{a}b/c{d}">
      & Matchable<"/{name}.json">
      & Matchable<"x{.ext}/y{.ext2}">
      & Matchable<"s{/path*}/meta">
      & Matchable<"{/a,b*}{?e,f,g*}{#h}">
      & Matchable<"{a}?b=1{&c}{&d*}{#e}">
      & Matchable<"{a}/{+b}">
      & Matchable<"file:///{+path}">
      & Matchable<string>
    >().toEqualTypeOf<unknown>()
  })

  it("does not compile without a reserved character between two values, which the error states", () => {
    expectTypeOf<Matchable<"x/{a}{b}">>().toEqualTypeOf<
      "{a} and {b} are ambiguous: put a reserved character, such as \"/\", between them"
    >()
    expectTypeOf<Matchable<"{a}-{b}">>().toEqualTypeOf<
      "{a} and {b} are ambiguous: put a reserved character, such as \"/\", between them"
    >()
    expectTypeOf<Matchable<"{a}{.b}">>().toEqualTypeOf<
      "{a} and {.b} are ambiguous: put a reserved character, such as \"/\", between them"
    >()
    expectTypeOf<Matchable<"{?a}b{+c}">>().toEqualTypeOf<
      "{?a} and {+c} are ambiguous: put a reserved character, such as \"/\", between them"
    >()
    expectTypeOf<Matchable<"{/a*}b{c}">>().toEqualTypeOf<
      "{/a*} and {c} are ambiguous: put a reserved character, such as \"/\", between them"
    >()
  })

  it("does not compile with a reserved expression that is not last, or that has several values", () => {
    expectTypeOf<Matchable<"{+a}/b">>().toEqualTypeOf<"{+a} must be last: its value may contain any character">()
    expectTypeOf<Matchable<"{+a}/{+b}">>().toEqualTypeOf<"{+a} must be last: its value may contain any character">()
    expectTypeOf<Matchable<"{#a}{?b}">>().toEqualTypeOf<"{#a} must be last: its value may contain any character">()
    expectTypeOf<Matchable<"{+a,b}">>().toEqualTypeOf<
      "{+a,b} is ambiguous: it can have only one variable, and that without a \"*\""
    >()
    expectTypeOf<Matchable<"{#a*}">>().toEqualTypeOf<
      "{#a*} is ambiguous: it can have only one variable, and that without a \"*\""
    >()
    expectTypeOf<Matchable<"{a,b*}">>().toEqualTypeOf<
      "{a,b*} is ambiguous: the items of a list have \",\" between them"
    >()
  })

  it("does not compile with a label of several values", () => {
    expectTypeOf<Matchable<"x{.a,b}">>().toEqualTypeOf<
      "{.a,b} is ambiguous: it can have only one variable, and that without a \"*\""
    >()
    expectTypeOf<Matchable<"x{.a*}">>().toEqualTypeOf<
      "{.a*} is ambiguous: it can have only one variable, and that without a \"*\""
    >()
  })

  it("does not compile with segments that may belong to two variables", () => {
    expectTypeOf<Matchable<"{/a}/x{/b}">>().toEqualTypeOf<
      "{/a} and a later {/x} are ambiguous: either may be absent"
    >()
    expectTypeOf<Matchable<"{/a*,b}">>().toEqualTypeOf<
      "{/a*,b} is ambiguous: only its last variable can have a \"*\""
    >()
  })

  it("does not compile with pairs after pairs that may be absent", () => {
    expectTypeOf<Matchable<"{?a}{&b}">>().toEqualTypeOf<"{?a} may be absent before {&x}: write {?x,y}">()
  })

  it("does not compile with an operator or a modifier that only expands", () => {
    expectTypeOf<Matchable<"x{;a}">>().toEqualTypeOf<
      "{;a} cannot be matched: use {x}, {+x}, {.x}, {/x*}, {?x} or {&x}"
    >()
    expectTypeOf<Matchable<"x/{a,b:3}">>().toEqualTypeOf<
      "{a,b:3} cannot be matched: use {x}, {+x}, {.x}, {/x*}, {?x} or {&x}"
    >()
  })

  it("does not compile if it is malformed", () => {
    expectTypeOf<Matchable<"a{b">>().toEqualTypeOf<"a URI template has a \"{\" without a \"}\"">()
    expectTypeOf<Matchable<"a}b">>().toEqualTypeOf<"a URI template contains a character that no URI has">()
    expectTypeOf<Matchable<"{a} ">>().toEqualTypeOf<"a URI template contains a character that no URI has">()
    expectTypeOf<Matchable<"{}">>().toEqualTypeOf<"a URI template has an empty expression {}">()
    expectTypeOf<Matchable<"{=a}">>().toEqualTypeOf<
      "the operator of {=a} is reserved: use one of + # . / ; ? & or none"
    >()
    expectTypeOf<Matchable<"{a b}">>().toEqualTypeOf<"{a b} is no expression of a URI template">()
  })

  it("is the type of the parameter, or the reason why it does not compile", () => {
    expectTypeOf(UriTemplate.make<"{a}/{b}">).parameter(0).toEqualTypeOf<"{a}/{b}">()
    expectTypeOf(UriTemplate.make<"{+a}/b">).parameter(0).toEqualTypeOf<
      "{+a} must be last: its value may contain any character"
    >()
    expectTypeOf(UriTemplate.expander<"{+a}/b">).parameter(0).toEqualTypeOf<"{+a}/b">()
  })
})
