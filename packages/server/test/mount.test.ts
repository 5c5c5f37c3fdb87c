import { Content, McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpPrompt, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { describeForBothEras } from "./support/eras.ts"

const Tasks = McpGroup.make(
  "tasks",
  Tool.make("add", { success: Schema.Int }),
  Tool.make("links", { success: McpTool.Content }),
  Tool.make("admin"),
  McpResource.make("all", { uri: "tasks://all" }),
  McpResource.template("task", { uri: "tasks://one/{id}", parameters: { id: Schema.FiniteFromString } }),
  McpPrompt.make("plan", { arguments: { day: Schema.Literals(["monday", "sunday"]) } })
)

/** Each build counts for itself. */
const TasksLive = Tasks.toLayer((handlers) =>
  Effect.gen(function*() {
    const count = yield* Ref.make(0)
    const server = yield* McpServer.McpServer
    return handlers
      .tool("add", () =>
        Effect.tap(Ref.updateAndGet(count, (before) => before + 1), server.resourceUpdated("tasks://all")))
      .tool("links", () =>
        Effect.succeed([
          Content.link({ uri: "tasks://one/7", name: "7" }),
          Content.link({ uri: "https://example.com/7", name: "elsewhere" }),
          Content.resource({ uri: "tasks://all", text: "all" }),
          Content.link({ uri: "notes://one", name: "of the other group" })
        ]))
      .tool("admin", () =>
        Effect.void, {
        visible: Effect.map(RequestContext.RequestContext, ({ principal }) => principal?.id === "ada")
      })
      .resource("all", Effect.map(Ref.get(count), String))
      .template("task", ({ id }, uri) => Effect.succeed(`${id} of ${uri}`), {
        complete: { id: () => Effect.succeed(["7", "8"]) }
      })
      .prompt("plan", ({ day }) => Effect.succeed(day))
  })
)

const NotesLive = McpGroup.make("notes", McpResource.make("one", { uri: "notes://one" })).toLayer((handlers) =>
  handlers.resource("one", Effect.succeed("one"))
)

const both = Layer.merge(
  McpMount.prefixed("work", Layer.merge(TasksLive, NotesLive)),
  McpMount.prefixed("home", TasksLive)
)

const namesOf = <A extends { readonly name: string }>(all: ReadonlyArray<A>) => all.map(({ name }) => name)

const problemOf = <A, E>(exit: Exit.Exit<A, E>) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : "none"

describeForBothEras("one Layer under two prefixes", ({ connect, isModern }) => {
  it.effect("is two groups, each with its own state, names and URIs", () =>
    Effect.gen(function*() {
      const session = yield* connect(both)
      assert.deepStrictEqual(namesOf((yield* session.listTools()).tools), [
        "home_add",
        "home_links",
        "work_add",
        "work_links"
      ])
      assert.deepStrictEqual(namesOf((yield* session.listPrompts()).prompts), ["home_plan", "work_plan"])
      assert.deepStrictEqual(
        (yield* session.listResources()).resources.map(({ name, uri }) => [name, uri]),
        [["work_one", "notes://work/one"], ["home_all", "tasks://home/all"], ["work_all", "tasks://work/all"]]
      )
      assert.deepStrictEqual(
        (yield* session.listResourceTemplates()).resourceTemplates.map(({ name, uriTemplate }) => [name, uriTemplate]),
        [["home_task", "tasks://home/one/{id}"], ["work_task", "tasks://work/one/{id}"]]
      )
      yield* session.callTool("work_add")
      yield* session.callTool("work_add")
      yield* session.callTool("home_add")
      assert.deepStrictEqual((yield* session.readResource("tasks://work/all")).contents, [
        { uri: "tasks://work/all", text: "2" }
      ])
      assert.deepStrictEqual((yield* session.readResource("tasks://home/all")).contents, [
        { uri: "tasks://home/all", text: "1" }
      ])
      assert.include((yield* Effect.flip(session.readResource("tasks://all"))).message, "tasks://all")
      assert.include((yield* Effect.flip(session.callTool("add"))).message, "Unknown tool: add")
    }).pipe(Effect.scoped))

  it.effect("serves prompts, templates and completions by their outer names, with inner ones for handlers", () =>
    Effect.gen(function*() {
      const session = yield* connect(both)
      assert.deepStrictEqual((yield* session.getPrompt("work_plan", { day: "monday" })).messages, [
        { role: "user", content: { type: "text", text: "monday" } }
      ])
      assert.deepStrictEqual((yield* session.readResource("tasks://work/one/7")).contents, [
        { uri: "tasks://work/one/7", text: "7 of tasks://one/7" }
      ])
      const complete = (ref: Parameters<typeof session.complete>[0]["ref"], name: string) =>
        Effect.map(session.complete({ ref, argument: { name, value: "" } }), ({ completion }) => completion.values)
      assert.deepStrictEqual(yield* complete({ type: "ref/prompt", name: "home_plan" }, "day"), ["monday", "sunday"])
      assert.deepStrictEqual(
        yield* complete({ type: "ref/resource", uri: "tasks://home/one/{id}" }, "id"),
        ["7", "8"]
      )
    }).pipe(Effect.scoped))

  it.effect("gives links into the mount their prefix, and leaves those that lead elsewhere", () =>
    Effect.gen(function*() {
      const session = yield* connect(both)
      const uris = (name: string) =>
        Effect.map(
          session.callTool(name),
          ({ content }) =>
            content.map((block) => block.type === "resource" ? block.resource.uri : "uri" in block ? block.uri : "")
        )
      assert.deepStrictEqual(yield* uris("work_links"), [
        "tasks://work/one/7",
        "https://example.com/7",
        "tasks://work/all",
        "notes://work/one"
      ])
      assert.strictEqual((yield* uris("home_links"))[3], "notes://one")
    }).pipe(Effect.scoped))

  it.effect("notifies the subscribers of the mount whose resource was updated", () =>
    Effect.gen(function*() {
      const updated = yield* Deferred.make<string>()
      const session = yield* connect(both, {
        client: {
          handlers: { "notifications/resources/updated": ({ uri }) => Deferred.succeed(updated, uri) }
        }
      })
      yield* session.subscribeResource("tasks://work/all")
      yield* session.callTool("home_add")
      yield* session.callTool("work_add")
      assert.strictEqual(yield* Deferred.await(updated), "tasks://work/all")
      const error = yield* Effect.flip(session.subscribeResource("tasks://all"))
      assert.include(
        error.message,
        isModern ? "the server does not notify of changes of \"tasks://all\"" : "-32002: Resource not found"
      )
    }).pipe(Effect.scoped))

  it.effect("decides about subscriptions by the inner URI", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const notes = McpGroup.make("notes", McpResource.template("note", { uri: "notes://{id}" })).toLayer((handlers) =>
        handlers.template("note", ({ id }) => Effect.succeed(id), {
          subscribable: ({ id }, uri) => Effect.sync(() => asked.push(uri) > 0 && id === "mine")
        })
      )
      const session = yield* connect(McpMount.prefixed("work", notes))
      yield* session.subscribeResource("notes://work/mine")
      const { reason } = yield* Effect.flip(session.subscribeResource("notes://work/yours"))
      const uri = "notes://work/yours"
      assert.deepStrictEqual<unknown>(
        reason,
        isModern
          ? { _tag: "NotSubscribable", uri }
          : { _tag: "ErrorResponse", error: McpError.resourceNotFound(uri) }
      )
      // Each new stream of notifications asks again.
      assert.deepStrictEqual([...new Set(asked)], ["notes://mine", "notes://yours"])
    }).pipe(Effect.scoped))

  it.effect("keeps the visibility of its members", () =>
    Effect.gen(function*() {
      const ada = yield* connect(both, { principal: { id: "ada" } })
      assert.includeMembers(namesOf((yield* ada.listTools()).tools), ["home_admin", "work_admin"])
      const bob = yield* connect(both, { principal: { id: "bob" } })
      assert.include((yield* Effect.flip(bob.callTool("work_admin"))).message, "Unknown tool: work_admin")
    }).pipe(Effect.scoped))
})

