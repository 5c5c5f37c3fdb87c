/** The expansion of URI templates: the examples of RFC 6570, and what a template may contain. */
import { UriTemplate } from "@effect-mcp/server"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

/** The variables of RFC 6570 sections 1.2 and 3.2. */
const values: UriTemplate.Values<string> = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: {},
  undef: undefined
}

const expand = (template: string, given: UriTemplate.Values<string> = values): string =>
  Result.getOrThrow(UriTemplate.expander(template)).expand(given)

const examples: { readonly [section: string]: ReadonlyArray<readonly [template: string, uri: string]> } = {
  "1.2, level 1": [
    ["{var}", "value"],
    ["{hello}", "Hello%20World%21"]
  ],
  "1.2, level 2": [
    ["{+var}", "value"],
    ["{+hello}", "Hello%20World!"],
    ["{+path}/here", "/foo/bar/here"],
    ["here?ref={+path}", "here?ref=/foo/bar"],
    ["X{#var}", "X#value"],
    ["X{#hello}", "X#Hello%20World!"]
  ],
  "1.2, level 3": [
    ["map?{x,y}", "map?1024,768"],
    ["{x,hello,y}", "1024,Hello%20World%21,768"],
    ["{+x,hello,y}", "1024,Hello%20World!,768"],
    ["{+path,x}/here", "/foo/bar,1024/here"],
    ["{#x,hello,y}", "#1024,Hello%20World!,768"],
    ["{#path,x}/here", "#/foo/bar,1024/here"],
    ["X{.var}", "X.value"],
    ["X{.x,y}", "X.1024.768"],
    ["{/var}", "/value"],
    ["{/var,x}/here", "/value/1024/here"],
    ["{;x,y}", ";x=1024;y=768"],
    ["{;x,y,empty}", ";x=1024;y=768;empty"],
    ["{?x,y}", "?x=1024&y=768"],
    ["{?x,y,empty}", "?x=1024&y=768&empty="],
    ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
    ["{&x,y,empty}", "&x=1024&y=768&empty="]
  ],
  "1.2, level 4": [
    ["{var:3}", "val"],
    ["{var:30}", "value"],
    ["{list}", "red,green,blue"],
    ["{list*}", "red,green,blue"],
    ["{keys}", "semi,%3B,dot,.,comma,%2C"],
    ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
    ["{+path:6}/here", "/foo/b/here"],
    ["{+list}", "red,green,blue"],
    ["{+list*}", "red,green,blue"],
    ["{+keys}", "semi,;,dot,.,comma,,"],
    ["{+keys*}", "semi=;,dot=.,comma=,"],
    ["{#path:6}/here", "#/foo/b/here"],
    ["{#list}", "#red,green,blue"],
    ["{#list*}", "#red,green,blue"],
    ["{#keys}", "#semi,;,dot,.,comma,,"],
    ["{#keys*}", "#semi=;,dot=.,comma=,"],
    ["X{.var:3}", "X.val"],
    ["X{.list}", "X.red,green,blue"],
    ["X{.list*}", "X.red.green.blue"],
    ["X{.keys}", "X.semi,%3B,dot,.,comma,%2C"],
    ["X{.keys*}", "X.semi=%3B.dot=..comma=%2C"],
    ["{/var:1,var}", "/v/value"],
    ["{/list}", "/red,green,blue"],
    ["{/list*}", "/red/green/blue"],
    ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
    ["{/keys}", "/semi,%3B,dot,.,comma,%2C"],
    ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
    ["{;hello:5}", ";hello=Hello"],
    ["{;list}", ";list=red,green,blue"],
    ["{;list*}", ";list=red;list=green;list=blue"],
    ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
    ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
    ["{?var:3}", "?var=val"],
    ["{?list}", "?list=red,green,blue"],
    ["{?list*}", "?list=red&list=green&list=blue"],
    ["{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"],
    ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
    ["{&var:3}", "&var=val"],
    ["{&list}", "&list=red,green,blue"],
    ["{&list*}", "&list=red&list=green&list=blue"],
    ["{&keys}", "&keys=semi,%3B,dot,.,comma,%2C"],
    ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"]
  ],
  "3.2.1, variables": [
    ["{count}", "one,two,three"],
    ["{count*}", "one,two,three"],
    ["{/count}", "/one,two,three"],
    ["{/count*}", "/one/two/three"],
    ["{;count}", ";count=one,two,three"],
    ["{;count*}", ";count=one;count=two;count=three"],
    ["{?count}", "?count=one,two,three"],
    ["{?count*}", "?count=one&count=two&count=three"],
    ["{&count*}", "&count=one&count=two&count=three"]
  ],
  "3.2.2, simple strings": [
    ["{half}", "50%25"],
    ["O{empty}X", "OX"],
    ["O{undef}X", "OX"],
    ["{x,y}", "1024,768"],
    ["?{x,empty}", "?1024,"],
    ["?{x,undef}", "?1024"],
    ["?{undef,y}", "?768"]
  ],
  "3.2.3, reserved": [
    ["{+half}", "50%25"],
    ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
    ["{+base}index", "http://example.com/home/index"],
    ["O{+empty}X", "OX"],
    ["O{+undef}X", "OX"],
    ["up{+path}{var}/here", "up/foo/barvalue/here"]
  ],
  "3.2.4, fragments": [
    ["{#var}", "#value"],
    ["{#hello}", "#Hello%20World!"],
    ["{#half}", "#50%25"],
    ["foo{#empty}", "foo#"],
    ["foo{#undef}", "foo"]
  ],
  "3.2.5, labels": [
    ["{.who}", ".fred"],
    ["{.who,who}", ".fred.fred"],
    ["{.half,who}", ".50%25.fred"],
    ["www{.dom*}", "www.example.com"],
    ["X{.empty}", "X."],
    ["X{.undef}", "X"],
    ["X{.empty_keys}", "X"],
    ["X{.empty_keys*}", "X"]
  ],
  "3.2.6, path segments": [
    ["{/who}", "/fred"],
    ["{/who,who}", "/fred/fred"],
    ["{/half,who}", "/50%25/fred"],
    ["{/who,dub}", "/fred/me%2Ftoo"],
    ["{/var,empty}", "/value/"],
    ["{/var,undef}", "/value"]
  ],
  "3.2.7, path-style parameters": [
    ["{;who}", ";who=fred"],
    ["{;half}", ";half=50%25"],
    ["{;empty}", ";empty"],
    ["{;v,empty,who}", ";v=6;empty;who=fred"],
    ["{;v,bar,who}", ";v=6;who=fred"],
    ["{;x,y,undef}", ";x=1024;y=768"]
  ],
  "3.2.8, queries": [
    ["{?who}", "?who=fred"],
    ["{?half}", "?half=50%25"],
    ["{?x,y,undef}", "?x=1024&y=768"]
  ],
  "3.2.9, continued queries": [
    ["{&who}", "&who=fred"],
    ["{&half}", "&half=50%25"],
    ["{&x,y,undef}", "&x=1024&y=768"]
  ]
}

