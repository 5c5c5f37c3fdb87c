/** A `LanguageModel` that answers a server in the same process, in a revision with a handshake and in one without. */
import { type McpAnswers, McpClient } from "@effect-mcp/client"
import * as McpSampling from "@effect-mcp/client/McpSampling"
import { Content, Sampling } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { ask, askingServer, revisions } from "./fixtures/askingServer.ts"

const info = { name: "host", version: "1.0.0" }

const pixel = new Uint8Array([0x89, 0x50, 0x4e, 0x47])
const sound = new Uint8Array([0x52, 0x49, 0x46, 0x46])

const usage = { inputTokens: {}, outputTokens: {} }

const finish = (reason: Response.FinishReason): Response.PartEncoded => ({ type: "finish", reason, usage })

const text = (text: string): Response.PartEncoded => ({ type: "text", text })

const call = (params: unknown): Response.PartEncoded => ({ type: "tool-call", id: "call-1", name: "add", params })

type Reply = Effect.Effect<Array<Response.PartEncoded>, AiError.AiError>

/** Makes a model that gives these replies in turn, and records what it is given. */
const scripted = Effect.fnUntraced(function*(...replies: ReadonlyArray<ReadonlyArray<Response.PartEncoded> | Reply>) {
  const received: Array<LanguageModel.ProviderOptions> = []
  const model = yield* LanguageModel.make({
    generateText: (options) => {
      const reply = replies[received.push(options) - 1] ?? [text("the script has ended")]
      return Effect.isEffect(reply) ? reply : Effect.succeed([...reply])
    },
    streamText: () => Stream.empty
  })
  return { model, received }
})

const add = {
  name: "add",
  description: "Adds two numbers",
  inputSchema: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } }
} as const

const user = (...content: ReadonlyArray<Sampling.SamplingContent>): Sampling.SamplingMessage => ({
  role: "user",
  content
})

const sum: Sampling.CreateMessageParams = {
  messages: [user(Content.text("How much is 2 + 3?"))],
  maxTokens: 100,
  tools: [add],
  toolChoice: { mode: "required" }
}

const plain: Sampling.CreateMessageParams = { messages: [user(Content.text("Hello"))], maxTokens: 100 }

const blocksOf = ({ content }: Sampling.CreateMessageResult): ReadonlyArray<Sampling.SamplingContent> =>
  "type" in content ? [content] : content

/** The conversation of a server whose tool the model uses once. The server runs the tool itself. */
const useTool = Effect.gen(function*() {
  const first = yield* RequestContext.createMessage(sum)
  const uses = blocksOf(first).flatMap((block) => block.type === "tool_use" ? [block] : [])
  const results = uses.map(({ id, input }): Sampling.ToolResultContent => ({
    type: "tool_result",
    toolUseId: id,
    content: [Content.text("5")],
    structuredContent: { sum: Number(input["a"]) + Number(input["b"]) }
  }))
  const { toolChoice: _, ...again } = sum
  const second = yield* RequestContext.createMessage({
    ...again,
    messages: [...sum.messages, { role: "assistant", content: first.content }, user(...results)]
  })
  return JSON.stringify([first, second])
})

/** The members of a prompt that a test compares: what the model reads of it. */
const readable = ({ prompt }: LanguageModel.ProviderOptions) =>
  prompt.content.map(({ content, role }) => ({
    role,
    content: typeof content === "string" ? content : content.map((part) => {
      switch (part.type) {
        case "text":
          return part.text
        case "file":
          return [part.mediaType, part.data]
        case "tool-call":
          return [part.type, part.id, part.name, part.params]
        case "tool-result":
          return [part.type, part.id, part.name, part.isFailure, part.result, part.modelOutput?.map(({ type }) => type)]
        default:
          return part.type
      }
    })
  }))

class Limit extends Context.Service<Limit, { readonly apply: (tokens: number) => void }>()("test/Limit") {}

