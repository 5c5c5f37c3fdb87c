/** Groups whose clients of revision 2026-07-28 listen to changes. */
import { JsonRpc, RequestMetadata, type Subscription } from "@effect-mcp/protocol"
import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
import { type Principal, RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

const revision = "2026-07-28"

const Pages = McpGroup.make(
  "pages",
  McpResource.template("page", { uri: "page://{name}", parameters: { name: Schema.String } }),
  McpResource.make("index", { uri: "index://all" })
)

const PagesLive = Pages.toLayer((handlers) =>
  handlers
    .template("page", ({ name }) => Effect.succeed(name))
    .resource("index", Effect.succeed("index"))
)

const Later = McpGroup.make("later", Tool.make("run", { success: Schema.String }))
const LaterLive = Later.toLayer((handlers) => handlers.tool("run", () => Effect.succeed("ran")))

const listen = (notifications: Subscription.SubscriptionFilter) =>
  JsonRpc.request(1, "subscriptions/listen", {
    notifications,
    _meta: RequestMetadata.write({
      protocolVersion: revision,
      clientCapabilities: {},
      clientInfo: undefined,
      logLevel: undefined
    })
  })

const serving = Effect.fnUntraced(function*<E>(
  groups: Layer.Layer<never, E, McpServer.McpServer>,
  options?: McpServer.RegistryOptions
) {
  const servers: Array<McpServer.McpServerShape> = []
  const catching = Layer.effectDiscard(Effect.map(McpServer.McpServer, (server) => void servers.push(server)))
  const handlers = yield* McpServer.makeStatelessHandlers(Layer.merge(groups, catching), options)
  const { handle } = yield* StatelessServer.make(handlers, { info: { name: "pages", version: "1" } })
  const [server = assert.fail("no server")] = servers
  const open = Effect.fnUntraced(function*(
    notifications: Subscription.SubscriptionFilter,
    principal?: Principal.Principal
  ) {
    const sent: Array<unknown> = []
    const notify = ({ method, params: { _meta, ...params } = {} }: JsonRpc.Notification) =>
      Effect.sync(() => void sent.push([method.replace("notifications/", ""), params]))
    yield* Effect.forkChild(handle(listen(notifications), { revision, notify, principal }), { startImmediately: true })
    yield* settle
    return sent
  })
  return { open, server }
})

const settle = Effect.forEach(Array.from({ length: 30 }), () => Effect.yieldNow, { discard: true })

describe("a client that listens to groups", () => {
  it.effect("is told of the resources that it asked for and sees", () =>
    Effect.gen(function*() {
      const { open, server } = yield* serving(PagesLive)
      const one = yield* open({ resourceSubscriptions: ["page://a", "index://all", "other://x"] })
      const two = yield* open({ resourceSubscriptions: ["page://b"] })
      for (const uri of ["page://a", "page://b", "page://c", "other://x"]) yield* server.resourceUpdated(uri)
      yield* settle
      assert.deepStrictEqual(one, [
        ["subscriptions/acknowledged", {
          notifications: { resourceSubscriptions: ["page://a", "index://all"] }
        }],
        ["resources/updated", { uri: "page://a" }]
      ])
      assert.deepStrictEqual(two.slice(1), [["resources/updated", { uri: "page://b" }]])
    }).pipe(Effect.scoped))

  it.effect("is told of the lists that it asked for, if the server has them", () =>
    Effect.gen(function*() {
      const { open, server } = yield* serving(PagesLive, { declare: ["tools"] })
      const asked = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      const one = yield* open(asked)
      const two = yield* open({ resourcesListChanged: true })
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.provide(LaterLive, Layer.succeed(McpServer.McpServer, server)), scope)
      yield* TestClock.adjust("50 millis")
      yield* settle
      assert.deepStrictEqual(one, [
        ["subscriptions/acknowledged", { notifications: { toolsListChanged: true, resourcesListChanged: true } }],
        ["tools/list_changed", {}]
      ])
      yield* Scope.close(scope, Exit.void)
      yield* server.listChanged("resources")
      yield* TestClock.adjust("50 millis")
      yield* settle
      assert.deepStrictEqual(one.slice(2), [["tools/list_changed", {}], ["resources/list_changed", {}]])
      assert.deepStrictEqual(two.slice(1), [["resources/list_changed", {}]])
    }).pipe(Effect.scoped))

  it.effect("is not told of resources that its principal does not see, or beyond the limit", () =>
    Effect.gen(function*() {
      const isAda = Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")
      const groups = Pages.toLayer((handlers) =>
        handlers
          .template("page", ({ name }) => Effect.succeed(name), { subscribable: () => isAda })
          .resource("index", Effect.succeed("index"), { visible: isAda })
      )
      const { open } = yield* serving(groups, { maxSubscriptions: 2 })
      const asked = { resourceSubscriptions: ["index://all", "page://a", "page://b"] }
      const ada = yield* open(asked, { id: "ada" })
      assert.deepStrictEqual(ada[0], [
        "subscriptions/acknowledged",
        { notifications: { resourceSubscriptions: ["index://all", "page://a"] } }
      ])
      const bob = yield* open(asked, { id: "bob" })
      assert.deepStrictEqual(bob[0], ["subscriptions/acknowledged", { notifications: {} }])
    }).pipe(Effect.scoped))
})
