import { McpProxy } from "@effect-mcp/gateway"
import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpMount } from "@effect-mcp/server"
import { ClientSession, RequestContext, type RequestError, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Result from "effect/Result"
import { handshake, info } from "../../server/test/support/connect.ts"
import { type Client, clients, everything } from "./support/proxies.ts"

class Guard extends McpMiddleware.Service<Guard>()("Guard") {}

/** A middleware that records what it wraps, and lets all principals pass but one. */
const guard = (seen: Ref.Ref<ReadonlyArray<unknown>>, rejected = "eve") =>
  Layer.succeed(Guard, (handler, { arguments: input, method, mount, name }) =>
    Effect.gen(function*() {
      const { principal } = yield* RequestContext.RequestContext
      yield* Ref.update(seen, (all) => [...all, [method, mount, name, input]])
      return principal?.id === rejected ? yield* McpError.invalidRequest("Not you") : yield* handler
    }))

const codeOf = <A>(effect: Effect.Effect<A, RequestError.RequestError>) =>
  Effect.map(Effect.result(effect), (result) => {
    if (Result.isSuccess(result)) return "done"
    const { reason } = result.failure
    return reason._tag === "ErrorResponse" ? reason.error.code : reason._tag
  })

/** Uses every kind of member, and returns the outcomes. */
const uses = (client: Client, uri = "app://one"): Effect.Effect<ReadonlyArray<number | string>> =>
  Effect.all([
    codeOf(client.callTool("add", { a: 1, b: 2 })),
    codeOf(client.getPrompt("plan", { day: "sunday" })),
    codeOf(client.readResource(uri)),
    codeOf(client.readResource(uri.replace("one", "items/7"))),
    codeOf(client.complete({ ref: { type: "ref/prompt", name: "plan" }, argument: { name: "day", value: "s" } })),
    codeOf(client.subscribeResource(uri)),
    codeOf(client.subscribeResource(uri.replace("one", "items/7")))
  ])

const seenUses = [
  ["tools/call", "add", { a: 1, b: 2 }],
  ["prompts/get", "plan", { day: "sunday" }],
  ["resources/read", "app://one", undefined],
  ["resources/read", "app://items/7", undefined],
  ["completion/complete", "plan", { argument: "day", others: {}, typed: "s" }],
  ["resources/subscribe", "app://one", undefined],
  ["resources/subscribe", "app://items/7", undefined]
] as const

const rejection = [-32600, -32600, -32600, -32600, -32600, -32002, -32002]

describe("the middleware of a proxied group", () => {
  const group = McpGroup.make("remote").middleware(Guard)

  it.live("runs around each use of a member, and what it rejects does not reach the server", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<unknown>>([])
      const open = yield* clients(Layer.provide(McpProxy.layer(group, everything, { info }), guard(seen)))
      assert.deepStrictEqual(yield* uses(yield* open("ada", handshake)), Array.from({ length: 7 }, () => "done"))
      assert.deepStrictEqual(
        yield* Ref.getAndSet(seen, []),
        seenUses.map(([method, name, input]) => [method, "", name, input])
      )
      assert.deepStrictEqual(yield* uses(yield* open("eve", handshake)), rejection)
    }).pipe(Effect.scoped))

  it.live("sees the prefix of a mount, and the names and URIs of the server", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<unknown>>([])
      const open = yield* clients(
        McpMount.prefixed("far", Layer.provide(McpProxy.layer(group, everything, { info }), guard(seen)))
      )
      const ada = yield* open("ada", handshake)
      assert.strictEqual(yield* codeOf(ada.callTool("far_add", { a: 1, b: 2 })), "done")
      assert.strictEqual(yield* codeOf(ada.subscribeResource("app://far/one")), "done")
      assert.deepStrictEqual(yield* Ref.get(seen), [
        ["tools/call", "far_", "add", { a: 1, b: 2 }],
        ["resources/subscribe", "far_", "app://one", undefined]
      ])
      const eve = yield* open("eve", handshake)
      assert.strictEqual(yield* codeOf(eve.subscribeResource("app://far/one")), -32002)
    }).pipe(Effect.scoped))

  it.live("decides about resources that are in no list, also over the session of the program", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<unknown>>([])
      const subscribed = yield* Ref.make(0)
      const remote = ServerSession.layerMemory({
        "resources/list": () => Effect.succeed({ resources: [] }),
        "resources/read": ({ uri }) => Effect.succeed({ contents: [{ uri, text: "text" }] }),
        "resources/subscribe": () => Effect.as(Ref.update(subscribed, (count) => count + 1), {}),
        "resources/unsubscribe": () => Effect.succeed({})
      }, { info })
      const proxy = Layer.unwrap(
        Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession(group, session))
      ).pipe(Layer.provide(Layer.provide(ClientSession.layer({ info }), remote)))
      const open = yield* clients(Layer.provide(proxy, guard(seen)))
      const [ada, eve] = [yield* open("ada", handshake), yield* open("eve", handshake)]
      const unlisted = (client: Client) =>
        Effect.all([codeOf(client.readResource("x://1")), codeOf(client.subscribeResource("x://1"))])
      assert.deepStrictEqual(yield* unlisted(eve), [-32600, -32002])
      assert.strictEqual(yield* Ref.get(subscribed), 0)
      assert.deepStrictEqual(yield* unlisted(ada), ["done", "done"])
      assert.strictEqual(yield* Ref.get(subscribed), 1)
    }).pipe(Effect.scoped))
})
