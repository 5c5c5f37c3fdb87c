/** Remote tools of two servers in the hands of a language model that follows a script. */
import { type GroupList, McpClients, McpTarget, ServerUnavailableError } from "@effect-mcp/client"
import * as McpRemoteToolkit from "@effect-mcp/client/McpRemoteToolkit"
import { Content, ExactJson, McpError, type MethodTable } from "@effect-mcp/protocol"
import { RequestError, ServerSession } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"

const info = { name: "host", version: "1.0.0" }

/** Makes the beginning of a PNG of this size. */
const pictureOf = (width: number, height: number) =>
  new Uint8Array(
    [
      [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a],
      [0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52],
      [0, 0, width >> 8, width & 0xff, 0, 0, height >> 8, height & 0xff],
      [8, 2, 0, 0, 0, 0, 0, 0, 0]
    ].flat()
  )

const picture = pictureOf(1, 1)

const weather = ServerSession.layerMemory({
  "tools/list": () =>
    Effect.succeed({
      tools: [
        {
          name: "forecast",
          title: "Forecast",
          description: "Returns the weather.",
          inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
          outputSchema: { type: "object", properties: { celsius: { type: "number" } } }
        },
        { name: "radar", inputSchema: { type: "object" } }
      ]
    }),
  "tools/call": ({ arguments: input, name }) =>
    Effect.succeed(
      name === "radar"
        ? {
          content: [
            Content.text("the radar"),
            Content.image(picture, "image/png"),
            { ...Content.text("for the eyes of the user"), annotations: { audience: ["user" as const] } }
          ]
        }
        : input?.["city"] === "Rome"
        ? { content: [Content.text(`{"celsius":31}`)], structuredContent: { celsius: 31 } }
        : input?.["city"] === "Oslo"
        ? { content: [Content.text("It is cold.")], structuredContent: { celsius: -4 } }
        : { content: [Content.text("there is no such city")], structuredContent: { known: 2 }, isError: true }
    )
}, { info: { name: "weather", version: "1.0.0" } })

