import { ElicitationContent, type ElicitationSchema } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

const form: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    name: { type: "string", minLength: 2, maxLength: 4 },
    size: { type: "number", minimum: 0, maximum: 1 },
    age: { type: "integer" },
    sure: { type: "boolean" },
    color: { type: "string", enum: ["red", "green"], enumNames: ["Red", "Green"] },
    shade: { type: "string", oneOf: [{ const: "d", title: "Dark" }, { const: "l", title: "Light" }] },
    tags: { type: "array", minItems: 1, maxItems: 2, items: { type: "string", enum: ["a", "b", "c"] } },
    marks: { type: "array", items: { anyOf: [{ const: "x", title: "X" }] } }
  },
  required: ["name"]
}

const valid: ReadonlyArray<ElicitationContent.ElicitationContent> = [
  { name: "Ada" },
  { name: "𝒜𝒹𝒶𝓁" },
  { name: "Al", size: 1, tags: ["c"] },
  { name: "Al", toString: "x", constructor: 1 },
  { name: "Ada", size: 0, age: -3, sure: false, color: "green", shade: "l", tags: ["a", "c"], marks: [] },
  { name: "Ada", unknown: 1 }
]

const invalid: ReadonlyArray<readonly [content: ElicitationContent.ElicitationContent, problem: string]> = [
  [{}, "\"name\" is missing"],
  [{ age: 1 }, "\"name\" is missing"],
  [{ name: "A" }, "\"name\" is shorter than 2 characters"],
  [{ name: "Augusta" }, "\"name\" is longer than 4 characters"],
  [{ name: 1 }, "\"name\" is not a string"],
  [{ name: "Ada", size: -0.1 }, "\"size\" is less than 0"],
  [{ name: "Ada", size: 1.1 }, "\"size\" is more than 1"],
  [{ name: "Ada", size: "1" }, "\"size\" is not a number"],
  [{ name: "Ada", age: 1.5 }, "\"age\" is not a whole number"],
  [{ name: "Ada", sure: "yes" }, "\"sure\" is not a boolean"],
  [{ name: "Ada", color: "Red" }, "\"color\" is not one of \"red\", \"green\""],
  [{ name: "Ada", shade: "Dark" }, "\"shade\" is not one of \"d\", \"l\""],
  [{ name: "Ada", tags: "a" }, "\"tags\" is not a list of strings"],
  [{ name: "Ada", tags: ["a", "d"] }, "\"tags\" has a choice that is not one of \"a\", \"b\", \"c\""],
  [{ name: "Ada", tags: [] }, "\"tags\" has fewer than 1 choices"],
  [{ name: "Ada", tags: ["a", "b", "c"] }, "\"tags\" has more than 2 choices"],
  [{ name: "Ada", marks: ["y"] }, "\"marks\" has a choice that is not one of \"x\""]
]

describe("[ELI-07] the content of a form", () => {
  it.each(valid)("is valid: %o", (content) => {
    assert.isTrue(Result.isSuccess(ElicitationContent.check(form, content)))
  })

  it.each(invalid)("is invalid: %o", (content, problem) => {
    assert.deepStrictEqual(ElicitationContent.check(form, content), Result.fail(problem))
  })

  it("is not looked up in inherited members", () => {
    assert.isTrue(Result.isSuccess(ElicitationContent.check({ type: "object", properties: {} }, { constructor: "x" })))
    assert.deepStrictEqual(
      ElicitationContent.check({ type: "object", properties: {}, required: ["constructor"] }, {}),
      Result.fail("\"constructor\" is missing")
    )
  })
})

const formats: ReadonlyArray<
  readonly [
    format: NonNullable<ElicitationSchema.StringField["format"]>,
    valid: ReadonlyArray<string>,
    invalid: ReadonlyArray<string>
  ]
> = [
  [
    "email",
    [
      "ada@example.com",
      "a+b.c'd@mail.example.co.uk",
      "ada@localhost",
      "\"ada lovelace\"@example.com",
      "ada@[192.0.2.1]",
      "ada@[IPv6:2001:db8::1]",
      "ädä@exämple.de"
    ],
    ["", "nope", "@example.com", "ada@", "ada lovelace@example.com", "ada@exa mple.com", "a@b@c", "ada@a..b", "a@[b"]
  ],
  [
    "uri",
    [
      "https://example.com",
      "https://example.com/a?b=c#d",
      "mailto:ada@example.com",
      "urn:isbn:0451450523",
      "file:///tmp/a%20b",
      "http://[2001:db8::1]:80/",
      "https://de.wikipedia.org/wiki/Österreich"
    ],
    ["", "x y", "example.com", "/a", "https://a b", "https://a/<b>", "https://a/%2", "1http://a", "https://a\n"]
  ],
  [
    "date",
    ["2026-11-28", "2024-02-29", "2000-02-29", "0000-01-01"],
    ["", "28.11.2026", "2026-1-1", "2026-02-29", "1900-02-29", "2026-04-31", "2026-13-01", "2026-00-10", "2026-01-00"]
  ],
  [
    "date-time",
    [
      "2026-11-28T05:00:00Z",
      "2026-11-28t05:00:00.123z",
      "2026-11-28T23:59:60+01:00",
      "2026-11-28T05:00:00-08:00"
    ],
    [
      "",
      "yesterday",
      "2026-11-28",
      "2026-11-28T05:00:00",
      "2026-11-28T24:00:00Z",
      "2026-02-30T05:00:00Z",
      "2026-11-28T5:00Z"
    ]
  ]
]

