/** The groups for the server scenarios of the suite, in memory, with the client that the suite tests. */
import type { Content, Logging, Progress, Revision, Sampling, Tool } from "@effect-mcp/protocol"
import { McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Client from "../src/client/session.ts"
import { groups, info } from "../src/groups.ts"
import * as Revisions from "../src/revisions.ts"

const server = (newest: Revision.LegacyRevision = "2025-11-25") =>
  McpServer.layerMemory(groups, { info, revisions: Revisions.upTo(newest) })

/** The client of the suite's scenarios. */
const withClient = (newest?: Revision.LegacyRevision) =>
  Effect.provide(Layer.suspend(() => Layer.provide(Client.layer("2025-11-25"), server(newest))))

/** A client like the suite's own: it supports sampling and receives log messages. */
const withModel = (
  received: Array<Sampling.CreateMessageParams> = [],
  logs: Array<Logging.LogMessageParams> = []
) =>
  Effect.provide(Layer.suspend(() =>
    Layer.provide(
      ClientSession.layer({
        info: { name: "client", version: "0.1.0" },
        handlers: {
          "sampling/createMessage": (params) =>
            Effect.sync(() => {
              received.push(params)
              return { role: "assistant" as const, content: { type: "text" as const, text: "42" }, model: "example" }
            }),
          "notifications/message": (message) => Effect.sync(() => void logs.push(message))
        }
      }),
      server()
    )
  ))

const call = (name: string, input?: { readonly [name: string]: unknown }) =>
  Effect.flatMap(ClientSession.ClientSession, ({ callTool }) => callTool(name, input))

const textOf = ({ content }: Tool.CallToolResult): string =>
  content.map((block) => block.type === "text" ? block.text : `[${block.type}]`).join(" ")

/** Returns the error of the server. */
const errorOf = Effect.fnUntraced(function*<A, R>(
  request: (
    session: ClientSession.ClientSessionShape
  ) => Effect.Effect<A, { readonly reason: { readonly _tag: string } }, R>
) {
  const { reason } = yield* Effect.flip(request(yield* ClientSession.ClientSession))
  assert.strictEqual(reason._tag, "ErrorResponse")
  return "error" in reason ? reason.error : undefined
})

describe("tools", () => {
  it.effect("[TOOL-06] each tool has a name, a description and a schema, and all are on one page", () =>
    Effect.gen(function*() {
      const { listTools } = yield* ClientSession.ClientSession
      const { nextCursor, tools } = yield* listTools()
      assert.isUndefined(nextCursor)
      assert.strictEqual(tools.length, 35)
      for (const { description, inputSchema, name } of tools) {
        assert.match(name, /^[A-Za-z0-9_.-]{1,128}$/)
        assert.isNotEmpty(description)
        assert.strictEqual(inputSchema.type, "object")
      }
      assert.include(yield* errorOf(({ listTools }) => listTools({ cursor: "2" })), { code: -32602 })
    }).pipe(withClient()))

  const contents: ReadonlyArray<readonly [name: string, ...types: ReadonlyArray<Content.ContentBlock["type"]>]> = [
    ["test_simple_text", "text"],
    ["test_image_content", "image"],
    ["test_audio_content", "audio"],
    ["test_embedded_resource", "resource"],
    ["test_multiple_content_types", "text", "image", "resource"]
  ]

  for (const [name, ...types] of contents) {
    it.effect(`${name} returns ${types.join(", ")}`, () =>
      Effect.gen(function*() {
        const { content, isError } = yield* call(name)
        assert.isUndefined(isError)
        assert.deepStrictEqual(content.map(({ type }) => type), types)
      }).pipe(withClient()))
  }

  it.effect("test_error_handling fails with a result for the model", () =>
    Effect.gen(function*() {
      const result = yield* call("test_error_handling")
      assert.isTrue(result.isError)
      assert.include(textOf(result), "error")
    }).pipe(withClient()))

  it.effect("[PRG-03] test_tool_with_progress reports progress with pauses", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const steps: Array<Progress.Progress["progress"]> = []
      const calling = yield* Effect.forkChild(
        callTool("test_tool_with_progress", {}, {
          onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
        })
      )
      yield* TestClock.adjust("99 millis")
      assert.deepStrictEqual(steps, [0, 50])
      yield* TestClock.adjust("1 millis")
      const { isError } = yield* Fiber.join(calling)
      assert.isUndefined(isError)
      assert.deepStrictEqual(steps, [0, 50, 100])
    }).pipe(withClient()))

  it.effect("[LOG-01] [LOG-02] test_tool_with_logging sends three messages, unless the level is higher", () => {
    const logs: Array<Logging.LogMessageParams> = []
    return Effect.gen(function*() {
      const { setLogLevel } = yield* ClientSession.ClientSession
      for (const level of ["debug", "warning"] as const) {
        yield* setLogLevel(level)
        const calling = yield* Effect.forkChild(call("test_tool_with_logging"))
        yield* TestClock.adjust("100 millis")
        yield* Fiber.join(calling)
        assert.deepStrictEqual(logs.map(({ level }) => level), ["info", "info", "info"])
      }
    }).pipe(withModel([], logs))
  })

  it.effect("test_reconnection returns after a delay on a transport without streams", () =>
    Effect.gen(function*() {
      const calling = yield* Effect.forkChild(call("test_reconnection"))
      yield* TestClock.adjust("99 millis")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.include(textOf(yield* Fiber.join(calling)), "was open during the call")
    }).pipe(withClient()))

  it.effect("test_sampling sends a sampling request", () => {
    const received: Array<Sampling.CreateMessageParams> = []
    return Effect.gen(function*() {
      assert.include(textOf(yield* call("test_sampling", { prompt: "How many?" })), "42")
      assert.deepStrictEqual(
        received.map(({ maxTokens, messages }) => ({ maxTokens, messages })),
        [{ maxTokens: 100, messages: [{ role: "user", content: { type: "text", text: "How many?" } }] }]
      )
    }).pipe(withModel(received))
  })

  it.effect("test_sampling fails with a result for the model if the client has no sampling", () =>
    Effect.gen(function*() {
      const result = yield* call("test_sampling", { prompt: "How many?" })
      assert.isTrue(result.isError)
      assert.include(textOf(result), "sampling")
    }).pipe(withClient()))

  it.effect("[ELI-07] test_elicitation returns a tool error if the content does not match the schema", () =>
    Effect.gen(function*() {
      const result = yield* call("test_elicitation", { message: "Who are you?" })
      assert.isTrue(result.isError)
      assert.include(textOf(result), "elicitation/create: ")
    }).pipe(withClient()))

  it.effect("[ELI-08] test_elicitation_sep1034_defaults receives the default values", () =>
    Effect.gen(function*() {
      const suggested = { name: "John Doe", age: 30, score: 95.5, status: "active", verified: true }
      assert.include(textOf(yield* call("test_elicitation_sep1034_defaults")), JSON.stringify(suggested))
    }).pipe(withClient()))

  it.effect("test_elicitation_sep1330_enums requests enum fields without defaults", () =>
    Effect.gen(function*() {
      assert.include(textOf(yield* call("test_elicitation_sep1330_enums")), "action=accept, content={}")
    }).pipe(withClient()))

  const contact = { name: "Ada", contactMethod: "phone", phone: "1", address: { city: "London" } }

  it.effect("json_schema_2020_12_tool accepts arguments that match every part of its schema", () =>
    Effect.gen(function*() {
      assert.strictEqual(textOf(yield* call("json_schema_2020_12_tool", contact)), JSON.stringify(contact))
    }).pipe(withClient()))

  const invalidInputs: ReadonlyArray<readonly [name: string, input: { readonly [name: string]: unknown }]> = [
    ["test_simple_text", { more: 1 }],
    ["test_sampling", {}],
    ["test_elicitation", { message: 1 }],
    ["json_schema_2020_12_tool", {}],
    ["json_schema_2020_12_tool", { ...contact, address: { city: 1 } }],
    ["json_schema_2020_12_tool", { contactMethod: "phone", email: "ada@example.com" }]
  ]

  for (const [name, input] of invalidInputs) {
    it.effect(`${name} rejects ${JSON.stringify(input)}`, () =>
      Effect.gen(function*() {
        const result = yield* call(name, input)
        assert.isTrue(result.isError)
        assert.include(textOf(result), `Invalid arguments for the tool "${name}": `)
      }).pipe(withClient()))
  }

  it.effect("before 2025-11-25, invalid arguments are a protocol error", () =>
    Effect.gen(function*() {
      assert.include(yield* errorOf(({ callTool }) => callTool("test_sampling")), { code: -32602 })
    }).pipe(withClient("2025-06-18")))

  it.effect("an unknown tool is a protocol error", () =>
    Effect.gen(function*() {
      assert.include(yield* errorOf(({ callTool }) => callTool("test_nothing")), { code: -32602 })
    }).pipe(withClient()))
})

