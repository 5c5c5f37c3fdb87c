import { ErrorCode, JsonRpc, McpError } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { overTheWire } from "./wire.ts"

it("[MSG-10] each constructor has its code", () => {
  assert.strictEqual(McpError.invalidRequest("").code, ErrorCode.InvalidRequest)
  assert.strictEqual(McpError.methodNotFound("").code, ErrorCode.MethodNotFound)
  assert.strictEqual(McpError.invalidParams("").code, ErrorCode.InvalidParams)
  assert.strictEqual(McpError.internalError.code, ErrorCode.InternalError)
})

it("methodNotFound names the method", () => {
  assert.strictEqual(McpError.methodNotFound("acme/echo").message, "Method not found: acme/echo")
})

it("an error has data only if data was given", () => {
  assert.isFalse(Object.hasOwn(McpError.invalidParams("no"), "data"))
  assert.isFalse(Object.hasOwn(McpError.invalidParams("no", undefined), "data"))
  for (const data of [null, false, 0, "", { path: ["name"] }]) {
    assert.deepStrictEqual(McpError.invalidParams("no", data).data, data)
  }
})

it("the internal error discloses no cause", () => {
  assert.strictEqual(McpError.internalError.message, "Internal error")
  assert.isFalse(Object.hasOwn(McpError.internalError, "data"))
})

it.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 60])(
  "[MSG-10] an error with the code %s cannot be created",
  (code) => assert.throws(() => new McpError.McpError({ code, message: "no" }))
)

it.effect("an McpError is a typed failure, caught by its tag", () =>
  Effect.gen(function*() {
    const caught = yield* Effect.fail(McpError.invalidParams("no such tool")).pipe(
      Effect.catchTag("McpError", (error) => Effect.succeed(error.message))
    )
    assert.strictEqual(caught, "no such tool")
  }))

it.prop("[MSG-10] the peer receives the code, the message and the data, and nothing else", {
  code: Schema.Int,
  message: Schema.String,
  data: Schema.Unknown
}, ({ code, data, message }) => {
  const sent = JsonRpc.failure(1, new McpError.McpError({ code, message, data }))
  assert.deepStrictEqual(overTheWire(sent), {
    jsonrpc: "2.0",
    id: 1,
    error: overTheWire({ code, message, data })
  })
}, { arbitrary: { runs: 200 } })
