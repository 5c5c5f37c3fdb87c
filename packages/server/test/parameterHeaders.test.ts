/** Arguments of tools that clients of revision 2026-07-28 repeat in headers. */
import { AjvValidator } from "@effect-mcp/json-schema"
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpProxy, McpServer } from "@effect-mcp/server"
import { ServerSession, SessionlessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { connect, info } from "./support/connect.ts"

const whereOf = (properties: object) =>
  McpGroup.make(
    "where",
    Tool.dynamic("where", { success: Schema.String, parameters: { type: "object", properties } })
  ).toLayer((handlers) => handlers.tool("where", (input) => Effect.succeed(JSON.stringify(input)))).pipe(
    Layer.provide(AjvValidator.layer())
  )

const where = whereOf({ region: { type: "string", "x-mcp-header": "Region" } })

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
  const proxied = McpProxy.layer("remote", McpServer.layerInProcess(where, { info }), { info })

  for (const [name, groups] of [["of a group", where], ["of a proxied server", proxied]] as const) {
    it.live(`[SHE-28] ${name} rejects a call whose header is missing, differs or is not expected, over HTTP`, () =>
      Effect.gen(function*() {
        const handlers = yield* McpServer.sessionlessHandlers(groups)
        const { handle } = yield* SessionlessServer.make(handlers, { info })
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
  }

  it.live("is left out by a proxy if its annotation is invalid", () =>
    Effect.gen(function*() {
      const remote = ServerSession.layerInProcess({
        "tools/list": () =>
          Effect.succeed({
            tools: ["A B", "A"].map((header) => ({
              name: header.replace(" ", "_"),
              inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": header } } }
            }))
          })
      }, { info })
      const messages: Array<unknown> = []
      const session = yield* connect(McpProxy.layer("remote", remote, { info })).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void messages.push(message))]))
      )
      assert.deepStrictEqual((yield* session.listTools()).tools.map(({ name }) => name), ["A"])
      assert.include(String(messages), "leaves out the tool \"A_B\": one of its arguments has a header, and")
    }).pipe(Effect.scoped))

  const annotated = (header: unknown, type: unknown = "string") => ({ type, "x-mcp-header": header })

  const rules: ReadonlyArray<readonly [rule: string, ReadonlyArray<object>]> = [
    [
      "[SHE-21] the name of a header is a token",
      ["A B", "", "a\r\nb", "a\tb", "a\u0001b", "a\u007f", "a:b", "é", 5].map((header) => ({ a: annotated(header) }))
    ],
    ["[SHE-22] no two arguments have one header", [{ a: annotated("Region"), b: annotated("REGION") }]],
    [
      "[SHE-23] only integers, strings and booleans that `properties` alone lead to have a header",
      [
        { a: annotated("A", "number") },
        { a: annotated("A", "object") },
        { a: annotated("A", ["string", "null"]) },
        { a: { type: "array", items: annotated("A") } },
        { a: { anyOf: [annotated("A")] } }
      ]
    ]
  ]
  for (const [rule, invalid] of rules) {
    it.effect(`${rule}, or the tool is not registered`, () =>
      Effect.gen(function*() {
        for (const properties of invalid) {
          const exit = yield* Effect.exit(Effect.scoped(McpServer.sessionlessHandlers(whereOf(properties))))
          assert.include(String(exit), "have a header that is not allowed", JSON.stringify(properties))
        }
        const valid = whereOf({
          a: annotated("A"),
          b: { type: "object", properties: { c: annotated("C", "integer") } }
        })
        assert.isDefined(yield* Effect.scoped(McpServer.sessionlessHandlers(valid)))
      }))
  }
})
