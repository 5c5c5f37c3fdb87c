/** A client of revision 2026-07-28 that answers the questions of a server's handler, round by round. */
import { Content, type InputRequired, JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import {
  RequestContext,
  type RequestError,
  RequestStateSeal,
  StatelessServer,
  type UsedStates
} from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { info } from "./sessions.ts"

export const revision = "2026-07-28"

const metadata: RequestMetadata.RequestMetadata = {
  protocolVersion: revision,
  clientCapabilities: { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
  clientInfo: { name: "client", version: "1" },
  logLevel: "debug"
}

/** Returns a request with the metadata of the client. */
export const request = (
  id: number | string,
  method: string,
  params: object = {},
  client: Partial<RequestMetadata.RequestMetadata> = {},
  meta: object = {}
) =>
  JsonRpc.request(id, method, { ...params, _meta: { ...meta, ...RequestMetadata.write({ ...metadata, ...client }) } })

/** A handler of `tools/call` that returns a text. */
export type Handler = Effect.Effect<unknown, RequestError.RequestError, RequestContext.RequestContext>

/** The options of a server whose only handler is this one. */
export type Options = Partial<StatelessServer.Options>

export const secret = Redacted.make("a secret of the servers of a test")

const seal = RequestStateSeal.layer({ secrets: [secret] })

/** Makes a server whose tool is this handler; a failure is a defect. */
export const serverOf = (handler: Handler, options: Options = {}, services: Layer.Layer<never> = seal) =>
  StatelessServer.make({
    "tools/call": () =>
      Effect.map(Effect.orDie(handler), (value) => ({ content: [Content.text(JSON.stringify(value) ?? "nothing")] })),
    "resources/list": () => Effect.as(Effect.orDie(handler), { resources: [] })
  }, { info, ...options }).pipe(Effect.provide(services))

export type Used = UsedStates.UsedStates

const isMembers = (value: unknown): value is { readonly [name: string]: unknown } =>
  typeof value === "object" && value !== null

/** The reply to a call: a text, questions, or an error. */
export interface Received {
  readonly text: string | undefined
  readonly questions: InputRequired.InputRequests
  readonly state: string | undefined
  readonly error: JsonRpc.ErrorObject | undefined
  readonly result: { readonly [name: string]: unknown }
}

export const read = (reply: StatelessServer.Reply | undefined): Received => {
  const none = { text: undefined, questions: {}, state: undefined, error: undefined, result: {} }
  if (reply === undefined || !("jsonrpc" in reply)) return none
  if ("error" in reply) return { ...none, error: reply.error }
  const result = isMembers(reply.result) ? reply.result : {}
  const { content, inputRequests, requestState } = result
  const first: unknown = Array.isArray(content) ? content[0] : undefined
  return {
    ...none,
    result,
    text: isMembers(first) && typeof first["text"] === "string" ? first["text"] : undefined,
    questions: JSON.parse(JSON.stringify(inputRequests ?? {})),
    state: typeof requestState === "string" ? requestState : undefined
  }
}

/** The text of a question: its message, or its method. */
export const messageOf = (question: InputRequired.InputRequest): string =>
  question.method === "elicitation/create" ? question.params.message : question.method

/** Accepts, with a text. */
export const accept = (value: string) => ({ action: "accept", content: { value } })

/** A conversation: the questions of each round, the messages that were sent, and the end. */
export interface Conversation {
  readonly rounds: ReadonlyArray<ReadonlyArray<string>>
  readonly sent: ReadonlyArray<JsonRpc.Notification>
  readonly text: string | undefined
  readonly error: JsonRpc.ErrorObject | undefined
}

/** Answers the questions of a server until the call ends. */
export const converse = Effect.fnUntraced(function*(
  handle: StatelessServer.StatelessServer["handle"],
  answer: (question: InputRequired.InputRequest) => object = (question) => accept(`<${messageOf(question)}>`),
  meta: object = {}
): Effect.fn.Return<Conversation> {
  const rounds: Array<ReadonlyArray<string>> = []
  const sent: Array<JsonRpc.Notification> = []
  const notify = (message: JsonRpc.Notification) => Effect.sync(() => void sent.push(message))
  let retry: object = {}
  for (let id = 1; id < 30; id++) {
    const received = read(
      yield* handle(request(id, "tools/call", { name: "x", ...retry }, {}, meta), { revision, notify })
    )
    if (received.state === undefined) return { rounds, sent, text: received.text, error: received.error }
    const questions = Object.entries(received.questions)
    rounds.push(questions.map(([, question]) => messageOf(question)))
    // As a client would have it after a journey through JSON.
    const inputResponses = JSON.parse(
      JSON.stringify(Object.fromEntries(questions.map(([key, question]) => [key, answer(question)])))
    )
    retry = { inputResponses, requestState: received.state }
  }
  return { rounds, sent, text: "no end", error: undefined }
})

/** Elicits a text. */
export const ask = (message: string, options?: RequestContext.QuestionOptions): Effect.Effect<
  string,
  RequestError.RequestError,
  RequestContext.RequestContext
> =>
  Effect.map(
    RequestContext.elicit({
      message,
      requestedSchema: { type: "object", properties: { value: { type: "string" } } }
    }, options),
    ({ action, content }) => action === "accept" ? String(content?.["value"]) : action
  )

/** Runs a handler with a client that answers. */
export const run = (
  handler: Handler,
  answer?: (question: InputRequired.InputRequest) => object,
  options?: Options
): Effect.Effect<Conversation> => Effect.flatMap(serverOf(handler, options), ({ handle }) => converse(handle, answer))
