/** The matching of URI templates: what each operator reads, and which templates are ambiguous. */
import { UriTemplate } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

const make = (template: string, shapes: UriTemplate.Shapes<string> = {}): UriTemplate.UriTemplate =>
  UriTemplate.makeUnsafe<string, UriTemplate.Shapes<string>>(template, { shapes })

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
    ["{;x,y,z}", ";x=1;z", { x: "1", z: "" }],
    ["{;x,y,z}", "", {}],
    ["/{x}{/y}{;z}{?q}{#f}", "/1#2", { x: "1", f: "2" }],
    ["/{x}{/y}{;z}{?q}{#f}", "/1/2;z=3?q=4#5", { x: "1", y: "2", z: "3", q: "4", f: "5" }],
    // Queries.
    ["/s{?q,page}", "/s", {}],
    ["/s{?q,page}", "/s?page=2&q=a%26b%3D", { q: "a&b=", page: "2" }],
    ["/s{?q,page}", "/s?q=", { q: "" }],
    ["/s?fixed=yes{&x,y}", "/s?fixed=yes&y=2&x=1", { x: "1", y: "2" }],
    ["{?a}{&b}", "?a=1&b=2", { a: "1", b: "2" }],
    ["{?Stra%C3%9Fe}", "?Straße=a", { "Stra%C3%9Fe": "a" }],
    ["{?q,query}", "?query=1&q=2", { q: "2", query: "1" }],
    // Exploded lists.
    ["{x*}", "a,b", { x: ["a", "b"] }],
    ["{x*}", "", { x: [""] }],
    ["{x*,y}", "a,b,c", { x: ["a", "b"], y: "c" }],
    ["{x,y*}", "a,b,c", { x: "a", y: ["b", "c"] }],
    ["file://{/path*}", "file://", {}],
    ["file://{/path*}", "file:///a/b%2Fc/", { path: ["a", "b/c", ""] }],
    ["s{/path*}/meta", "s/a/meta/meta", { path: ["a", "meta"] }],
    ["s{/path*}.md", "s/a/b.c.md", { path: ["a", "b.c"] }],
    ["s{/path*}.md", "s.md", {}],
    ["{;x*}", ";x=1;x;x=2", { x: ["1", "", "2"] }],
    ["{?x*,y}", "?x=1&y=2&x=3", { x: ["1", "3"], y: "2" }],
    ["{?x*}{&y*}", "?x=1&x=2&y=3", { x: ["1", "2"], y: ["3"] }],
    // Prefixes and variables that occur twice.
    ["{x:3}", "abc", { x: "abc" }],
    ["{x:3}", "%F0%9F%98%80éa", { x: "😀éa" }],
    ["{/var:1,var}", "/v/value", { var: "value" }],
    ["{x:1}/{x:2}", "a/ab", { x: "ab" }],
    ["{x}/{x}", "a%2F/a%2f", { x: "a/" }],
    ["{x:3}/{x}", "ab/ab", { x: "ab" }]
  ])("%s with %s", (template, uri, values) => {
    assert.deepStrictEqual(make(template).match(uri), values)
  })

  it.each<readonly [template: string, shapes: UriTemplate.Shapes<string>, uri: string, values: Matched]>([
    ["/x{?fields}", { fields: "List" }, "/x?fields=a,b%2Cc", { fields: ["a", "b,c"] }],
    ["/x{?fields}", { fields: "List" }, "/x?fields=a", { fields: ["a"] }],
    ["{x}", { x: "List" }, "a,b", { x: ["a", "b"] }],
    ["{x,y}", { x: "List" }, "a,b,c", { x: ["a", "b"], y: "c" }],
    ["{;x}", { x: "List" }, ";x=a,b", { x: ["a", "b"] }],
    ["{;x}", { x: "List" }, ";x=,", { x: ["", ""] }],
    ["{;x}", { x: "List" }, ";x", { x: [""] }],
    ["{?x}", { x: "Record" }, "?x=a,1,b,2", { x: { a: "1", b: "2" } }],
    ["{;x}", { x: "Record" }, ";x=a,1", { x: { a: "1" } }],
    ["{x*}", { x: "Record" }, "a=1,b=", { x: { a: "1", b: "" } }],
    ["{/x*}{/y}", { x: "Record" }, "/a=1/b=2/c", { x: { a: "1", b: "2" }, y: "c" }],
    ["{;x*}", { x: "Record" }, ";a=1;b", { x: { a: "1", b: "" } }],
    ["{?x*}", { x: "Record" }, "?x=1&__proto__=2&=3", {
      x: Object.fromEntries([["x", "1"], ["__proto__", "2"], ["", "3"]])
    }],
    ["{?id,m*}", { m: "Record" }, "?i=1&id=2&ide=3", { id: "2", m: { i: "1", ide: "3" } }],
    ["{?id}{&m*}", { m: "Record" }, "?id=1&a=2", { id: "1", m: { a: "2" } }],
    ["{?m*}", { m: "Record" }, "?2=a&1=b", { m: { 1: "b", 2: "a" } }],
    ["{?x*}", { x: "String" }, "?x=1", { x: "1" }],
    ["{__proto__}", {}, "a", Object.fromEntries([["__proto__", "a"]])]
  ])("%s with the shapes %j and %s", (template, shapes, uri, values) => {
    const matched = make(template, shapes).match(uri)
    assert.deepStrictEqual(matched, values)
    assert.deepStrictEqual(Object.keys(matched ?? {}), Object.keys(values))
  })
})

