import { McpError, Resource } from "@effect-mcp/protocol"
import { McpGroup, McpResource } from "@effect-mcp/server"
import { assert, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

const Task = Schema.Struct({ id: Schema.Int, due: Schema.Date })

const One = McpResource.template("task", {
  uri: "tasks://{owner}/{id}{?fields,limit}",
  parameters: { id: Schema.FiniteFromString, fields: Schema.optionalKey(Schema.Array(Schema.String)) }
})

const Tasks = McpGroup.make(
  "tasks",
  McpResource.make("all", {
    uri: "tasks://all",
    title: "All tasks",
    description: "Every task",
    content: Schema.Array(Task),
    size: 100,
    annotations: { audience: ["assistant"], priority: 0.5 },
    icons: [{ src: "https://example.com/tasks.svg" }],
    meta: { "example.com/owner": "ada" }
  }),
  McpResource.make("readme", { uri: "tasks://readme", mimeType: "text/markdown" }),
  McpResource.make("logo", { uri: "tasks://logo", mimeType: "image/png" }),
  McpResource.make("folder", { uri: "tasks://folder" }),
  McpResource.make("whole", { uri: "tasks://whole" }),
  One
)

const live = Tasks.toLayer((handlers) =>
  handlers
    .resource("all", Effect.succeed([{ id: 1, due: new Date(0) }]))
    .resource("readme", Effect.succeed("# Tasks"))
    .resource("logo", Effect.succeed(new Uint8Array([0x89, 0x50])))
    .resource("folder", Effect.succeed([Resource.text("tasks://folder/a", "a", "text/plain")]))
    .resource(
      "whole",
      Effect.succeed({ contents: [Resource.text("tasks://whole", "a")], _meta: { "example.com/n": 1 } })
    )
    .template("task", (parameters, uri) =>
      parameters.id === 7
        ? Effect.fail(McpError.resourceNotFound(uri))
        : Effect.succeed(JSON.stringify(parameters)))
)

describeForBothEras("a resource", ({ connect }) => {
  it.effect("is listed as it is defined", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      assert.deepStrictEqual((yield* session.listResources()).resources[0], {
        uri: "tasks://all",
        name: "all",
        title: "All tasks",
        description: "Every task",
        mimeType: "application/json",
        size: 100,
        annotations: { audience: ["assistant"], priority: 0.5 },
        icons: [{ src: "https://example.com/tasks.svg" }],
        _meta: { "example.com/owner": "ada" }
      })
    }).pipe(Effect.scoped))

  it.effect("has JSON of its schema, text, bytes as base64, or contents of its own [RES-08]", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const read = (uri: string) => Effect.map(session.readResource(uri), ({ contents }) => contents)
      assert.deepStrictEqual(yield* read("tasks://all"), [{
        uri: "tasks://all",
        mimeType: "application/json",
        text: "[{\"id\":1,\"due\":\"1970-01-01T00:00:00.000Z\"}]"
      }])
      assert.deepStrictEqual(yield* read("tasks://readme"), [
        { uri: "tasks://readme", mimeType: "text/markdown", text: "# Tasks" }
      ])
      assert.deepStrictEqual(yield* read("tasks://logo"), [
        { uri: "tasks://logo", mimeType: "image/png", blob: "iVA=" }
      ])
      assert.deepStrictEqual(yield* read("tasks://folder"), [
        { uri: "tasks://folder/a", mimeType: "text/plain", text: "a" }
      ])
      assert.deepInclude(yield* session.readResource("tasks://whole"), {
        contents: [{ uri: "tasks://whole", text: "a" }],
        _meta: { "example.com/n": 1 }
      })
    }).pipe(Effect.scoped))

  it.effect("that does not exist is an error with its URI, and never empty contents [RES-05]", () =>
    Effect.gen(function*() {
      const session = yield* connect(live, { client: handshake })
      for (
        const uri of ["tasks://none", "tasks://ada/x", "tasks://ada/1?other=1", "tasks://ada/%ZZ", "tasks://ada/7"]
      ) {
        const { reason } = yield* Effect.flip(session.readResource(uri))
        assert.strictEqual(reason._tag, "ErrorResponse")
        if (reason._tag !== "ErrorResponse") continue
        assert.deepStrictEqual([reason.error.code, reason.error.data], [-32002, { uri }])
      }
    }).pipe(Effect.scoped))

  for (const uri of ["/tasks", "tasks", "1x://a", "app://a b", "app://é", "app://a%2", "app://a\\b", "app://<a>"]) {
    it.effect(`with the URI ${uri}, which is none of RFC 3986, is a defect that names it [RES-08] [RES-10]`, () =>
      Effect.gen(function*() {
        const bad = McpGroup.make("bad", McpResource.make("bad", { uri }))
        const exit = yield* Effect.exit(
          connect(bad.toLayer((handlers) => handlers.resource("bad", Effect.succeed(""))))
        )
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isFailure(exit)) {
          assert.include(
            String(Cause.squash(exit.cause)),
            `the resource "bad" has the URI ${JSON.stringify(uri)}, which is none of RFC 3986`
          )
        }
      }).pipe(Effect.scoped))
  }

  it.effect("may have a URI of any scheme, with percent-encoded characters [RES-10]", () =>
    Effect.gen(function*() {
      for (const uri of ["x-app+1.0:a", "app://user@[::1]:80/a;b=c/%C3%A9?d=e&f#g", "urn:isbn:0", "file:///C:/a"]) {
        const good = McpGroup.make("good", McpResource.make("good", { uri }))
        const session = yield* connect(good.toLayer((handlers) => handlers.resource("good", Effect.succeed("good"))))
        assert.deepStrictEqual((yield* session.readResource(uri)).contents, [{ uri, text: "good" }])
      }
    }).pipe(Effect.scoped))
})

