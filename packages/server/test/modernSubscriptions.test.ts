/** Clients of revision 2026-07-28 that follow groups: subscriptions and changes of lists, without a session. */
import { McpGroup, McpResource, McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { connect, info } from "./support/connect.ts"

const revisions = ["2026-07-28"] as const

const named = (name: string) =>
  McpGroup.make(
    name,
    Tool.make(name, { success: Schema.String }),
    McpResource.make(name, { uri: `app://${name}` })
  ).toLayer((handlers) => handlers.tool(name, () => Effect.succeed(name)).resource(name, Effect.succeed(name)))

/** A group, and the server that it registers with. */
const served = () => {
  const server = Deferred.makeUnsafe<McpServer.McpServerShape>()
  const groups = Layer.merge(
    named("first"),
    Layer.effectDiscard(Effect.flatMap(McpServer.McpServer, (self) => Deferred.succeed(server, self)))
  )
  return { groups, server: Deferred.await(server) }
}

const overHttp = <A, E>(groups: Layer.Layer<A, E, McpServer.McpServer>) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(
      StreamableHttpServer.layerNode({ port: 0 }).pipe(
        Layer.provideMerge(
          McpServer.layerHost(groups, { info, caching: { tools: { ttl: "1 hour", scope: "public" } } })
        ),
        Layer.provide(Authentication.anonymous)
      )
    )
    const { address } = Context.get(context, HttpServer)
    const url = `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp`
    const client = yield* Layer.build(
      Layer.provide(ClientSession.layer({ info, revisions }), StreamableHttpClient.layerNode({ url }))
    )
    return Context.get(client, ClientSession.ClientSession)
  })

const inMemory = <A, E>(groups: Layer.Layer<A, E, McpServer.McpServer>) =>
  connect(groups, {
    client: { revisions },
    server: { caching: { tools: { ttl: "1 hour", scope: "public" } } }
  })

describe("a client of 2026-07-28", () => {
  for (const [where, connected] of [["in memory", inMemory], ["over Streamable HTTP", overHttp]] as const) {
    it.live(`is notified of the resources and lists that it follows, ${where}`, () =>
      Effect.gen(function*() {
        const { groups, server } = served()
        const session = yield* connected(groups)
        const { resourceUpdated } = yield* server
        const updates = yield* Queue.unbounded<string>()
        yield* Effect.forkScoped(
          Stream.runForEach(
            session.notifications("notifications/resources/updated"),
            ({ uri }) => Queue.offer(updates, uri)
          ),
          { startImmediately: true }
        )
        yield* session.subscribeResource("app://first")
        yield* resourceUpdated("app://first")
        assert.strictEqual(yield* Queue.take(updates), "app://first")

        const changes = yield* Queue.unbounded<void>()
        yield* Effect.forkScoped(
          Stream.runForEach(session.notifications("notifications/tools/list_changed"), () =>
            Queue.offer(changes, undefined)),
          { startImmediately: true }
        )
        const names = Effect.map(session.listTools(), ({ tools }) =>
          tools.map(({ name }) => name))
        assert.deepStrictEqual(yield* names, ["first"])
        // The list is kept, until the notification of its change.
        const scope = yield* Scope.Scope
        yield* Layer.buildWithScope(
          Layer.provide(named("second"), Layer.succeed(McpServer.McpServer, yield* server)),
          scope
        )
        yield* Effect.repeat(Queue.take(changes), { until: () => Effect.map(names, (listed) => listed.length === 2) })
        assert.deepStrictEqual(yield* names, ["first", "second"])
        // The change of the filter has not ended the subscription.
        yield* resourceUpdated("app://first")
        assert.strictEqual(yield* Queue.take(updates), "app://first")
      }).pipe(Effect.scoped))

    it.live(`is told which resource nothing serves, ${where}`, () =>
      Effect.gen(function*() {
        const session = yield* connected(served().groups)
        const { reason } = yield* Effect.flip(session.subscribeResource("app://none"))
        assert.deepStrictEqual(reason, { _tag: "NotSubscribable", uri: "app://none" })
      }).pipe(Effect.scoped))
  }
})
