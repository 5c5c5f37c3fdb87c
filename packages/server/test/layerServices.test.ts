import { McpGroup, McpMiddleware, McpResource } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describeForBothEras } from "./support/eras.ts"

class Database extends Context.Service<Database, string>()("Database") {}
class User extends Context.Service<User, string>()("User") {}
class Tenant extends Context.Service<Tenant, string>()("Tenant") {}

class Users extends McpMiddleware.Service<Users, { provides: User }>()("Users") {}
class Tenants extends McpMiddleware.Service<Tenants, { provides: Tenant; requires: User }>()("Tenants") {}

const database = (name: string) => Layer.succeed(Database, name)

const usersLive = McpMiddleware.layer(
  Users,
  User,
  Effect.gen(function*() {
    const { principal } = yield* RequestContext.RequestContext
    return `${principal?.id} in ${yield* Database}`
  })
)

const tenantsLive = McpMiddleware.layer(
  Tenants,
  Tenant,
  Effect.gen(function*() {
    return `(${yield* User}) of ${yield* Database}`
  })
)

const Whoami = McpGroup.make("whoami", McpResource.make("me", { uri: "app://me" })).middleware(Tenants).middleware(
  Users
)

const whoamiLive = Whoami.toLayer((handlers) =>
  handlers.resource(
    "me",
    Effect.gen(function*() {
      return `${yield* User}, ${yield* Tenant}, ${yield* Database}`
    })
  )
)

describeForBothEras("the Layer of a group and the Layer of a middleware", ({ connect }) => {
  it.effect("each have their own service of one key, and the middleware has those of the outer middleware", () =>
    Effect.gen(function*() {
      const groups = whoamiLive.pipe(
        Layer.provide(database("tasks")),
        Layer.provide(Layer.provide(tenantsLive, database("tenants"))),
        Layer.provide(Layer.provide(usersLive, database("users")))
      )
      const session = yield* connect(groups, { principal: { id: "ada" } })
      const { contents } = yield* session.readResource("app://me")
      assert.deepStrictEqual(contents, [
        { uri: "app://me", text: "ada in users, (ada in users) of tenants, tasks" }
      ])
    }).pipe(Effect.scoped, Effect.provide(database("program"))))

  it.effect("have the user of the request, and not one that their program has", () =>
    Effect.gen(function*() {
      const groups = whoamiLive.pipe(
        Layer.provide(Layer.mergeAll(tenantsLive, usersLive)),
        Layer.provide(Layer.mergeAll(database("app"), Layer.succeed(User, "anonymous"), Layer.succeed(Tenant, "none")))
      )
      const session = yield* connect(groups, { principal: { id: "bob" } })
      const { contents } = yield* session.readResource("app://me")
      assert.deepStrictEqual(contents, [{ uri: "app://me", text: "bob in app, (bob in app) of app, app" }])
    }).pipe(Effect.scoped))
})
