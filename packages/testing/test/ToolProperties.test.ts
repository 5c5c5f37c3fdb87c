import { AjvValidator } from "@effect-mcp/json-schema"
import { Content, McpError, type Tool } from "@effect-mcp/protocol"
import { TestSession, ToolProperties } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

const validator = AjvValidator.make()

const inputSchema = {
  type: "object",
  properties: { count: { type: "integer", minimum: 0, maximum: 100 }, word: { type: "string" } },
  required: ["count"]
} as const

const outputSchema = {
  type: "object",
  properties: { words: { type: "array", items: { type: "string" }, maxItems: 10 } },
  required: ["words"]
} as const

type Call = (input: ToolProperties.Arguments) => Effect.Effect<Tool.CallToolResult, McpError.McpError>

const structured = (structuredContent: ToolProperties.Arguments): Tool.CallToolResult => ({
  content: [],
  structuredContent
})

const countOf = (input: ToolProperties.Arguments): number => Number(input["count"])

/** Repeats the word as often as requested, up to a limit. */
const repeat = (most: number): Call => (input) =>
  Effect.succeed(structured({ words: Array.from({ length: Math.min(countOf(input), most) }, () => "word") }))

const check = Effect.fnUntraced(function*(
  call: Call,
  tool: Partial<Tool.Tool> = {},
  options: Partial<ToolProperties.Options> = {}
) {
  const { client } = yield* TestSession.make({ "tools/call": ({ arguments: input }) => call(input ?? {}) })
  return yield* ToolProperties.check(client, { name: "repeat", inputSchema, ...tool }, { validator, ...options })
})

const falsified = Effect.fnUntraced(function*(...args: Parameters<typeof check>) {
  const { reason } = yield* Effect.flip(check(...args))
  return reason._tag === "Falsified" ? reason : assert.fail(reason._tag)
})

