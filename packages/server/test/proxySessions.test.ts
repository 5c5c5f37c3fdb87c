import { Content } from "@effect-mcp/protocol"
import { McpProxy } from "@effect-mcp/server"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { connect, handshake, info } from "./support/connect.ts"
import { type Client, clients, everything, tool } from "./support/proxies.ts"

it.live("a proxy reconnects when the session of the lists has ended, with its lists and its subscriptions", () =>
  Effect.gen(function*() {
    const remotes = yield* Queue.unbounded<ServerSession.ServerSessionShape>()
    const subscribed = yield* Queue.unbounded<string>()
    let servers = 0
    const server = Layer.suspend(() => {
      const name = `tool${++servers}`
      return ServerSession.layerInProcess({
        "tools/list": () =>
          Effect.gen(function*() {
            const { session } = yield* RequestContext.RequestContext
            if (session !== undefined) yield* Queue.offer(remotes, session)
            return { tools: [tool(name)] }
          }),
        "tools/call": () => Effect.succeed({ content: [Content.text(name)] }),
        "resources/list": () => Effect.succeed({ resources: [{ name: "one", uri: "app://one" }] }),
        "resources/read": () => Effect.succeed({ contents: [] }),
        "resources/subscribe": ({ uri }) => Effect.as(Queue.offer(subscribed, `${name} ${uri}`), {}),
        "resources/unsubscribe": () => Effect.succeed({})
      }, { info, limits: { gracefulCloseTimeout: "10 millis" } })
    })
    const heard = yield* Queue.unbounded<string>()
    const client = yield* connect(McpProxy.layer("remote", server, { info, sessions: "shared" }), {
      client: {
        handlers: {
          "notifications/tools/list_changed": () => Queue.offer(heard, "tools"),
          "notifications/resources/updated": ({ uri }) => Queue.offer(heard, uri)
        }
      }
    })
    yield* client.subscribeResource("app://one")
    assert.strictEqual(yield* Queue.take(subscribed), "tool1 app://one")
    yield* (yield* Queue.take(remotes)).close
    assert.sameMembers(yield* Queue.takeN(heard, 2), ["tools", "app://one"])
    assert.strictEqual(yield* Queue.take(subscribed), "tool2 app://one")
    assert.deepStrictEqual((yield* client.callTool("tool2")).content, [Content.text("tool2")])
    yield* (yield* Queue.take(remotes)).resourceUpdated("app://one")
    assert.strictEqual(yield* Queue.take(heard), "app://one")
  }).pipe(Effect.scoped))

it.live("a client has one session with the server, which ends with its own, and there are no more than allowed", () =>
  Effect.gen(function*() {
    const events = yield* Queue.unbounded<string>()
    const counted = Layer.merge(
      everything,
      Layer.effectDiscard(Effect.acquireRelease(
        Queue.offer(events, "open"),
        () => Queue.offer(events, "close")
      ))
    )
    const proxy = yield* Scope.make()
    const open = yield* Scope.provide(
      clients(McpProxy.layer("everything", counted, { info, maxSessions: 2 })),
      proxy
    )
    assert.deepStrictEqual(yield* Queue.clear(events), ["open"])
    const scope = yield* Scope.make()
    const ada = yield* Scope.provide(open("ada", handshake), scope)
    const bob = yield* open("bob", handshake)
    const eve = yield* open("eve", handshake)
    assert.deepStrictEqual(yield* Queue.clear(events), [])
    const add = (client: Client) => client.callTool("add", { a: 1, b: 2 })
    yield* Effect.all([add(ada), add(ada), add(ada), add(bob)], { concurrency: "unbounded" })
    assert.deepStrictEqual(yield* Queue.clear(events), ["open", "open"])
    const error = yield* Effect.flip(add(eve))
    assert.include(error.message, "-31010: the server \"everything\" serves 2 sessions already; try again later")
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(yield* Queue.take(events), "close")
    yield* add(eve)
    assert.deepStrictEqual(yield* Queue.clear(events), ["open"])
    yield* Scope.close(proxy, Exit.void)
    assert.deepStrictEqual(yield* Queue.clear(events), ["close", "close", "close"])
  }).pipe(Effect.scoped))
