/** The parts of the console that are functions: arguments, fields, the bar and the frame. */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Arguments from "../src/console/arguments.ts"
import * as Fields from "../src/console/fields.ts"
import * as Frame from "../src/console/frame.ts"
import * as ProgressBar from "../src/console/progressBar.ts"
import * as Render from "../src/console/render.ts"
import * as Server from "../src/console/server.ts"

const schema = {
  type: "object",
  $defs: { colour: { type: "string", enum: ["red", "blue"] }, node: { $ref: "#/$defs/node" } },
  properties: {
    text: { type: "string", minLength: 2, maxLength: 3, description: "Some text" },
    count: { type: "integer", allOf: [{ minimum: 1 }, { maximum: 9 }] },
    ratio: { anyOf: [{ type: "number" }, { type: "null" }] },
    sure: { type: "boolean" },
    colour: { $ref: "#/$defs/colour" },
    size: { oneOf: [{ const: 1, title: "small" }, { const: 2, title: "large" }] },
    tags: { type: "array", items: { enum: ["a", "b", "c"] }, minItems: 1, maxItems: 2 },
    free: { type: "array", items: { type: "number" } },
    endless: { $ref: "#/$defs/node" }
  },
  required: ["text", "count"]
}

const fields = Fields.of(schema)

const read = (name: string, text: string): unknown => {
  const field = fields.find((field) => field.name === name)
  const result = field === undefined ? Result.fail("no such field") : Fields.parse(field, text)
  return Result.isSuccess(result) ? result.success : new Error(result.failure).message
}

describe("a server", () => {
  it("shows its name once, if its title is the same", () => {
    const shown = (title: { readonly title?: string }) =>
      Render.profile({
        revision: "2025-11-25",
        capabilities: {},
        instructions: undefined,
        info: { name: "dates", version: "1.0.0", ...title }
      }).split("\n")[0]
    assert.deepStrictEqual([{}, { title: "dates" }, { title: "Dates" }].map(shown), [
      "dates  1.0.0",
      "dates  1.0.0",
      "Dates  dates  1.0.0"
    ])
  })
})

describe("the fields of a schema", () => {
  it("have the types of their members, through references, alternatives with null and allOf", () => {
    assert.deepStrictEqual(fields.map((field) => [field.name, Fields.describe(field)]), [
      ["text", "string"],
      ["count", "integer"],
      ["ratio", "number"],
      ["sure", "boolean"],
      ["colour", "\"red\" | \"blue\""],
      ["size", "1 | 2"],
      ["tags", "list of \"a\" | \"b\" | \"c\""],
      ["free", "array"],
      ["endless", "JSON"]
    ])
    assert.deepStrictEqual(fields.filter(({ isRequired }) => isRequired).map(({ name }) => name), ["text", "count"])
  })

  it("read values of their types, and say what else they need", () => {
    assert.deepStrictEqual(
      ["ab", "a", "abcd"].map((text) => read("text", text)),
      ["ab", "enter at least 2 characters", "enter at most 3 characters"]
    )
    assert.deepStrictEqual(
      ["7", "0", "10", "1.5", "x", ""].map((text) => read("count", text)),
      [
        7,
        "enter a number of at least 1",
        "enter a number of at most 9",
        "enter a whole number",
        "enter a number",
        "enter a number"
      ]
    )
    assert.deepStrictEqual(["1.5", "yes", "maybe"].map((text) => [read("ratio", text), read("sure", text)]), [
      [1.5, "enter true or false"],
      ["enter a number", true],
      ["enter a number", "enter true or false"]
    ])
    assert.deepStrictEqual([read("colour", "red"), read("colour", "pink")], ["red", "choose one of \"red\", \"blue\""])
    assert.deepStrictEqual([read("size", "large"), read("size", "2")], [2, 2])
    assert.deepStrictEqual(["a, b", "", "a,b,c", "d"].map((text) => read("tags", text)), [
      ["a", "b"],
      "choose at least 1",
      "choose at most 2",
      "choose one of \"a\", \"b\", \"c\""
    ])
    assert.deepStrictEqual(read("free", "[1,2]"), [1, 2])
    assert.match(String(read("free", "[1,")), /^this is no JSON: /)
  })
})