describe("a URI does not match", () => {
  const rows: ReadonlyArray<readonly [template: string, uri: string, shapes?: UriTemplate.Shapes<string>]> = [
    ...Array.from(":/?#[]@!$&'()*+,;=", (reserved) => ["tasks://{id}", `tasks://a${reserved}b`] as const),
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
    ["{x,y}", "1,2,3"],
    ["/x{.ext}", "/xy"],
    ["/x{/y,z}", "/x/1/2/3"],
    ["{;x,y}", ";y=1;x=2"],
    ["{;x}", ";x="],
    ["{;x}", ";z=1"],
    ["{;x}", ";xy"],
    ["{x*,y}", "a"],
    // Queries.
    ["/s{?q}", "/s?"],
    ["/s{?q}", "/s?q"],
    ["/s{?q}", "/s?q=1&"],
    ["/s{?q}", "/s?q=1&z=2"],
    ["/s{?q}", "/s?z=2"],
    ["/s{?q}", "/s?q=1&q=1"],
    ["/s{?q}", "/s?q=a+b"],
    ["/s{?q}", "/s?q=1#f"],
    ["/s{?q}", "/s?Q=1"],
    ["/s{?q}", "/s&q=1"],
    ["/s?fixed=yes{&x}", "/s?x=1"],
    ["/s{?x}", "/s?x=a,b"],
    // Prefixes and variables that occur twice.
    ["{x:3}", "abcd"],
    ["{/var:1,var}", "/x/value"],
    ["{/var:1,var}", "/v"],
    ["{x:1}/{x:2}", "b/ab"],
    ["{x:3}/{x}", "ab/abc"],
    ["{x}/{x}", "a/b"],
    ["{x}{?x}", "a"],
    ["{x}{?x}", "a?x=b"],
    // Records.
    ["{?m*}", "?a=1&a=2", { m: "Record" }],
    ["{?m}", "?m=a,1,a,2", { m: "Record" }],
    ["{?m}", "?m=a,1,b", { m: "Record" }],
    ["{?m*}", "?a", { m: "Record" }],
    ["{/m*}", "/a", { m: "Record" }],
    ["{/m*}", "/2=a/1=b", { m: "Record" }],
    ["{?id,m*}", "?id=1&id=2", { m: "Record" }],
    ["{?id}{&m*}", "?id=1&a=2&id=3", { m: "Record" }]
  ]

  for (const [template, uri, shapes] of rows) {
    it(`${template} with ${JSON.stringify(uri)}`, () => {
      assert.strictEqual(make(template, shapes).match(uri), undefined)
    })
  }

  it("if it has more characters than the limit, counted after percent-encoding", () => {
    const template = make("{x}")
    const longest = "a".repeat(UriTemplate.maxUriLength)
    assert.deepStrictEqual(template.match(longest), { x: longest })
    assert.strictEqual(template.match(`${longest}a`), undefined)
    const encoded = "é".repeat(Math.floor(UriTemplate.maxUriLength / 6))
    assert.deepStrictEqual(template.match(encoded), { x: encoded })
    assert.strictEqual(template.match(`${encoded}é`), undefined)
  })
})