describe("ToolProperties", () => {
  it.effect("a tool with the properties is called the given number of times, with valid arguments", () =>
    Effect.gen(function*() {
      const fits = Result.getOrThrow(validator.compile(inputSchema))
      const seen: Array<ToolProperties.Arguments> = []
      const kept = yield* check(
        (input) => {
          seen.push(input)
          return repeat(10)(input)
        },
        { outputSchema },
        { runs: 80 }
      )
      assert.deepStrictEqual(kept, { tool: "repeat", runs: 80, toolErrors: 0 })
      assert.strictEqual(seen.length, 80)
      for (const input of seen) assert.isUndefined(fits(input))
      assert.isAbove(new Set(seen.map((input) => JSON.stringify(input))).size, 20)
      assert.includeMembers(seen.map((input) => "word" in input), [true, false])
    }))

  it.effect("results with isError are counted", () =>
    Effect.gen(function*() {
      const { toolErrors } = yield* check(
        (input) =>
          Effect.succeed(
            countOf(input) > 3 ? { content: [Content.text("too many")], isError: true } : structured({ words: [] })
          ),
        { outputSchema }
      )
      assert.isTrue(toolErrors > 0 && toolErrors < 100, String(toolErrors))
    }))

  it.effect("an invalid result is found, with the simplest arguments that cause it", () =>
    Effect.gen(function*() {
      const reason = yield* falsified(repeat(50), { outputSchema })
      assert.deepStrictEqual(reason.arguments, { count: 11 })
      assert.isAtLeast(countOf(reason.initialArguments), 11)
      assert.strictEqual(
        reason.fault._tag === "InvalidStructuredContent" ? reason.fault.problem : reason.fault._tag,
        "must NOT have more than 10 items at [\"words\"]"
      )
    }))

  it.effect("an error instead of a result is found", () =>
    Effect.gen(function*() {
      const { arguments: input, fault } = yield* falsified((input) =>
        countOf(input) > 5 ? Effect.fail(McpError.invalidParams("at most five")) : Effect.succeed({ content: [] })
      )
      assert.deepStrictEqual(input, { count: 6 })
      const reason = fault._tag === "NoResult" ? fault.error.reason : undefined
      assert.strictEqual(reason?._tag === "ErrorResponse" ? reason.error.message : reason?._tag, "at most five")
    }))

  it.effect("missing structured content and a timeout are found", () =>
    Effect.gen(function*() {
      const silent: Call = () => Effect.succeed({ content: [] })
      assert.deepStrictEqual((yield* falsified(silent, { outputSchema })).fault, { _tag: "NoStructuredContent" })
      const waiting = yield* Effect.forkChild(falsified(() => Effect.never, {}, { timeout: "1 second" }))
      yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => waiting.pollUnsafe() !== undefined })
      const { fault } = yield* Fiber.join(waiting)
      assert.strictEqual(fault._tag === "NoResult" ? fault.error.reason._tag : undefined, "Timeout")
    }))

  it.effect("a call that ends the session is reported with its own arguments", () =>
    Effect.gen(function*() {
      const session: { close?: Effect.Effect<unknown> } = {}
      const both = yield* TestSession.make({
        "tools/call": ({ arguments: input }) =>
          countOf(input ?? {}) > 7
            ? Effect.andThen(Effect.forkDetach(session.close ?? Effect.void), Effect.never)
            : Effect.succeed({ content: [] })
      })
      session.close = both.server.close
      const { reason } = yield* Effect.flip(
        ToolProperties.check(both.client, { name: "fragile", inputSchema }, { validator })
      )
      if (reason._tag !== "Falsified") return assert.fail(reason._tag)
      assert.isAbove(countOf(reason.arguments), 7)
      assert.deepStrictEqual(reason.arguments, reason.initialArguments)
      assert.strictEqual(reason.fault._tag === "NoResult" ? reason.fault.error.reason._tag : undefined, "Closed")
    }))

  it.effect("a failure can be replayed, and a replay without the failure is reported", () =>
    Effect.gen(function*() {
      const first = yield* falsified(repeat(50), { outputSchema })
      const again = yield* falsified(repeat(50), { outputSchema }, { replay: first.replay })
      assert.deepStrictEqual(again.arguments, first.arguments)
      const { message, reason } = yield* Effect.flip(check(repeat(10), { outputSchema }, { replay: first.replay }))
      assert.strictEqual(reason._tag, "ReplayMismatch")
      assert.include(message, "the replay does not match")
    }))

  it.effect("names an unsupported schema, and an unsupported keyword", () =>
    Effect.gen(function*() {
      const problem = (tool: Partial<Tool.Tool>) =>
        Effect.map(Effect.flip(check(repeat(1), tool)), ({ reason }) => reason)
      const input = yield* problem({ inputSchema: { type: "object", $schema: "https://example.com/dialect" } })
      assert.strictEqual(input._tag === "UnsupportedSchemaError" ? input.schema : input._tag, "inputSchema")
      const output = yield* problem({ outputSchema: { type: "object", required: 3 } })
      assert.strictEqual(output._tag === "UnsupportedSchemaError" ? output.schema : output._tag, "outputSchema")
      const keyword = yield* problem({ inputSchema: { type: "object", properties: { a: { not: {} } } } })
      assert.deepStrictEqual(keyword._tag === "UnsupportedKeywordError" ? keyword.error.path : keyword._tag, [
        "properties",
        "a",
        "not"
      ])
    }))

  it.effect("reports a schema that too few arguments fit", () =>
    Effect.gen(function*() {
      const narrow = { type: "number", exclusiveMinimum: 1, maximum: 10, multipleOf: 0.5 }
      const { message, reason } = yield* Effect.flip(
        check(repeat(1), { inputSchema: { type: "object", properties: { narrow }, required: ["narrow"] } })
      )
      assert.strictEqual(reason._tag, "Exhausted")
      assert.include(message, "fitted the input schema")
    }))

  it.effect("checks all tools, page by page, up to the first that fails", () =>
    Effect.gen(function*() {
      const called: Array<string> = []
      const pages: Readonly<Record<string, Tool.ListToolsResult>> = {
        "": { tools: [{ name: "a", inputSchema }], nextCursor: "next" },
        "next": { tools: [{ name: "b", inputSchema }, { name: "c", inputSchema }] }
      }
      const { client } = yield* TestSession.make({
        "tools/list": ({ cursor = "" }) => Effect.succeed(pages[cursor] ?? { tools: [] }),
        "tools/call": ({ name }) =>
          Effect.suspend(() => {
            called.push(name)
            return name === "c" ? Effect.fail(McpError.invalidParams("no")) : Effect.succeed({ content: [] })
          })
      })
      const error = yield* Effect.flip(ToolProperties.checkAll(client, { validator, runs: 3 }))
      assert.strictEqual(error._tag === "ToolPropertyError" ? error.tool : error._tag, "c")
      assert.deepStrictEqual(called.slice(0, 7), ["a", "a", "a", "b", "b", "b", "c"])
    }))

  it.effect("fails if listing fails", () =>
    Effect.gen(function*() {
      const { client } = yield* TestSession.make({})
      const error = yield* Effect.flip(ToolProperties.checkAll(client, { validator }))
      assert.strictEqual(error._tag, "RequestError")
    }))
})
