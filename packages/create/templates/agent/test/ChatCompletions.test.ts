/** The model of a provider, with a server that records its requests and answers as the API does. */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Chat from "effect/ai/Chat"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as ChatCompletions from "../src/ChatCompletions.ts"

const Weather = Toolkit.make(
  Tool.make("weather", {
    description: "Returns the weather of a city",
    parameters: Schema.Struct({ city: Schema.String }),
    success: Schema.Struct({ celsius: Schema.Finite })
  })
)
const WeatherLive = Weather.toLayer({ weather: () => Effect.succeed({ celsius: 21 }) })

const choice = (finish_reason: string, message: unknown) => ({
  choices: [{ index: 0, finish_reason, message }],
  usage: { prompt_tokens: 12, completion_tokens: 3, total_tokens: 15 }
})

/** Provides a model whose server gives these answers, and returns the requests that it has received. */
const provider = Effect.fnUntraced(function*(
  answers: ReadonlyArray<{ readonly status?: number; readonly body: unknown }>
) {
  const requests = yield* Ref.make<
    ReadonlyArray<{ readonly authorization: string | undefined; readonly body: unknown }>
  >(
    []
  )
  const route = HttpRouter.add(
    "POST",
    "/v1/chat/completions",
    Effect.gen(function*() {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* request.json
      const index = (yield* Ref.getAndUpdate(requests, (all) => [
        ...all,
        { authorization: request.headers["authorization"], body }
      ])).length
      const answer = answers[index]
      return HttpServerResponse.jsonUnsafe(answer?.body, { status: answer?.status ?? 200 })
    }).pipe(Effect.orDie)
  )
  const model = ChatCompletions.layer({ url: "/v1/", model: "small", key: Redacted.make("secret") }).pipe(
    Layer.provide(
      HttpRouter.serve(route, { disableLogger: true, disableListenLog: true }).pipe(
        Layer.provideMerge(NodeHttpServer.layerTest)
      )
    )
  )
  return { model, requests: Ref.get(requests) }
})

describe("a model of chat completions", () => {
  it.live("gets the tools and their results, and answers with a text", () =>
    Effect.gen(function*() {
      const call = { id: "1", type: "function", function: { name: "weather", arguments: "{\"city\":\"Rome\"}" } }
      const { model, requests } = yield* provider([
        { body: choice("tool_calls", { role: "assistant", content: null, tool_calls: [call] }) },
        { body: choice("stop", { role: "assistant", content: "It is warm." }) }
      ])
      const text = yield* Effect.gen(function*() {
        const chat = yield* Chat.fromPrompt([{ role: "system", content: "Be brief." }])
        const first = yield* chat.generateText({ prompt: "How is Rome?", toolkit: Weather })
        assert.strictEqual(first.finishReason, "tool-calls")
        assert.strictEqual(first.usage.inputTokens.total, 12)
        return (yield* chat.generateText({ prompt: [], toolkit: Weather })).text
      }).pipe(Effect.provide([model, WeatherLive]))
      assert.strictEqual(text, "It is warm.")

      const { description, name } = Weather.tools.weather
      const parameters = Tool.getJsonSchema(Weather.tools.weather)
      const tools = [{ type: "function", function: { name, description, parameters } }]
      const question = [{ role: "system", content: "Be brief." }, { role: "user", content: "How is Rome?" }]
      const results = [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "1", content: "{\"celsius\":21}" }
      ]
      assert.deepStrictEqual(yield* requests, [
        { authorization: "Bearer secret", body: { model: "small", messages: question, tools } },
        { authorization: "Bearer secret", body: { model: "small", messages: [...question, ...results], tools } }
      ])
    }))

  it.live("fails with the reason of the provider", () =>
    Effect.gen(function*() {
      const { model } = yield* provider([{ status: 401, body: { error: { message: "no such key" } } }])
      const error = yield* Effect.flip(
        Effect.flatMap(Chat.empty, (chat) => chat.generateText({ prompt: "Hello" })).pipe(Effect.provide(model))
      )
      assert.strictEqual(error._tag === "AiError" && error.reason._tag, "AuthenticationError")
    }))
})
