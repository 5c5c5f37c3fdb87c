import { McpProxy } from "@effect-mcp/gateway"
import { Content, ExactJson, type Progress } from "@effect-mcp/protocol"
import { McpGroup, McpServer } from "@effect-mcp/server"
import { ClientSession, RequestContext, ServerSession, StatelessServer } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import { asking, everything } from "./support/proxies.ts"

describeForBothEras("a call", ({ connect }) => {
  it.live("forwards progress, `_meta` and cancellation", () =>
    Effect.gen(function*() {
      const cancelled = yield* Deferred.make<void>()
      const started = yield* Deferred.make<unknown>()
      const server = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [{ name: "slow", inputSchema: { type: "object" } }] }),
        "tools/call": () =>
          Effect.gen(function*() {
            const request = yield* RequestContext.RequestContext
            yield* request.progress({ progress: 1, total: 2, message: "half" })
            yield* Deferred.succeed(started, request.meta?.["example.com/a"])
            return yield* Effect.never
          }).pipe(Effect.onInterrupt(() => Deferred.succeed(cancelled, undefined)))
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      const steps = yield* Queue.unbounded<Progress.Progress>()
      const call = yield* Effect.forkScoped(client.callTool("slow", {}, {
        onProgress: (step) => Queue.offer(steps, step),
        meta: { "example.com/a": 7 }
      }))
      assert.deepInclude(yield* Queue.take(steps), { progress: 1, total: 2, message: "half" })
      assert.strictEqual(yield* Deferred.await(started), 7)
      yield* Fiber.interrupt(call)
      yield* Deferred.await(cancelled)
    }).pipe(Effect.scoped))

  it.live("with an integer beyond 2^53 passes with its digits, in arguments and in results", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const digits = "1915883588174806058"
      const remote = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [{ name: "find", inputSchema: { type: "object" } }] }),
        "tools/call": (params) =>
          Effect.sync(() => {
            seen.push(JSON.stringify(params.arguments))
            return { content: [], structuredContent: ExactJson.parse(`{"id":${digits}}`) }
          })
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", remote, { info }))
      const input = { ids: ExactJson.parse(`[${digits}]`), query: ExactJson.parse(`{"id":${digits}}`) }
      const result = yield* client.callTool("find", input)
      assert.deepStrictEqual(seen, [`{"ids":[${digits}],"query":{"id":${digits}}}`])
      assert.strictEqual(JSON.stringify(result.structuredContent), `{"id":${digits}}`)
    }).pipe(Effect.scoped))

  it.live("after the end of the server's session fails with an error that names the server", () =>
    Effect.gen(function*() {
      const remote = yield* Layer.build(Layer.provide(ClientSession.layer({ info }), everything))
      const session = Context.get(remote, ClientSession.ClientSession)
      const client = yield* connect(McpProxy.fromSession("remote", session))
      yield* session.close
      const error = yield* Effect.flip(client.callTool("add", { a: 1, b: 2 }))
      assert.include(error.message, "-32603: the server \"remote\" is not available: tools/call: the session has ended")
    }).pipe(Effect.scoped))
})

it.live("a call opens a new session if the server has ended that of the client", () =>
  Effect.gen(function*() {
    let servers = 0
    const server = McpServer.layerMemory(
      McpGroup.make("x", Tool.make("end"), Tool.make("id", { success: Schema.Int })).toLayer((handlers) => {
        const id = servers++
        return handlers
          .tool("end", () =>
            Effect.flatMap(RequestContext.RequestContext, ({ session }) =>
              session === undefined ? Effect.void : Effect.asVoid(Effect.forkDetach(session.close))))
          .tool("id", () =>
            Effect.succeed(id))
      }),
      { info, limits: { gracefulTimeout: "10 millis" } }
    )
    const client = yield* connect(McpProxy.layer("remote", server, { info, ...handshake }), { client: handshake })
    const text = Effect.map(client.callTool("id"), ({ content }) =>
      content)
    // The first server is the one of the lists.
    assert.deepStrictEqual(yield* text, [Content.text("1")])
    assert.deepStrictEqual(yield* text, [Content.text("1")])
    yield* Effect.ignore(client.callTool("end"))
    // Until the proxy has noticed the end, calls may still fail.
    const next = yield* Effect.repeat(Effect.orElseSucceed(text, () => []), {
      until: ([block]) => block?.type === "text" && block.text !== "1"
    })
    assert.deepStrictEqual(next, [Content.text("2")])
  }).pipe(Effect.scoped))

it.live("output that is no object passes a proxy as it is to a client of 2026-07-28, and as text to an older one", () =>
  Effect.gen(function*() {
    const remote = ServerSession.layerMemory({
      "tools/list": () =>
        Effect.succeed({
          tools: [{ name: "words", inputSchema: { type: "object" }, outputSchema: { type: "array" } }]
        }),
      "tools/call": () => Effect.succeed({ content: [], structuredContent: ["some", "beans"] })
    }, { info })
    const proxy = McpProxy.layer("remote", remote, { info })
    const modern = yield* connect(proxy, { client: { revisions: ["2026-07-28"] } })
    assert.deepStrictEqual((yield* modern.listTools()).tools[0]?.outputSchema, { type: "array" })
    assert.deepStrictEqual(yield* modern.callTool("words"), { content: [], structuredContent: ["some", "beans"] })
    const older = yield* connect(proxy, { client: handshake })
    assert.notProperty((yield* older.listTools()).tools[0], "outputSchema")
    assert.deepStrictEqual(yield* older.callTool("words"), { content: [Content.text("[\"some\",\"beans\"]")] })
  }).pipe(Effect.scoped))

it.live("a client of the oldest revision, and one without a session, can use a proxied server", () =>
  Effect.gen(function*() {
    const proxy = McpProxy.layer("everything", everything, { info })
    const old = yield* connect(proxy, { client: { revisions: ["2024-11-05"] } })
    const { tools } = yield* old.listTools()
    assert.deepStrictEqual(tools.map(({ name }) => name), ["add", "content", "fail", "reject"])
    assert.deepStrictEqual((yield* old.callTool("add", { a: 1, b: 2 })).content, [Content.text("{\"sum\":3}")])

    const handlers = yield* McpServer.makeStatelessHandlers(
      Layer.merge(proxy, McpProxy.layer("asking", asking(), { info }))
    )
    const server = yield* StatelessServer.make(handlers, { info })
    const call = (params: { readonly name: string; readonly arguments?: { readonly [name: string]: unknown } }) =>
      Effect.map(
        server.handle({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, { revision: "2025-11-25" }),
        (reply) => JSON.stringify(reply)
      )
    assert.include(yield* call({ name: "add", arguments: { a: 1, b: 2 } }), "\"structuredContent\":{\"sum\":3}")
    assert.include(yield* call({ name: "ask" }), "needs a capability that the client has not declared")
  }).pipe(Effect.scoped))
