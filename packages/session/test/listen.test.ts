/** Streams of notifications of revision 2026-07-28, which clients open with `subscriptions/listen`. */
import type { JsonRpc, Subscription } from "@effect-mcp/protocol"
import {
  type Handlers,
  Listener,
  RequestContext,
  type StatelessServer,
  StatelessServer as Server
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import { request, revision } from "./support/rounds.ts"
import { info } from "./support/sessions.ts"

const listeners = () => new Set<Listener.ListenerShape>()

/** Serves streams with this part of their filters. */
const listening = (
  all: Set<Listener.ListenerShape>,
  notifications: Subscription.SubscriptionFilter,
  before: Effect.Effect<void, never, RequestContext.RequestContext> = Effect.void
) =>
  Effect.fnUntraced(function*() {
    const listener = yield* Listener.Listener
    yield* Effect.acquireRelease(
      Effect.sync(() => void all.add(listener)),
      () => Effect.sync(() => void all.delete(listener))
    )
    yield* before
    return { notifications }
  })

const everything: Subscription.SubscriptionFilter = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["x://1", "x://2", "x://3"]
}

const serving = (
  handler: NonNullable<
    Handlers.Handlers<"client", RequestContext.RequestContext | Scope.Scope>["subscriptions/listen"]
  >,
  options: Partial<StatelessServer.Options> = {}
) =>
  Server.make({
    "tools/list": () => Effect.succeed({ tools: [] }),
    "resources/list": () => Effect.succeed({ resources: [] }),
    "subscriptions/listen": handler
  }, { info, ...options })

/** Opens a stream, and collects what it sends. */
const open = Effect.fnUntraced(function*(
  { handle }: StatelessServer.StatelessServer,
  notifications: Subscription.SubscriptionFilter,
  more: { readonly id?: number; readonly gate?: Effect.Effect<void>; readonly from?: object } = {}
) {
  const sent: Array<JsonRpc.Notification> = []
  const fiber = yield* Effect.forkChild(
    handle(request(more.id ?? 7, "subscriptions/listen", { notifications }), {
      revision,
      ...more.from,
      notify: (message) => Effect.andThen(more.gate ?? Effect.void, Effect.sync(() => void sent.push(message)))
    }),
    { startImmediately: true }
  )
  yield* settle
  return { fiber, sent }
})

/** Waits until everything that can happen now has happened. */
const settle = Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow, { discard: true })

const short = ({ method, params: { _meta, ...params } = {} }: JsonRpc.Notification) => [method, params]

const each = (all: Set<Listener.ListenerShape>, tell: (listener: Listener.ListenerShape) => Effect.Effect<void>) =>
  Effect.andThen(Effect.forEach(all, tell, { discard: true }), settle)

const all4 = (listener: Listener.ListenerShape) =>
  Effect.all([
    listener.toolListChanged,
    listener.promptListChanged,
    listener.resourceListChanged,
    listener.resourceUpdated("x://1"),
    listener.resourceUpdated("x://9")
  ], { discard: true })