describe("an ambiguous template", () => {
  const rows: ReadonlyArray<
    readonly [template: string, index: number, problem: string, shapes?: UriTemplate.Shapes<string>]
  > = [
    ["{a}{b}", 0, "the URI \"a\" has two readings: a=\"a\", b=\"\", and a=\"\", b=\"a\""],
    ["/{a}-{b}", 1, "the URI \"/--\" has two readings: a=\"-\", b=\"\", and a=\"\", b=\"-\""],
    ["{name}{.ext}", 0, "the URI \".\" has two readings: name=\".\", and name=\"\", ext=\"\""],
    ["x{.a,b}", 1, "the URI \"x..\" has two readings: a=\".\", and a=\"\", b=\"\""],
    ["x{.a*}", 1, "the URI \"x..\" has two readings: a=\".\", and a=\"\", a=\"\""],
    ["{/a}{/b}", 0, "the URI \"/\" has two readings: a=\"\", and b=\"\""],
    ["{/a}/x{/b}", 0, "the URI \"/x/x\" has two readings: a=\"x\", and b=\"x\""],
    ["{/a*,b}", 0, "the URI \"//\" has two readings: a=\"\", a=\"\", and a=\"\", b=\"\""],
    ["{/a}{+b}", 0, "the URI \"/\" has two readings: a=\"\", b=\"\", and b=\"/\""],
    ["{/a}/{+b}", 0, "the URI \"//\" has two readings: a=\"\", b=\"\", and b=\"/\""],
    ["{a}{+b}", 0, "the URI \"a\" has two readings: a=\"a\", b=\"\", and a=\"\", b=\"a\""],
    ["{?a,a}", 0, "the URI \"?a=\" has two readings: a=\"\", and a=\"\""],
    ["{?a*}{&a*}", 0, "the URI \"?a=&a=\" has two readings: a=\"\", a=\"\", and a=\"\", a=\"\""],
    ["{?q}{&m*}{&n*}", 4, "the URI \"&=\" has two readings: key of m=\"\", m=\"\", and key of n=\"\", n=\"\"", {
      m: "Record",
      n: "Record"
    }],
    ["{+a}/b", 0, "{+a} is not the last part, and its value may contain any character"],
    ["{+a}{+b}", 0, "{+a} is not the last part, and its value may contain any character"],
    ["{#a}{?q}", 0, "{#a} is not the last part, and its value may contain any character"],
    ["/{+a,b}", 1, "{+a,b} is ambiguous, because its values may contain \",\""],
    ["/{#a*}", 1, "{#a*} is ambiguous, because its values may contain \",\""],
    ["/{+a}", 1, "{+a} is ambiguous, because its values may contain \",\"", { a: "List" }],
    ["/{a:3}", 1, "the variable \"a\" has a prefix here, and is a list or a record", { a: "List" }],
    ["/{a:3}/{a*}", 1, "the variable \"a\" has a prefix here, and is a list or a record"]
  ]

  for (const [template, index, problem, shapes] of rows) {
    it(`${template} is rejected at ${index}: ${problem}`, () => {
      const result = UriTemplate.make<string, UriTemplate.Shapes<string>>(template, { shapes: shapes ?? {} })
      const error = Result.isFailure(result) ? result.failure : assert.fail(`${template} is accepted`)
      assert.deepStrictEqual([error.index, error.problem], [index, problem])
      assert.isTrue(Result.isSuccess(UriTemplate.expander(template)))
    })
  }

  it("is named by its error, with the mistake and the correction", () => {
    assert.throws(
      () => make("/{a}{b}"),
      "URI template \"/{a}{b}\", index 1: the URI \"/a\" has two readings: a=\"a\", b=\"\", and a=\"\", b=\"a\"; " +
        "put a reserved character, such as \"/\", between the expressions, or use UriTemplate.expander"
    )
  })
})