describe("the examples of RFC 6570", () => {
  for (const [section, table] of Object.entries(examples)) {
    it.each(table)(`expand as in section ${section}: %s is %s`, (template, uri) => {
      assert.strictEqual(expand(template), uri)
    })
  }
})

describe("expansion", () => {
  it.each<readonly [string, string, UriTemplate.Values<string>, string]>([
    ["encodes UTF-8", "{x}", { x: "é😀" }, "%C3%A9%F0%9F%98%80"],
    ["encodes the reserved characters that encodeURIComponent keeps", "{x}", { x: "!'()*" }, "%21%27%28%29%2A"],
    ["copies triplets in a reserved expansion", "{+x}", { x: "a%2Fb%zz%" }, "a%2Fb%25zz%25"],
    ["encodes triplets elsewhere", "{x}", { x: "%2F" }, "%252F"],
    ["counts a prefix in characters", "{x:2}", { x: "😀éa" }, "%F0%9F%98%80%C3%A9"],
    ["counts the triplets of a character as one", "{+x:2}", { x: "%C3%A9%2Fb" }, "%C3%A9%2F"],
    ["replaces a lone surrogate", "{x}{+x}", { x: "\ud800" }, "%EF%BF%BD%EF%BF%BD"],
    ["encodes the keys of a record", "{?m*}", { m: { "a&b": "=" } }, "?a%26b=%3D"],
    ["leaves out undefined members", "{/l*}{?m*}", { l: ["a", undefined], m: { k: undefined } }, "/a"],
    ["keeps an empty member of a list", "{?l*}{;l*}{/l}", { l: ["", "a"] }, "?l=&l=a;l;l=a/,a"],
    ["reads only the object's own properties", "{toString}{__proto__}", {}, ""],
    ["encodes characters outside of ASCII in literals", "é{x}", { x: "a" }, "%C3%A9a"],
    ["copies triplets in literals", "%7e%2f{x}", { x: "a" }, "%7e%2fa"],
    ["keeps an apostrophe (erratum 6937)", "period='{x}'", { x: "D7" }, "period='D7'"],
    [
      "accepts names with dots and triplets",
      "{?a.b,Stra%C3%9Fe}",
      { "a.b": "1", "Stra%C3%9Fe": "2" },
      "?a.b=1&Stra%C3%9Fe=2"
    ],
    ["accepts the empty template", "", {}, ""]
  ])("%s", (_, template, given, uri) => {
    assert.strictEqual(expand(template, given), uri)
  })

  it("fails if a variable with a prefix has a list or a record, and names the variable", () => {
    for (const x of [["a"], { a: "b" }]) {
      assert.throws(
        () => expand("/{x:3}", { x }),
        "URI template \"/{x:3}\", index 1: the variable \"x\" has a prefix, and its value is a list or a record; " +
          "give it a string, or remove \":3\""
      )
    }
  })
})

