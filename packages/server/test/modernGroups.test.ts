/** Groups that clients of revision 2026-07-28 use, which have no session. */
import { Completion, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import type { Caching } from "@effect-mcp/protocol/internal"
import { McpGroup, McpMiddleware, McpPrompt, McpResource, McpServer } from "@effect-mcp/server"
import { type Principal, RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const revision = "2026-07-28"

interface User {
  readonly id: string
}
class CurrentUser extends Context.Service<CurrentUser, User>()("CurrentUser") {}
class Auth extends McpMiddleware.Service<Auth, { provides: CurrentUser }>()("Auth") {}

const AuthLive = McpMiddleware.layer(
  Auth,
  CurrentUser,
  Effect.map(RequestContext.RequestContext, ({ principal }) => ({ id: principal?.id ?? "guest" }))
)

const isAda = Effect.map(CurrentUser, ({ id }) => id === "ada")

const Library = McpGroup.make(
  "library",
  Tool.make("borrow", { parameters: Schema.Struct({ days: Schema.Number }), success: Schema.String }),
  Tool.make("close", { success: Schema.String }),
  Tool.make("find", { success: Schema.String }),
  McpPrompt.make("recommend", { arguments: { genre: Schema.String } }),
  McpResource.make("rules", { uri: "library://rules" }),
  McpResource.template("book", { uri: "library://books/{id}", parameters: { id: Schema.Literals(["a", "b"]) } })
).middleware(Auth)

const LibraryLive = Library.toLayer((handlers) =>
  handlers
    .tool("borrow", ({ days }) => Effect.succeed(`for ${days} days`))
    .tool("close", () => Effect.succeed("closed"), { visible: isAda })
    .tool("find", () => Effect.succeed("found"))
    .prompt("recommend", ({ genre }) => Effect.succeed(genre), {
      complete: { genre: () => Effect.succeed(Array.from({ length: 150 }, (_, index) => `genre ${index}`)) }
    })
    .resource("rules", Effect.succeed("Be quiet."))
    .template("book", ({ id }) => Effect.succeed(`book ${id}`))
).pipe(Layer.provide(AuthLive))

interface Outcome extends Partial<Caching.CacheHint> {
  readonly tools?: ReadonlyArray<{ readonly name: string }>
  readonly nextCursor?: string
  readonly code?: number
  readonly data?: unknown
  readonly [name: string]: unknown
}

const servingOf = Effect.fnUntraced(function*<E>(groups: Layer.Layer<never, E, McpServer.McpServer>, pageSize = 1) {
  const handlers = yield* McpServer.makeStatelessHandlers(groups, { pageSize })
  const { handle } = yield* StatelessServer.make(handlers, { info: { name: "library", version: "1" } })
  /** Sends a request, and returns the members of its result or of its error. */
  return Effect.fnUntraced(function*(
    method: string,
    params: object = {},
    from: { readonly principal?: Principal.Principal; readonly client?: string } = {}
  ): Effect.fn.Return<Outcome> {
    const _meta = RequestMetadata.write({
      protocolVersion: revision,
      clientCapabilities: {},
      clientInfo: { name: from.client ?? "client", version: "1" },
      logLevel: undefined
    })
    const reply = yield* handle(JsonRpc.request(1, method, { ...params, _meta }), { revision, ...from })
    // A journey through JSON, in which a prepared list takes its form.
    const { error, result } = JSON.parse(JSON.stringify(reply))
    return error ?? result
  })
})

const serving = servingOf(LibraryLive)

type Send = Effect.Success<typeof serving>

const pages = Effect.fnUntraced(function*(send: Send, from: Parameters<Send>[2] = {}) {
  const all: Array<Outcome> = []
  let cursor: string | undefined
  do {
    const page = yield* send("tools/list", cursor === undefined ? {} : { cursor }, from)
    all.push(page)
    cursor = page.nextCursor
  } while (cursor !== undefined && all.length < 10)
  return all
})

const namesIn = (all: ReadonlyArray<Outcome>) => all.flatMap(({ tools = [] }) => tools.map(({ name }) => name))

describe("a list", () => {
  it.effect("[CCH-08] [PAG-05] has pages of one cache scope, each with a result type of its own", () =>
    Effect.gen(function*() {
      const all = yield* pages(yield* serving)
      assert.deepStrictEqual(namesIn(all), ["borrow", "find"])
      assert.deepStrictEqual(all.map(({ cacheScope, resultType, ttlMs }) => [cacheScope, ttlMs, resultType]), [
        ["private", 0, "complete"],
        ["private", 0, "complete"]
      ])
    }).pipe(Effect.scoped))

  it.effect("[VER-22] is the same for every connection and client, whatever was requested before", () =>
    Effect.gen(function*() {
      const send = yield* serving
      const first = yield* pages(send, { client: "one" })
      yield* send("tools/call", { name: "find" }, { client: "one" })
      yield* send("resources/read", { uri: "library://rules" }, { client: "two" })
      for (const client of ["one", "two"]) assert.deepStrictEqual(yield* pages(send, { client }), first)
    }).pipe(Effect.scoped))

  it.effect("[VER-22] is the same for every connection if no member has a condition", () =>
    Effect.gen(function*() {
      const plain = McpGroup.make(
        "plain",
        Tool.make("one", { success: Schema.String }),
        Tool.make("three", { success: Schema.String }),
        Tool.make("two", { success: Schema.String })
      ).toLayer((handlers) =>
        handlers
          .tool("one", () => Effect.succeed("1"))
          .tool("three", () => Effect.succeed("3"))
          .tool("two", () => Effect.succeed("2"))
      )
      for (const pageSize of [1, 100]) {
        const send = yield* servingOf(plain, pageSize)
        for (const client of ["one", "two", "three"]) {
          yield* send("tools/call", { name: "one" }, { client })
          assert.deepStrictEqual(namesIn(yield* pages(send, { client })), ["one", "three", "two"])
        }
      }
    }).pipe(Effect.scoped))

  it.effect("[PAG-06] rejects a cursor that is none of its own with -32602", () =>
    Effect.gen(function*() {
      const send = yield* serving
      const { nextCursor: cursor } = yield* send("tools/list")
      assert.strictEqual((yield* send("tools/list", { cursor: "none" })).code, -32602)
      assert.strictEqual((yield* send("prompts/list", { cursor })).code, -32602)
    }).pipe(Effect.scoped))
})

describe("a member", () => {
  it.effect("[CCH-10] [TOOL-13] is listed for, and called by, only those who see it, whatever its cache scope", () =>
    Effect.gen(function*() {
      const send = yield* serving
      const ada = { principal: { id: "ada" } }
      const bob = { principal: { id: "bob" } }
      assert.deepStrictEqual(namesIn(yield* pages(send, ada)), ["borrow", "close", "find"])
      assert.deepStrictEqual(namesIn(yield* pages(send, bob)), ["borrow", "find"])
      const call = { name: "close" }
      assert.deepInclude(yield* send("tools/call", call, ada), { content: [{ type: "text", text: "closed" }] })
      for (const from of [bob, {}]) assert.strictEqual((yield* send("tools/call", call, from)).code, -32602)
    }).pipe(Effect.scoped))

  it.effect("[RES-06] [RES-07] that is a resource and does not exist is -32602 with its URI, and has no contents", () =>
    Effect.gen(function*() {
      const send = yield* serving
      for (const uri of ["library://none", "library://books/c", "other://x"]) {
        const { code, contents, data } = yield* send("resources/read", { uri })
        assert.deepStrictEqual([code, data, contents], [-32602, { uri }, undefined])
      }
      const { contents } = yield* send("resources/read", { uri: "library://books/a" })
      assert.deepStrictEqual(contents, [{ uri: "library://books/a", text: "book a" }])
    }).pipe(Effect.scoped))

  it.effect("[TOOL-03] [TOOL-05] that is a tool is unknown by another name, and checks its arguments", () =>
    Effect.gen(function*() {
      const send = yield* serving
      assert.strictEqual((yield* send("tools/call", { name: "none" })).code, -32602)
      const misfit = yield* send("tools/call", { name: "borrow", arguments: { days: "many" } })
      assert.deepInclude(misfit, { isError: true, resultType: "complete" })
      const borrowed = yield* send("tools/call", { name: "borrow", arguments: { days: 3 } })
      assert.deepInclude(borrowed, { content: [{ type: "text", text: "for 3 days" }] })
    }).pipe(Effect.scoped))

  it.effect("[PRM-03] [CMP-02] that is a prompt needs its arguments, and completes at most 100 values", () =>
    Effect.gen(function*() {
      const send = yield* serving
      assert.strictEqual((yield* send("prompts/get", { name: "none" })).code, -32602)
      assert.strictEqual((yield* send("prompts/get", { name: "recommend" })).code, -32602)
      assert.property(yield* send("prompts/get", { name: "recommend", arguments: { genre: "crime" } }), "messages")
      const { completion } = yield* send("completion/complete", {
        ref: { type: "ref/prompt", name: "recommend" },
        argument: { name: "genre", value: "" }
      })
      const { values } = Schema.decodeUnknownSync(Schema.Struct({ values: Schema.Array(Schema.String) }))(completion)
      assert.lengthOf(values, Completion.maximumValues)
    }).pipe(Effect.scoped))
})
