import { Content, ErrorCode, JsonRpc, McpError, Revision, type Sampling } from "@effect-mcp/protocol"
import { type Handlers, RequestContext, type RequestError, type ServerSession } from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as TestClock from "effect/testing/TestClock"
import {
  codeOf,
  connected,
  info,
  initialized,
  settled,
  start,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

type Model = Handlers.RequestHandler<"sampling/createMessage">

const question: Sampling.CreateMessageParams = {
  messages: [{ role: "user", content: Content.text("What is 15 + 27?") }],
  maxTokens: 100
}

const said = (words: string): Sampling.CreateMessageResult => ({
  role: "assistant",
  content: Content.text(words),
  model: "m"
})

const withModel = (model: Model, limits: { readonly maxIncomingRequests?: number } = {}) =>
  connected({
    client: { handlers: { "sampling/createMessage": model }, capabilities: { sampling: { tools: {} } }, limits }
  })

const errorOf = (effect: Effect.Effect<unknown, RequestError.RequestError>) =>
  Effect.map(Effect.flip(effect), ({ reason }) => reason._tag === "ErrorResponse" ? reason.error : undefined)

const use: Sampling.ToolUseContent = { type: "tool_use", id: "1", name: "add", input: {} }
const add = { name: "add", inputSchema: { type: "object" } } as const

describe("asking a client's model", () => {
  for (
    const [what, content, problem] of [
      [
        "a list",
        [Content.text("a"), Content.text("b")],
        "content: expected one content block, because no tools were offered; got a list"
      ],
      ["a use of a tool", use, "content: expected text, image or audio, because no tools were offered; got tool_use"]
    ] as const
  ) {
    it.effect(`without tools, ${what} is no answer, and with tools it is`, () =>
      Effect.gen(function*() {
        const capabilities = { sampling: { tools: {} } }
        const { raw, session } = yield* withRawClient()
        yield* raw.send(
          JsonRpc.request(0, "initialize", { protocolVersion: Revision.latest, capabilities, clientInfo: info })
        )
        yield* raw.response
        yield* raw.send(initialized)
        const answer = { role: "assistant", content, model: "m" }
        const asking = yield* start(Effect.flip(session.createMessage({ ...question, toolChoice: { mode: "auto" } })))
        yield* settled
        yield* raw.send(JsonRpc.success(1, answer))
        assert.deepStrictEqual((yield* Fiber.join(asking)).reason, { _tag: "InvalidResult", problem })
        const offering = yield* start(session.createMessage({ ...question, tools: [add] }))
        yield* settled
        yield* raw.send(JsonRpc.success(2, answer))
        assert.deepStrictEqual<unknown>(yield* Fiber.join(offering), answer)
      }))
  }

  it.effect("a model of our own that answers with what was not asked for is an internal error", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(() => Effect.succeed({ role: "assistant", content: [use], model: "m" }))
      assert.strictEqual((yield* errorOf(server.createMessage(question)))?.code, ErrorCode.InternalError)
      assert.deepStrictEqual((yield* server.createMessage({ ...question, tools: [add] })).content, [use])
    }).pipe(Effect.provide(Logger.layer([]))))

  it("the type of the answer follows from whether tools are offered", () => {
    const ask = (session: ServerSession.ServerSessionShape) => ({
      without: session.createMessage({ messages: [], maxTokens: 1 }),
      with: session.createMessage({ messages: [], maxTokens: 1, tools: [add] }),
      either: session.createMessage(question satisfies Sampling.CreateMessageParams)
    })
    type Answers = { [Name in keyof ReturnType<typeof ask>]: Effect.Success<ReturnType<typeof ask>[Name]> }
    expectTypeOf<Answers["without"]>().toEqualTypeOf<Sampling.CreateMessageResultWithoutTools>()
    expectTypeOf<Answers["with"]>().toEqualTypeOf<Sampling.CreateMessageResult>()
    expectTypeOf<Answers["either"]>().toEqualTypeOf<Sampling.CreateMessageResult>()
    const within = RequestContext.createMessage({ messages: [], maxTokens: 1 })
    expectTypeOf<Effect.Success<typeof within>>().toEqualTypeOf<Sampling.CreateMessageResultWithoutTools>()
  })

  it.effect("[SMP-06] a user who says no is an error with the code −1", () =>
    Effect.gen(function*() {
      const refusal = new McpError.McpError({ code: -1, message: "User rejected sampling request" })
      const { server } = yield* withModel(() => Effect.fail(refusal))
      const error = yield* errorOf(server.createMessage(question))
      assert.deepStrictEqual([error?.code, error?.message], [-1, "User rejected sampling request"])
    }))

  it.effect("a person may take their time, and change what is asked and what is answered", () =>
    Effect.gen(function*() {
      const review = yield* Deferred.make<string>()
      const { client, server } = yield* withModel(({ messages }) =>
        Effect.map(Deferred.await(review), (words) => said(`${messages.length} message, and ${words}`))
      )
      const asking = yield* start(server.createMessage(question, { timeout: "1 day" }))
      yield* TestClock.adjust("1 hour")
      yield* client.ping()
      assert.isUndefined(asking.pollUnsafe())
      yield* Deferred.succeed(review, "a careful answer")
      assert.deepStrictEqual((yield* Fiber.join(asking)).content, Content.text("1 message, and a careful answer"))
    }))

  it.effect("how many are asked at the same time can be limited", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(() => Effect.never, { maxIncomingRequests: 1 })
      const first = yield* start(server.createMessage(question))
      yield* settled
      assert.strictEqual((yield* errorOf(server.createMessage(question)))?.code, ErrorCode.Overloaded)
      yield* Fiber.interrupt(first)
    }))
})