describe("the arguments of a call", () => {
  const words = (...words: ReadonlyArray<string>): unknown => {
    const result = Arguments.fromWords(fields, words)
    return Result.isSuccess(result) ? result.success : result.failure.message
  }

  it("are an object in JSON, or names with values of the types of the schema", () => {
    assert.deepStrictEqual(words("{\"anything\":[1]}"), { anything: [1] })
    assert.deepStrictEqual(words("text=a=b", "count=3", "sure=true"), { text: "a=b", count: 3, sure: true })
    assert.deepStrictEqual(words(), {})
  })

  it("that cannot be read are named", () => {
    assert.strictEqual(words("count=x"), "count: enter a number")
    assert.match(String(words("colours=red")), /^there is no argument colours; there are: text, count, /)
    assert.strictEqual(words("text"), "expected {\"name\":value} or name=value, but got text")
    assert.match(String(words("{\"a\":")), /^the arguments are no JSON: /)
    const list = Arguments.fromJson("[1]")
    assert.isTrue(Result.isFailure(list) && list.failure.message.includes("must be a JSON object"))
  })
})

describe("the bar of a call", () => {
  it("shows the share, the figures and the message in one line of the terminal", () => {
    assert.strictEqual(
      ProgressBar.line({ progress: 3, total: 6, message: "half\n\u{1b}[2J" }, 100),
      `[${"█".repeat(12)}${"░".repeat(12)}] 50 % 3/6 half\\n\\u{1b}[2J`
    )
    assert.strictEqual(ProgressBar.line({ progress: 7 }, 100), `[${"░".repeat(24)}] 7`)
    assert.strictEqual(ProgressBar.line({ progress: 9, total: 6 }, 100), `[${"█".repeat(24)}] 150 % 9/6`)
    assert.isBelow(ProgressBar.line({ progress: 1, total: 2, message: "long ".repeat(99) }, 80).length, 80)
  })
})

describe("the frame of a prompt", () => {
  it("is erased from its first row, with the rows that the terminal has wrapped", () => {
    assert.strictEqual(Frame.erase("? name › ", 40), "\r\u{1b}[J")
    assert.strictEqual(Frame.erase("? which ›\n❯ one\n  two", 40), "\u{1b}[2A\r\u{1b}[J")
    assert.strictEqual(Frame.erase(`\u{1b}[1m${"x".repeat(81)}\u{1b}[0m`, 40), "\u{1b}[2A\r\u{1b}[J")
    assert.strictEqual(Frame.erase("ファイル".repeat(6), 40), "\u{1b}[1A\r\u{1b}[J")
    // The error below the prompt does not move the cursor.
    assert.strictEqual(Frame.erase("? name › \u{1b}[s\n› too short\u{1b}[u", 40), "\r\u{1b}[J")
  })

  it("is told from bells and from the erasure of the frame before it", () => {
    assert.deepStrictEqual(["\u{7}", "\u{1b}[?25h", "\u{1b}[2K\u{1b}[G? "].map(Frame.isVisible), [false, false, true])
    assert.strictEqual(
      Frame.withoutErasure("\u{1b}[2K\u{1b}[1A\u{1b}[2K\u{1b}[G\u{1b}[?25l\u{1b}[1m? a"),
      "\u{1b}[1m? a"
    )
  })
})

describe("the server of a command line", () => {
  it("is what stands after --, or a URL in front", () => {
    assert.deepStrictEqual(Server.divide(["call", "a", "--", "node", "x", "--", "y"]), {
      command: ["call", "a"],
      server: ["node", "x", "--", "y"]
    })
    assert.deepStrictEqual(Server.divide(["https://example.com/mcp", "list"]), {
      command: ["list"],
      server: ["https://example.com/mcp"]
    })
    assert.deepStrictEqual(Server.divide(["read", "note:///a"]), { command: ["read", "note:///a"], server: [] })
  })
})

describe("the state of an account", () => {
  const signedIn = { _tag: "SignedIn", issuer: "https://auth.example", scopes: ["read"], isRefreshable: false } as const
  const time = Date.UTC(2026, 0, 1)

  it("shows until when tokens are valid, and that they have expired", () => {
    const shown = (isRefreshable: boolean, now: number) =>
      Render.account({ ...signedIn, isRefreshable, expiresAt: time }, now)
    const start = "signed in at https://auth.example, with read"
    assert.strictEqual(shown(false, time - 1), `${start}, until 2026-01-01T00:00:00.000Z`)
    assert.strictEqual(shown(false, time), `${start}, expired 2026-01-01T00:00:00.000Z, sign in again`)
    assert.strictEqual(shown(true, time), `${start}, expired 2026-01-01T00:00:00.000Z, refreshed by the next request`)
    assert.strictEqual(Render.account({ ...signedIn, expiresAt: undefined }, time), start)
  })
})
