import { McpProxy } from "@effect-mcp/gateway"
import { Content, Revision } from "@effect-mcp/protocol"
import { McpMount } from "@effect-mcp/server"
import { RequestContext, ServerSession, type Transport } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Ref from "effect/Ref"
import { info } from "../../server/test/support/connect.ts"
import { describeForBothEras } from "../../server/test/support/eras.ts"
import { EverythingLive, tool } from "./support/proxies.ts"

/** Collects the warnings that are logged. */
const warnings = Effect.gen(function*() {
  const messages: Array<string> = []
  const layer = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
  return { messages, layer }
})

describeForBothEras("a server that is not trusted", ({ connect }) => {
  it.live("has no tools with names that are not allowed, or that another group has [TOOL-10]", () =>
    Effect.gen(function*() {
      const server = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: ["a", "b c", "", "x".repeat(129), "add", "a"].map(tool) }),
        "tools/call": ({ name }) => Effect.succeed({ content: [Content.text(`remote ${name}`)] }),
        "resources/list": () =>
          Effect.succeed({ resources: [{ name: "same", uri: "x://1" }, { name: "same", uri: "x://2" }] }),
        "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "remote" }] })
      }, { info })
      const { layer, messages } = yield* warnings
      const groups = Layer.provideMerge(McpProxy.layer("remote", server, { info }), EverythingLive)
      const client = yield* Effect.provide(connect(groups), layer)
      const { tools } = yield* client.listTools()
      assert.deepStrictEqual(tools.map(({ name }) => name), ["a", "add", "content", "fail", "reject"])
      assert.deepStrictEqual((yield* client.callTool("add", { a: 1, b: 2 })).structuredContent, { sum: 3 })
      assert.deepStrictEqual((yield* client.callTool("a")).content, [Content.text("remote a")])
      assert.lengthOf((yield* client.listResources()).resources, 4)
      const [warning = ""] = messages
      for (const part of ["the proxy \"remote\" leaves out", "\"b c\"", "tool \"add\"", "\"everything\""]) {
        assert.include(warning, part)
      }
      // Under a prefix, nothing clashes.
      const mounted = yield* connect(
        Layer.merge(McpMount.prefixed("remote", McpProxy.layer("remote", server, { info })), EverythingLive)
      )
      assert.deepStrictEqual((yield* mounted.callTool("remote_add")).content, [Content.text("remote add")])
      assert.deepStrictEqual((yield* mounted.readResource("x://remote/1")).contents, [
        { uri: "x://remote/1", text: "remote" }
      ])
      assert.deepStrictEqual((yield* mounted.readResource("x://remote/not/listed")).contents, [
        { uri: "x://remote/not/listed", text: "remote" }
      ])
    }).pipe(Effect.scoped))

  it.live("cannot have lists without an end, in members, in characters, in pages or in time", () =>
    Effect.gen(function*() {
      const list = (page: (cursor: number) => Effect.Effect<ReadonlyArray<ReturnType<typeof tool>>>) =>
        ServerSession.layerMemory({
          "tools/list": ({ cursor = "0" }) =>
            Effect.map(page(Number(cursor)), (tools) => ({ tools, nextCursor: String(Number(cursor) + 1) })),
          "tools/call": () => Effect.succeed({ content: [] })
        }, { info })
      const { layer, messages } = yield* warnings
      const listed = (server: Layer.Layer<Transport.Transport, unknown>, options: McpProxy.ListOptions = {}) =>
        Effect.map(
          Effect.provide(
            Effect.flatMap(
              connect(McpProxy.layer("remote", server, { info, limits: { maxPages: 50 }, ...options })),
              (client) => client.listTools()
            ),
            layer
          ),
          ({ tools }) => tools.length
        )
      const endless = list((cursor) => Effect.succeed([tool(`t${cursor}`)]))
      assert.strictEqual(yield* listed(endless, { maxMembers: 7 }), 7)
      assert.strictEqual(yield* listed(endless), 49)
      assert.strictEqual(yield* listed(endless, { maxCharacters: 400 }), 8)
      const slow = list((cursor) => cursor === 0 ? Effect.succeed([tool("t")]) : Effect.never)
      assert.strictEqual(yield* listed(slow, { listTimeout: "1 second" }), 1)
      for (
        const part of ["more than 7 members", "more than 50 pages", "more than 400 characters", "did not end in time"]
      ) assert.isTrue(messages.some((message) => message.includes(part)), part)
    }).pipe(Effect.scoped))

  it.live("is not read without end if it notifies without end, and clients get a list_changed for changes only", () =>
    Effect.gen(function*() {
      const reads = yield* Ref.make(0)
      const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
      const server = ServerSession.layerMemory({
        "tools/list": () =>
          Effect.gen(function*() {
            const { session } = yield* RequestContext.RequestContext
            if (session !== undefined) yield* Deferred.succeed(remote, session)
            yield* Ref.update(reads, (count) => count + 1)
            return { tools: [tool("same")] }
          }),
        "tools/call": () => Effect.succeed({ content: [] })
      }, { info, capabilities: { tools: { listChanged: true } } })
      const changes = yield* Ref.make(0)
      const client = yield* connect(McpProxy.layer("remote", server, { info }), {
        // By default, a server whose proxied server has sessions serves only clients with a session.
        server: { revisions: Revision.supported },
        client: { handlers: { "notifications/tools/list_changed": () => Ref.update(changes, (count) => count + 1) } }
      })
      const session = yield* Deferred.await(remote)
      yield* Effect.repeat(session.toolListChanged, { times: 99 })
      yield* Effect.sleep("1200 millis")
      yield* client.listTools()
      assert.isAtMost(yield* Ref.get(reads), 4)
      assert.isAtLeast(yield* Ref.get(reads), 2)
      assert.strictEqual(yield* Ref.get(changes), 0)
    }).pipe(Effect.scoped))

  it.live("passes members of results through that this library does not know", () =>
    Effect.gen(function*() {
      const unknown = { "example.com/new": { a: [1] } }
      const server = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [{ ...tool("a"), ...unknown }], ...unknown }),
        "tools/call": () =>
          Effect.succeed({ content: [{ ...Content.text("a"), ...unknown }], _meta: { b: 1 }, ...unknown })
      }, { info })
      const client = yield* connect(McpProxy.layer("remote", server, { info }))
      assert.deepStrictEqual<unknown>((yield* client.listTools()).tools, [{ ...tool("a"), ...unknown }])
      assert.deepStrictEqual<unknown>(yield* client.callTool("a"), {
        content: [{ ...Content.text("a"), ...unknown }],
        _meta: { b: 1 },
        ...unknown
      })
    }).pipe(Effect.scoped))
})
