import { McpProxy } from "@effect-mcp/gateway"
import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpResource } from "@effect-mcp/server"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { connect, handshake, info } from "../../server/test/support/connect.ts"
import { clients, everything } from "./support/proxies.ts"

describe("subscriptions", () => {
  it.live("are one at the server, for updates to subscribers only, and end with the last of them", () =>
    Effect.gen(function*() {
      const requests = yield* Queue.unbounded<string>()
      const remote = yield* Deferred.make<ServerSession.ServerSessionShape>()
      const note = (name: string) => ({ uri }: { readonly uri: string }) =>
        Effect.as(
          Effect.andThen(
            Effect.flatMap(RequestContext.RequestContext, ({ session }) =>
              session === undefined ? Effect.void : Deferred.succeed(remote, session)),
            Queue.offer(requests, `${name} ${uri}`)
          ),
          {}
        )
      const server = ServerSession.layerMemory({
        "resources/list": () => Effect.succeed({ resources: [{ name: "one", uri: "app://one" }] }),
        "resources/read": () => Effect.succeed({ contents: [] }),
        "resources/subscribe": note("subscribe"),
        "resources/unsubscribe": note("unsubscribe")
      }, { info })
      const local = McpGroup.make("local", McpResource.make("local", { uri: "app://local" })).toLayer((handlers) =>
        handlers.resource("local", Effect.succeed("local"))
      )
      const open = yield* clients(Layer.merge(McpProxy.layer("remote", server, { info }), local))
      const updates = yield* Queue.unbounded<string>()
      const noting = (name: string) =>
        open(name, {
          handlers: { "notifications/resources/updated": ({ uri }) => Queue.offer(updates, `${name} ${uri}`) }
        })
      const scope = yield* Scope.make()
      const ada = yield* noting("ada")
      const bob = yield* Scope.provide(noting("bob"), scope)
      yield* noting("eve")
      yield* Effect.all([ada.subscribeResource("app://one"), bob.subscribeResource("app://one")], {
        concurrency: "unbounded"
      })
      assert.strictEqual(yield* Queue.take(requests), "subscribe app://one")
      const session = yield* Deferred.await(remote)
      // The server has no say about resources of other groups.
      yield* ada.subscribeResource("app://local")
      yield* session.resourceUpdated("app://local")
      yield* session.resourceUpdated("app://one")
      assert.sameMembers(yield* Queue.takeN(updates, 2), ["ada app://one", "bob app://one"])

      yield* ada.unsubscribeResource("app://one")
      yield* session.resourceUpdated("app://one")
      assert.strictEqual(yield* Queue.take(updates), "bob app://one")
      assert.strictEqual(yield* Queue.size(requests), 0)

      // The session of the last subscriber ends without a word.
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* Queue.take(requests), "unsubscribe app://one")
      yield* ada.subscribeResource("app://one")
      assert.strictEqual(yield* Queue.take(requests), "subscribe app://one")
      yield* session.resourceUpdated("app://one")
      assert.strictEqual(yield* Queue.take(updates), "ada app://one")
      assert.strictEqual(yield* Queue.size(updates), 0)
    }).pipe(Effect.scoped))
})

it.live("a server that accepts every subscription opens none to resources of other groups", () =>
  Effect.gen(function*() {
    const server = ServerSession.layerMemory({
      "resources/list": () => Effect.succeed({ resources: [] }),
      "resources/read": () => Effect.succeed({ contents: [] }),
      "resources/subscribe": () => Effect.succeed({}),
      "resources/unsubscribe": () => Effect.succeed({})
    }, { info })
    const notes = McpGroup.make(
      "notes",
      McpResource.template("note", { uri: "notes://{id}" }),
      McpResource.make("secret", { uri: "secret://one" })
    ).toLayer((handlers) =>
      handlers
        .template("note", ({ id }) => Effect.succeed(id), { subscribable: () => Effect.succeed(false) })
        .resource("secret", Effect.succeed("secret"), { visible: Effect.succeed(false) })
    )
    const client = yield* connect(Layer.merge(McpProxy.layer("remote", server, { info }), notes))
    for (const uri of ["notes://7", "secret://one"]) {
      assert.include((yield* Effect.flip(client.subscribeResource(uri))).message, "-32002")
    }
    yield* client.subscribeResource("other://one")
  }).pipe(Effect.scoped))

it.live("a resource that is in no list is read and observed by the proxied server that has it", () =>
  Effect.gen(function*() {
    const server = (name: string) => {
      const known = (uri: string) =>
        uri === `${name}://secret` ? Effect.void : Effect.fail(McpError.invalidParams(`${name} does not know ${uri}`))
      return McpProxy.layer(
        name,
        ServerSession.layerMemory({
          "resources/list": () => Effect.succeed({ resources: [] }),
          "resources/read": ({ uri }) => Effect.as(known(uri), { contents: [{ uri, text: name }] }),
          "resources/subscribe": ({ uri }) => Effect.as(known(uri), {}),
          "resources/unsubscribe": () => Effect.succeed({})
        }, { info }),
        { info }
      )
    }
    const client = yield* connect(Layer.mergeAll(server("a"), server("b"), server("c")))
    for (const name of ["a", "b", "c"]) {
      const uri = `${name}://secret`
      assert.deepStrictEqual((yield* client.readResource(uri)).contents, [{ uri, text: name }])
      yield* client.subscribeResource(uri)
    }
    assert.include((yield* Effect.flip(client.readResource("d://secret"))).message, "does not know d://secret")
    assert.include((yield* Effect.flip(client.subscribeResource("d://secret"))).message, "does not know d://secret")
    const listedOnly = yield* connect(
      McpProxy.layer("everything", everything, { info, unlisted: false }),
      { client: handshake }
    )
    assert.include((yield* Effect.flip(listedOnly.readResource("app://none"))).message, "-32002")
  }).pipe(Effect.scoped))