describeForBothEras("a mount", ({ connect }) => {
  it.effect("within a mount has both prefixes, the outer one first", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpMount.prefixed("a", McpMount.prefixed("b", TasksLive, { separator: "." })))
      assert.include(namesOf((yield* session.listTools()).tools), "a_b.add")
      assert.deepStrictEqual((yield* session.readResource("tasks://a/b/one/7")).contents, [
        { uri: "tasks://a/b/one/7", text: "7 of tasks://one/7" }
      ])
    }).pipe(Effect.scoped))

  it.effect("inserts its prefix after the scheme, with slashes and without, and removes it for handlers", () =>
    Effect.gen(function*() {
      const uris = ["urn:a:b", "file:///a", "x://", "app://a/b?c#d"]
      const live = Layer.mergeAll(
        Layer.empty,
        ...uris.map((uri) =>
          McpGroup.make(uri, McpResource.make(uri, { uri })).toLayer((handlers) =>
            handlers.resource(uri, Effect.succeed(uri))
          )
        )
      )
      const session = yield* connect(McpMount.prefixed("m", live))
      const read = yield* Effect.forEach(
        ["urn:m/a:b", "file://m//a", "x://m/", "app://m/a/b?c#d"],
        (uri) => Effect.map(session.readResource(uri), ({ contents }) => contents)
      )
      assert.deepStrictEqual(
        read.flatMap((contents) => contents.map((content) => "text" in content && content.text)),
        uris
      )
    }).pipe(Effect.scoped))

  it.effect("keeps the URIs if it should", () =>
    Effect.gen(function*() {
      const session = yield* connect(McpMount.prefixed("work", TasksLive, { uris: "unchanged" }))
      assert.deepStrictEqual((yield* session.readResource("tasks://one/7")).contents, [
        { uri: "tasks://one/7", text: "7 of tasks://one/7" }
      ])
      const exit = yield* Effect.exit(connect(Layer.merge(
        McpMount.prefixed("work", TasksLive, { uris: "unchanged" }),
        McpMount.prefixed("home", TasksLive, { uris: "unchanged" })
      )))
      for (const part of ["\"work_tasks\"", "\"home_tasks\"", "tasks://all"]) assert.include(problemOf(exit), part)
    }).pipe(Effect.scoped))

  it.effect("rejects a prefix that no name may have, and names that become too long [TOOL-10]", () =>
    Effect.gen(function*() {
      for (const prefix of ["", "a b", "a/b", "ä"]) {
        assert.include(
          problemOf(yield* Effect.exit(connect(McpMount.prefixed(prefix, TasksLive)))),
          "use a prefix and a separator of the characters A-Z, a-z, 0-9, _, . and -"
        )
      }
      assert.include(
        problemOf(yield* Effect.exit(connect(McpMount.prefixed("a".repeat(125), TasksLive)))),
        "_add\" is not allowed; use a shorter prefix"
      )
    }).pipe(Effect.scoped))

  it.effect("rejects a template that does not begin with a scheme", () =>
    Effect.gen(function*() {
      const any = McpGroup.make("any", McpResource.template("any", { uri: "{+uri}" })).toLayer((handlers) =>
        handlers.template("any", ({ uri }) => Effect.succeed(uri))
      )
      assert.include(
        problemOf(yield* Effect.exit(connect(McpMount.prefixed("a", any)))),
        "\"{+uri}\" does not begin with a scheme, so it takes no prefix; set uris: \"unchanged\""
      )
      yield* connect(McpMount.prefixed("a", any, { uris: "unchanged" }))
    }).pipe(Effect.scoped))

  it.effect("adds and removes its members with the scope of its Layer, with one notification", () =>
    Effect.gen(function*() {
      const changes = yield* Ref.make(0)
      const start = yield* Deferred.make<void>()
      const adding = Layer.effectDiscard(Effect.forkScoped(
        Effect.andThen(Deferred.await(start), Layer.build(McpMount.prefixed("later", NotesLive)))
      ))
      const session = yield* connect(Layer.merge(McpMount.prefixed("work", TasksLive), adding), {
        client: {
          handlers: { "notifications/resources/list_changed": () => Ref.update(changes, (count) => count + 1) }
        }
      })
      yield* Deferred.succeed(start, undefined)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(namesOf((yield* session.listResources()).resources), ["later_one", "work_all"])
      assert.strictEqual(yield* Ref.get(changes), 1)
    }).pipe(Effect.scoped))
})
