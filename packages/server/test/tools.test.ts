import { AjvValidator } from "@effect-mcp/json-schema"
import { Content, McpError } from "@effect-mcp/protocol"
import { ElicitationError, McpGroup, McpTool } from "@effect-mcp/server"
import { RequestContext, RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { connect, handshake } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

class Task extends Schema.Class<Task>("Task")({ id: Schema.Int, due: Schema.Date }) {}
class NoSuchTask extends Schema.TaggedError<NoSuchTask>()("NoSuchTask", { id: Schema.Int }) {
  override get message() {
    return `There is no task ${this.id}`
  }
}

const GetTask = Tool.make("get_task", {
  description: "Gets a task",
  parameters: Schema.Struct({ id: Schema.Int }),
  success: Task,
  failure: NoSuchTask
})

const getTask = McpGroup.make("tasks", GetTask).toLayer((handlers) =>
  handlers.tool(
    "get_task",
    ({ id }) => id === 1 ? Effect.succeed(new Task({ id, due: new Date(0) })) : Effect.fail(new NoSuchTask({ id }))
  )
)

/** A group with one tool without parameters. */
const tool = (
  success: Schema.Codec<unknown, unknown>,
  run: Effect.Effect<unknown, McpGroup.ToolFailure | McpError.McpError, RequestContext.RequestContext>
) => McpGroup.make("one", Tool.make("run", { success })).toLayer((handlers) => handlers.tool("run", () => run))

/** The message with which a Layer dies. */
const defectOf = <A, E, R>(layer: Layer.Layer<A, E, R>) =>
  Effect.map(Effect.exit(connect(layer)), (exit) => {
    assert.isTrue(Exit.isFailure(exit))
    return Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : ""
  })

describeForBothEras("a tool", ({ connect }) => {
  it.effect("is listed with the schemas of its encoded sides [TOOL-06]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask)
      assert.deepStrictEqual((yield* session.listTools()).tools, [{
        name: "get_task",
        description: "Gets a task",
        inputSchema: {
          type: "object",
          properties: {
            id: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
          },
          required: ["id"]
        },
        outputSchema: {
          type: "object",
          properties: {
            id: { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
            due: { type: "string" }
          },
          required: ["id", "due"]
        }
      }])
    }).pipe(Effect.scoped))

  it.effect("returns its success as structured content of its schema, and as text [TOOL-07] [TOOL-09]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask)
      const due = "1970-01-01T00:00:00.000Z"
      assert.deepStrictEqual(yield* session.callTool("get_task", { id: 1 }), {
        content: [{ type: "text", text: JSON.stringify({ id: 1, due }) }],
        structuredContent: { id: 1, due }
      })
    }).pipe(Effect.scoped))

  it.effect("returns a declared failure with isError, its message, and its encoding [TOOL-04]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask)
      assert.deepStrictEqual(yield* session.callTool("get_task", { id: 2 }), {
        content: [{ type: "text", text: "There is no task 2" }],
        isError: true,
        _meta: { "effect-mcp/failure": { _tag: "NoSuchTask", id: 2 } }
      })
    }).pipe(Effect.scoped))

  it.effect("rejects arguments that do not fit: the model reads why from 2025-11-25 on [TOOL-04] [TOOL-05]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask)
      const { content, isError } = yield* session.callTool("get_task", { id: "one" })
      assert.isTrue(isError)
      assert.deepStrictEqual(content, [
        Content.text("Invalid arguments for the tool \"get_task\": id: Expected number, got \"one\"")
      ])
    }).pipe(Effect.scoped))

  it.effect("rejects arguments that do not fit with -32602 before 2025-11-25 [TOOL-05]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask, { client: { revisions: ["2025-06-18"] } })
      const error = yield* Effect.flip(session.callTool("get_task", {}))
      assert.strictEqual(error.reason._tag === "ErrorResponse" ? error.reason.error.code : undefined, -32602)
    }).pipe(Effect.scoped))

  it.effect("is unknown by another name, with -32602 [TOOL-03]", () =>
    Effect.gen(function*() {
      const session = yield* connect(getTask)
      const error = yield* Effect.flip(session.callTool("get_tasks"))
      assert.strictEqual(error.message, "tools/call: the peer replied with error -32602: Unknown tool: get_tasks")
    }).pipe(Effect.scoped))

  it.effect("sends nothing that its schemas do not declare, in results and in failures [TOOL-13]", () =>
    Effect.gen(function*() {
      const Account = Schema.Struct({ name: Schema.String })
      const row = { name: "ada", password: "1234" }
      const live = McpGroup.make(
        "accounts",
        Tool.make("get", { success: Account }),
        Tool.make("list", { success: Schema.Array(Account) }),
        Tool.make("fail", { failure: Account })
      ).toLayer((handlers) =>
        handlers
          .tool("get", () => Effect.succeed(row))
          .tool("list", () => Effect.succeed([row]))
          .tool("fail", () => Effect.fail(row))
      )
      const session = yield* connect(live)
      for (const name of ["get", "list", "fail"]) {
        const sent = JSON.stringify(yield* session.callTool(name))
        assert.include(sent, "ada")
        assert.notInclude(sent, "1234")
        assert.notInclude(sent, "password")
      }
    }).pipe(Effect.scoped))

  it.effect("that dies is answered with -32603 and without its cause", () =>
    Effect.gen(function*() {
      const session = yield* connect(tool(Schema.Void, Effect.die(new Error("the password is 1234"))))
      const error = yield* Effect.flip(session.callTool("run"))
      assert.strictEqual(error.message, "tools/call: the peer replied with error -32603: Internal error")
    }).pipe(Effect.scoped))

  it.effect("may fail with an McpError, which is the reply", () =>
    Effect.gen(function*() {
      const session = yield* connect(tool(Schema.Void, Effect.fail(McpError.invalidRequest("Closed on Sundays"))))
      const error = yield* Effect.flip(session.callTool("run"))
      assert.strictEqual(error.message, "tools/call: the peer replied with error -32600: Closed on Sundays")
    }).pipe(Effect.scoped))

  it.effect("may fail as the client refuses its requests, which the model reads [TOOL-04]", () =>
    Effect.gen(function*() {
      const declined = yield* connect(
        tool(Schema.Void, Effect.fail(new ElicitationError.ElicitationDeclinedError({ asked: "Sure?" })))
      )
      assert.deepStrictEqual(yield* declined.callTool("run"), {
        content: [Content.text("the user declined: Sure?")],
        isError: true
      })
      const unable = yield* connect(
        tool(Schema.Void, Effect.asVoid(RequestContext.createMessage({ messages: [], maxTokens: 1 }))),
        { client: handshake }
      )
      assert.deepStrictEqual(yield* unable.callTool("run"), {
        content: [Content.text(
          "sampling/createMessage: the peer has not declared the capability \"sampling\", which this message needs"
        )],
        isError: true
      })
    }).pipe(Effect.scoped))

  it.effect("whose success is no object has it as structured content from 2026-07-28 on, and before as text", () =>
    Effect.gen(function*() {
      for (
        const [success, value, text] of [
          [Schema.String, "a\nb", "a\nb"],
          [Schema.Number, Number.NaN, "NaN"],
          [Schema.Array(Schema.Int), [1, 2], "[1,2]"],
          [Schema.BigInt, 12n, "12"]
        ] as const
      ) {
        const group = tool(success, Effect.succeed(value))
        const older = yield* connect(group, { client: handshake })
        assert.isUndefined((yield* older.listTools()).tools[0]?.outputSchema)
        assert.deepStrictEqual(yield* older.callTool("run"), { content: [{ type: "text", text }] })
        const modern = yield* connect(group, { client: { revisions: ["2026-07-28"], validator: AjvValidator.make() } })
        assert.isObject((yield* modern.listTools()).tools[0]?.outputSchema)
        assert.deepStrictEqual(yield* modern.callTool("run"), {
          content: [{ type: "text", text }],
          structuredContent: typeof value === "object" ? value : text
        })
      }
      const nothing = yield* connect(tool(Schema.Void, Effect.void))
      assert.deepStrictEqual(yield* nothing.callTool("run"), { content: [] })
    }).pipe(Effect.scoped))

  it.effect("may return content", () =>
    Effect.gen(function*() {
      const content = [Content.text("a pixel"), Content.image(new Uint8Array([1]), "image/png")]
      const session = yield* connect(tool(McpTool.Content, Effect.succeed(content)))
      assert.isUndefined((yield* session.listTools()).tools[0]?.outputSchema)
      assert.deepStrictEqual(yield* session.callTool("run"), { content })
    }).pipe(Effect.scoped))

  it.effect("may return content with metadata", () =>
    Effect.gen(function*() {
      const result = { content: [Content.text("a pixel")], _meta: { "example.com/width": 1 } }
      const session = yield* connect(tool(McpTool.ContentWithMeta, Effect.succeed(result)))
      assert.isUndefined((yield* session.listTools()).tools[0]?.outputSchema)
      assert.deepStrictEqual(yield* session.callTool("run"), result)
    }).pipe(Effect.scoped))

  it.effect("may have content for the model beside its structured content", () =>
    Effect.gen(function*() {
      const Draw = Tool.make("draw", {
        success: Schema.Struct({ width: Schema.Int }),
        toModelOutput: () =>
          [
            { type: "text", text: "a picture" },
            { type: "file", mediaType: "image/png", data: new Uint8Array([1]) }
          ] as never
      })
      const session = yield* connect(
        McpGroup.make("draw", Draw).toLayer((handlers) => handlers.tool("draw", () => Effect.succeed({ width: 1 })))
      )
      assert.deepStrictEqual(yield* session.callTool("draw"), {
        content: [Content.text("a picture"), Content.image("AQ==", "image/png")],
        structuredContent: { width: 1 }
      })
    }).pipe(Effect.scoped))

  describe("whose content does not show its success", () => {
    const typed = (success: unknown) => ({ _meta: { [McpTool.successKey]: success } })
    const StringOrInt = Schema.Union([Schema.String, Schema.Int])

    it.effect("has it in the metadata of the result: a string that is the text of another value", () =>
      Effect.gen(function*() {
        for (const text of ["12", "null", " {\"a\":1}"]) {
          const session = yield* connect(tool(StringOrInt, Effect.succeed(text)), { client: handshake })
          assert.deepStrictEqual(yield* session.callTool("run"), { content: [Content.text(text)], ...typed(text) })
        }
      }).pipe(Effect.scoped))

    it.effect("has it in the metadata of the result: content for the model without structured content", () =>
      Effect.gen(function*() {
        const Draw = Tool.make("draw", { success: Schema.BigInt, toModelOutput: () => [] })
        const session = yield* connect(
          McpGroup.make("draw", Draw).toLayer((handlers) => handlers.tool("draw", () => Effect.succeed(7n))),
          { client: handshake }
        )
        // A client of this revision has no other way to see the value than the text of an empty result.
        assert.deepStrictEqual(yield* session.callTool("draw"), { content: [Content.text("\"7\"")], ...typed("7") })
      }).pipe(Effect.scoped))

    it.effect("is the only one that has such metadata", () =>
      Effect.gen(function*() {
        const results = [
          [StringOrInt, 12, "12"],
          [StringOrInt, "twelve", "twelve"],
          [StringOrInt, "\"12\"", "\"12\""],
          [Schema.String, "12", "12"],
          [Schema.Literals(["12", "13"]), "12", "12"],
          [Schema.BigInt, 12n, "12"]
        ] as const
        for (const [schema, value, text] of results) {
          const session = yield* connect(tool(schema, Effect.succeed(value)), { client: handshake })
          assert.deepStrictEqual(yield* session.callTool("run"), { content: [Content.text(text)] })
        }
      }).pipe(Effect.scoped))
  })

  it.effect("that returns what its schema forbids is answered with -32603 [TOOL-07]", () =>
    Effect.gen(function*() {
      const wrong = JSON.parse("{\"width\":1.5}")
      const session = yield* connect(tool(Schema.Struct({ width: Schema.Int }), Effect.succeed(wrong)))
      const error = yield* Effect.flip(session.callTool("run"))
      assert.strictEqual(error.message, "tools/call: the peer replied with error -32603: Internal error")
    }).pipe(Effect.scoped))

  it.effect("has the annotations, the title, the icons and the metadata of its definition", () =>
    Effect.gen(function*() {
      const Annotated = Tool.make("annotated")
        .annotate(Tool.Title, "Annotated")
        .annotate(Tool.Readonly, true)
        .annotate(Tool.OpenWorld, false)
        .annotate(Tool.Meta, { "example.com/cost": 3 })
        .annotate(McpTool.Icons, [{ src: "https://example.com/icon.svg" }])
      const session = yield* connect(
        McpGroup.make("one", Annotated).toLayer((handlers) => handlers.tool("annotated", () => Effect.void))
      )
      const [listed] = (yield* session.listTools()).tools
      assert.deepStrictEqual(listed, {
        name: "annotated",
        title: "Annotated",
        inputSchema: { type: "object", properties: {} },
        annotations: { readOnlyHint: true, openWorldHint: false },
        icons: [{ src: "https://example.com/icon.svg" }],
        _meta: { "example.com/cost": 3 }
      })
    }).pipe(Effect.scoped))

  it.effect("with a name that the specification forbids is a defect that names it [TOOL-10]", () =>
    Effect.gen(function*() {
      const message = yield* defectOf(
        McpGroup.make("tasks", Tool.make("get task")).toLayer((handlers) =>
          handlers.tool("get task", () => Effect.void)
        )
      )
      assert.strictEqual(
        message,
        "RegistrationError: the group \"tasks\" cannot be registered: the tool \"get task\" has a name that is not " +
          "allowed; use 1 to 128 of the characters A-Z, a-z, 0-9, _, . and -"
      )
    }).pipe(Effect.scoped))

  it.effect("reports interim results as steps of progress with their text", () =>
    Effect.gen(function*() {
      const steps = yield* Ref.make<ReadonlyArray<unknown>>([])
      const Count = Tool.make("count", { success: Schema.Struct({ n: Schema.Int }) })
      const session = yield* connect(
        McpGroup.make("one", Count).toLayer((handlers) =>
          handlers.tool("count", (_, { preliminary }) =>
            preliminary({ n: 1 }).pipe(
              Effect.andThen(Effect.sleep("1 second")),
              Effect.andThen(preliminary({ n: 2 })),
              Effect.as({ n: 3 })
            ))
        ),
        { server: { limits: { progressInterval: 0 } } }
      )
      const call = yield* Effect.forkChild(
        session.callTool("count", {}, {
          onProgress: ({ message, progress }) => Ref.update(steps, (all) => [...all, { progress, message }])
        })
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(call)
      assert.deepStrictEqual(yield* Ref.get(steps), [
        { progress: 1, message: "{\"n\":1}" },
        { progress: 2, message: "{\"n\":2}" }
      ])
    }).pipe(Effect.scoped))
})

