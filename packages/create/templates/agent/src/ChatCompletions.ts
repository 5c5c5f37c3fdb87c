/**
 * A model of any provider with the API of chat completions: OpenAI, OpenRouter, or Ollama, LM Studio and vLLM on your
 * own machine. A package of `effect/ai` for your provider, with a release for this version of Effect, can replace it.
 */
import * as AiError from "effect/ai/AiError"
import * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"

export interface Options {
  /** The address of the API, such as `https://api.openai.com/v1`. */
  readonly url: string
  /** The name of the model. */
  readonly model: string
  /** The key of the API. Servers on your own machine need none. */
  readonly key?: Redacted.Redacted<string> | undefined
}

const Completion = Schema.Struct({
  choices: Schema.NonEmptyArray(Schema.Struct({
    finish_reason: Schema.NullOr(Schema.String),
    message: Schema.Struct({
      content: Schema.optional(Schema.NullOr(Schema.String)),
      tool_calls: Schema.optional(Schema.NullOr(Schema.Array(Schema.Struct({
        id: Schema.String,
        function: Schema.Struct({ name: Schema.String, arguments: Schema.fromJsonString(Schema.Unknown) })
      }))))
    })
  })),
  usage: Schema.optional(Schema.NullOr(Schema.Struct({ prompt_tokens: Schema.Int, completion_tokens: Schema.Int })))
})

const failure = (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "ChatCompletions", method: "generateText", reason })

/** Returns the text of parts. The API takes no other parts from tools. */
const textOf = (parts: ReadonlyArray<{ readonly type: string; readonly text?: string }>): string =>
  parts.map((part) => part.text ?? `(a part of the type ${part.type} is left out)`).join("\n")

const messagesOf = (message: Prompt.Message): ReadonlyArray<unknown> => {
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content }]
    case "user":
      return [{ role: "user", content: textOf(message.content) }]
    case "assistant": {
      const text = message.content.flatMap((part) => part.type === "text" ? [part.text] : []).join("")
      const calls = message.content.flatMap((part) =>
        part.type !== "tool-call" ? [] : [{
          id: part.id,
          type: "function",
          function: { name: part.name, arguments: JSON.stringify(part.params) }
        }]
      )
      return text === "" && calls.length === 0 ? [] : [{
        role: "assistant",
        content: text === "" ? null : text,
        ...calls.length === 0 ? {} : { tool_calls: calls }
      }]
    }
    case "tool":
      return message.content.flatMap((part) =>
        part.type !== "tool-result" ? [] : [{
          role: "tool",
          tool_call_id: part.id,
          content: part.modelOutput === undefined ? JSON.stringify(part.result) : textOf(part.modelOutput)
        }]
      )
  }
}

const finishReasons: Readonly<Record<string, Response.FinishReason>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool-calls",
  content_filter: "content-filter"
}

const partsOf = ({ choices: [choice], usage }: typeof Completion.Type): Array<Response.PartEncoded> => {
  const { content, tool_calls } = choice.message
  return [
    ...content === undefined || content === null || content === "" ? [] : [{ type: "text", text: content } as const],
    ...(tool_calls ?? []).map(({ function: { arguments: params, name }, id }) =>
      ({ type: "tool-call", id, name, params }) as const
    ),
    {
      type: "finish",
      reason: finishReasons[choice.finish_reason ?? ""] ?? "unknown",
      usage: {
        inputTokens: { uncached: undefined, total: usage?.prompt_tokens, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: usage?.completion_tokens, text: undefined, reasoning: undefined }
      }
    }
  ]
}

/** Provides the model, over any HTTP client. */
export const layer = (
  { key, model, url }: Options
): Layer.Layer<LanguageModel.LanguageModel, never, HttpClient.HttpClient> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const client = yield* HttpClient.HttpClient
      return yield* LanguageModel.make({
        generateText: ({ prompt, tools }) =>
          HttpClientRequest.post(`${url.replace(/\/$/, "")}/chat/completions`).pipe(
            key === undefined ? (request) => request : HttpClientRequest.bearerToken(key),
            HttpClientRequest.bodyJsonUnsafe({
              model,
              messages: prompt.content.flatMap(messagesOf),
              ...tools.length === 0 ? {} : {
                tools: tools.map((tool) => ({
                  type: "function",
                  function: {
                    name: tool.name,
                    description: Tool.getDescription(tool),
                    parameters: Tool.getJsonSchema(tool)
                  }
                }))
              }
            }),
            client.execute,
            Effect.flatMap(HttpClientResponse.filterStatusOk),
            Effect.flatMap(HttpClientResponse.schemaBodyJson(Completion)),
            Effect.map(partsOf),
            Effect.timeout("5 minutes"),
            Effect.catchTags({
              HttpClientError: ({ message, response }) =>
                Effect.fail(failure(
                  response === undefined
                    ? new AiError.UnknownError({ description: message })
                    : AiError.reasonFromHttpStatus({ status: response.status, description: message })
                )),
              SchemaError: ({ message }) =>
                Effect.fail(failure(new AiError.InvalidOutputError({ description: message }))),
              TimeoutError: () =>
                Effect.fail(failure(new AiError.UnknownError({ description: "no answer within 5 minutes" })))
            })
          ),
        streamText: () =>
          Stream.fail(failure(new AiError.InvalidUserInputError({ description: "answers are not streamed" })))
      })
    })
  )