describe("resources", () => {
  it.effect("are listed, read and subscribed to", () =>
    Effect.gen(function*() {
      const { listResources, readResource, subscribeResource, unsubscribeResource } = yield* ClientSession.ClientSession
      const { resources } = yield* listResources()
      const kinds: Array<string> = []
      for (const { mimeType, uri } of resources) {
        const [contents, ...others] = (yield* readResource(uri)).contents
        assert.isEmpty(others)
        assert.deepStrictEqual([contents?.uri, contents?.mimeType], [uri, mimeType])
        kinds.push(contents !== undefined && "blob" in contents ? "blob" : "text")
        yield* subscribeResource(uri)
        yield* unsubscribeResource(uri)
      }
      assert.deepStrictEqual(kinds, ["blob", "text", "text"])
    }).pipe(withClient()))

  it.effect("are created from a template with its values", () =>
    Effect.gen(function*() {
      const { listResourceTemplates, readResource } = yield* ClientSession.ClientSession
      const { resourceTemplates: [template] } = yield* listResourceTemplates()
      const uri = template?.uriTemplate.replace("{id}", "123") ?? ""
      const { contents: [contents] } = yield* readResource(uri)
      assert.isTrue(contents !== undefined && "text" in contents && contents.text.includes("123"))
    }).pipe(withClient()))

  it.effect("are rejected if they do not exist", () =>
    Effect.gen(function*() {
      for (const uri of ["test://nothing", "test://template//data", "test://template/1/2/data"]) {
        const expected = { code: -32002, data: { uri } }
        assert.deepInclude(yield* errorOf(({ readResource }) => readResource(uri)), expected)
        assert.deepInclude(yield* errorOf(({ subscribeResource }) => subscribeResource(uri)), expected)
      }
    }).pipe(withClient()))
})

