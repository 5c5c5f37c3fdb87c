/** Arguments of tools that clients of revision 2026-07-28 repeat in headers. */
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { SessionlessServer } from "@effect-mcp/session"
import * as AjvValidator from "@effect-mcp/session/AjvValidator"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const where = (header: string) =>
  McpGroup.make(
    "where",
    Tool.dynamic("where", {
      success: Schema.String,
      parameters: { type: "object", properties: { region: { type: "string", "x-mcp-header": header } } }
    })
  ).toLayer((handlers) => handlers.tool("where", (input) => Effect.succeed(JSON.stringify(input)))).pipe(
    Layer.provide(AjvValidator.layer())
  )

const call = (input: object) =>
  JsonRpc.request(1, "tools/call", {
    name: "where",
    arguments: input,
    _meta: RequestMetadata.write({
      protocolVersion: "2026-07-28",
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined
    })
  })

describe("a tool whose argument is repeated in a header", () => {
  it.effect("rejects a call whose header is missing, differs or is not expected, and only over HTTP", () =>
    Effect.gen(function*() {
      const handlers = yield* McpServer.sessionlessHandlers(where("Region"))
      const { handle } = yield* SessionlessServer.make(handlers, { info: { name: "where", version: "1" } })
      const codeOf = (input: object, parameterHeaders?: { readonly [name: string]: string }) =>
        Effect.map(
          handle(call(input), { revision: "2026-07-28", parameterHeaders }),
          (reply) => reply !== undefined && "error" in reply ? reply.error.code : "called"
        )
      const oslo = { "mcp-param-region": "Oslo" }
      assert.strictEqual(yield* codeOf({ region: "Oslo" }, oslo), "called")
      assert.strictEqual(yield* codeOf({ region: "Oslo" }, { "mcp-param-region": "=?base64?T3Nsbw==?=" }), "called")
      assert.strictEqual(yield* codeOf({}, {}), "called")
      assert.strictEqual(yield* codeOf({ region: "Oslo" }, undefined), "called")
      assert.strictEqual(yield* codeOf({ region: "Bergen" }, oslo), -32020)
      assert.strictEqual(yield* codeOf({ region: "Oslo" }, {}), -32020)
      assert.strictEqual(yield* codeOf({}, oslo), -32020)
      assert.strictEqual(yield* codeOf({ region: "Oslo" }, { "mcp-param-region": "=?base64?%?=" }), -32020)
    }).pipe(Effect.scoped))

  it.effect("is not registered if the name of the header is not allowed", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(Effect.scoped(McpServer.sessionlessHandlers(where("A B"))))
      assert.include(String(exit), "have a header that is not allowed")
    }))
})