describeForBothEras("a tool with a raw JSON Schema", ({ connect }) => {
  const Raw = Tool.dynamic("raw", {
    parameters: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] },
    success: Schema.Unknown
  })
  const raw = McpGroup.make("raw", Raw).toLayer((handlers) => handlers.tool("raw", (input) => Effect.succeed(input)))

  it.effect("is listed with this schema, and its arguments are checked against it [TOOL-05]", () =>
    Effect.gen(function*() {
      const session = yield* connect(raw.pipe(Layer.provide(AjvValidator.layer())))
      assert.deepStrictEqual((yield* session.listTools()).tools[0]?.inputSchema, {
        type: "object",
        properties: { n: { type: "integer" } },
        required: ["n"]
      })
      assert.deepStrictEqual((yield* session.callTool("raw", { n: 1 })).content, [Content.text("{\"n\":1}")])
      const { content, isError } = yield* session.callTool("raw", { n: "1" })
      assert.isTrue(isError)
      assert.deepStrictEqual(content, [
        Content.text("Invalid arguments for the tool \"raw\": the arguments: must be integer at [\"n\"]")
      ])
    }).pipe(Effect.scoped))

  it.effect("is a defect without a validator", () =>
    Effect.gen(function*() {
      assert.include(
        yield* defectOf(raw),
        "the Layer of the group has no JsonSchemaValidator; provide AjvValidator.layer"
      )
    }).pipe(Effect.scoped))
})