describe("[ELI-07] a text with a format", () => {
  const problemsOf = (format: NonNullable<ElicitationSchema.StringField["format"]>, texts: ReadonlyArray<string>) =>
    texts.filter((value) =>
      Result.isFailure(
        ElicitationContent.check({ type: "object", properties: { field: { type: "string", format } } }, {
          field: value
        })
      )
    )

  it.each(formats)("is checked: %s", (format, right, wrong) => {
    assert.deepStrictEqual(problemsOf(format, right), [])
    assert.deepStrictEqual(problemsOf(format, wrong), wrong)
  })

  it("has a problem that shows a right one, and nothing of the text", () => {
    const form: ElicitationSchema.ElicitationSchema = {
      type: "object",
      properties: { born: { type: "string", format: "date" } }
    }
    assert.strictEqual(
      Result.merge(ElicitationContent.check(form, { born: "a secret" })),
      "\"born\" is not a date, such as 2026-01-31"
    )
  })

  it("law 12: is checked in linear time", () => {
    for (const [format] of formats) {
      const texts = ["a@", "%", "1", "\"", " "].map((part) => part.repeat(2_000_000))
      assert.deepStrictEqual(problemsOf(format, texts), texts)
    }
  })
})

/** Returns a list, and the number of reads of its elements so far. */
const counted = (values: ReadonlyArray<string>) => {
  let reads = 0
  const list = new Proxy(values, {
    get: (target, name) => {
      if (typeof name === "string" && /^\d+$/.test(name)) reads++
      return Reflect.get(target, name)
    }
  })
  return { list, reads: () => reads }
}

describe("a form with many choices", () => {
  const values = Array.from({ length: 2000 }, (_, index) => `choice ${index}`)

  it("law 12: is checked in a time proportional to their number", () => {
    const offered = counted(values)
    const large: ElicitationSchema.ElicitationSchema = {
      type: "object",
      properties: { a: { type: "array", items: { type: "string", enum: offered.list } } }
    }
    assert.isTrue(Result.isSuccess(ElicitationContent.check(large, { a: values.toReversed() })))
    assert.isAtMost(offered.reads(), 2 * values.length)
  })

  it("has a short problem", () => {
    const large: ElicitationSchema.ElicitationSchema = {
      type: "object",
      properties: { a: { type: "array", items: { type: "string", enum: values } }, b: { type: "string", enum: values } }
    }
    for (const content of [{ a: ["x".repeat(100_000)] }, { b: "x" }]) {
      const problem = Result.merge(ElicitationContent.check(large, content)) ?? ""
      assert.match(problem, /"choice 0", "choice 1", .*, … \(2000 choices\)$/)
      assert.isAtMost(problem.length, 1000)
    }
  })
})

describe("withDefaults", () => {
  const formWithDefaults: ElicitationSchema.ElicitationSchema = {
    type: "object",
    properties: {
      name: { type: "string" },
      color: { type: "string", enum: ["red", "green"], default: "red" },
      age: { type: "integer", default: 0 },
      sure: { type: "boolean", default: false },
      tags: { type: "array", items: { type: "string", enum: ["a", "b"] }, default: ["b"] },
      ["__proto__"]: { type: "string", default: "own" }
    }
  }

  it("[ELI-08] adds the default of each missing field", () => {
    const filled = ElicitationContent.withDefaults(formWithDefaults)
    assert.deepStrictEqual(Object.entries(filled), [
      ["color", "red"],
      ["age", 0],
      ["sure", false],
      ["tags", ["b"]],
      ["__proto__", "own"]
    ])
    assert.isTrue(Result.isSuccess(ElicitationContent.check(formWithDefaults, filled)))
  })

  it("[ELI-08] keeps the given values", () => {
    assert.deepStrictEqual(
      Object.entries(ElicitationContent.withDefaults(formWithDefaults, { name: "Ada", color: "green", tags: [] }))
        .toSorted(),
      [["__proto__", "own"], ["age", 0], ["color", "green"], ["name", "Ada"], ["sure", false], ["tags", []]]
    )
  })
})
