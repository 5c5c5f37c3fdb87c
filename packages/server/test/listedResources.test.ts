import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpMount, McpResource, type McpServer } from "@effect-mcp/server"
import { type ClientSession, RequestContext } from "@effect-mcp/session"
import { assert, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import { describeForBothEras } from "./support/eras.ts"

class User extends Context.Service<User, string>()("User") {}
class Users extends McpMiddleware.Service<Users, { provides: User }>()("Users") {}

const users = McpMiddleware.layer(
  Users,
  User,
  Effect.flatMap(
    RequestContext.RequestContext,
    ({ principal }) =>
      principal?.id === "eve"
        ? Effect.fail(McpError.invalidRequest("not eve"))
        : Effect.succeed(principal?.id ?? "anonymous")
  )
)

const Notes = McpGroup.make(
  "notes",
  McpResource.make("cover", { uri: "notes://ada/2" }),
  McpResource.template("note", {
    uri: "notes://{owner}/{id}",
    parameters: { id: Schema.FiniteFromString },
    mimeType: "text/plain"
  })
).middleware(Users)

const notesLive = Notes.toLayer((handlers) =>
  handlers
    .resource("cover", Effect.succeed("cover"))
    .template("note", ({ id, owner }) => Effect.succeed(`${owner} ${id}`), {
      list: Effect.map(User, (owner) =>
        [3, 1, 2].map((id) => ({ name: `note ${id}`, parameters: { owner, id }, title: `The note ${id}`, size: id })))
    })
)

const all = Effect.fnUntraced(function*(session: ClientSession.ClientSessionShape) {
  const listed: Array<string> = []
  let cursor: string | undefined
  do {
    const page = yield* session.listResources(cursor === undefined ? {} : { cursor })
    listed.push(...page.resources.map(({ name, uri }) => `${name} ${uri}`))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return listed
})

describeForBothEras("a template that lists its resources", ({ connect, serve }) => {
  it.effect("leaves undefined parameters out of their URIs", () =>
    Effect.gen(function*() {
      const Page = McpResource.template("page", {
        uri: "book://{chapter}{?page}",
        parameters: { page: Schema.optional(Schema.FiniteFromString) }
      })
      const session = yield* connect(
        McpGroup.make("book", Page).toLayer((handlers) =>
          handlers.template("page", () => Effect.succeed(""), {
            list: Effect.succeed([
              { name: "first", parameters: { chapter: "1", page: undefined } },
              { name: "second", parameters: { chapter: "1", page: 2 } }
            ])
          })
        )
      )
      assert.deepStrictEqual(yield* all(session), ["first book://1", "second book://1?page=2"])
    }).pipe(Effect.scoped))

  it("needs the services of its list", () => {
    expectTypeOf<Layer.Services<typeof notesLive>>().toEqualTypeOf<McpServer.McpServer | Users>()
  })

  it.effect("lists those of each client, sorted among the fixed ones, which win", () =>
    Effect.gen(function*() {
      const as = yield* serve(Layer.provide(notesLive, users))
      assert.deepStrictEqual(yield* all(yield* as("ada")), [
        "note 1 notes://ada/1",
        "cover notes://ada/2",
        "note 3 notes://ada/3"
      ])
      const bob = yield* as("bob/é")
      const { resources } = yield* bob.listResources()
      assert.deepStrictEqual(resources[1], {
        name: "note 1",
        uri: "notes://bob%2F%C3%A9/1",
        title: "The note 1",
        mimeType: "text/plain",
        size: 1
      })
      // What is listed can be read.
      const { contents } = yield* bob.readResource("notes://bob%2F%C3%A9/1")
      assert.deepStrictEqual(contents, [{ uri: "notes://bob%2F%C3%A9/1", mimeType: "text/plain", text: "bob/é 1" }])
      // The middleware rejects this client, so it sees only what does not depend on it.
      assert.deepStrictEqual(yield* all(yield* as("eve")), ["cover notes://ada/2"])
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))

  it.effect("has pages, and prefixes under a mount", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpMount.prefixed("work", Layer.provide(notesLive, users)), {
        principal: { id: "ada" },
        server: { pageSize: 1 }
      })
      const listed = yield* all(session)
      assert.deepStrictEqual(listed, [
        "work_note 1 notes://work/ada/1",
        "work_cover notes://work/ada/2",
        "work_note 3 notes://work/ada/3"
      ])
      assert.strictEqual((yield* session.readResource("notes://work/ada/3")).contents.length, 1)
    }).pipe(Effect.scoped))

  for (const [name, list] of [["fails", Effect.fail(McpError.internalError)], ["dies", Effect.die("down")]] as const) {
    it.effect(`lists nothing if its list ${name}, and the others stay`, () =>
      Effect.gen(function*() {
        const live = McpGroup.make(
          "one",
          McpResource.make("a", { uri: "a:a" }),
          McpResource.template("b", { uri: "b:{c}" })
        )
          .toLayer((handlers) =>
            handlers.resource("a", Effect.succeed("")).template("b", () => Effect.succeed(""), { list })
          )
        assert.deepStrictEqual(yield* all(yield* connect(live)), ["a a:a"])
      }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))
  }
})
