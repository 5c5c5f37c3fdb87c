/** The matching of URI templates: what each operator reads, and which templates cannot be matched. */
import { UriTemplate } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

const make = (template: string, shapes: UriTemplate.Shapes<string> = {}): UriTemplate.UriTemplate =>
  Result.getOrThrow(UriTemplate.make<string, UriTemplate.Shapes<string>>(template, { shapes }))

const reserved = ":/?#[]@!$&'()*+,;="

type Matched = { readonly [name: string]: UriTemplate.MatchedValue }

describe("a URI matches", () => {
  it.each<readonly [template: string, uri: string, values: Matched]>([
    // Simple expressions.
    ["tasks://{id}", "tasks://7", { id: "7" }],
    ["tasks://{id}", "tasks://", { id: "" }],
    ["tasks://{id}", "tasks://%2Fetc%2F..%2Fpasswd%00", { id: "/etc/../passwd\0" }],
    ["tasks://{id}", "tasks://a%2Cb%252C", { id: "a,b%2C" }],
    ["{x,y}", "1,2", { x: "1", y: "2" }],
    ["{x,y}", ",", { x: "", y: "" }],
    ["/{name}.json", "/a.json.json", { name: "a.json" }],
    ["v{x}a/b{y}", "vaa/bb", { x: "a", y: "b" }],
    ["{scheme}://{host}/{x}", "http://a/b", { scheme: "http", host: "a", x: "b" }],
    ["tasks://all", "tasks://all", {}],
    ["", "", {}],
    // Raw reserved characters.
    ...Array.from(reserved, (character) => ["tasks:{id}", `tasks:a${character}b`, { id: `a${character}b` }] as const)
      .filter(([, , { id }]) => !/[/?#]/.test(id)),
    ...Array.from(reserved, (character) => ["/s{?q}", `/s?q=a${character}b`, { q: `a${character}b` }] as const)
      .filter(([, , { q }]) => !/[&#]/.test(q)),
    ["tasks://{id}:x", "tasks://:x:x", { id: ":x" }],
    ["{a}:{b}", "a@b:c+d", { a: "a@b", b: "c+d" }],
    ["{a}:{b}@{c}", "a@b:c@d:e", { a: "a@b", b: "c", c: "d:e" }],
    ["{a}@{b}/{c}", "a:@b:/c@:", { a: "a:", b: "b:", c: "c@:" }],
    ["x?q={a}&r={b}", "x?q=1/2=3&r=?", { a: "1/2=3", b: "?" }],
    ["x{?a}", "x?a=b=c", { a: "b=c" }],
    ["x#{a}", "x#b#?&c", { a: "b#?&c" }],
    // Equivalent URIs.
    ["tasks://{id}", "%74asks://%7e%C3%a9", { id: "~é" }],
    ["tasks://{id}", "tasks://é😀", { id: "é😀" }],
    ["é/{id}", "é/1", { id: "1" }],
    ["é/{id}", "%c3%a9/1", { id: "1" }],
    ["%c3%A9%7E/{id}", "é~/1", { id: "1" }],
    // Reserved expressions.
    ["file:///{+path}", "file:///a/b%20c?d=e,f#g", { path: "a/b c?d=e,f#g" }],
    ["file:///{+path}", "file:///a%2Fb%2525", { path: "a/b%25" }],
    ["{+x}", "", { x: "" }],
    // Expressions that may be absent.
    ["/x{#f}", "/x", {}],
    ["/x{#f}", "/x#", { f: "" }],
    ["/x{#f}", "/x#a/b%20c#d", { f: "a/b c#d" }],
    ["/x{.ext}", "/x", {}],
    ["/x{.ext}", "/x.tar.gz", { ext: "tar.gz" }],
    ["/x{/y}", "/x", {}],
    ["/x{/y}", "/x/", { y: "" }],
    ["/x{/y,z}", "/x/1", { y: "1" }],
    ["/x{/y,z}", "/x/1/2", { y: "1", z: "2" }],
    ["{/var,x}/here", "/here", {}],
    ["{/var,x}/here", "/here/here", { var: "here" }],
    ["{/var,x}/here", "/a/b/here", { var: "a", x: "b" }],
    ["/{x}{/y}{?q}{#f}", "/1#2", { x: "1", f: "2" }],
    ["/{x}{/y}{?q}{#f}", "/1/2?q=4#5", { x: "1", y: "2", q: "4", f: "5" }],
    ["/{x}:a{.b}.c", "/1:a.c", { x: "1" }],
    ["x{.b}.c", "x.b.c.c", { b: "b.c" }],
    ["{a}:{.b}:{c}", "1::2", { a: "1", c: "2" }],
    ["{a}:{.b}:{c}", "1:.2:3", { a: "1", b: "2", c: "3" }],
    // Queries.
    ["/s{?q,page}", "/s", {}],
    ["/s{?q,page}", "/s?", {}],
    ["/s{?q,page}", "/s?page=2&q=a%26b%3D", { q: "a&b=", page: "2" }],
    ["/s{?q,page}", "/s?q=", { q: "" }],
    ["/s?fixed=yes{&x,y}", "/s?fixed=yes&y=2&x=1", { x: "1", y: "2" }],
    ["?c=1{&a}{&b}", "?c=1&a=1&b=2", { a: "1", b: "2" }],
    ["?c=1{&a}{&b}", "?c=1&b=2", { b: "2" }],
    ["/s?q={q}{&x}{#f}", "/s?q=1&x=2#3", { q: "1", x: "2", f: "3" }],
    ["{?Stra%C3%9Fe}", "?Straße=a", { "Stra%C3%9Fe": "a" }],
    ["{?q,query}", "?query=1&q=2", { q: "2", query: "1" }],
    // Exploded lists.
    ["{x*}", "a,b", { x: ["a", "b"] }],
    ["{x*}", "", { x: [""] }],
    ["{x*}:{y}", "a,b:c,d", { x: ["a", "b"], y: "c,d" }],
    ["{/x,y*}", "/a/b/c", { x: "a", y: ["b", "c"] }],
    ["{/x,y*}", "/a", { x: "a" }],
    ["file://{/path*}", "file://", {}],
    ["file://{/path*}", "file:///a/b%2Fc/", { path: ["a", "b/c", ""] }],
    ["s{/path*}/meta", "s/a/meta/meta", { path: ["a", "meta"] }],
    ["s{/path*}.md", "s/a/b.c.md", { path: ["a", "b.c"] }],
    ["s{/path*}.md", "s.md", {}],
    ["{?x*,y}", "?x=1&y=2&x=3", { x: ["1", "3"], y: "2" }],
    ["{?x*,y*}", "?x=1&x=2&y=3", { x: ["1", "2"], y: ["3"] }]
  ])("%s with %s", (template, uri, values) => {
    assert.deepStrictEqual(make(template).match(uri), values)
  })

  it.each<readonly [template: string, shapes: UriTemplate.Shapes<string>, uri: string, values: Matched]>([
    ["/x{?fields}", { fields: "List" }, "/x?fields=a,b%2Cc", { fields: ["a", "b,c"] }],
    ["/x{?fields}", { fields: "List" }, "/x?fields=a", { fields: ["a"] }],
    ["{x}", { x: "List" }, "a,b", { x: ["a", "b"] }],
    ["{/x,y}", { x: "List" }, "/a,b/c,d", { x: ["a", "b"], y: "c,d" }],
    ["{x}@{y}", { y: "List" }, "a,b@c,d", { x: "a,b", y: ["c", "d"] }],
    ["{?x*}", { x: "String" }, "?x=1", { x: "1" }],
    ["{__proto__}", {}, "a", Object.fromEntries([["__proto__", "a"]])]
  ])("%s with the shapes %j and %s", (template, shapes, uri, values) => {
    const matched = make(template, shapes).match(uri)
    assert.deepStrictEqual(matched, values)
    assert.deepStrictEqual(Object.keys(matched ?? {}), Object.keys(values))
  })
})

describe("a URI does not match", () => {
  const rows: ReadonlyArray<readonly [template: string, uri: string]> = [
    ...Array.from("/?#", (delimiter) => ["tasks://{id}", `tasks://a${delimiter}b`] as const),
    ...Array.from("&#", (delimiter) => ["/s?q={id}", `/s?q=a${delimiter}b`] as const),
    // What could belong to either of two values.
    ["{a}:{b}", "1:2:3"],
    ["{a}:{b}@{c}", "1:2:3@4"],
    ["{a}:{b}@{c}", "1:2@3@4"],
    ["{x,y}", "1,2,3"],
    ["{x*}:{y}", "1:2:3"],
    ["{a}:{.b}:{c}", "1:.2:3:4"],
    ...Array.from(" \"<>\\^`{|}\u0000\u007f", (illegal) => ["{+x}", `a${illegal}b`] as const),
    ["tasks://{id}", "notes://1"],
    ["tasks://{id}", "tasks:/"],
    ["tasks://{id}", "TASKS://1"],
    ["tasks://{id}", "tasks:%2F/1"],
    // Malformed triplets, octets that are not UTF-8, and lone surrogates.
    ["tasks://{id}", "tasks://%"],
    ["tasks://{id}", "tasks://%2"],
    ["tasks://{id}", "tasks://%ZZ"],
    ["tasks://{id}", "tasks://%2G"],
    ["tasks://{id}", "tasks://%FF"],
    ["tasks://{id}", "tasks://%C3"],
    ["tasks://{id}", "tasks://%ED%A0%80"],
    ["tasks://{id}", "tasks://\ud800"],
    ["{+x}", "%ZZ"],
    ["{x}A9/b", "%C3%A9/b"],
    // Expressions.
    ["{x,y}", "1"],
    ["/x{.ext}", "/xy"],
    ["/x{/y,z}", "/x/1/2/3"],
    ["{/x,y}/z", "/1/2/3/z"],
    // Queries.
    ["/s{?q}", "/s?q"],
    // A pair without "=" has no name, also if a character more than the name of a variable.
    ["/s{?q}", "/s?qq"],
    ["/s{?q}", "/s?q=1&q"],
    ["/s{?q*}", "/s?q=1&qx"],
    ["/s?c=1{&q}", "/s?c=1&qx"],
    ["/s{?q}", "/s?="],
    ["/s{?q}", "/s?q=1&"],
    ["/s{?q}", "/s?q=1&z=2"],
    ["/s{?q}", "/s?z=2"],
    ["/s{?q}", "/s?q=1&q=1"],
    ["/s{?q}", "/s?q=1#f"],
    ["/s{?q}", "/s?Q=1"],
    ["/s{?q}", "/s&q=1"],
    ["/s?fixed=yes{&x}", "/s?x=1"],
    ["/s?q={q}{&x}", "/s?x=1&q=2"],
    ["/s?q={q}{&x}", "/s?q=2&"],
    ["/s", "/s?"]
  ]

  for (const [template, uri] of rows) {
    it(`${template} with ${JSON.stringify(uri)}`, () => {
      assert.strictEqual(make(template).match(uri), undefined)
    })
  }

  it("if it has more characters than the limit, counted after percent-encoding", () => {
    const template = make("{x}")
    const longest = "a".repeat(8_192)
    assert.deepStrictEqual(template.match(longest), { x: longest })
    assert.strictEqual(template.match(`${longest}a`), undefined)
    const encoded = "é".repeat(Math.floor(8_192 / 6))
    assert.deepStrictEqual(template.match(encoded), { x: encoded })
    assert.strictEqual(template.match(`${encoded}é`), undefined)
  })
})

describe("a template that cannot be matched", () => {
  const rows: ReadonlyArray<
    readonly [template: string, index: number, problem: string, shapes?: UriTemplate.Shapes<string>]
  > = [
    ["{a}{b}", 3, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\""],
    ["/{a}-{b}", 5, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\""],
    ["{name}{.ext}", 6, "no reserved character, such as \"/\", is between the values of \"name\" and \"ext\""],
    ["{name}{.ext}{.more}", 6, "no reserved character, such as \"/\", is between the values of \"name\" and \"ext\""],
    ["{a}:{b}%20{c}", 10, "no reserved character, such as \"/\", is between the values of \"b\" and \"c\""],
    ["{/a}:{b}", 5, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\""],
    ["{a}{+b}", 3, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\""],
    ["{a*,b}", 0, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\""],
    ["{a},{b}", 4, "no reserved character, such as \"/\", is between the values of \"a\" and \"b\"", { b: "List" }],
    ["x{.a,b}", 1, "{.a,b} has several values, which may contain its separator"],
    ["x{.a*}", 1, "{.a*} has several values, which may contain its separator"],
    ["{/a}{/b}", 4, "{/a} and {/b} may both be absent"],
    ["{/a}/x{/b}", 6, "{/a} and {/b} may both be absent"],
    ["{/a*,b}", 0, "the list in {/a*,b} is not its last variable"],
    ["{/a}{+b}", 4, "{/a} may be absent before {+b}"],
    ["{/a}/{+b}", 5, "{/a} may be absent before {+b}"],
    ["{?a,a}", 0, "the variable \"a\" occurs twice"],
    ["{?a,%61}", 0, "the variable \"a\" occurs twice"],
    ["{?%c3%a9,%C3%A9}", 0, "the variable \"%C3%A9\" occurs twice"],
    ["{x}{?x}", 3, "the variable \"x\" occurs twice"],
    ["{+a}/b", 0, "{+a} is not the last part, and its value may contain any character"],
    ["{+a}{+b}", 0, "{+a} is not the last part, and its value may contain any character"],
    ["{#a}{?q}", 0, "{#a} is not the last part, and its value may contain any character"],
    ["/{+a,b}", 1, "{+a,b} has several values, which may contain its separator"],
    ["/{#a*}", 1, "{#a*} has several values, which may contain its separator"],
    ["/{+a}", 1, "{+a} has several values, which may contain its separator", { a: "List" }],
    ["{?a}{&b}", 4, "{?a} may be absent before {&b}: write {?a,b}"],
    ["{?a*,b}{&c*}", 7, "{?a*,b} may be absent before {&c*}: write {?a*,b,c*}"],
    ["{?a}{?b}", 4, "{?b} does not continue what is before it"],
    ["x?y{?b}", 3, "{?b} does not continue what is before it"],
    ["x#y{&b}", 3, "{&b} does not continue what is before it"],
    ["x{&a}", 1, "{&a} does not continue what is before it"],
    ["x?y{/a}", 3, "{/a} is not in the path"],
    ["{?a}{b}", 4, "{b} follows {?a}"],
    ["{?a}&b=1", 4, "text follows {?a}"],
    ["/{a:3}", 1, "{a:3} cannot be matched"],
    ["x{;a}", 1, "{;a} cannot be matched"]
  ]

  for (const [template, index, problem, shapes] of rows) {
    it(`${template} is rejected at ${index}: ${problem}`, () => {
      const result = UriTemplate.make<string, UriTemplate.Shapes<string>>(template, { shapes: shapes ?? {} })
      const error = Result.isFailure(result) ? result.failure : assert.fail(`${template} is accepted`)
      assert.deepStrictEqual([error.index, error.problem], [index, problem])
      assert.isTrue(Result.isSuccess(UriTemplate.expander(template)))
    })
  }

  it("is named by its error, with the mistake and the forms that can be matched", () => {
    assert.throws(
      () => make("/{a}{b:3}"),
      "URI template \"/{a}{b:3}\", index 4: {b:3} cannot be matched; these forms can be matched: {x}; {+x} or {#x} " +
        "at the end; {.x}; {/x,y*}; {?x,y*} and {&x,y*}; with strings or lists"
    )
  })
})

/** Templates of at most six pieces, with a variable for each value. */
const Pieces = Schema.Array(Schema.Literals([
  "{v}",
  "{v*}",
  "{w,v}",
  "{.v}",
  "{/v}",
  "{/w,v*}",
  "{?v}",
  "{?w,v*}",
  "{?v,%76}",
  "{&v}",
  "{#v}",
  "{+v}",
  "a",
  ".",
  ":",
  "/",
  "/b:",
  "?",
  "?c=",
  "&d=",
  "#"
])).check(Schema.isMaxLength(6))

const Values = Schema.Array(
  Schema.Literals(["", "a", ".", ":", "/", "?", "#", "&", "=", ",", "%2F", "é", "a.b:c", "//"])
)
  .check(Schema.isMinLength(3), Schema.isMaxLength(3))

/** Whether each variable that may be absent is present. */
const Present = Schema.Array(Schema.Boolean).check(Schema.isMinLength(3), Schema.isMaxLength(3))

/** Returns a template with a number in the name of each variable, if it can be matched. */
const templateOf = (pieces: ReadonlyArray<string>): UriTemplate.UriTemplate | undefined =>
  Result.getOrUndefined(
    UriTemplate.make<string>(
      pieces.map((piece, index) => piece.replaceAll(/(?:[vw]|%76)(?=[},*])/g, (name) => `${name}${index}`)).join("")
    )
  )

const valuesOf = (
  { variables }: UriTemplate.UriTemplate,
  texts: ReadonlyArray<string>,
  present: ReadonlyArray<boolean>
): Matched => {
  let hasSegments = true
  return Object.fromEntries(variables.flatMap(({ explode, name, operator, optional }, index) => {
    const isPresent = !optional || present[index % present.length] === true
    // Only the last segments may be absent.
    if (operator === "/") hasSegments &&= isPresent
    if (!isPresent || (operator === "/" && !hasSegments)) return []
    const value = texts[index % texts.length] ?? ""
    // A reserved expansion copies triplets.
    const kept = operator === "+" || operator === "#" ? value.replaceAll("%2F", "%") : value
    return [[name, explode ? [kept, ...texts] : kept] as const]
  }))
}

/** Returns what equivalent URIs have in common: apart from the order of pairs, and from the encoding of characters. */
const piecesOf = (uri: string): ReadonlyArray<string> =>
  decodeURIComponent(uri).split(/[?&#]/).filter((piece) => piece !== "").toSorted()

describe("a template and the URIs that it expands to", () => {
  it.prop("have the same values, whatever characters these have", [Pieces, Values, Present], (
    [pieces, texts, present]
  ) => {
    const template = templateOf(pieces)
    if (template === undefined) return
    const given = valuesOf(template, texts, present)
    assert.deepStrictEqual(template.match(template.expand(given)), given, template.template)
  }, { arbitrary: { runs: 3_000 } })

  it.prop("are the only URIs that match, without any one character as well", [Pieces, Values, Present], (
    [pieces, texts, present]
  ) => {
    const template = templateOf(pieces)
    if (template === undefined) return
    const uri = template.expand(valuesOf(template, texts, present))
    for (let index = 0; index < uri.length; index++) {
      const other = uri.slice(0, index) + uri.slice(index + 1)
      const values = template.match(other)
      if (values === undefined) continue
      assert.deepStrictEqual(piecesOf(template.expand(values)), piecesOf(other), `${template.template} with ${other}`)
    }
  }, { arbitrary: { runs: 1_000 } })
})

describe("a hostile URI", () => {
  // Each takes milliseconds. With an exponent of 2 for the length of the URI, a test would last hours.
  const length = 8_192
  const templates = [
    "{a}:{b}:{c}:{d}",
    "{a}b:{c}b:{d}b:{e}",
    "{a,b,c,d}",
    "x{/a*}/x/x/x",
    "x{/a,b,c,d}/x.x",
    "{/a*}.a.a.a",
    "/{a}:a.a{.b}.a.a",
    "{a}:{.b}:{c}.a",
    "x{?a*,b}",
    "?a={a}&a={b}{&c*}",
    "{a}/{b}/{+c}"
  ]
  const units = ["a", ":", "b:", "a:", ",", "/", "/x", ".", ".a", "x", "a=&", "&", "?a=", "%", "%2F", "é", "a/"]

  it.each(templates)("is matched by %s in time proportional to its length", (text) => {
    const template = make(text)
    for (const unit of units) {
      for (const end of ["", "!", "/", "#", ":"]) {
        for (const start of ["", "x", "/", "?", "x?", "?a=&a="]) {
          const uri = start + unit.repeat(length / unit.length - 8) + end
          const values = template.match(uri)
          const expanded = values === undefined ? "" : template.expand(values)
          if (values !== undefined && expanded.length <= length) {
            assert.deepStrictEqual(template.match(expanded), values)
          }
        }
      }
    }
  })
})