describe("a malformed template", () => {
  it.each<readonly [template: string, index: number, problem: string]>([
    ["{/id*", 0, "a \"{\" has no \"}\" after it"],
    ["/id*}", 4, "a \"}\" has no \"{\" before it"],
    ["{/?id}", 2, "\"?id\" is no name of a variable"],
    ["{var:prefix}", 5, "\"prefix\" is no length of a prefix"],
    ["{var:0}", 5, "\"0\" is no length of a prefix"],
    ["{var:10000}", 5, "\"10000\" is no length of a prefix"],
    ["{hello:2*}", 1, "the variable \"hello:2*\" has both \":\" and \"*\""],
    ["{hello*:2}", 1, "\"hello*\" is no name of a variable"],
    ["{??hello}", 2, "\"?hello\" is no name of a variable"],
    ["{!hello}", 1, "the operator \"!\" is reserved"],
    ["{=path}", 1, "the operator \"=\" is reserved"],
    ["{$var}", 1, "\"$var\" is no name of a variable"],
    ["{|var*}", 1, "the operator \"|\" is reserved"],
    ["{*keys?}", 1, "\"*keys?\" is no name of a variable"],
    ["{?empty=default,var}", 2, "\"empty=default\" is no name of a variable"],
    ["{-prefix|/-/|var}", 1, "\"-prefix|/-/|var\" is no name of a variable"],
    ["x{?empty|foo=none}", 3, "\"empty|foo=none\" is no name of a variable"],
    ["/h{#hello+}", 4, "\"hello+\" is no name of a variable"],
    ["/people/{~thing}", 9, "\"~thing\" is no name of a variable"],
    ["/sparql{?query){&list*}", 9, "\"query){&list\" is no name of a variable"],
    ["/resolution{?x, y}", 15, "\" y\" is no name of a variable"],
    ["{.a..b}", 2, "\"a..b\" is no name of a variable"],
    ["{a%2}", 1, "\"a%2\" is no name of a variable"],
    ["{}", 0, "the expression {} is empty"],
    ["{?}", 2, "a variable has no name"],
    ["{a,}", 3, "a variable has no name"],
    ["{,a}", 1, "the operator \",\" is reserved"],
    ["a b", 1, "a template cannot contain \" \""],
    ["a\u0000", 1, "a template cannot contain \"\\u0000\""],
    ["a\ud800", 1, "a template cannot contain \"\\ud800\""],
    ["100%", 3, "a \"%\" has no two hexadecimal digits after it"]
  ])("%s is rejected at %d: %s", (template, index, problem) => {
    for (const result of [UriTemplate.expander(template), UriTemplate.make(template)]) {
      const error = Result.isFailure(result) ? result.failure : assert.fail(`${template} is accepted`)
      assert.deepStrictEqual([error.template, error.index, error.problem], [template, index, problem])
    }
  })

  it("may have as many characters as the limit, and no more", () => {
    const template: string = "x".repeat(1_024)
    assert.isTrue(Result.isSuccess(UriTemplate.make(template)))
    assert.throws(
      () => Result.getOrThrow(UriTemplate.make(`${template}x`)),
      "the template has 1025 characters, more than 1024; shorten it"
    )
  })

  it("lists its variables in their order", () => {
    assert.deepStrictEqual<unknown>(Result.getOrThrow(UriTemplate.expander("/{a}{/b:3,a}{?c*}")).variables, [
      { name: "a", operator: "", explode: false, prefix: undefined, optional: false },
      { name: "b", operator: "/", explode: false, prefix: 3, optional: true },
      { name: "a", operator: "/", explode: false, prefix: undefined, optional: true },
      { name: "c", operator: "?", explode: true, prefix: undefined, optional: true }
    ])
  })
})