describeForBothEras("a tool with approval", ({ connect }) => {
  const Delete = Tool.make("delete", {
    parameters: Schema.Struct({ id: Schema.Int }),
    success: Schema.String,
    needsApproval: ({ id }) => Effect.succeed(id > 1)
  })
  const deleting = McpGroup.make("one", Delete).toLayer((handlers) =>
    handlers.tool("delete", ({ id }) => Effect.succeed(`deleted ${id}`))
  )
  const answering = (action: "accept" | "decline") => ({
    client: { handlers: { "elicitation/create": () => Effect.succeed({ action }) } }
  })

  it.effect("runs after the user has accepted, and without a question where none is needed", () =>
    Effect.gen(function*() {
      const asking = yield* connect(deleting, answering("accept"))
      assert.deepStrictEqual((yield* asking.callTool("delete", { id: 2 })).content, [Content.text("deleted 2")])
      const silent = yield* connect(deleting)
      assert.deepStrictEqual((yield* silent.callTool("delete", { id: 1 })).content, [Content.text("deleted 1")])
    }).pipe(Effect.scoped))

  it.effect("does not run if the user declines, or if the client cannot ask", () =>
    Effect.gen(function*() {
      const declining = yield* connect(deleting, answering("decline"))
      assert.deepStrictEqual(yield* declining.callTool("delete", { id: 2 }), {
        content: [Content.text("The user did not approve the call of the tool \"delete\".")],
        isError: true
      })
      const silent = yield* connect(deleting)
      const { content, isError } = yield* silent.callTool("delete", { id: 2 })
      assert.isTrue(isError)
      assert.include(JSON.stringify(content), "who could not be asked")
    }).pipe(Effect.scoped))

  it.effect("without parameters ignores arguments, unless it is strict", () =>
    Effect.gen(function*() {
      const session = yield* connect(
        McpGroup.make("empty", Tool.make("lax"), Tool.make("strict").annotate(Tool.Strict, true)).toLayer((handlers) =>
          handlers.tool("lax", (params) => Effect.sync(() => assert.deepStrictEqual(params, {}))).tool(
            "strict",
            () => Effect.void
          )
        )
      )
      const [lax, strict] = (yield* session.listTools()).tools
      assert.deepStrictEqual(lax?.inputSchema, { type: "object", properties: {} })
      assert.deepStrictEqual(strict?.inputSchema, { type: "object", properties: {}, additionalProperties: false })
      assert.isUndefined((yield* session.callTool("lax", { random_string: "dummy" })).isError)
      assert.isTrue((yield* session.callTool("strict", { random_string: "dummy" })).isError)
    }).pipe(Effect.scoped))
})

describeForBothEras("a tool whose request to another server fails", ({ connect }) => {
  it.live("returns the kind of the error, and logs the cause", () =>
    Effect.gen(function*() {
      const cause = new Error("connect ECONNREFUSED 10.0.0.7:5432")
      const secretive = RequestError.make("tools/call", {
        _tag: "Closed",
        reason: { _tag: "TransportFailed", cause },
        isSent: false
      })
      assert.include(secretive.message, "10.0.0.7")
      const group = McpGroup.make("group", Tool.make("use")).toLayer((handlers) =>
        handlers.tool("use", () => Effect.fail(secretive))
      )
      const messages: Array<string> = []
      const layer = Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
      yield* Effect.gen(function*() {
        const client = yield* connect(group)
        const result = yield* client.callTool("use")
        assert.deepStrictEqual(result, {
          content: [Content.text("tools/call: the session has ended")],
          isError: true
        })
      }).pipe(Effect.provide(layer))
      assert.isTrue(messages.some((message) => message.includes("10.0.0.7")))
    }).pipe(Effect.scoped))
})