describe("a stream of notifications", () => {
  it.effect("[SUB-03] begins with the part of the filter that the server serves", () =>
    Effect.gen(function*() {
      const all = listeners()
      const server = yield* serving(listening(all, everything))
      const { sent } = yield* open(server, {
        toolsListChanged: true,
        resourcesListChanged: false,
        resourceSubscriptions: ["x://9", "x://2", "x://2", "x://1"]
      })
      assert.deepStrictEqual<unknown>(sent, [{
        jsonrpc: "2.0",
        method: "notifications/subscriptions/acknowledged",
        params: {
          notifications: { toolsListChanged: true, resourceSubscriptions: ["x://1", "x://2"] },
          _meta: { "io.modelcontextprotocol/subscriptionId": 7 }
        }
      }])
    }))

  it.effect("[SUB-01] [SUB-05] [SUB-09] has the notifications of its filter, and no others", () =>
    Effect.gen(function*() {
      const all = listeners()
      const server = yield* serving(listening(all, { ...everything, promptsListChanged: false }))
      const { sent } = yield* open(server, {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ["x://1"]
      })
      yield* each(all, all4)
      // The server serves it, and the client has not named it.
      yield* each(all, (listener) => listener.resourceUpdated("x://2"))
      assert.deepStrictEqual<unknown>(sent.slice(1).map(short), [
        ["notifications/tools/list_changed", {}],
        ["notifications/resources/updated", { uri: "x://1" }]
      ])
      for (const { params } of sent) {
        assert.deepStrictEqual<unknown>(params?.["_meta"], { "io.modelcontextprotocol/subscriptionId": 7 })
      }
    }))

  it.effect("[SUB-02] sends nothing before the acknowledgement, and then what has changed", () =>
    Effect.gen(function*() {
      const all = listeners()
      const proceed = yield* Deferred.make<void>()
      const server = yield* serving(
        listening(all, { ...everything, promptsListChanged: false, resourceSubscriptions: [] }, Deferred.await(proceed))
      )
      const { sent } = yield* open(server, everything)
      yield* each(all, all4)
      assert.deepStrictEqual(sent, [])
      yield* Deferred.succeed(proceed, undefined)
      yield* settle
      assert.deepStrictEqual(sent.map(({ method }) => method), [
        "notifications/subscriptions/acknowledged",
        "notifications/tools/list_changed",
        "notifications/resources/list_changed"
      ])
    }))

  it.effect("has one notification for all changes that a slow client has not received", () =>
    Effect.gen(function*() {
      const all = listeners()
      const gate = yield* Deferred.make<void>()
      const server = yield* serving(listening(all, everything))
      const { sent } = yield* open(server, everything, { gate: Deferred.await(gate) })
      for (let change = 0; change < 1_000; change++) yield* Effect.forEach(all, all4)
      yield* Deferred.succeed(gate, undefined)
      yield* settle
      assert.lengthOf(sent, 5)
      yield* each(all, ({ toolListChanged }) => toolListChanged)
      assert.lengthOf(sent, 6)
    }))

  it.effect("[SUB-08] has no log messages and no progress", () =>
    Effect.gen(function*() {
      const noise = Effect.andThen(
        RequestContext.log({ level: "error", data: "x" }),
        RequestContext.progress({ progress: 1 })
      )
      const all = listeners()
      const { handle } = yield* serving(listening(all, everything, noise))
      const sent: Array<string> = []
      yield* Effect.forkChild(
        handle(request(1, "subscriptions/listen", { notifications: {} }, {}, { progressToken: 1 }), {
          revision,
          notify: ({ method }) => Effect.sync(() => void sent.push(method))
        }),
        { startImmediately: true }
      )
      yield* settle
      assert.deepStrictEqual(sent, ["notifications/subscriptions/acknowledged"])
    }))

  it.effect("[SUB-07] ends with a result when the server ends, after what has changed until then", () =>
    Effect.gen(function*() {
      const all = listeners()
      const server = yield* serving(listening(all, everything))
      const { fiber, sent } = yield* open(server, everything)
      yield* Effect.forEach(all, ({ toolListChanged }) => toolListChanged)
      yield* server.drain
      yield* Effect.forEach(all, ({ promptListChanged }) => promptListChanged)
      assert.deepStrictEqual<unknown>(yield* Fiber.join(fiber), {
        jsonrpc: "2.0",
        id: 7,
        result: {
          resultType: "complete",
          _meta: {
            "io.modelcontextprotocol/subscriptionId": 7,
            "io.modelcontextprotocol/serverInfo": info
          }
        }
      })
      assert.deepStrictEqual(sent.slice(1).map(({ method }) => method), ["notifications/tools/list_changed"])
      assert.strictEqual(all.size, 0)
      const late = yield* open(server, everything)
      assert.isDefined(late.fiber.pollUnsafe())
      assert.lengthOf(late.sent, 1)
    }))

  it.effect("ends for the handler when the client leaves", () =>
    Effect.gen(function*() {
      const all = listeners()
      const server = yield* serving(listening(all, everything))
      const { fiber } = yield* open(server, everything)
      assert.strictEqual(all.size, 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(all.size, 0)
    }))

  it.effect("is rejected where the transport carries no notifications", () =>
    Effect.gen(function*() {
      const { handle } = yield* serving(listening(listeners(), everything))
      const reply = yield* handle(request(1, "subscriptions/listen", { notifications: {} }), { revision })
      assert.deepStrictEqual(reply !== undefined && "error" in reply ? reply.error : undefined, {
        code: -32600,
        message: "the transport cannot carry a stream of notifications"
      })
    }))

  it.effect("takes no room of other requests, and has a limit of its own, which clients share", () =>
    Effect.gen(function*() {
      const all = listeners()
      const server = yield* serving(listening(all, everything), {
        limits: { maxIncomingRequests: 2, maxListeners: 6 }
      })
      for (const client of ["a", "a", "a", "a", "b", "b", "b"]) {
        yield* open(server, everything, { from: { client } })
      }
      // The first client may have no more than there is still room for.
      assert.strictEqual(all.size, 5)
      const reply = yield* server.handle(request(1, "tools/list"), { revision, client: "a" })
      assert.isTrue(reply !== undefined && "result" in reply)
    }))

  it.effect("and its changes are declared by servers that serve it, and by no others", () =>
    Effect.gen(function*() {
      const capabilitiesOf = ({ handle }: StatelessServer.StatelessServer) =>
        Effect.map(handle(request(1, "server/discover"), { revision }), (reply) =>
          JSON.parse(JSON.stringify(reply)).result.capabilities)
      assert.deepStrictEqual(yield* capabilitiesOf(yield* serving(listening(listeners(), everything))), {
        logging: {},
        resources: { listChanged: true, subscribe: true },
        tools: { listChanged: true }
      })
      const without = yield* Server.make({
        "tools/list": () =>
          Effect.succeed({ tools: [] })
      }, {
        info,
        capabilities: { tools: { listChanged: true } }
      })
      assert.deepStrictEqual(yield* capabilitiesOf(without), { logging: {}, tools: {} })
      const reply = yield* without.handle(request(1, "subscriptions/listen", { notifications: {} }), { revision })
      assert.strictEqual(JSON.parse(JSON.stringify(reply)).error.code, -32601)
    }))
})
