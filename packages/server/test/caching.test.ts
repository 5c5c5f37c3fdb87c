/** Hints for caches of clients of revision 2026-07-28: of lists and of resources. */
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
import { type Principal, RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const revision = "2026-07-28"

const isAda = Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")

const Tools = McpGroup.make(
  "tools",
  Tool.make("a", { success: Schema.String }),
  Tool.make("b", { success: Schema.String })
)

const Resources = McpGroup.make(
  "resources",
  McpResource.make("fixed", { uri: "app://fixed", cache: { ttl: "1 minute", scope: "public" } }),
  McpResource.make("hidden", { uri: "app://hidden", cache: { ttl: "1 minute", scope: "public" } }),
  McpResource.make("plain", { uri: "app://plain" })
)

const members = (isHidden: boolean) =>
  Layer.merge(
    Tools.toLayer((handlers) =>
      handlers
        .tool("a", () => Effect.succeed("a"))
        .tool("b", () => Effect.succeed("b"), isHidden ? { visible: isAda } : {})
    ),
    Resources.toLayer((handlers) =>
      handlers
        .resource("fixed", Effect.succeed("fixed"))
        .resource("hidden", Effect.succeed("hidden"), { visible: isAda })
        .resource("plain", Effect.succeed("plain"))
    )
  )

const caching = { tools: { ttl: "5 seconds", scope: "public" }, resources: { ttl: "2 seconds" } } as const

const request = (method: string, params: object) =>
  JsonRpc.request(1, method, {
    ...params,
    _meta: RequestMetadata.write({
      protocolVersion: revision,
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined
    })
  })

const serving = Effect.fnUntraced(function*(
  layer: Layer.Layer<never, never, McpServer.McpServer>,
  options: McpServer.RegistryOptions = { caching }
) {
  const handlers = yield* McpServer.makeStatelessHandlers(layer, options)
  const { handle } = yield* StatelessServer.make(handlers, { info: { name: "cached", version: "1" } })
  return (method: string, params: object = {}, principal?: Principal.Principal) =>
    Effect.map(handle(request(method, params), { revision, principal }), (reply) => {
      const { error, result = {} } = JSON.parse(JSON.stringify(reply))
      return error === undefined ? [result.ttlMs, result.cacheScope, result.nextCursor] : error.code
    })
})

const ada = { id: "ada" }

describe("a hint for caches", () => {
  it.effect("is that of the server for the list, or else that it is stale at once and private", () =>
    Effect.gen(function*() {
      const ask = yield* serving(members(false))
      assert.deepStrictEqual(yield* ask("tools/list"), [5_000, "public", undefined])
      assert.deepStrictEqual(yield* ask("resources/list"), [2_000, "private", undefined])
      assert.deepStrictEqual(yield* ask("resources/templates/list"), [0, "private", undefined])
    }).pipe(Effect.scoped))

  it.effect("[CCH-08] of a list that depends on the client is private, on all of its pages", () =>
    Effect.gen(function*() {
      const ask = yield* serving(members(true), { caching, pageSize: 1 })
      const [ttlMs, scope, cursor] = yield* ask("tools/list", {}, ada)
      assert.deepStrictEqual([ttlMs, scope], [5_000, "private"])
      assert.deepStrictEqual(yield* ask("tools/list", { cursor }, ada), [5_000, "private", undefined])
      assert.deepStrictEqual(yield* ask("tools/list"), [5_000, "private", undefined])
    }).pipe(Effect.scoped))

  it.effect("[CCH-10] of a resource that depends on the client is private, and hides it from no check", () =>
    Effect.gen(function*() {
      const ask = yield* serving(members(false))
      assert.deepStrictEqual(yield* ask("resources/read", { uri: "app://fixed" }), [60_000, "public", undefined])
      assert.deepStrictEqual(yield* ask("resources/read", { uri: "app://plain" }), [0, "private", undefined])
      assert.deepStrictEqual(yield* ask("resources/read", { uri: "app://hidden" }, ada), [60_000, "private", undefined])
      assert.strictEqual(yield* ask("resources/read", { uri: "app://hidden" }), -32602)
    }).pipe(Effect.scoped))

  it.effect("is not sent to clients of older revisions", () =>
    Effect.gen(function*() {
      const handlers = yield* McpServer.makeStatelessHandlers(members(false), { caching })
      const { handle } = yield* StatelessServer.make(handlers, { info: { name: "cached", version: "1" } })
      const reply = yield* handle(JsonRpc.request(1, "tools/list", undefined), { revision: "2025-11-25" })
      assert.notInclude(JSON.stringify(reply), "ttlMs")
    }).pipe(Effect.scoped))

  it.effect("with a time that makes no sense is a defect that names its option", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(serving(members(false), { caching: { tools: { ttl: Number.NaN } } }))
      assert.include(String(exit), "caching of tools/list.ttl")
    }).pipe(Effect.scoped))
})
