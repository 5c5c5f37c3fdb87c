/** Calls that are typed by the definitions of a group. */
import { McpClient, McpTarget, TypedCallError } from "@effect-mcp/client"
import { AjvValidator } from "@effect-mcp/json-schema"
import { Content, McpError, type Resource, type Revision, type Tool as Protocol } from "@effect-mcp/protocol"
import { McpGroup, McpMount, McpPrompt, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import { RequestContext, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as SchemaGetter from "effect/SchemaGetter"
import * as Stream from "effect/Stream"

const info = { name: "test", version: "0.0.0" }

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, due: Schema.Date }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {}

const Tasks = McpGroup.make(
  "tasks",
  Tool.make("get", { parameters: Schema.Struct({ id: Schema.Int }), success: Task, failure: NoSuchTask }),
  Tool.make("ask", { success: Schema.String }),
  Tool.make("tick"),
  Tool.make("draw", { success: McpTool.Content }),
  Tool.make("measure", { success: McpTool.ContentWithMeta }),
  Tool.dynamic("raw", {
    parameters: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
    success: Schema.Int
  }),
  McpResource.make("counter", {
    uri: "tasks://counter",
    content: Schema.Struct({ at: Schema.Date, count: Schema.Int })
  }),
  McpResource.make("notes", { uri: "tasks://notes" }),
  McpResource.template("task", {
    uri: "tasks://one/{id}{?fields,since}",
    parameters: {
      id: Schema.FiniteFromString,
      fields: Schema.optional(Schema.Array(Schema.String)),
      since: Schema.optional(Schema.DateFromString)
    },
    content: Schema.Struct({
      id: Schema.Finite,
      fields: Schema.UndefinedOr(Schema.Array(Schema.String)),
      since: Schema.UndefinedOr(Schema.Date)
    })
  }),
  McpResource.template("file", { uri: "tasks:{+path}" }),
  McpPrompt.make("plan", {
    arguments: { day: Schema.Literals(["monday", "sunday"]), many: Schema.optional(Schema.FiniteFromString) }
  })
)

/** Counts its ticks, and notifies of them. */
const TasksLive = Tasks.toLayer(Effect.fnUntraced(function*(handlers) {
  const count = yield* Ref.make(0)
  const server = yield* McpServer.McpServer
  return handlers
    .tool(
      "get",
      ({ id }) => id === 1 ? Effect.succeed(new Task({ id, due: new Date(0) })) : Effect.fail(new NoSuchTask({ id }))
    )
    .tool("ask", () => Effect.as(RequestContext.createMessage({ messages: [], maxTokens: 1 }), "answered"))
    .tool(
      "tick",
      () => Effect.andThen(Ref.update(count, (before) => before + 1), server.resourceUpdated("tasks://counter"))
    )
    .tool("draw", () => Effect.succeed([Content.link({ uri: "tasks://notes", name: "notes" })]))
    .tool("measure", () => Effect.succeed({ content: [Content.text("wide")], _meta: { "example.com/width": 1 } }))
    .tool("raw", (input) => Effect.succeed(typeof input === "object" && input !== null && "id" in input ? 1 : 0))
    .resource("counter", Effect.map(Ref.get(count), (count) => ({ at: new Date(count), count })))
    .resource("notes", Effect.succeed("some notes"))
    .template("task", ({ fields, id, since }) => Effect.succeed({ id, fields, since }))
    .template("file", ({ path }) => Effect.succeed(path))
    .prompt("plan", ({ day, many }) => Effect.succeed(`${day} ${many}`))
})).pipe(Layer.provide(AjvValidator.layer()))

/** Makes a client of groups. */
const clientOf = (
  groups: Layer.Layer<never, never, McpServer.McpServer>,
  options: Partial<McpClient.Options> = {}
) => McpClient.make(McpTarget.transport(McpServer.layerMemory(groups, { info })), { info, ...options })

/** Makes a client of a server that is not of this library's groups, and returns what it returns. */
const clientOfResult = (result: Protocol.CallToolResult, contents: ReadonlyArray<Resource.ResourceContents> = []) =>
  McpClient.make(
    McpTarget.transport(ServerSession.layerMemory({
      "tools/call": () => Effect.succeed(result),
      "resources/read": () => Effect.succeed({ contents })
    }, { info })),
    { info }
  )

const textOf = (result: Resource.ReadResourceResult): ReadonlyArray<string> =>
  result.contents.flatMap((content) => "text" in content ? [content.text] : [])

/** The two eras by their newest revisions. */
const eras: ReadonlyArray<Revision.Revision> = ["2025-11-25", "2026-07-28"]

describe.each(eras)("a client typed by a group, in %s", (revision) => {
  const connect = clientOf(TasksLive, { revisions: [revision] })

  it.effect("returns the success of a tool as a value of its schema", () =>
    Effect.gen(function*() {
      const { tools } = (yield* connect).of(Tasks)
      const task = yield* tools.get({ id: 1 })
      assert.instanceOf(task, Task)
      assert.strictEqual(task.due.getTime(), 0)
    }).pipe(Effect.scoped))

  it.effect("fails with the failure that a tool declares", () =>
    Effect.gen(function*() {
      const { tools } = (yield* connect).of(Tasks)
      const id = yield* tools.get({ id: 7 }).pipe(
        Effect.catchTag("NoSuchTask", ({ id }) => Effect.succeed({ missing: id }))
      )
      assert.deepStrictEqual(id, { missing: 7 })
      assert.instanceOf(yield* Effect.flip(tools.get({ id: 7 })), NoSuchTask)
    }).pipe(Effect.scoped))

  it.effect("fails with ToolFailedError and its text if a tool fails otherwise", () =>
    Effect.gen(function*() {
      const { tools } = (yield* connect).of(Tasks)
      const error = yield* Effect.flip(tools.raw({ id: "one" }))
      assert.strictEqual(
        error._tag === "ToolFailedError" ? error.text : error._tag,
        "Invalid arguments for the tool \"raw\": the arguments: must be integer at [\"id\"]"
      )
      assert.strictEqual(
        error.message,
        "the tool \"raw\" failed: Invalid arguments for the tool \"raw\": " +
          "the arguments: must be integer at [\"id\"]"
      )
    }).pipe(Effect.scoped))

  it.effect("calls tools without parameters, and tools whose parameters are a JSON Schema", () =>
    Effect.gen(function*() {
      const { tools } = (yield* connect).of(Tasks)
      assert.isUndefined(yield* tools.tick())
      assert.strictEqual(yield* tools.raw({ id: 7 }), 1)
    }).pipe(Effect.scoped))

  it.effect("returns the content of a tool that returns content", () =>
    Effect.gen(function*() {
      const { tools } = (yield* connect).of(Tasks)
      assert.deepStrictEqual(yield* tools.draw(), [Content.link({ uri: "tasks://notes", name: "notes" })])
      const { content, _meta: meta } = yield* tools.measure()
      assert.deepStrictEqual(content, [Content.text("wide")])
      assert.strictEqual(meta?.["example.com/width"], 1)
    }).pipe(Effect.scoped))

  it.effect("sends no arguments that the checks of their schema reject", () =>
    Effect.gen(function*() {
      const { templates, tools } = (yield* connect).of(Tasks)
      const error = yield* Effect.flip(tools.get({ id: 1.5 }))
      assert.strictEqual(error._tag, "InvalidArgumentsError")
      assert.include(
        error.message,
        "the arguments of the tool \"get\" were not sent; correct what does not fit its definition: "
      )
      assert.include(error.message, "[\"id\"]")
      assert.strictEqual((yield* Effect.flip(templates.task({ id: Number.NaN })))._tag, "InvalidArgumentsError")
    }).pipe(Effect.scoped))

  it.effect("reads resources by their schemas, and those without one as they are", () =>
    Effect.gen(function*() {
      const { resources } = (yield* connect).of(Tasks)
      assert.deepStrictEqual(yield* resources.counter(), { at: new Date(0), count: 0 })
      assert.deepStrictEqual(textOf(yield* resources.notes()), ["some notes"])
      assert.strictEqual(resources.counter.uri, "tasks://counter")
    }).pipe(Effect.scoped))

  it.effect("reads the resources of templates by typed parameters", () =>
    Effect.gen(function*() {
      const { templates } = (yield* connect).of(Tasks)
      const since = new Date(0)
      assert.deepStrictEqual(yield* templates.task({ id: 7, fields: ["a/b", "ü,?"], since }), {
        id: 7,
        fields: ["a/b", "ü,?"],
        since
      })
      const absent = { id: 7, fields: undefined, since: undefined }
      assert.deepStrictEqual(yield* templates.task(absent), absent)
      assert.strictEqual(yield* templates.task.uri({ id: 7, fields: ["a b"] }), "tasks://one/7?fields=a%20b")
    }).pipe(Effect.scoped))

  it.effect("reads no resource of a URI that does not carry a parameter", () =>
    Effect.gen(function*() {
      const { templates } = (yield* connect).of(Tasks)
      assert.deepStrictEqual(textOf(yield* templates.file({ path: "a b" })), ["a b"])
      const error = yield* Effect.flip(templates.file({ path: "a%20b" }))
      assert.strictEqual(error._tag, "InvalidArgumentsError")
      assert.strictEqual(
        error.message,
        "the arguments of the template \"file\" were not sent; correct what does not fit its definition: " +
          "a URI of \"tasks:{+path}\" cannot carry this value of \"path\""
      )
    }).pipe(Effect.scoped))

  it.effect("gets prompts by typed arguments, and leaves out those that are undefined", () =>
    Effect.gen(function*() {
      const { prompts } = (yield* connect).of(Tasks)
      const { messages } = yield* prompts.plan({ day: "monday", many: 3 })
      assert.deepStrictEqual(messages, [{ role: "user", content: Content.text("monday 3") }])
      const without = yield* prompts.plan({ day: "sunday", many: undefined })
      assert.deepStrictEqual(without.messages, [{ role: "user", content: Content.text("sunday undefined") }])
    }).pipe(Effect.scoped))

  it.effect("completes the arguments of prompts and templates", () =>
    Effect.gen(function*() {
      const { prompts, templates } = (yield* connect).of(Tasks)
      assert.deepStrictEqual((yield* prompts.plan.complete("day", "s", { many: "3" })).values, ["sunday"])
      assert.deepStrictEqual((yield* templates.task.complete("id", "7")).values, [])
    }).pipe(Effect.scoped))

  it.live("watches a resource by its schema", () =>
    Effect.gen(function*() {
      const { resources, templates, tools } = (yield* connect).of(Tasks)
      const ticking = Effect.forever(Effect.andThen(tools.tick(), Effect.sleep(10)))
      const later = resources.counter.watch.pipe(Stream.filter(({ count }) => count > 1), Stream.runHead)
      const seen = Option.getOrThrow(yield* Effect.raceFirst(later, ticking))
      assert.deepStrictEqual(seen.at, new Date(seen.count))
      const task = { id: 7, fields: ["a"], since: undefined }
      assert.deepStrictEqual(yield* Stream.runHead(templates.task.watch(task)), Option.some(task))
    }).pipe(Effect.scoped))

  it.effect("reaches a group under the prefix of a mount", () =>
    Effect.gen(function*() {
      const both = Layer.merge(McpMount.prefixed("work", TasksLive), McpMount.prefixed("home", TasksLive))
      const client = yield* clientOf(both, { revisions: [revision] })
      const work = client.of(Tasks, { prefix: "work" })
      const home = client.of(Tasks, { prefix: "home" })
      yield* work.tools.tick()
      assert.strictEqual((yield* work.resources.counter()).count, 1)
      assert.strictEqual((yield* home.resources.counter()).count, 0)
      assert.strictEqual((yield* home.templates.task({ id: 7, fields: undefined, since: undefined })).id, 7)
      assert.strictEqual(yield* home.templates.task.uri({ id: 7 }), "tasks://home/one/7")
      assert.deepStrictEqual(textOf(yield* home.templates.file({ path: "//notes" })), ["//notes"])
      assert.lengthOf((yield* work.prompts.plan({ day: "monday" })).messages, 1)
      assert.deepStrictEqual((yield* work.prompts.plan.complete("day", "s")).values, ["sunday"])
      assert.deepStrictEqual((yield* work.templates.task.complete("id", "7")).values, [])
      const error = yield* Effect.flip(client.of(Tasks).tools.tick())
      assert.strictEqual(error.message, "tools/call: the peer replied with error -32602: Unknown tool: tick")
    }).pipe(Effect.scoped))

  it.effect("reaches a group under nested prefixes with their separator, and with its own URIs", () =>
    Effect.gen(function*() {
      const nested = McpMount.prefixed("a", McpMount.prefixed("b", TasksLive))
      const inner = (yield* clientOf(nested, { revisions: [revision] })).of(Tasks, { prefix: ["a", "b"] })
      assert.strictEqual((yield* inner.tools.get({ id: 1 })).id, 1)
      assert.strictEqual((yield* inner.resources.counter()).count, 0)
      const options = { separator: ".", uris: "unchanged" } as const
      const dotted = McpMount.prefixed("a", TasksLive, options)
      const own = (yield* clientOf(dotted, { revisions: [revision] })).of(Tasks, { prefix: "a", ...options })
      assert.strictEqual((yield* own.tools.get({ id: 1 })).id, 1)
      assert.strictEqual((yield* own.resources.counter()).count, 0)
    }).pipe(Effect.scoped))
})

describe("a client typed by a group", () => {
  it.effect("reads the values of revisions without structured content from their text", () =>
    Effect.gen(function*() {
      const { tools } = (yield* clientOf(TasksLive, { revisions: ["2025-03-26"] })).of(Tasks)
      assert.deepStrictEqual(yield* tools.get({ id: 1 }), new Task({ id: 1, due: new Date(0) }))
    }).pipe(Effect.scoped))

  it.effect("has the same functions for each use of a group", () =>
    Effect.gen(function*() {
      const client = yield* clientOf(TasksLive)
      assert.strictEqual(client.of(Tasks), client.of(Tasks))
      assert.notStrictEqual<unknown>(client.of(Tasks), client.of(Tasks, { prefix: "a" }))
    }).pipe(Effect.scoped))

  it.effect("passes the options of a call on", () =>
    Effect.gen(function*() {
      const { tools } = (yield* clientOf(TasksLive)).of(Tasks)
      const error = yield* Effect.flip(tools.get({ id: 1 }, { timeout: 0 }))
      assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "Timeout")
    }).pipe(Effect.scoped))

  it.effect("uses the services of schemas in the context of the call", () =>
    Effect.gen(function*() {
      class Zone extends Context.Service<Zone, number>()("Zone") {}
      const Local = Schema.Finite.pipe(Schema.decodeTo(Schema.Finite, {
        decode: SchemaGetter.transformEffect((value: number) => Effect.map(Zone, (zone) => value + zone)),
        encode: SchemaGetter.transformEffect((value: number) => Effect.map(Zone, (zone) => value - zone))
      }))
      const group = McpGroup.make(
        "local",
        Tool.make("echo", { parameters: Schema.Struct({ at: Local }), success: Local })
      )
      const live = Layer.provide(
        group.toLayer((handlers) => handlers.tool("echo", ({ at }) => Effect.succeed(at * 2))),
        Layer.succeed(Zone, 1)
      )
      const { tools } = (yield* clientOf(live)).of(group)
      // 10 is sent as 7, is decoded as 8, and 16 is sent back as 15.
      assert.strictEqual(yield* Effect.provideService(tools.echo({ at: 10 }), Zone, 3), 18)
    }).pipe(Effect.scoped))

  describe("of another server", () => {
    const Numbers = McpGroup.make(
      "numbers",
      Tool.make("count", { success: Schema.Int, failure: NoSuchTask }),
      Tool.make("sum", { success: Schema.Struct({ sum: Schema.Int }) }),
      McpResource.make("pi", { uri: "numbers://pi", content: Schema.Finite })
    )

    it.effect("takes structured content that is no object, whatever the text beside it is", () =>
      Effect.gen(function*() {
        // @mastra/mcp and effect/ai send the JSON text of a string; others send prose beside a list or a number.
        const words = McpGroup.make(
          "words",
          Tool.make("word", { success: Schema.String }),
          Tool.make("list", { success: Schema.Array(Schema.Int) }),
          Tool.make("count", { success: Schema.NullOr(Schema.Int) })
        )
        const resultOf = (text: string, structuredContent: unknown) =>
          Effect.map(
            clientOfResult({ content: [Content.text(text)], structuredContent }),
            (client) => client.of(words).tools
          )
        assert.strictEqual(yield* (yield* resultOf("\"beans\"", "beans")).word(), "beans")
        assert.strictEqual(yield* (yield* resultOf("beans", "beans")).word(), "beans")
        assert.deepStrictEqual(yield* (yield* resultOf("one and two", [1, 2])).list(), [1, 2])
        assert.strictEqual(yield* (yield* resultOf("there are seven", 7)).count(), 7)
        assert.isNull(yield* (yield* resultOf("there are none", null)).count())
      }).pipe(Effect.scoped))

    it.effect("accepts a value that the server wraps in an object", () =>
      Effect.gen(function*() {
        const { tools } = (yield* clientOfResult({ content: [], structuredContent: { result: 3 } })).of(Numbers)
        assert.strictEqual(yield* tools.count(), 3)
      }).pipe(Effect.scoped))

    it.effect("fails with UnexpectedResultError if a result does not fit the definition", () =>
      Effect.gen(function*() {
        const results: ReadonlyArray<Protocol.CallToolResult> = [
          { content: [Content.text("many")] },
          { content: [Content.text("1"), Content.text("2")] },
          { content: [Content.image("AQ==", "image/png")] },
          { content: [] },
          { content: [], structuredContent: { result: 1.5 } },
          { content: [], structuredContent: { sum: 1.5 } },
          { content: [], _meta: { [McpTool.successKey]: "1" } },
          { content: [], isError: true, _meta: { [McpTool.failureKey]: { _tag: "Other" } } }
        ]
        for (const result of results) {
          const { tools } = (yield* clientOfResult(result)).of(Numbers)
          const error = yield* Effect.flip(tools.count())
          assert.instanceOf(error, TypedCallError.UnexpectedResultError)
          assert.include(
            error.message,
            "the result of the tool \"count\" does not fit its definition; update it to that of the server: "
          )
        }
      }).pipe(Effect.scoped))

    it.effect("fails with ToolFailedError if a tool fails, and its definition has no failure", () =>
      Effect.gen(function*() {
        const result = { content: [Content.text("no")], isError: true, _meta: { [McpTool.failureKey]: 1 } }
        const { tools } = (yield* clientOfResult(result)).of(Numbers)
        const error = yield* Effect.flip(tools.sum())
        assert.strictEqual(error._tag === "ToolFailedError" ? error.text : error._tag, "no")
      }).pipe(Effect.scoped))

    it.effect("fails with UnexpectedResultError if a resource does not fit the definition", () =>
      Effect.gen(function*() {
        const uri = "numbers://pi"
        const other = { uri: "numbers://e", text: "2.7" }
        const unfit: ReadonlyArray<ReadonlyArray<Resource.ResourceContents>> = [
          [],
          [{ uri, text: "three" }],
          [{ uri, text: "\"three\"" }],
          [{ uri, blob: "AQ==" }],
          [other, { uri, blob: "AQ==" }]
        ]
        for (const contents of unfit) {
          const { resources } = (yield* clientOfResult({ content: [] }, contents)).of(Numbers)
          const error = yield* Effect.flip(resources.pi())
          assert.strictEqual(error._tag, "UnexpectedResultError")
          assert.include(
            error.message,
            "\"numbers://pi\" does not fit its definition; update it to that of the server: "
          )
        }
        const { resources } = (yield* clientOfResult({ content: [] }, [other, { uri, text: "3.1" }])).of(Numbers)
        assert.strictEqual(yield* resources.pi(), 3.1)
      }).pipe(Effect.scoped))

    it.effect("fails with UnexpectedResultError, and not with a defect, if a result is nested deeply", () =>
      Effect.gen(function*() {
        interface Nested {
          readonly of?: Nested
        }
        const Nested: Schema.Codec<Nested> = Schema.Struct({
          of: Schema.optionalKey(Schema.suspend((): Schema.Codec<Nested> => Nested))
        })
        const group = McpGroup.make("nested", Tool.make("nest", { success: Nested }))
        const depth = 100_000
        const text = `${"{\"of\":".repeat(depth)}{}${"}".repeat(depth)}`
        const { tools } = (yield* clientOfResult({ content: [Content.text(text)] })).of(group)
        assert.strictEqual((yield* Effect.flip(tools.nest()))._tag, "UnexpectedResultError")
      }).pipe(Effect.scoped))
  })

  it.effect("fails with the error of the server", () =>
    Effect.gen(function*() {
      const group = McpGroup.make("one", Tool.make("run", { success: Schema.String }))
      const live = group.toLayer((handlers) => handlers.tool("run", () => Effect.fail(McpError.invalidParams("no"))))
      const { tools } = (yield* clientOf(live)).of(group)
      const error = yield* Effect.flip(tools.run())
      assert.strictEqual(error._tag === "RequestError" ? error.reason._tag : error._tag, "ErrorResponse")
    }).pipe(Effect.scoped))
})
