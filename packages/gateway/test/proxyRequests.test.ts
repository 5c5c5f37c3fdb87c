import { McpProxy } from "@effect-mcp/gateway"
import { Content } from "@effect-mcp/protocol"
import { ClientSession, RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { answering, answersOf, asking, type Client, clients, tool } from "./support/proxies.ts"

const modern = { revisions: ["2026-07-28"] } as const

describe.each([
  ["a client of 2026-07-28 and a server of 2026-07-28", modern, modern],
  ["a client with a handshake and a server of 2026-07-28", handshake, modern],
  ["a client and a server with a handshake", handshake, handshake]
])("the questions of a server, between %s,", (_, ofClient, ofServer) => {
  it.live("reach the client whose call they belong to, although all of them ask at once", () =>
    Effect.gen(function*() {
      const waiting = yield* Queue.unbounded<void>()
      const go = yield* Deferred.make<void>()
      const open = yield* clients(McpProxy.layer(
        "asking",
        asking(Effect.andThen(Queue.offer(waiting, undefined), Deferred.await(go))),
        { info, ...ofServer }
      ))
      const names = ["ada", "bob", "ada again"]
      const all = yield* Effect.forEach(names, (name) => open(name, { ...ofClient, handlers: answering(name) }))
      const calls = yield* Effect.forEach(all, (client) => Effect.forkScoped(answersOf(client)))
      yield* Effect.forEach(names, () => Queue.take(waiting))
      yield* Deferred.succeed(go, undefined)
      const answers = yield* Effect.forEach(calls, Fiber.join)
      assert.deepStrictEqual(
        answers.map((answer) => JSON.stringify(answer)),
        names.map((name) =>
          JSON.stringify([Content.text(JSON.stringify([name, `model of ${name}`, `file:///${name}`]))])
        )
      )
    }).pipe(Effect.scoped))
})

describe("the requests of a server with a handshake", () => {
  it.live("over a shared session reach the only client, and none if a second one may be meant", () =>
    Effect.gen(function*() {
      const open = yield* clients(McpProxy.layer("asking", asking(), { info, sessions: "shared", ...handshake }))
      const ada = yield* open("ada", { ...handshake, handlers: answering("ada") })
      const bob = yield* open("bob", { ...handshake, handlers: answering("bob") })
      const adaAnswers = [Content.text(JSON.stringify(["ada", "model of ada", "file:///ada"]))]
      assert.deepStrictEqual(yield* answersOf(ada), adaAnswers)
      assert.deepStrictEqual(yield* answersOf(ada), adaAnswers)
      // The server may still ask for the last call of ada.
      assert.include(String(yield* answersOf(bob)), "does not know which of its clients this request belongs to")
      assert.include(String(yield* answersOf(ada)), "does not know which of its clients this request belongs to")
    }).pipe(Effect.scoped))

  it.live("fail with the error of a client that does not have the capability", () =>
    Effect.gen(function*() {
      const client = yield* connect(McpProxy.layer("asking", asking(), { info, ...handshake }))
      assert.include(String(yield* answersOf(client)), "has not declared the capability \"elicitation")
    }).pipe(Effect.scoped))

  it.live("depend on the client's capabilities, which the server sees; pages to visit and changed roots included", () =>
    Effect.gen(function*() {
      const changed = yield* Deferred.make<void>()
      const completed = yield* Deferred.make<string>()
      const server = ServerSession.layerMemory({
        "tools/list": () => Effect.succeed({ tools: [tool("capabilities"), tool("page")] }),
        "tools/call": ({ name }) =>
          Effect.gen(function*() {
            const { profile, session } = yield* RequestContext.RequestContext
            if (name === "capabilities") return { content: [], structuredContent: profile.capabilities }
            const { action } = yield* RequestContext.elicit({
              mode: "url",
              message: "Sign in",
              url: "https://example.com/",
              elicitationId: "7"
            })
            yield* session?.elicitationComplete("7") ?? Effect.void
            return { content: [Content.text(action)] }
          }).pipe(Effect.orDie),
        "notifications/roots/list_changed": () => Deferred.succeed(changed, undefined)
      }, { info })
      const capabilities = { elicitation: { form: {}, url: {} }, roots: { listChanged: true } }
      const open = yield* clients(McpProxy.layer("remote", server, { info, ...handshake }))
      const ada = yield* open("ada", {
        capabilities,
        handlers: {
          "elicitation/create": () => Effect.succeed({ action: "accept" }),
          "roots/list": () => Effect.succeed({ roots: [] }),
          "notifications/elicitation/complete": ({ elicitationId }) => Deferred.succeed(completed, elicitationId)
        }
      })
      const bob = yield* open("bob")
      const seen = (client: Client) =>
        Effect.map(client.callTool("capabilities"), ({ structuredContent }) => structuredContent)
      assert.deepStrictEqual(yield* seen(ada), capabilities)
      assert.deepStrictEqual(yield* seen(bob), {})
      assert.deepStrictEqual((yield* ada.callTool("page")).content, [Content.text("accept")])
      assert.strictEqual(yield* Deferred.await(completed), "7")
      yield* ada.rootsListChanged
      yield* Deferred.await(changed)
    }).pipe(Effect.scoped))

  it.live("are rejected by the session of the program, and never reach a client", () =>
    Effect.gen(function*() {
      const client = yield* connect(
        Layer.unwrap(Effect.map(ClientSession.ClientSession, (session) => McpProxy.fromSession("x", session))).pipe(
          Layer.provide(Layer.provide(ClientSession.layer({ info, ...handshake }), asking()))
        ),
        { client: { handlers: answering("ada") } }
      )
      assert.include(String(yield* answersOf(client)), "has not declared the capability")
    }).pipe(Effect.scoped))
})
