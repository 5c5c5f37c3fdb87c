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

const add = (client: Client) => client.callTool("add", { a: 1, b: 2 })

it.live("a principal has as many sessions with the server as are left, so that another one finds one", () =>
  Effect.gen(function*() {
    const open = yield* clients(McpProxy.layer("everything", everything, { info, maxSessions: 8 }))
    const openAll = (id: string, count: number) =>
      Effect.forEach(Array.from({ length: count }), () => open(id, handshake))
    const adas = yield* openAll("ada", 5)
    for (const client of adas.slice(0, 4)) yield* add(client)
    const refused = yield* Effect.flip(add(adas[4] ?? assert.fail("none")))
    assert.include(
      refused.message,
      "-31010: the server \"everything\" serves 4 of 8 sessions for this principal already, and the others are for " +
        "other principals; end one of its sessions, or try again later"
    )
    const bobs = yield* openAll("bob", 3)
    for (const client of bobs.slice(0, 2)) yield* add(client)
    yield* Effect.flip(add(bobs[2] ?? assert.fail("none")))
    const [eve] = yield* openAll("eve", 1)
    yield* add(eve ?? assert.fail("none"))
    // The sessions that are open are served on.
    yield* Effect.forEach([...adas.slice(0, 4), ...bobs.slice(0, 2)], add)
    yield* adas[0]?.close ?? Effect.void
    yield* adas[1]?.close ?? Effect.void
    yield* Effect.repeat(Effect.exit(add(bobs[2] ?? assert.fail("none"))), { until: Exit.isSuccess })
  }).pipe(Effect.scoped))

it.live("maxSessionsPerPrincipal is the bound of each principal instead", () =>
  Effect.gen(function*() {
    const open = yield* clients(
      McpProxy.layer("everything", everything, { info, maxSessions: 3, maxSessionsPerPrincipal: 3 })
    )
    for (let count = 0; count < 3; count++) yield* add(yield* open("ada", handshake))
    const error = yield* Effect.flip(add(yield* open("ada", handshake)))
    assert.include(error.message, "-31010: the server \"everything\" serves 3 sessions already")
    const narrow = yield* clients(
      McpProxy.layer("everything", everything, { info, maxSessionsPerPrincipal: 1 })
    )
    yield* add(yield* narrow("ada", handshake))
    const second = yield* Effect.flip(add(yield* narrow("ada", handshake)))
    assert.include(second.message, "serves 1 of 256 sessions for this principal already")
    yield* add(yield* narrow("bob", handshake))
  }).pipe(Effect.scoped))