describe.concurrent("a LanguageModel that answers a server", () => {
  for (const revision of revisions) {
    const asking = (
      server: Parameters<typeof askingServer>[0],
      answers: McpAnswers.Answers<LanguageModel.LanguageModel>,
      model: LanguageModel.LanguageModel
    ) =>
      McpClient.make(askingServer(server), {
        info,
        name: "notes",
        revisions: [revision],
        healthCheck: false,
        answers
      }).pipe(Effect.flatMap(ask), Effect.provideService(LanguageModel.LanguageModel, model))

    /** Returns the result of one question, or the code of its error. */
    const sample = (
      params: Sampling.CreateMessageParams,
      options: McpSampling.Options,
      model: LanguageModel.LanguageModel
    ): Effect.Effect<unknown, unknown, Effect.Services<ReturnType<typeof asking>>> => {
      const server = Effect.match(RequestContext.createMessage(params), {
        onSuccess: (result) => JSON.stringify(result),
        onFailure: ({ reason }) => JSON.stringify(reason._tag === "ErrorResponse" ? reason.error.code : reason._tag)
      })
      return asking(server, { sample: McpSampling.make(options) }, model).pipe(
        Effect.map((result): unknown => JSON.parse(result)),
        Effect.catchTag(
          "RequestError",
          ({ reason }) => Effect.succeed(reason._tag === "QuestionFailed" ? reason.error.code : reason._tag)
        )
      )
    }

    describe.concurrent(`in revision ${revision}`, () => {
      it.effect("the model reads the system prompt, text, images and audio of both roles", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted([text("A "), text("logo."), finish("stop")])
          const result = yield* sample(
            {
              systemPrompt: "Be brief.",
              messages: [
                user(
                  Content.text("What is this?"),
                  Content.image(pixel, "image/png"),
                  Content.audio(sound, "audio/wav")
                ),
                { role: "assistant", content: Content.text("Which of them?") },
                user(Content.text("The picture."))
              ],
              maxTokens: 100
            },
            { model: "test-1" },
            model
          )
          assert.deepStrictEqual(received.map(readable), [[
            { role: "system", content: "Be brief." },
            { role: "user", content: ["What is this?", ["image/png", pixel], ["audio/wav", sound]] },
            { role: "assistant", content: ["Which of them?"] },
            { role: "user", content: ["The picture."] }
          ]])
          assert.deepStrictEqual(result, {
            role: "assistant",
            content: Content.text("A logo."),
            model: "test-1",
            stopReason: "endTurn"
          })
        }))

      it.effect("the model uses a tool of the server, which runs it and sends the result back", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted(
            [text("I add."), call({ a: 2, b: 3 }), finish("tool-calls")],
            [text("It is 5."), finish("stop")]
          )
          const answers = { sample: McpSampling.make({ model: "test-1" }) }
          const use = { type: "tool_use", id: "call-1", name: "add", input: { a: 2, b: 3 } }
          assert.deepStrictEqual(JSON.parse(yield* asking(useTool, answers, model)), [
            { role: "assistant", content: [Content.text("I add."), use], model: "test-1", stopReason: "toolUse" },
            { role: "assistant", content: [Content.text("It is 5.")], model: "test-1", stopReason: "endTurn" }
          ])
          assert.deepStrictEqual(received.map(({ toolChoice }) => toolChoice), ["required", "auto"])
          for (const { tools } of received) {
            assert.deepStrictEqual(
              tools.map((tool) => [tool.name, tool.description, "jsonSchema" in tool ? tool.jsonSchema : undefined]),
              [["add", "Adds two numbers", add.inputSchema]]
            )
          }
          assert.deepStrictEqual(received.slice(1).map(readable), [[
            { role: "user", content: ["How much is 2 + 3?"] },
            { role: "assistant", content: ["I add.", ["tool-call", "call-1", "add", { a: 2, b: 3 }]] },
            { role: "tool", content: [["tool-result", "call-1", "add", false, { sum: 5 }, undefined]] }
          ]])
        }))

      it.effect("the model reads the image and the failure of a tool's result", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted([text("I see."), finish("stop")])
          const use = (id: string) => ({ type: "tool_use", id, name: "draw", input: {} } as const)
          yield* sample(
            {
              ...sum,
              messages: [
                user(Content.text("Draw!")),
                { role: "assistant", content: [use("1"), use("2")] },
                user(
                  { type: "tool_result", toolUseId: "1", content: [Content.image(pixel, "image/png")] },
                  { type: "tool_result", toolUseId: "2", content: [Content.text("no ink")], isError: true }
                )
              ]
            },
            {},
            model
          )
          assert.deepStrictEqual(received.map((options) => readable(options).at(-1)), [{
            role: "tool",
            content: [
              ["tool-result", "1", "draw", false, "", ["file"]],
              ["tool-result", "2", "draw", true, "no ink", undefined]
            ]
          }])
        }))

      it.effect("a use of a tool has the reason toolUse, whatever reason the provider gives", () =>
        Effect.gen(function*() {
          const { model } = yield* scripted([call({ a: 2, b: 3 }), finish("stop")])
          assert.deepStrictEqual(yield* sample(sum, { model: "test-1" }, model), {
            role: "assistant",
            content: [{ type: "tool_use", id: "call-1", name: "add", input: { a: 2, b: 3 } }],
            model: "test-1",
            stopReason: "toolUse"
          })
        }))

      it.effect("an image of the model is the message, and its reasoning stays at the client", () =>
        Effect.gen(function*() {
          const { model } = yield* scripted([
            { type: "reasoning", text: "secret thoughts" },
            { type: "file", mediaType: "image/png", data: Content.image(pixel, "image/png").data },
            finish("stop")
          ])
          assert.deepStrictEqual(yield* sample(plain, { model: "test-1" }, model), {
            role: "assistant",
            content: Content.image(pixel, "image/png"),
            model: "test-1",
            stopReason: "endTurn"
          })
        }))

      for (
        const [what, stopSequences] of [
          ["65 stop sequences", Array.from({ length: 65 }, (_, index) => `stop ${index}`)],
          ["a stop sequence of 257 characters", ["a", "b".repeat(257)]]
        ] as const
      ) {
        it.effect(`law 12: a question with ${what} is rejected with -32602 before the model runs`, () =>
          Effect.gen(function*() {
            const { model, received } = yield* scripted([text("a"), finish("stop")])
            assert.strictEqual(yield* sample({ ...plain, stopSequences }, { model: "test-1" }, model), -32602)
            assert.lengthOf(received, 0)
          }))
      }

      it.effect("the text ends before the first stop sequence", () =>
        Effect.gen(function*() {
          const { model } = yield* scripted([text("One. T"), text("wo. Three."), finish("stop")])
          const result = yield* sample({ ...plain, stopSequences: ["Three", " Two"] }, { model: "test-1" }, model)
          assert.deepStrictEqual(result, {
            role: "assistant",
            content: Content.text("One."),
            model: "test-1",
            stopReason: "stopSequence"
          })
        }))

      it.effect("a medium that the model does not understand is rejected with -32602 before the model runs", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted()
          const params = { ...plain, messages: [user(Content.audio(sound, "audio/wav"))] }
          assert.strictEqual(yield* sample(params, { media: ["image"] }, model), -32602)
          assert.lengthOf(received, 0)
        }))

      it.effect("the model gets names and schemas that providers accept, and the server gets its own", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted(
            [{ type: "tool-call", id: "2", name: "add_all_2", params: { filter_id_: 1, url: 2 } }, finish("tool-calls")]
          )
          const inputSchema = { type: "object" as const, properties: { "filter[id]": {} }, anyOf: [{ properties: {} }] }
          const tools = ["add/all", "add.all", "a".repeat(100)].map((name) => ({ name, inputSchema }))
          const use = { type: "tool_use", id: "1", name: "add.all", input: { "filter[id]": 0 } } as const
          const result = { type: "tool_result", toolUseId: "1", content: [Content.text("0")] } as const
          const messages = [...plain.messages, { role: "assistant" as const, content: use }, user(result)]
          assert.containSubset(yield* sample({ ...plain, messages, tools }, {}, model), {
            content: [{ type: "tool_use", id: "2", name: "add.all", input: { "filter[id]": 1, url: 2 } }]
          })
          assert.deepStrictEqual(
            received[0]?.tools.map((tool) => [tool.name, "jsonSchema" in tool ? tool.jsonSchema : undefined]),
            ["add_all", "add_all_2", "a".repeat(56)].map((name) => [
              name,
              { type: "object", properties: { filter_id_: {} } }
            ])
          )
          assert.deepStrictEqual(received.map(readable)[0]?.slice(1), [
            { role: "assistant", content: [["tool-call", "1", "add_all_2", { filter_id_: 0 }]] },
            { role: "tool", content: [["tool-result", "1", "add_all_2", false, "0", undefined]] }
          ])
        }))

      it.effect("more tools than a request may have are rejected with -32602", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted()
          const many = (length: number, description: string) =>
            Array.from({ length }, (_, index) => ({ ...add, name: `add${index}`, description }))
          for (const tools of [many(129, ""), many(40, "a".repeat(16_000))]) {
            assert.strictEqual(yield* sample({ ...sum, tools }, {}, model), -32602)
          }
          assert.lengthOf(received, 0)
        }))

      it.effect("data that is not base64, and two tools of one name, are rejected with -32602", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted()
          const broken = { ...plain, messages: [user(Content.image("not base64!", "image/png"))] }
          assert.strictEqual(yield* sample(broken, {}, model), -32602)
          assert.strictEqual(yield* sample({ ...sum, tools: [add, add] }, {}, model), -32602)
          assert.lengthOf(received, 0)
        }))

      it.effect("params and tools that are nested too deeply for a provider are rejected with -32602", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted()
          const nested = (levels: number): unknown => JSON.parse(`${"[".repeat(levels)}${"]".repeat(levels)}`)
          const use = { type: "tool_use", id: "1", name: "add", input: { x: nested(1_000) } } as const
          const deep = { ...plain, messages: [{ role: "assistant" as const, content: use }] }
          assert.strictEqual(yield* sample(deep, {}, model), -32602)
          const tool = { ...add, inputSchema: { type: "object" as const, default: nested(100) } }
          assert.strictEqual(yield* sample({ ...sum, tools: [tool] }, {}, model), -32602)
          assert.lengthOf(received, 0)
        }))

      it.effect("an error of the model is logged, and the server does not receive its text", () =>
        Effect.gen(function*() {
          const { model } = yield* scripted(Effect.fail(AiError.make({
            module: "Test",
            method: "generateText",
            reason: new AiError.InvalidRequestError({ description: "the key sk-1 is unknown" })
          })))
          const messages: Array<string> = []
          const logger = Logger.make(({ message }) => void messages.push(String(message)))
          const code = yield* Effect.provide(sample(plain, {}, model), Logger.layer([logger]))
          assert.strictEqual(code, -32603)
          assert.include(messages.join("\n"), "the model did not answer the server \"notes\": ")
          assert.include(messages.join("\n"), "sk-1")
        }))

      it.effect("a use of a tool that the server has not offered is an error of the model", () =>
        Effect.gen(function*() {
          const { model } = yield* scripted([{ type: "tool-call", id: "1", name: "delete", params: {} }])
          assert.strictEqual(yield* sample(sum, {}, model), -32603)
        }))

      it.effect("a question that is not approved does not reach the model", () =>
        Effect.gen(function*() {
          const { model, received } = yield* scripted()
          yield* Effect.ignore(
            asking(useTool, { sample: McpSampling.make(), approve: () => Effect.succeed(false) }, model)
          )
          assert.lengthOf(received, 0)
        }))

      const reasons = {
        stop: "endTurn",
        length: "maxTokens",
        "content-filter": "contentFilter",
        unknown: undefined
      } as const
      for (const reason of ["stop", "length", "content-filter", "unknown"] as const) {
        it.effect(`the reason ${reason} of the model becomes ${reasons[reason] ?? "no stopReason"}`, () =>
          Effect.gen(function*() {
            const { model } = yield* scripted([text("A"), finish(reason)])
            assert.deepStrictEqual(yield* sample(plain, { model: "test-1" }, model), {
              role: "assistant",
              content: Content.text("A"),
              model: "test-1",
              ...(reasons[reason] === undefined ? {} : { stopReason: reasons[reason] })
            })
          }))
      }

      it.effect("the name of the model is that of the option, of the response, or unknown", () =>
        Effect.gen(function*() {
          const metadata: Response.PartEncoded = { type: "response-metadata", modelId: "served-2" }
          const { model } = yield* scripted([metadata, text("A")], [metadata, text("A")], [text("A")])
          const names = yield* Effect.forEach([{ model: "test-1" }, {}, {}], (options) => sample(plain, options, model))
          assert.deepStrictEqual(
            names.map((result) => typeof result === "object" && result !== null && "model" in result && result.model),
            ["test-1", "served-2", "unknown"]
          )
        }))
    })
  }

  it.effect("the option configure applies the params with the configuration of the provider", () =>
    Effect.gen(function*() {
      const { model } = yield* scripted([text("A"), finish("stop")])
      const applied: Array<number> = []
      const sampler = McpSampling.make({
        configure: (generate, { maxTokens, temperature = 0 }) =>
          Effect.andThen(
            Effect.map(Limit, ({ apply }) => {
              apply(maxTokens)
              apply(temperature)
            }),
            generate
          )
      })
      const server = Effect.map(
        RequestContext.createMessage({ ...plain, maxTokens: 7, temperature: 0.5 }),
        ({ model }) => model
      )
      const client = McpClient.make(askingServer(server), { info, healthCheck: false, answers: { sample: sampler } })
      yield* client.pipe(
        Effect.flatMap(ask),
        Effect.provideService(LanguageModel.LanguageModel, model),
        Effect.provideService(Limit, { apply: (value) => void applied.push(value) })
      )
      assert.deepStrictEqual(applied, [7, 0.5])
    }))

  it.effect("the option configure provides the model that the server prefers", () =>
    Effect.gen(function*() {
      const { model: small } = yield* scripted([text("small"), finish("stop")])
      const { model: large } = yield* scripted([text("large"), finish("stop")])
      const sampler = McpSampling.make({
        configure: (generate, { modelPreferences = {} }) => {
          const { intelligencePriority = 0 } = modelPreferences
          return Effect.provideService(
            generate,
            LanguageModel.LanguageModel,
            intelligencePriority > 0.5 ? large : small
          )
        }
      })
      const server = Effect.map(
        RequestContext.createMessage({ ...plain, modelPreferences: { intelligencePriority: 1 } }),
        Sampling.textOf
      )
      // The client needs no model, because each generation has one.
      const client = McpClient.make(askingServer(server), { info, healthCheck: false, answers: { sample: sampler } })
      assert.strictEqual(yield* Effect.flatMap(client, ask), "large")
    }))
})
