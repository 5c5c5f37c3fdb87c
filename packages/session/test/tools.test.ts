import { ErrorCode, JsonRpc, McpError, type Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as RawServer from "./support/RawServer.ts"
import { settled, text, withRawServer } from "./support/sessions.ts"

const hints: ReadonlyArray<Tool.ToolAnnotations | undefined> = [
  undefined,
  { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
]

/** Lists a tool, calls it three times (an error, a result, a timeout), and returns the messages of the client. */
const messagesFor = Effect.fnUntraced(function*(annotations: Tool.ToolAnnotations | undefined) {
  const listed = { name: "x", inputSchema: { type: "object" }, ...(annotations === undefined ? {} : { annotations }) }
  const { raw, session } = yield* withRawServer({
    script: (message) => {
      if (!JsonRpc.isRequest(message)) return []
      switch (message.id) {
        case 1:
          return [JsonRpc.success(message.id, { tools: [listed] })]
        case 2:
          return [JsonRpc.failure(message.id, new McpError.McpError({ code: ErrorCode.InternalError, message: "no" }))]
        case 3:
          return [JsonRpc.success(message.id, text("x"))]
        default:
          return []
      }
    },
    result: RawServer.initializeResult({ capabilities: { tools: {} } })
  })
  const [tool] = yield* Stream.runCollect(session.tools)
  assert.deepStrictEqual(tool?.annotations, annotations)
  yield* Effect.flip(session.callTool("x"))
  yield* session.callTool("x")
  const late = yield* Effect.forkChild(Effect.flip(session.callTool("x")), { startImmediately: true })
  yield* TestClock.adjust("60 seconds")
  assert.deepStrictEqual((yield* Fiber.join(late)).reason, { _tag: "Timeout", afterMillis: 60_000 })
  yield* settled
  return raw.received
})

describe("a client that calls tools", () => {
  it.effect("[TOOL-11] annotations of a tool do not change the messages of a call", () =>
    Effect.gen(function*() {
      const [plain, ...hinted] = yield* Effect.forEach(hints, (annotations) => Effect.scoped(messagesFor(annotations)))
      for (const messages of hinted) assert.deepStrictEqual(messages, plain)
    }))

  it.effect("a call that times out fails, and the cancellation is reported", () =>
    Effect.gen(function*() {
      const { record, session } = yield* withRawServer()
      const calling = yield* Effect.forkChild(
        Effect.flip(session.callTool("delete", { path: "/" }, { timeout: "10 seconds" })),
        { startImmediately: true }
      )
      yield* TestClock.adjust("10 seconds")
      const error = yield* Fiber.join(calling)
      assert.strictEqual(
        error.message,
        "tools/call: timed out after 10000 ms; set timeout or totalTimeout to allow more"
      )
      yield* settled
      assert.deepStrictEqual(record.of("CancelSent"), [
        { _tag: "CancelSent", method: "tools/call", id: 1, reason: "no response within 10000 ms" }
      ])
    }))
})