describeForBothEras("the URI of a template", ({ connect }) => {
  it.effect("begins with a scheme, or with a variable that may have one [RES-10]", () =>
    Effect.gen(function*() {
      const serving = (uri: string) => {
        const group = McpGroup.make("one", McpResource.template("one", { uri }))
        return connect(group.toLayer((handlers) => handlers.template("one", () => Effect.succeed(""))))
      }
      for (const uri of ["tasks/{id}", "{id}", "1x:{id}"]) {
        const exit = yield* Effect.exit(serving(uri))
        assert.strictEqual(Exit.isSuccess(exit), uri === "{id}")
      }
    }).pipe(Effect.scoped))
})

describeForBothEras("a template", ({ connect }) => {
  it("has parameters of the types that its URI template and its schemas give", () => {
    expectTypeOf<Schema.Struct.Type<(typeof One)["parameters"]>>().toEqualTypeOf<{
      readonly owner: string
      readonly id: number
      readonly fields?: ReadonlyArray<string>
      readonly limit?: string
    }>()
    const exploded = McpResource.template("exploded", { uri: "files:///{dir}{?tags*}" })
    expectTypeOf<Schema.Struct.Type<(typeof exploded)["parameters"]>>().toEqualTypeOf<{
      readonly dir: string
      readonly tags?: ReadonlyArray<string>
    }>()
  })

  it.effect("decodes its variables once, whatever the order of the query", () =>
    Effect.gen(function*() {
      const session = yield* connect(live)
      const read = (uri: string) =>
        Effect.map(session.readResource(uri), ({ contents: [contents] }) =>
          contents !== undefined && "text" in contents ? JSON.parse(contents.text) : undefined)
      assert.deepStrictEqual(yield* read("tasks://ada/1"), { owner: "ada", id: 1 })
      assert.deepStrictEqual(yield* read("tasks://a%252Fb/1?limit=3&fields=id,due"), {
        owner: "a%2Fb",
        id: 1,
        fields: ["id", "due"],
        limit: "3"
      })
    }).pipe(Effect.scoped))

  it.effect("a variable of a query may be left out, whatever its schema is", () =>
    Effect.gen(function*() {
      const template = McpResource.template("page", {
        uri: "pages://{id}{?limit,from,order}",
        parameters: {
          limit: Schema.FiniteFromString,
          from: Schema.FiniteFromString.pipe(Schema.withDecodingDefaultKey(Effect.succeed("7"))),
          order: Schema.optionalKey(Schema.String)
        }
      })
      const group = McpGroup.make("pages", template).toLayer((handlers) =>
        handlers.template("page", ({ from, id, limit, order }) => {
          const pages: number | undefined = limit
          return Effect.succeed(JSON.stringify([id, from, pages, order]))
        })
      )
      const client = yield* connect(group)
      const read = (uri: string) =>
        Effect.map(client.readResource(uri), ({ contents: [first] }) =>
          first !== undefined && "text" in first ? first.text : undefined)
      assert.strictEqual(yield* read("pages://a"), `["a",7,null,null]`)
      assert.strictEqual(yield* read("pages://a?limit=3&order=x"), `["a",7,3,"x"]`)
      assert.isTrue(Exit.isFailure(yield* Effect.exit(read("pages://a?limit=x"))))
    }).pipe(Effect.scoped))

  it("has no parameter that is a record", () => {
    expectTypeOf<McpResource.OnlyVariables<"x:{?m}", { readonly m: Schema.$Record<Schema.String, Schema.String> }>>()
      .toEqualTypeOf<
        {
          readonly m: "a variable of a URI is text; use a schema whose encoded side is a string, or a list of strings"
        }
      >()
  })

  it.effect("has a list of values for an optional list", () =>
    Effect.gen(function*() {
      const Search = McpResource.template("search", {
        uri: "tasks://search{?fields,by}",
        parameters: {
          fields: Schema.optional(Schema.Array(Schema.String)),
          by: Schema.optional(Schema.Literals(["id", "due"]))
        }
      })
      assert.deepStrictEqual(Search.uriTemplate.shapes, { fields: "List", by: "String" })
      const session = yield* connect(
        McpGroup.make("search", Search).toLayer((handlers) =>
          handlers.template("search", (parameters) => Effect.succeed(JSON.stringify(parameters)))
        )
      )
      const { contents } = yield* session.readResource("tasks://search?fields=id,due&by=id")
      assert.deepStrictEqual(contents, [
        Resource.text("tasks://search?fields=id,due&by=id", JSON.stringify({ fields: ["id", "due"], by: "id" }))
      ])
    }).pipe(Effect.scoped))

  it.effect("that is more literal than another one is used", () =>
    Effect.gen(function*() {
      const any = McpGroup.make("any", McpResource.template("any", { uri: "x://{id}" }))
      const special = McpGroup.make("special", McpResource.template("special", { uri: "x://special-{id}" }))
      const session = yield* connect(Layer.merge(
        any.toLayer((handlers) => handlers.template("any", () => Effect.succeed("any"))),
        special.toLayer((handlers) => handlers.template("special", () => Effect.succeed("special")))
      ))
      const read = (uri: string) => Effect.map(session.readResource(uri), ({ contents }) => contents[0])
      assert.deepStrictEqual(yield* read("x://special-1"), { uri: "x://special-1", text: "special" })
      assert.deepStrictEqual(yield* read("x://1"), { uri: "x://1", text: "any" })
    }).pipe(Effect.scoped))

  it.effect("that matches what another one matches, and is as literal, is a defect that names both", () =>
    Effect.gen(function*() {
      const one = McpGroup.make("one", McpResource.template("a", { uri: "x://{id}" }))
      const two = McpGroup.make("two", McpResource.template("b", { uri: "x://{name}" }))
      const exit = yield* Effect.exit(connect(Layer.merge(
        one.toLayer((handlers) => handlers.template("a", () => Effect.succeed(""))),
        two.toLayer((handlers) => handlers.template("b", () => Effect.succeed("")))
      )))
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        const message = String(Cause.squash(exit.cause))
        for (const part of ["x://{id}", "x://{name}", "\"one\"", "\"two\""]) assert.include(message, part)
      }
    }).pipe(Effect.scoped))
})
