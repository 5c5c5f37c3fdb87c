import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpMount, McpResource } from "@effect-mcp/server"
import { RequestContext, type RequestError, type ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Subscriptions } from "../src/internal/registry/Subscriptions.ts"
import { connect, handshake } from "./support/connect.ts"
import { serve } from "./support/hosted.ts"

const pages = McpGroup.make("pages", McpResource.template("page", { uri: "page://{name}" })).toLayer((handlers) =>
  handlers.template("page", ({ name }) => Effect.succeed(name))
)

/** Returns the code and the message of a request that the server rejects. */
const rejected = <A, R>(request: Effect.Effect<A, RequestError.RequestError, R>) =>
  Effect.map(Effect.flip(request), ({ reason }) =>
    reason._tag === "ErrorResponse"
      ? [reason.error.code, reason.error.message]
      : [reason._tag])

describe("the subscriptions of a session", () => {
  it.effect("are limited in number, and one that ends makes room for another", () =>
    Effect.gen(function*() {
      const session = yield* connect(pages, { client: handshake, server: { maxSubscriptions: 2 } })
      for (const name of ["a", "b", "a"]) yield* session.subscribeResource(`page://${name}`)
      assert.deepStrictEqual(yield* rejected(session.subscribeResource("page://c")), [
        -32600,
        "the session has 2 subscriptions already; unsubscribe from some first"
      ])
      yield* session.unsubscribeResource("page://a")
      yield* session.subscribeResource("page://c")
    }).pipe(Effect.scoped))

  it.effect("are limited in the characters of their URIs", () =>
    Effect.gen(function*() {
      const session = yield* connect(pages, { client: handshake })
      // Eight of them have exactly as many as are allowed.
      const uri = (name: number) => `page://${name}${"x".repeat(8_192)}`.slice(0, 8_192)
      for (let name = 0; name < 8; name++) yield* session.subscribeResource(uri(name))
      const problem = "the URIs of the session's subscriptions may have 65536 characters together; " +
        "unsubscribe from some first"
      assert.deepStrictEqual(yield* rejected(session.subscribeResource("page://z")), [-32600, problem])
      yield* session.unsubscribeResource(uri(3))
      yield* session.subscribeResource("page://z")
    }).pipe(Effect.scoped))

  it.effect("are for resources of a template whose parameters fit", () =>
    Effect.gen(function*() {
      const numbered = McpGroup.make(
        "numbered",
        McpResource.template("number", { uri: "number://{value}", parameters: { value: Schema.FiniteFromString } })
      ).toLayer((handlers) => handlers.template("number", ({ value }) => Effect.succeed(String(value))))
      const session = yield* connect(numbered, { client: handshake })
      yield* session.subscribeResource("number://7")
      assert.deepStrictEqual(yield* rejected(session.subscribeResource("number://seven")), [
        -32002,
        "Resource not found: number://seven"
      ])
    }).pipe(Effect.scoped))

  it.effect("are for resources that `subscribable` allows, with the services of the group's middleware", () =>
    Effect.gen(function*() {
      class User extends Context.Service<User, string>()("User") {}
      class Users extends McpMiddleware.Service<Users, { provides: User }>()("Users") {}
      const files = McpGroup.make(
        "files",
        McpResource.template("file", { uri: "file://{owner}/{name}" })
      ).middleware(Users).toLayer((handlers) =>
        handlers.template("file", ({ name }) => Effect.succeed(name), {
          subscribable: ({ name, owner }) =>
            name === "failing"
              ? Effect.fail(McpError.invalidRequest("no"))
              : Effect.map(User, (user) => user === owner)
        })
      ).pipe(Layer.provide(McpMiddleware.layer(Users, User, Effect.succeed("ada"))))
      const session = yield* connect(files, { client: handshake })
      yield* session.subscribeResource("file://ada/a")
      for (const uri of ["file://bob/a", "file://ada/failing"]) {
        assert.deepStrictEqual(yield* rejected(session.subscribeResource(uri)), [-32002, `Resource not found: ${uri}`])
      }
    }).pipe(Effect.scoped))

  it.effect("are for URIs of at most 8,192 characters", () =>
    Effect.gen(function*() {
      const session = yield* connect(pages, { client: handshake })
      const [code] = yield* Effect.map(
        rejected(session.subscribeResource(`page://${"x".repeat(8_186)}`)),
        (found) => Array.isArray(found) ? found : [found]
      )
      assert.strictEqual(code, -32002)
    }).pipe(Effect.scoped))

  it("of a session that has ended are not kept", () => {
    const subscriptions = new Subscriptions(10)
    const session: ServerSession.ServerSessionShape = Object.create(null)
    Effect.runSync(subscriptions.add(session, "page://a", Effect.void))
    assert.deepStrictEqual(subscriptions.of("page://a"), [session])
    subscriptions.end(session)
    Effect.runSync(subscriptions.add(session, "page://a", Effect.void))
    assert.deepStrictEqual(subscriptions.of("page://a"), [])
  })
})

class Guard extends McpMiddleware.Service<Guard>()("Guard") {}

it.live("a client that the middleware rejects cannot subscribe to a fixed resource [RES-03]", () =>
  Effect.gen(function*() {
    let runs = 0
    const guard = Layer.succeed(Guard, (handler) =>
      Effect.gen(function*() {
        runs++
        const { principal } = yield* RequestContext.RequestContext
        return principal?.id === "eve" ? yield* McpError.invalidRequest("Not you") : yield* handler
      }))
    const live = McpGroup.make(
      "own",
      McpResource.make("one", { uri: "app://one" }),
      McpResource.template("item", { uri: "app://items/{id}" })
    ).middleware(Guard).toLayer((handlers) =>
      handlers.resource("one", Effect.succeed("one")).template("item", ({ id }) => Effect.succeed(id))
    ).pipe(Layer.provide(guard))
    const open = yield* serve(Layer.merge(live, McpMount.prefixed("far", live)), handshake)
    const [ada, eve] = [yield* open("ada"), yield* open("eve")]
    for (const uri of ["app://one", "app://items/7", "app://far/one", "app://far/items/7"]) {
      runs = 0
      yield* ada.subscribeResource(uri)
      assert.strictEqual(runs, 1)
      assert.deepStrictEqual((yield* rejected(eve.subscribeResource(uri)))[0], -32002)
    }
  }).pipe(Effect.scoped))
