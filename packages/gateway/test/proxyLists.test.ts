import { McpProxy } from "@effect-mcp/gateway"
import { McpError, Revision } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpServer } from "@effect-mcp/server"
import { ClientSession, RequestContext, type RequestError, ServerSession, type Transport } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { describeForBothEras, type Era } from "../../server/test/support/eras.ts"
import { type Client, everything, EverythingLive, tool } from "./support/proxies.ts"

type Remote = Layer.Layer<Transport.Transport, unknown>

/** The three ways to proxy a server, in sessions of one era. */
const ways = {
  "a session for each client": (remote: Remote, era: Era["client"]) =>
    McpProxy.layer("remote", remote, { info, ...era }),
  "one session for all clients": (remote: Remote, era: Era["client"]) =>
    McpProxy.layer("remote", remote, { info, sessions: "shared", ...era }),
  "a session of the program": (remote: Remote, era: Era["client"]) =>
    Layer.unwrap(Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession("remote", session))).pipe(
      Layer.provide(Layer.provide(ClientSession.layer({ info, ...era }), remote))
    )
}

const outcome = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.result(effect), (result) =>
    Result.isSuccess(result) ? result.success : {
      method: result.failure.method,
      reason: result.failure.reason._tag,
      error: result.failure.reason._tag === "ErrorResponse"
        ? { ...membersOf(result.failure.reason.error) }
        : undefined
    })

const membersOf = ({ code, data, message }: McpError.McpError) => ({ code, data, message })

const observations = (client: Client) =>
  Effect.all({
    tools: outcome(client.listTools()),
    prompts: outcome(client.listPrompts()),
    resources: outcome(client.listResources()),
    templates: outcome(client.listResourceTemplates()),
    add: outcome(client.callTool("add", { a: 1, b: 2 })),
    misfit: outcome(client.callTool("add", { a: "one" })),
    fail: outcome(client.callTool("fail")),
    reject: outcome(client.callTool("reject")),
    content: outcome(client.callTool("content")),
    unknownTool: outcome(client.callTool("none")),
    one: outcome(client.readResource("app://one")),
    bytes: outcome(client.readResource("app://bytes")),
    item: outcome(client.readResource("app://items/7")),
    noItem: outcome(client.readResource("app://items/x")),
    unknownResource: outcome(client.readResource("app://none")),
    plan: outcome(client.getPrompt("plan", { day: "sunday" })),
    badPlan: outcome(client.getPrompt("plan", { day: "never" })),
    unknownPrompt: outcome(client.getPrompt("none")),
    day: outcome(
      client.complete({ ref: { type: "ref/prompt", name: "plan" }, argument: { name: "day", value: "s" } })
    ),
    id: outcome(client.complete({
      ref: { type: "ref/resource", uri: "app://items/{id}" },
      argument: { name: "id", value: "" }
    })),
    badArgument: outcome(
      client.complete({ ref: { type: "ref/prompt", name: "plan" }, argument: { name: "none", value: "" } })
    ),
    subscribe: outcome(client.subscribeResource("app://one")),
    subscribeNone: outcome(client.subscribeResource("app://none")),
    unsubscribe: outcome(client.unsubscribeResource("app://one"))
  })

for (const [way, proxy] of Object.entries(ways)) {
  describeForBothEras(`a client of a proxy with ${way}`, ({ client: era, connect }) => {
    it.live("sees what a client of the server sees", () =>
      Effect.gen(function*() {
        const direct = yield* connect(EverythingLive)
        const proxied = yield* connect(proxy(everything, era))
        assert.deepStrictEqual(proxied.profile.capabilities, direct.profile.capabilities)
        assert.deepStrictEqual(yield* observations(proxied), yield* observations(direct))
      }).pipe(Effect.scoped))

    it.live("sees changes of the server's lists after one notification, and none without a change", () =>
      Effect.gen(function*() {
        const heard = yield* Queue.unbounded<string>()
        const adding = yield* Queue.unbounded<void>()
        const later = McpGroup.make("later", Tool.make("b"), Tool.make("c")).toLayer((handlers) =>
          handlers.tool("b", () => Effect.void).tool("c", () => Effect.void)
        )
        const scope = yield* Scope.make()
        const remote = Layer.mergeAll(
          EverythingLive,
          Layer.effectDiscard(Effect.forkScoped(
            Effect.andThen(Queue.take(adding), Layer.buildWithScope(later, scope))
          ))
        )
        // The server of the lists is the first that is built.
        const client = yield* connect(proxy(McpServer.layerMemory(remote, { info }), era), {
          client: { handlers: { "notifications/tools/list_changed": () => Queue.offer(heard, "tools") } }
        })
        yield* Queue.offer(adding, undefined)
        yield* Queue.take(heard)
        const names = Effect.map(client.listTools(), ({ tools }) => tools.map(({ name }) => name))
        assert.deepStrictEqual(yield* names, ["add", "b", "c", "content", "fail", "reject"])
        yield* Scope.close(scope, Exit.void)
        yield* Queue.take(heard)
        assert.deepStrictEqual(yield* names, ["add", "content", "fail", "reject"])
        assert.strictEqual(yield* Queue.size(heard), 0)
      }).pipe(Effect.scoped))
  })
}