describe("prompts", () => {
  it.effect("contain the values of their arguments", () =>
    Effect.gen(function*() {
      const { getPrompt, listPrompts } = yield* ClientSession.ClientSession
      const { prompts } = yield* listPrompts()
      // This client cannot answer the question of the other prompt.
      const plain = prompts.filter(({ name }) => !name.includes("input_required"))
      const contentsByPrompt = yield* Effect.forEach(plain, ({ arguments: parameters = [], name }) =>
        Effect.map(
          getPrompt(name, Object.fromEntries(parameters.map(({ name }) => [name, `test://${name}`] as const))),
          ({ messages }) => messages.map(({ content }) => content)
        ))
      assert.deepStrictEqual(contentsByPrompt.map((contents) => contents.map(({ type }) => type)), [
        ["text"],
        ["resource", "text"],
        ["image", "text"],
        ["text"]
      ])
      assert.include(JSON.stringify(contentsByPrompt[0]), "arg1='test://arg1', arg2='test://arg2'")
      assert.include(JSON.stringify(contentsByPrompt[1]), "\"uri\":\"test://resourceUri\"")
    }).pipe(withClient()))

  it.effect("are rejected if an argument is missing or the prompt is unknown", () =>
    Effect.gen(function*() {
      const missing = yield* errorOf(({ getPrompt }) => getPrompt("test_prompt_with_arguments", { arg1: "1" }))
      assert.deepInclude(missing, {
        code: -32602,
        message: "Invalid arguments for the prompt \"test_prompt_with_arguments\": arg2: Missing key"
      })
      assert.include(yield* errorOf(({ getPrompt }) => getPrompt("test_nothing")), { code: -32602 })
    }).pipe(withClient()))

  it.effect("have their arguments completed", () =>
    Effect.gen(function*() {
      const { complete } = yield* ClientSession.ClientSession
      const typed = (name: string, value: string) =>
        complete({ ref: { type: "ref/prompt", name: "test_prompt_with_arguments" }, argument: { name, value } })
      assert.deepStrictEqual((yield* typed("arg1", "test")).completion.values, ["testValue1", "testValue2"])
      assert.deepStrictEqual((yield* typed("arg2", "other")).completion.values, [])
      assert.include(
        yield* errorOf(({ complete }) =>
          complete({
            ref: { type: "ref/prompt", name: "test_simple_prompt" },
            argument: { name: "arg1", value: "" }
          })
        ),
        { code: -32602 }
      )
    }).pipe(withClient()))
})