describe("a model that uses tools", () => {
  const add = { name: "add", inputSchema: { type: "object" as const } }

  /** A server's loop: it runs the tools its client's model wants, at most so often, and then has it answer without. */
  const loop = Effect.fnUntraced(function*(server: ServerSession.ServerSessionShape, rounds: number) {
    const messages: Array<Sampling.SamplingMessage> = [...question.messages]
    for (let round = 0;; round++) {
      const mode = round < rounds ? "auto" : "none"
      const { content } = yield* server.createMessage({ ...question, messages, tools: [add], toolChoice: { mode } })
      const pieces = "type" in content ? [content] : content
      const uses = pieces.flatMap((piece) => piece.type === "tool_use" ? [piece] : [])
      if (uses.length === 0 || mode === "none") return { pieces, rounds: round }
      messages.push({ role: "assistant", content }, {
        role: "user",
        content: uses.map(({ id }) => ({ type: "tool_result", toolUseId: id, content: [Content.text("42")] }))
      })
    }
  })

  it.effect("a server ends its loop, though the model would go on for ever", () =>
    Effect.gen(function*() {
      let asked = 0
      const { server } = yield* withModel(({ toolChoice }) =>
        Effect.sync(() => {
          asked++
          return toolChoice?.mode === "none"
            ? said("42")
            : {
              ...said(""),
              content: [1, 2].map((index) => ({
                type: "tool_use",
                id: `${asked}.${index}`,
                name: "add",
                input: { a: 15, b: 27 }
              })),
              stopReason: "toolUse"
            }
        })
      )
      assert.deepStrictEqual(yield* loop(server, 3), { pieces: [Content.text("42")], rounds: 3 })
      assert.strictEqual(asked, 4)
    }))

  /** A client's handler that looks at what it is asked before it asks its model. */
  const careful = (rounds: number): Model => ({ messages }) => {
    const uses = messages.filter(({ content }) =>
      ("type" in content ? [content] : content).some(({ type }) => type === "tool_use")
    )
    return uses.length > rounds
      ? Effect.fail(McpError.invalidRequest(`no more than ${rounds} rounds of tools`))
      : Effect.succeed({
        ...said(""),
        content: { type: "tool_use", id: String(uses.length), name: "add", input: {} }
      })
  }

  it.effect("a client may end it, too", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(careful(2))
      const error = yield* Effect.flip(loop(server, 100))
      assert.include(error.message, "no more than 2 rounds of tools")
    }))

  const use = { type: "tool_use", id: "1", name: "add", input: {} }
  const result = { type: "tool_result", toolUseId: "1", content: [] }
  const unsound: ReadonlyArray<readonly [id: string, string, ReadonlyArray<object>]> = [
    ["[SMP-03]", "a result beside text", [
      { role: "assistant", content: use },
      { role: "user", content: [result, Content.text("so")] }
    ]],
    ["[SMP-04]", "a use without a result", [
      { role: "assistant", content: use },
      { role: "user", content: Content.text("so") }
    ]],
    ["[SMP-04]", "a result of no use", [{ role: "user", content: result }]]
  ]

  for (const [id, what, messages] of unsound) {
    it.effect(`${id} a client that is asked with ${what} refuses, and does not ask its model`, () =>
      Effect.gen(function*() {
        const { raw } = yield* withRawServer({
          client: { handlers: { "sampling/createMessage": () => Effect.die("the model was asked") } }
        })
        yield* raw.send(JsonRpc.request("r", "sampling/createMessage", { messages, maxTokens: 1 }))
        yield* settled
        assert.deepStrictEqual(raw.received.slice(-1).map(codeOf), [ErrorCode.InvalidParams])
      }))
  }
})
