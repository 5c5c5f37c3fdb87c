/** The tools of the calculator, over the in-memory transport (`tools.ts`). */
import { Logging, type Progress, Revision, type Tool } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Tools from "../src/tools.ts"

const info = { name: "effect-mcp", version: "0.1.0" }

const withCalculator = (
  revision: Revision.LegacyRevision = Revision.latestLegacy,
  logs: Array<Logging.LogMessageParams> = []
) =>
  Effect.provide(
    Layer.provide(
      ClientSession.layer({
        info,
        revisions: [revision],
        handlers: { "notifications/message": (message) => Effect.sync(() => logs.push(message)) }
      }),
      McpServer.layerMemory(Tools.layer, Tools.options)
    )
  )

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : "").join()

describe("tools/list", () => {
  it.effect("[TOOL-06] returns the input of each tool as JSON Schema", () =>
    Effect.gen(function*() {
      const { listTools } = yield* ClientSession.ClientSession
      const { tools } = yield* listTools()
      for (const { annotations, description, inputSchema, name } of tools) {
        assert.match(name, /^[A-Za-z0-9_.-]{1,128}$/)
        assert.isNotEmpty(description)
        assert.isFalse(annotations?.openWorldHint)
        assert.strictEqual(inputSchema.type, "object")
      }
      assert.deepStrictEqual(tools.find(({ name }) => name === "count")?.inputSchema, {
        type: "object",
        properties: {
          to: { type: "integer", minimum: 1, maximum: 10_000, description: "The number to count to" },
          delayMs: {
            type: "integer",
            minimum: 0,
            maximum: 60_000,
            description: "The duration of each step, in milliseconds"
          }
        },
        required: ["to", "delayMs"],
        additionalProperties: false
      })
      assert.deepStrictEqual(tools.find(({ name }) => name === "crash")?.inputSchema, {
        type: "object",
        properties: {},
        additionalProperties: false
      })
    }).pipe(withCalculator()))

  it.effect("returns the same list each time", () =>
    Effect.gen(function*() {
      const { listTools } = yield* ClientSession.ClientSession
      assert.deepStrictEqual(yield* listTools(), yield* listTools())
    }).pipe(withCalculator()))

  it.effect("[PAG-03] returns one page, and rejects every cursor", () =>
    Effect.gen(function*() {
      const { listTools } = yield* ClientSession.ClientSession
      assert.notProperty(yield* listTools(), "nextCursor")
      const { reason } = yield* Effect.flip(listTools({ cursor: "2" }))
      assert(reason._tag === "ErrorResponse")
      assert.strictEqual(reason.error.code, -32602)
    }).pipe(withCalculator()))
})

describe("tools/call", () => {
  it.effect("add returns the sum", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      assert.strictEqual(textOf(yield* callTool("add", { a: 15, b: 27 })), "42")
      assert.strictEqual(textOf(yield* callTool("add", { a: 0.5, b: -1 })), "-0.5")
    }).pipe(withCalculator()))

  it.effect("[PRG-03] count reports progress after each step", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const steps: Array<Progress.Progress> = []
      const call = yield* Effect.forkChild(callTool("count", { to: 3, delayMs: 20_000 }, {
        timeout: "Infinity",
        onProgress: ({ message = "", progress, total = 0 }) =>
          Effect.sync(() => steps.push({ progress, total, message }))
      }))
      yield* TestClock.adjust("59 seconds")
      assert.deepStrictEqual(steps, [
        { progress: 1, total: 3, message: "1 of 3" },
        { progress: 2, total: 3, message: "2 of 3" }
      ])
      assert.isUndefined(call.pollUnsafe())
      yield* TestClock.adjust("1 second")
      assert.strictEqual(textOf(yield* Fiber.join(call)), "3")
      assert.strictEqual(steps.length, 3)
    }).pipe(withCalculator()))

  it.effect("[LOG-01] log sends a message of any level", () => {
    const logs: Array<Logging.LogMessageParams> = []
    return Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      for (const level of Logging.levels) yield* callTool("log", { level, message: `it is ${level}` })
      assert.deepStrictEqual(
        logs,
        Logging.levels.map((level) => ({ level, logger: "calculator", data: `it is ${level}` }))
      )
    }).pipe(withCalculator(Revision.latestLegacy, logs))
  })

  const invalidInputs: ReadonlyArray<readonly [name: string, input: Record<string, unknown>, problem: string]> = [
    ["add", {}, "a: Missing key\nb: Missing key"],
    ["add", { a: "1", b: 2 }, "a: Expected number, got \"1\""],
    ["count", { to: 0, delayMs: 0 }, "to: Expected a value between 1 and 10000, got 0"],
    ["count", { to: 10_001, delayMs: 0 }, "to: Expected a value between 1 and 10000, got 10001"],
    ["count", { to: 1.5, delayMs: 0 }, "to: Expected an integer, got 1.5"],
    ["count", { to: 1, delayMs: 60_001 }, "delayMs: Expected a value between 0 and 60000, got 60001"],
    ["fail", { message: 1 }, "message: Expected string, got 1"],
    ["log", { level: "loud", message: "" }, "level: "],
    ["add", { a: 1, b: 2, c: 3 }, "c: "],
    ["crash", { really: true }, "really: "]
  ]

  for (const [name, input, problem] of invalidInputs) {
    it.effect(`rejects the arguments of ${name} ${JSON.stringify(input)} with a message for the model`, () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const result = yield* callTool(name, input)
        assert.isTrue(result.isError)
        assert.include(textOf(result), `Invalid arguments for the tool "${name}": ${problem}`)
      }).pipe(withCalculator()))
  }

  for (const revision of Revision.legacy.filter((revision) => revision < "2025-11-25")) {
    it.effect(`at ${revision}, invalid arguments are an error response`, () =>
      Effect.gen(function*() {
        const { callTool } = yield* ClientSession.ClientSession
        const { reason } = yield* Effect.flip(callTool("add", { a: 1 }))
        assert(reason._tag === "ErrorResponse")
        assert.strictEqual(reason.error.code, -32602)
        assert.strictEqual(reason.error.message, "Invalid arguments for the tool \"add\": b: Missing key")
      }).pipe(withCalculator(revision)))
  }
})