const mail = ServerSession.layerMemory({
  "tools/list": () => Effect.succeed({ tools: [{ name: "send", inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: input }) =>
    Effect.succeed({ content: [Content.text(`sent to ${String(input?.["to"])}`)] })
}, { info: { name: "mail", version: "1.0.0" } })

/** Makes a model that calls tools in its first answer, and then answers with a text. It records its requests. */
const modelOf = (calls: ReadonlyArray<readonly [name: string, params: unknown]>) => {
  const requests: Array<LanguageModel.ProviderOptions> = []
  const finish = (reason: "stop" | "tool-calls"): Response.PartEncoded => ({
    type: "finish",
    reason,
    usage: {
      inputTokens: { uncached: undefined, total: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined }
    },
    response: undefined
  })
  const layer = Layer.effect(
    LanguageModel.LanguageModel,
    LanguageModel.make({
      generateText: (options) =>
        Effect.sync(() => {
          requests.push(options)
          if (requests.length > 1) return [{ type: "text", text: "done" }, finish("stop")]
          return [
            ...calls.map(([name, params], index): Response.PartEncoded => ({
              type: "tool-call",
              id: `call-${index}`,
              name,
              params
            })),
            finish("tool-calls")
          ]
        }),
      streamText: () => Stream.die("not used")
    })
  )
  return { layer, requests }
}

const clientsOf = McpClients.make({
  weather: McpTarget.transport(weather, "weather"),
  mail: McpTarget.transport(mail, "mail")
}, { info, names: "model" })

/** Returns a list that is nested this deeply. */
const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)

type ToolResult = MethodTable.ResultOf<"tools/call">

/** A tool of a group. */
const tool: GroupList.GroupTool = {
  server: "server",
  name: "server__a",
  inputSchema: { type: "object" },
  definition: { name: "a", inputSchema: { type: "object" } }
}

/**
 * Returns what a model and a program get of this result of a tool. No transport carries it, because the server in a
 * test could not write some of them.
 */
const received = Effect.fnUntraced(function*(result: ToolResult, options: McpRemoteToolkit.Options = {}) {
  const clients = { tools: Effect.succeed([tool]), callTool: () => Effect.succeed(result) }
  const toolkit = McpRemoteToolkit.make(clients, options)
  const { toolResults } = yield* LanguageModel.generateText({ prompt: "", toolkit }).pipe(
    Effect.provide(modelOf([["server__a", {}]]).layer)
  )
  const [received] = toolResults
  return received ?? assert.fail("there is no result")
})

/** Returns the parts that a model gets of this content. */
const partsOf = (content: ToolResult["content"], options: McpRemoteToolkit.Options = {}) =>
  Effect.map(
    received({ content }, options),
    ({ modelOutput = [] }) =>
      modelOutput.map((part) => part.type === "text" ? part.text : [part.mediaType, part.fileName, part.data])
  )

describe("a toolkit of remote tools", () => {
  it.effect("a model calls tools of two servers, and reads their results in its next request", () =>
    Effect.gen(function*() {
      const clients = yield* clientsOf
      const model = modelOf([
        ["weather__forecast", { city: "Rome" }],
        ["weather__forecast", { city: "Oslo" }],
        ["weather__radar", {}],
        ["mail__send", { to: "ada" }]
      ])
      const toolkit = McpRemoteToolkit.make(clients)
      const prompt = "What is the weather in Rome?"
      const [first, second] = yield* Effect.gen(function*() {
        const first = yield* LanguageModel.generateText({ prompt, toolkit })
        const history = Prompt.concat(Prompt.make(prompt), Prompt.fromResponseParts(first.content))
        return [first, yield* LanguageModel.generateText({ prompt: history, toolkit })] as const
      }).pipe(Effect.provide(model.layer))
      assert.strictEqual(second.text, "done")

      const offered = model.requests[0]?.tools ?? []
      assert.deepStrictEqual(
        offered.map((tool) => [tool.name, Tool.getDescription(tool), Tool.getJsonSchema(tool)["required"]]),
        [
          ["weather__forecast", "Returns the weather.", ["city"]],
          ["weather__radar", undefined, undefined],
          ["mail__send", undefined, undefined]
        ]
      )
      assert.deepStrictEqual(first.toolResults.map(({ isFailure }) => isFailure), [false, false, false, false])
      const [result] = first.toolResults
      assert.deepStrictEqual(result?.result, {
        content: [Content.text(`{"celsius":31}`)],
        structuredContent: { celsius: 31 }
      })

      const outputs = (model.requests[1]?.prompt.content ?? []).flatMap((message) =>
        message.role === "tool"
          ? message.content.flatMap((part) => part.type === "tool-result" ? [part.modelOutput ?? []] : [])
          : []
      ).map((parts) => parts.map((part) => part.type === "text" ? part.text : [part.mediaType, part.data]))
      assert.deepStrictEqual(outputs, [
        [`{"celsius":31}`],
        ["It is cold.", `{"celsius":-4}`],
        ["the radar", ["image/png", picture]],
        ["sent to ada"]
      ])
    }))

  it.effect("the files of a result are bytes, and other data is a text, because providers take text for a URL", () =>
    Effect.gen(function*() {
      const bytes = new Uint8Array([1, 2, 3])
      const blob = (uri: string, blob: string, mimeType?: string) =>
        Content.resource({ uri, blob, ...mimeType === undefined ? undefined : { mimeType } })
      const mediaTypes = ["image/png", "audio/wav", "application/x-a", "application/octet-stream"]
      assert.deepStrictEqual(
        yield* partsOf([
          Content.image(picture, "image/png"),
          Content.audio(bytes, "audio/wav; codecs=1"),
          blob("file:///home/ada/a.x?b#c", "AQID", "application/x-a"),
          blob("file:///home/ada/", "AQID"),
          blob("x://\u{202e}/..\\..\\e\u{1b}[2Jvil", "AQID", "text/html,<script>"),
          blob(`x:/${"a".repeat(1_000_000)}`, "AQID", "a".repeat(1_000_000)),
          Content.image("https://attacker.example/?leak", "image/png"),
          Content.image("file-abc123", "image/png"),
          Content.audio("data:audio/wav;base64,AQID", "audio/wav"),
          blob("x://a", "http://169.254.169.254/", "text/html")
        ], { mediaTypes }),
        [
          ["image/png", undefined, picture],
          ["audio/wav", undefined, bytes],
          ["application/x-a", "a.x", bytes],
          ["application/octet-stream", undefined, bytes],
          ["application/octet-stream", "e\\u{1b}[2Jvil", bytes],
          ["application/octet-stream", `${"a".repeat(127)}…`, bytes],
          "[a file is left out: the data of image/png is not base64]",
          "[a file is left out: the data of image/png is not base64]",
          "[a file is left out: the data of audio/wav is not base64]",
          "[a file is left out: the data of text/html is not base64]"
        ]
      )
    }))

  it.effect("a file that a provider would reject is a text, so that the conversation goes on", () =>
    Effect.gen(function*() {
      const image = (data: ReadonlyArray<number>, mimeType: string) => Content.image(new Uint8Array(data), mimeType)
      const gif = [...new TextEncoder().encode("GIF89a"), 1, 0, 1, 0, 0, 0, 0]
      const wide = [...pictureOf(8_001, 1)]
      const jpeg = [0xff, 0xd8, 0xff, 0xe0, 0, 4, 0, 0, 0xff, 0xc0, 0, 17, 8, 0x20, 0, 0, 1, 0, 0, 0]
      assert.deepStrictEqual(
        yield* partsOf([
          image(gif, "image/png"),
          image([1, 2, 3], "image/png"),
          image([], "image/png"),
          image([1, 2, 3], "image/svg+xml"),
          Content.audio(new Uint8Array([1, 2, 3]), "audio/wav"),
          image(wide, "image/png"),
          image(jpeg, "image/jpeg"),
          image([...picture, ...Array.from({ length: 70 }, () => 0)], "image/png"),
          image(gif, "image/gif")
        ], { maxFileBytes: 100 }),
        [
          ["image/gif", undefined, new Uint8Array(gif)],
          "[a file is left out: its data is not image/png]",
          "[a file is left out: the data of image/png is empty]",
          "[a file is left out: the model does not read image/svg+xml]",
          "[a file is left out: the model does not read audio/wav]",
          "[a file is left out: image/png of 8001 × 1 pixels, of at most 8000 × 8000]",
          "[a file is left out: image/jpeg of 1 × 8192 pixels, of at most 8000 × 8000]",
          "[a file is left out: image/png with more than 87 bytes]",
          ["image/gif", undefined, new Uint8Array(gif)]
        ]
      )
      const [long] = yield* partsOf([Content.image("A".repeat(8_000_000), "image/png")])
      assert.strictEqual(long, "[a file is left out: image/png with more than 3932160 bytes]")
    }))

  it.effect("an image has a header with its size, whatever its format", () =>
    Effect.gen(function*() {
      const webp = (chunk: string, ...bytes: ReadonlyArray<number>) => {
        const beginning = [...new TextEncoder().encode(`RIFF\0\0\0\0WEBP${chunk}\0\0\0\0`), ...bytes]
        return Content.image(new Uint8Array([...beginning, ...Array.from({ length: 8 }, () => 0)]), "image/webp")
      }
      const png = (data: Uint8Array) => Content.image(data, "image/png")
      const jpeg = (...bytes: ReadonlyArray<number>) =>
        Content.image(new Uint8Array([0xff, 0xd8, 0xff, ...bytes]), "image/jpeg")
      const frame = [0, 17, 8, 0, 1, 0, 2, 3, 0, 0, 0, 0, 0, 0]
      const parts = yield* partsOf([
        // The widths of these are 16,383, 1 and 2.
        webp("VP8X", 0, 0, 0, 0, 0xfe, 0x3f, 0, 0, 0, 0),
        webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 1, 0, 1, 0),
        webp("VP8L", 0x2f, 1, 0, 0, 0),
        webp("VP8L", 0x2f, 0xff, 0xff, 0, 0),
        webp("ALPH"),
        webp("VP8 ", 0, 0, 0, 0x9d, 0x01, 0x2a, 0, 0, 0, 0),
        png(picture.subarray(0, 8)),
        png(pictureOf(0, 1)),
        jpeg(0xff, 0xc0, ...frame),
        jpeg(0xd9)
      ])
      assert.deepStrictEqual(parts.map((part) => Array.isArray(part) ? part[0] : part), [
        "[a file is left out: image/webp of 16383 × 1 pixels, of at most 8000 × 8000]",
        "image/webp",
        "image/webp",
        "[a file is left out: image/webp of 16384 × 4 pixels, of at most 8000 × 8000]",
        "[a file is left out: the header of image/webp has no size]",
        "[a file is left out: the header of image/webp has no size]",
        "[a file is left out: the header of image/png has no size]",
        "[a file is left out: the header of image/png has no size]",
        "image/jpeg",
        "[a file is left out: the header of image/jpeg has no size]"
      ])
    }))

  it.effect("a result has a text that is not blank, has no half surrogate pairs, and has a greatest length", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* partsOf([]), ["[the result of the tool is empty]"])
      assert.deepStrictEqual(yield* partsOf([Content.text(""), Content.text(" \n")]), [
        "[the result of the tool is empty]"
      ])
      assert.deepStrictEqual(yield* partsOf([Content.text("a\ud83d")]), ["a\ufffd"])
      assert.deepStrictEqual(
        yield* partsOf([Content.text("abc"), Content.text("def"), Content.text("gh")], { maxCharacters: 4 }),
        ["abc", "d[2 characters are left out]", "[2 characters are left out]"]
      )
      const failed = yield* received({
        content: [Content.text("\ud83d")],
        structuredContent: { "\ud83d": ["\ude00"] },
        isError: true
      })
      assert.notMatch(JSON.stringify(failed.encodedResult), /\\ud[89a-f]/)
    }))

  it.effect("a result that is nested too deeply for JSON.stringify is a failure, and no defect", () =>
    Effect.gen(function*() {
      const unknown = yield* received({ content: [], structuredContent: { deep: nested(50_000) } })
      assert.deepStrictEqual(
        unknown.result,
        new McpRemoteToolkit.ToolOutcomeUnknownError({
          server: "server",
          tool: "server__a",
          reason: "InvalidResult",
          message: "the tool has run, but its result cannot be shown: it has more than 512 levels"
        })
      )
      assert.isTrue((yield* received({ content: [], _meta: { deep: nested(50_000) } })).isFailure)
      const failed = yield* received({ content: [], structuredContent: { deep: nested(50_000) }, isError: true })
      assert.deepStrictEqual(
        failed.result,
        new McpRemoteToolkit.RemoteToolFailedError({ server: "server", tool: "server__a", message: "" })
      )
      assert.isFalse((yield* received({ content: [], structuredContent: { deep: nested(500) } })).isFailure)
    }))

  it.effect("structured content with more structures than a canonical text has is a text of its own", () =>
    Effect.gen(function*() {
      const structuredContent = { many: Array.from({ length: 1_000_001 }, () => []) }
      const text = JSON.stringify(structuredContent)
      const { modelOutput } = yield* received(
        { content: [Content.text("{}"), Content.text(text)], structuredContent },
        { maxCharacters: 10 * text.length }
      )
      assert.deepStrictEqual(modelOutput?.map((part) => part.type === "text" && part.text), ["{}", text, text])
    }))

  it.effect("the model reads the digits of an integer beyond 2^53", () =>
    Effect.gen(function*() {
      const digits = "1915883588174806058"
      const structuredContent = ExactJson.parse(`{"id":${digits}}`)
      const { modelOutput } = yield* received({ content: [], structuredContent })
      assert.deepStrictEqual(modelOutput?.map((part) => part.type === "text" && part.text), [`{"id":${digits}}`])
      const failed = yield* received({ content: [], structuredContent, isError: true })
      assert.include(JSON.stringify(failed.encodedResult), `"details":{"id":${digits}}`)
      const half = { "\\\ud83d": ["\ud83d\ude00\ud83d\ud83d", "\\ud83d"] }
      const { encodedResult } = yield* received({ content: [], structuredContent: half, isError: true })
      assert.containSubset(encodedResult, { details: { "\\\ufffd": ["\ud83d\ude00\ufffd\ufffd", "\\ud83d"] } })
    }))

  it.effect("a text is the structured content however it is indented, and is not read if it is much longer", () =>
    Effect.gen(function*() {
      const structuredContent = { a: [{ b: 1 }, { c: 2 }] }
      const parts = (text: string) =>
        Effect.map(
          received({ content: [Content.text(text)], structuredContent }),
          ({ modelOutput }) => modelOutput?.length
        )
      const ofWord = (text: string) =>
        Effect.map(
          received({ content: [Content.text(text)], structuredContent: "beans" }),
          ({ modelOutput }) => modelOutput?.length
        )
      // A server may send a string as it is, or as JSON.
      assert.deepStrictEqual([yield* ofWord("beans"), yield* ofWord("\"beans\""), yield* ofWord("peas")], [1, 1, 2])
      assert.strictEqual(yield* parts(JSON.stringify(structuredContent, undefined, 8)), 1)
      assert.strictEqual(yield* parts(`${JSON.stringify(structuredContent)}${" ".repeat(10_000)}`), 2)
      assert.strictEqual(yield* parts(JSON.stringify({ ...structuredContent, d: [3] })), 2)
    }))

  it.effect("the message of a failed call is escaped and has a bounded length", () =>
    Effect.gen(function*() {
      const error = new McpError.McpError({ code: 1, message: `\u{1b}[2J${"a".repeat(1_000_000)}` })
      const toolkit = McpRemoteToolkit.make({
        tools: Effect.succeed([tool]),
        callTool: () => Effect.fail(RequestError.make("tools/call", { _tag: "ErrorResponse", error }))
      })
      const { toolResults: [failed] } = yield* LanguageModel.generateText({ prompt: "", toolkit }).pipe(
        Effect.provide(modelOf([["server__a", {}]]).layer)
      )
      const message = failed?.result instanceof McpRemoteToolkit.ToolNotCalledError ? failed.result.message : ""
      assert.isTrue(message.startsWith("tools/call: the peer replied with error 1: \\u{1b}[2Jaaa"))
      assert.strictEqual(message.length, 8_192)
    }))

  it.effect("the model receives no cause of a lost connection and no standard error, which are logged", () =>
    Effect.gen(function*() {
      const secret = "postgres://app:dbPassw0rd@db.internal"
      const stderr = [secret]
      const exit = { exitCode: 1, signal: undefined, stderr }
      const lost = RequestError.make("tools/call", {
        _tag: "Closed",
        reason: { _tag: "PeerEnded", exit },
        isSent: true
      })
      const down = new ServerUnavailableError.ServerUnavailableError({
        server: "db",
        status: {
          _tag: "Down",
          attempts: 1,
          problem: { _tag: "Ended", reason: { _tag: "PeerEnded", exit } },
          retryMillis: 100,
          stderr
        },
        waitedMillis: 5
      })
      const logged: Array<string> = []
      const words = (error: McpClients.GroupCallError) =>
        LanguageModel.generateText({
          prompt: "",
          toolkit: McpRemoteToolkit.make({ tools: Effect.succeed([tool]), callTool: () => Effect.fail(error) })
        }).pipe(
          Effect.map(({ toolResults: [failed] }) => JSON.stringify(failed?.result)),
          Effect.provide(modelOf([["server__a", {}]]).layer),
          Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))]))
        )
      for (const error of [lost, down]) {
        assert.include(error.message, secret)
        assert.notInclude(yield* words(error), "db.internal")
      }
      assert.strictEqual(logged.filter((message) => message.includes(secret)).length, 2)
    }))

  it.effect("a tool whose schema no provider could take is left out, with one warning", () =>
    Effect.gen(function*() {
      const withSchema = (name: string, schema: object): GroupList.GroupTool => ({
        ...tool,
        name,
        inputSchema: { type: "object", ...schema }
      })
      const tools = [
        withSchema("deep", { default: nested(50_000) }),
        withSchema("long", { description: "a".repeat(65_536) }),
        withSchema("deepest", { default: nested(63) }),
        withSchema("longest", { description: "a".repeat(65_000) })
      ]
      const clients = { tools: Effect.succeed(tools), callTool: () => Effect.die("not used") }
      const messages: Array<string> = []
      const offered = yield* Effect.gen(function*() {
        return [yield* McpRemoteToolkit.make(clients), yield* McpRemoteToolkit.make(clients)]
      }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])))
      for (const toolkit of offered) {
        assert.deepStrictEqual(Object.keys(toolkit.tools), ["deepest", "longest"])
        for (const tool of Object.values(toolkit.tools)) assert.isNotEmpty(JSON.stringify(Tool.getJsonSchema(tool)))
      }
      assert.deepStrictEqual(messages, [
        "the tool \"deep\" is not offered to the model: its input schema has more than 64 levels; " +
        "simplify the schema",
        "the tool \"long\" is not offered to the model: its input schema has more than 65536 characters; " +
        "simplify the schema"
      ])
    }))

  it.effect("a schema has a form that providers accept, and arguments reach the server under its names", () =>
    Effect.gen(function*() {
      const calls: Array<unknown> = []
      const inputSchema = {
        type: "object" as const,
        properties: { "filter[id]": { type: "string" } },
        anyOf: [{ required: ["filter[id]"] }, { properties: { url: { type: "any" } }, required: ["url"] }]
      }
      const clients = {
        tools: Effect.succeed([{ ...tool, inputSchema, description: " " }]),
        callTool: (_: unknown, input?: unknown) => {
          calls.push(input)
          return Effect.succeed({ content: [] })
        }
      }
      const model = modelOf([["server__a", { filter_id_: "1", url: "2" }]])
      yield* LanguageModel.generateText({ prompt: "", toolkit: McpRemoteToolkit.make(clients) }).pipe(
        Effect.provide(model.layer)
      )
      assert.deepStrictEqual(calls, [{ "filter[id]": "1", url: "2" }])
      const [offered] = model.requests[0]?.tools ?? []
      assert.isDefined(offered)
      assert.isUndefined(Tool.getDescription(offered))
      assert.deepStrictEqual(Tool.getJsonSchema(offered), {
        type: "object",
        description: "Give one of these sets of arguments: (filter[id]), (url).",
        properties: { filter_id_: { type: "string" }, url: {} }
      })
    }))

  it.live("timers run while many large schemas are converted", () =>
    Effect.gen(function*() {
      const tools = Array.from({ length: 20 }, (_, index): GroupList.GroupTool => {
        const names = Array.from({ length: 1_000 }, (_, at) => at)
        const properties = names.flatMap((at) => [[`a${at}`, { $ref: `#/properties/b${at}` }], [`b${at}`, {}]] as const)
        const inputSchema = { type: "object" as const, properties: Object.fromEntries(properties) }
        return { ...tool, name: `server__${index}`, inputSchema }
      })
      let ticks = 0
      const timer = setInterval(() => ticks++, 1)
      const clients = { tools: Effect.succeed(tools), callTool: () => Effect.never }
      yield* Effect.ensuring(McpRemoteToolkit.make(clients), Effect.sync(() => clearInterval(timer)))
      assert.isAbove(ticks, 10)
    }))

  it.effect("the option schema changes a schema, or leaves its tool out", () =>
    Effect.gen(function*() {
      const tools = ["a", "b"].map((name): GroupList.GroupTool => ({ ...tool, name }))
      const toolkit = yield* McpRemoteToolkit.make({
        tools: Effect.succeed(tools),
        callTool: () => Effect.never
      }, {
        schema: ({ definition, inputSchema, name }) => {
          assert.deepStrictEqual(definition.inputSchema, { type: "object" })
          return name === "a" ? undefined : { ...inputSchema, title: "changed" }
        }
      })
      assert.deepStrictEqual(
        Object.values(toolkit.tools).map((tool) => [tool.name, Tool.getJsonSchema(tool)]),
        [["b", { type: "object", properties: {}, title: "changed" }]]
      )
    }))

  it.effect("of more tools than a request may have, those of each server are offered in turn, with one warning", () =>
    Effect.gen(function*() {
      const toolsOf = (server: string, count: number, description: string) =>
        Array.from({ length: count }, (_, index): GroupList.GroupTool => ({
          ...tool,
          server,
          name: `${server}__${index}`,
          description
        }))
      const messages: Array<string> = []
      const offered = (tools: ReadonlyArray<GroupList.GroupTool>, options: McpRemoteToolkit.Options = {}) =>
        McpRemoteToolkit.make({ tools: Effect.succeed(tools), callTool: () => Effect.never }, options).pipe(
          Effect.map(({ tools }) => Object.keys(tools)),
          Effect.provide(Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))]))
        )
      const many = [...toolsOf("large", 200, "a"), ...toolsOf("small", 3, "a")]
      const names = yield* offered(many)
      assert.strictEqual(names.length, 128)
      assert.deepStrictEqual(names.slice(-4), ["large__124", "small__0", "small__1", "small__2"])
      assert.strictEqual((yield* offered(many, { maxTools: 1_000 })).length, 203)
      const long = [...toolsOf("long", 100, "a".repeat(16_000)), ...toolsOf("short", 1, "a")]
      assert.deepStrictEqual((yield* offered(long)).slice(-2), ["long__31", "short__0"])
      const unnamed = yield* offered([{ ...tool, name: "server__a.b" }, tool])
      assert.deepStrictEqual(unnamed, ["server__a"])
      assert.deepStrictEqual(messages.map((message) => message.slice(0, 50)), [
        "only 128 of 203 tools are offered to the model, be",
        "only 33 of 101 tools are offered to the model, bec",
        "the tool \"server__a.b\" is not offered to the model"
      ])
    }))

  it.effect("a failed tool is a typed failure that the model reads", () =>
    Effect.gen(function*() {
      const clients = yield* clientsOf
      const model = modelOf([["weather__forecast", { city: "Atlantis" }]])
      const { toolResults } = yield* LanguageModel.generateText({
        prompt: "What is the weather in Atlantis?",
        toolkit: McpRemoteToolkit.make(clients)
      }).pipe(Effect.provide(model.layer))
      const [failed] = toolResults
      assert.isTrue(failed?.isFailure)
      assert.deepStrictEqual(
        failed?.result,
        new McpRemoteToolkit.RemoteToolFailedError({
          server: "weather",
          tool: "weather__forecast",
          message: "there is no such city",
          details: { known: 2 }
        })
      )
      assert.deepStrictEqual(failed?.encodedResult, {
        _tag: "RemoteToolFailedError",
        server: "weather",
        tool: "weather__forecast",
        message: "there is no such city",
        details: { known: 2 }
      })
    }))

  it.effect("with failureMode error, the generation fails with the typed failure", () =>
    Effect.gen(function*() {
      const clients = yield* clientsOf
      const model = modelOf([["weather__forecast", { city: "Atlantis" }]])
      const message = yield* LanguageModel.generateText({
        prompt: "What is the weather in Atlantis?",
        toolkit: McpRemoteToolkit.make(clients, { failureMode: "error" })
      }).pipe(
        Effect.map(() => "no failure"),
        Effect.catchTag("RemoteToolFailedError", ({ message, server }) => Effect.succeed(`${server}: ${message}`)),
        Effect.provide(model.layer)
      )
      assert.strictEqual(message, "weather: there is no such city")
    }))

  it.effect("a server that was removed is a failure of its calls, and the other tools still run", () =>
    Effect.gen(function*() {
      const clients = yield* McpClients.make({ mail: McpTarget.transport(mail, "mail") }, { info, names: "model" })
      const toolkit = yield* Effect.scoped(Effect.gen(function*() {
        yield* clients.add("weather", McpTarget.transport(weather, "weather"))
        return yield* McpRemoteToolkit.make(clients)
      }))
      const model = modelOf([["weather__radar", {}], ["mail__send", { to: "bob" }]])
      const { toolResults } = yield* LanguageModel.generateText({ prompt: "Show me the radar.", toolkit }).pipe(
        Effect.provide(model.layer)
      )
      assert.deepStrictEqual(
        toolResults.map(({ result }) =>
          result instanceof McpRemoteToolkit.ToolNotCalledError ? result.reason : "result"
        ),
        ["NoSuchNameError", "result"]
      )
    }))

  it.effect("arguments that are no object fail as those of effect/ai do, and are not sent", () =>
    Effect.gen(function*() {
      const clients = yield* clientsOf
      const model = modelOf([["mail__send", ["ada"]]])
      const { toolResults } = yield* LanguageModel.generateText({
        prompt: "Send a mail.",
        toolkit: McpRemoteToolkit.make(clients)
      }).pipe(Effect.provide(model.layer))
      assert.include(JSON.stringify(toolResults[0]?.encodedResult), "the arguments of send must be an object")
    }))

  it.effect("a call that needs an approval is not sent without it", () =>
    Effect.gen(function*() {
      const clients = yield* clientsOf
      const model = modelOf([["mail__send", { to: "eve" }], ["weather__radar", {}]])
      const { content, toolResults } = yield* LanguageModel.generateText({
        prompt: "Send a mail.",
        toolkit: McpRemoteToolkit.make(clients, { needsApproval: ({ server }) => server === "mail" })
      }).pipe(Effect.provide(model.layer))
      assert.deepStrictEqual(toolResults.map(({ name }) => name), ["weather__radar"])
      const asked = content.flatMap((part) => part.type === "tool-approval-request" ? [part.toolCallId] : [])
      assert.deepStrictEqual(asked, ["call-0"])
    }))
})

it.effect("a toolkit has any number of tools", () =>
  Effect.gen(function*() {
    const tools = Array.from({ length: 130_000 }, (_, index) => {
      const definition = { name: `tool${index}`, inputSchema: { type: "object" } } as const
      return { ...definition, server: "many", definition }
    })
    const toolkit = yield* McpRemoteToolkit.make({ tools: Effect.succeed(tools), callTool: () => Effect.never }, {
      maxTools: tools.length,
      maxToolCharacters: Number.MAX_SAFE_INTEGER
    })
    assert.strictEqual(Object.keys(toolkit.tools).length, tools.length)
  }))
