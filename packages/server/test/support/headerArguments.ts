/** Tools whose arguments clients of revision 2026-07-28 repeat in headers. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { StatelessServer } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { info } from "./connect.ts"

/** Returns a group of a tool with these arguments. */
export const whereOf = (properties: object) =>
  McpGroup.make(
    "where",
    Tool.dynamic("where", { success: Schema.String, parameters: { type: "object", properties } })
  ).toLayer((handlers) => handlers.tool("where", (input) => Effect.succeed(JSON.stringify(input)))).pipe(
    Layer.provide(AjvValidator.layer())
  )

/** A tool with one argument that has a header. */
export const where = whereOf({ region: { type: "string", "x-mcp-header": "Region" } })

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

/** Asserts that calls of the tool `where` are rejected if a header is missing, differs or is not expected. */
export const assertHeadersChecked = <E>(groups: Layer.Layer<never, E, McpServer.McpServer>) =>
  Effect.gen(function*() {
    const handlers = yield* McpServer.makeStatelessHandlers(groups)
    const { handle } = yield* StatelessServer.make(handlers, { info })
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
  }).pipe(Effect.scoped)