describeForBothEras("a mounted proxy", ({ connect }) => {
  it.live("of a server without tools gets them later, and clients are notified of this list only", () =>
    Effect.gen(function*() {
      const heard = yield* Queue.unbounded<string>()
      const tools = yield* Ref.make<ReadonlyArray<ReturnType<typeof tool>>>([])
      const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
      const server = ServerSession.layerMemory({
        "tools/list": () =>
          Effect.gen(function*() {
            const { session } = yield* RequestContext.RequestContext
            if (session !== undefined) yield* Deferred.succeed(remote, session)
            return { tools: yield* Ref.get(tools) }
          }),
        "tools/call": () => Effect.succeed({ content: [] }),
        "prompts/list": () => Effect.succeed({ prompts: [{ name: "plan" }] }),
        "prompts/get": () => Effect.succeed({ messages: [] })
      }, { info, capabilities: { tools: { listChanged: true } } })
      const client = yield* connect(McpMount.prefixed("far", McpProxy.layer("remote", server, { info })), {
        // By default, a server whose proxied server has sessions serves only clients with a session.
        server: { revisions: Revision.supported },
        client: {
          handlers: {
            "notifications/tools/list_changed": () => Queue.offer(heard, "tools"),
            "notifications/prompts/list_changed": () => Queue.offer(heard, "prompts")
          }
        }
      })
      const names = Effect.map(client.listTools(), (listed) => listed.tools.map(({ name }) => name))
      const session = yield* Deferred.await(remote)
      const change = (...to: ReadonlyArray<string>) =>
        Effect.andThen(Ref.set(tools, to.map(tool)), session.toolListChanged)
      assert.deepStrictEqual(yield* names, [])
      yield* change("a")
      assert.strictEqual(yield* Queue.take(heard), "tools")
      assert.deepStrictEqual(yield* names, ["far_a"])
      yield* change("a", "b")
      assert.strictEqual(yield* Queue.take(heard), "tools")
      assert.deepStrictEqual(yield* names, ["far_a", "far_b"])
    }).pipe(Effect.scoped))
})

it.live("a list that the server fails to send after a change is read again, and the members stay meanwhile", () =>
  Effect.gen(function*() {
    const heard = yield* Queue.unbounded<void>()
    const names = yield* Ref.make(["a"])
    const failures = yield* Ref.make(0)
    const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
    const server = ServerSession.layerMemory({
      "tools/list": () =>
        Effect.gen(function*() {
          const { session } = yield* RequestContext.RequestContext
          if (session !== undefined) yield* Deferred.succeed(remote, session)
          if ((yield* Ref.getAndUpdate(failures, (count) => count - 1)) > 0) {
            return yield* new McpError.McpError({ code: -32000, message: "not yet" })
          }
          return { tools: (yield* Ref.get(names)).map(tool) }
        }),
      "tools/call": () => Effect.succeed({ content: [] })
    }, { info, capabilities: { tools: { listChanged: true } } })
    const client = yield* connect(McpProxy.layer("remote", server, { info, ...handshake }), {
      client: { ...handshake, handlers: { "notifications/tools/list_changed": () => Queue.offer(heard, undefined) } }
    })
    const listed = Effect.map(client.listTools(), ({ tools }) => tools.map(({ name }) => name))
    yield* Ref.set(names, ["a", "b"])
    yield* Ref.set(failures, 2)
    yield* (yield* Deferred.await(remote)).toolListChanged
    yield* Effect.repeat(Ref.get(failures), { until: (count) => count < 2 })
    assert.deepStrictEqual(yield* listed, ["a"])
    yield* Queue.take(heard)
    assert.deepStrictEqual(yield* listed, ["a", "b"])
  }).pipe(Effect.scoped))
