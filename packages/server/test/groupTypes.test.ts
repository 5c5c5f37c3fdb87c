import { McpGroup, McpMiddleware, McpPrompt, McpResource, type McpServer, SessionState } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

type Needs<L> = L extends Layer.Layer<never, infer _E, infer R> ? R : never
type Fails<L> = L extends Layer.Layer<never, infer E, infer _R> ? E : never

class DbError extends Data.TaggedError("DbError")<{ readonly cause: unknown }> {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {}
class Repo extends Context.Service<Repo, {
  readonly get: (id: number) => Effect.Effect<string, DbError | NoSuchTask>
}>()("Repo") {}
class Mail extends Context.Service<Mail, { readonly send: Effect.Effect<void> }>()("Mail") {}
class User extends Context.Service<User, { readonly id: string }>()("User") {}
class Tenant extends Context.Service<Tenant, string>()("Tenant") {}
class Auth extends McpMiddleware.Service<Auth, { provides: User }>()("Auth") {}
class Tenants extends McpMiddleware.Service<Tenants, { provides: Tenant; requires: User }>()("Tenants") {}

const Get = Tool.make("get", {
  parameters: Schema.Struct({ id: Schema.Int }),
  success: Schema.String,
  failure: NoSuchTask
})
const Send = Tool.make("send", { parameters: Schema.Struct({ to: Schema.String, at: Schema.DateTimeUtcFromString }) })
const Raw = McpResource.make("raw", { uri: "tasks://raw" })
const Ask = McpPrompt.make("ask", {
  arguments: { style: Schema.Literals(["a", "b"]), many: Schema.optionalKey(Schema.FiniteFromString) }
})
const Bare = McpGroup.make("bare", Get, Send, Raw, Ask)

/** The failure is not the fault of the implementation: only its type matters. */
const get = (id: number): Effect.Effect<string, DbError | NoSuchTask> =>
  id < 0 ? Effect.fail(new DbError({ cause: id })) : Effect.fail(new NoSuchTask({ id }))

describe("the Layer of a group", () => {
  it("needs the services of its handlers, without those of the request and of its middleware", () => {
    const live = Bare.middleware(Tenants).middleware(Auth).toLayer((handlers) =>
      handlers
        .tool("get", ({ id }) => Effect.flatMap(Repo, (repo) => Effect.catchTag(repo.get(id), "DbError", Effect.die)))
        .tool("send", ({ at, to }) => {
          expectTypeOf(to).toEqualTypeOf<string>()
          expectTypeOf(at.epochMilliseconds).toEqualTypeOf<number>()
          return Effect.flatMap(Mail, ({ send }) => send)
        })
        .resource(
          "raw",
          Effect.gen(function*() {
            const user = yield* User
            yield* RequestContext.progress({ progress: 1 })
            return user.id + (yield* Tenant)
          })
        )
        .prompt("ask", ({ many, style }) => {
          expectTypeOf(style).toEqualTypeOf<"a" | "b">()
          expectTypeOf(many).toEqualTypeOf<number | undefined>()
          return Effect.succeed(style)
        }, { complete: { many: () => Effect.map(Repo, () => ["1"]) } })
    )
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer | Auth | Tenants | Repo | Mail>()
    expectTypeOf<Fails<typeof live>>().toEqualTypeOf<never>()
  })

  it("needs the services that no middleware provides", () => {
    const live = McpGroup.make("bare", Get).toLayer((handlers) =>
      handlers.tool("get", () => Effect.map(User, ({ id }) => id), {
        visible: Effect.map(Tenant, (tenant) => tenant !== "")
      })
    )
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer | User | Tenant>()
  })

  it("needs the service that a middleware requires and an inner one provides: that one runs too late", () => {
    const live = McpGroup.make("bare", Get).middleware(Auth).middleware(Tenants).toLayer((handlers) =>
      handlers.tool("get", () => Effect.succeed(""))
    )
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer | Auth | Tenants | User>()
  })

  it("has the services and the errors of an effect that returns handlers", () => {
    const live = McpGroup.make("bare", Get).toLayer(Effect.fnUntraced(function*(handlers) {
      const repo = yield* Repo
      if (Math.random() < 0) return yield* new DbError({ cause: 1 })
      return handlers.tool("get", ({ id }) => repo.get(id).pipe(Effect.catchTag("DbError", Effect.die)))
    }))
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer | Repo>()
    expectTypeOf<Fails<typeof live>>().toEqualTypeOf<DbError>()
  })

  it("needs no any of a combinator", () => {
    const live = McpGroup.make("bare", Get).toLayer((handlers) =>
      handlers.tool("get", ({ id }) => Effect.catchTag(get(id), "DbError", Effect.die))
    )
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer>()
  })

  it("has the tools of a toolkit", () => {
    const group = McpGroup.make("kit", Toolkit.make(Get, Send))
    const live = group.toLayer((handlers) =>
      handlers.tool("get", () => Effect.succeed("")).tool("send", () => Effect.void)
    )
    expectTypeOf<Needs<typeof live>>().toEqualTypeOf<McpServer.McpServer>()
  })
})

describe("a middleware", () => {
  it("needs the services of its effect, without those of the request and of the middleware around it", () => {
    const auth = McpMiddleware.layer(
      Auth,
      User,
      Effect.gen(function*() {
        const { principal } = yield* RequestContext.RequestContext
        yield* Repo
        return { id: principal?.id ?? "" }
      })
    )
    expectTypeOf<typeof auth>().toEqualTypeOf<Layer.Layer<Auth, never, Repo>>()
    const tenants = McpMiddleware.layer(Tenants, Tenant, Effect.map(User, ({ id }) => id))
    expectTypeOf<typeof tenants>().toEqualTypeOf<Layer.Layer<Tenants>>()
  })
})

describe("the state of a session", () => {
  it("can fail without a session", () => {
    const count = SessionState.make("count", () => 0)
    expectTypeOf(count.get).toEqualTypeOf<
      Effect.Effect<number, SessionState.NoSessionError, RequestContext.RequestContext>
    >()
  })
})
