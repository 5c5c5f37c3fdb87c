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

const prompt: Sampling.CreateMessageParams = {
  messages: [{ role: "user", content: Content.text("What is 15 + 27?") }],
  maxTokens: 100
}

const answer = (words: string): Sampling.CreateMessageResult => ({
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

describe("sampling", () => {
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
    it.effect(`${what} is a valid result only if the request has tools`, () =>
      Effect.gen(function*() {
        const capabilities = { sampling: { tools: {} } }
        const { raw, session } = yield* withRawClient()
        yield* raw.send(
          JsonRpc.request(0, "initialize", { protocolVersion: Revision.latestLegacy, capabilities, clientInfo: info })
        )
        yield* raw.response
        yield* raw.send(initialized)
        const result = { role: "assistant", content, model: "m" }
        const sampling = yield* start(Effect.flip(session.createMessage({ ...prompt, toolChoice: { mode: "auto" } })))
        yield* settled
        yield* raw.send(JsonRpc.success(1, result))
        assert.deepStrictEqual((yield* Fiber.join(sampling)).reason, { _tag: "InvalidResult", problem })
        const withTools = yield* start(session.createMessage({ ...prompt, tools: [add] }))
        yield* settled
        yield* raw.send(JsonRpc.success(2, result))
        assert.deepStrictEqual<unknown>(yield* Fiber.join(withTools), result)
      }))
  }

  it.effect("a client does not send a result that needs tools for a request without tools", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(() => Effect.succeed({ role: "assistant", content: [use], model: "m" }))
      assert.strictEqual((yield* errorOf(server.createMessage(prompt)))?.code, ErrorCode.InvalidAnswer)
      assert.deepStrictEqual((yield* server.createMessage({ ...prompt, tools: [add] })).content, [use])
    }).pipe(Effect.provide(Logger.layer([]))))

  it("the type of the result depends on whether the request has tools", () => {
    const requests = (session: ServerSession.ServerSessionShape) => ({
      without: session.createMessage({ messages: [], maxTokens: 1 }),
      with: session.createMessage({ messages: [], maxTokens: 1, tools: [add] }),
      either: session.createMessage(prompt satisfies Sampling.CreateMessageParams)
    })
    type Results = { [Name in keyof ReturnType<typeof requests>]: Effect.Success<ReturnType<typeof requests>[Name]> }
    expectTypeOf<Results["without"]>().toEqualTypeOf<Sampling.CreateMessageResultWithoutTools>()
    expectTypeOf<Results["with"]>().toEqualTypeOf<Sampling.CreateMessageResult>()
    expectTypeOf<Results["either"]>().toEqualTypeOf<Sampling.CreateMessageResult>()
    const within = RequestContext.createMessage({ messages: [], maxTokens: 1 })
    expectTypeOf<Effect.Success<typeof within>>().toEqualTypeOf<Sampling.CreateMessageResultWithoutTools>()
  })

  it.effect("[SMP-06] a rejection by the user is an error with the code -1", () =>
    Effect.gen(function*() {
      const rejection = new McpError.McpError({ code: -1, message: "User rejected sampling request" })
      const { server } = yield* withModel(() => Effect.fail(rejection))
      const error = yield* errorOf(server.createMessage(prompt))
      assert.deepStrictEqual([error?.code, error?.message], [-1, "User rejected sampling request"])
    }))

  it.effect("a handler can take an hour and change the result", () =>
    Effect.gen(function*() {
      const review = yield* Deferred.make<string>()
      const { client, server } = yield* withModel(({ messages }) =>
        Effect.map(Deferred.await(review), (words) => answer(`${messages.length} message, and ${words}`))
      )
      const sampling = yield* start(server.createMessage(prompt, { timeout: "1 day" }))
      yield* TestClock.adjust("1 hour")
      yield* client.ping()
      assert.isUndefined(sampling.pollUnsafe())
      yield* Deferred.succeed(review, "a reviewed answer")
      assert.deepStrictEqual((yield* Fiber.join(sampling)).content, Content.text("1 message, and a reviewed answer"))
    }))

  it.effect("maxIncomingRequests limits concurrent requests", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(() => Effect.never, { maxIncomingRequests: 1 })
      const first = yield* start(server.createMessage(prompt))
      yield* settled
      assert.strictEqual((yield* errorOf(server.createMessage(prompt)))?.code, ErrorCode.Overloaded)
      yield* Fiber.interrupt(first)
    }))
})

describe("sampling with tools", () => {
  const add = { name: "add", inputSchema: { type: "object" as const } }

  /** Runs the tools that the model uses, for at most `rounds` rounds, and then sends a request with mode `none`. */
  const runTools = Effect.fnUntraced(function*(server: ServerSession.ServerSessionShape, rounds: number) {
    const messages: Array<Sampling.SamplingMessage> = [...prompt.messages]
    for (let round = 0;; round++) {
      const mode = round < rounds ? "auto" : "none"
      const { content } = yield* server.createMessage({ ...prompt, messages, tools: [add], toolChoice: { mode } })
      const pieces = "type" in content ? [content] : content
      const uses = pieces.flatMap((piece) => piece.type === "tool_use" ? [piece] : [])
      if (uses.length === 0 || mode === "none") return { pieces, rounds: round }
      messages.push({ role: "assistant", content }, {
        role: "user",
        content: uses.map(({ id }) => ({ type: "tool_result", toolUseId: id, content: [Content.text("42")] }))
      })
    }
  })

  it.effect("a server ends a loop of tools that the model does not end", () =>
    Effect.gen(function*() {
      let requests = 0
      const { server } = yield* withModel(({ toolChoice }) =>
        Effect.sync(() => {
          requests++
          return toolChoice?.mode === "none"
            ? answer("42")
            : {
              ...answer(""),
              content: [1, 2].map((index) => ({
                type: "tool_use",
                id: `${requests}.${index}`,
                name: "add",
                input: { a: 15, b: 27 }
              })),
              stopReason: "toolUse"
            }
        })
      )
      assert.deepStrictEqual(yield* runTools(server, 3), { pieces: [Content.text("42")], rounds: 3 })
      assert.strictEqual(requests, 4)
    }))

  /** A handler of a client that limits the rounds of tools. */
  const limitingRounds = (rounds: number): Model => ({ messages }) => {
    const uses = messages.filter(({ content }) =>
      ("type" in content ? [content] : content).some(({ type }) => type === "tool_use")
    )
    return uses.length > rounds
      ? Effect.fail(McpError.invalidRequest(`no more than ${rounds} rounds of tools`))
      : Effect.succeed({
        ...answer(""),
        content: { type: "tool_use", id: String(uses.length), name: "add", input: {} }
      })
  }

  it.effect("a client can end a loop of tools", () =>
    Effect.gen(function*() {
      const { server } = yield* withModel(limitingRounds(2))
      const error = yield* Effect.flip(runTools(server, 100))
      assert.include(error.message, "no more than 2 rounds of tools")
    }))

  const use = { type: "tool_use", id: "1", name: "add", input: {} }
  const result = { type: "tool_result", toolUseId: "1", content: [] }
  const invalid: ReadonlyArray<readonly [id: string, string, ReadonlyArray<object>]> = [
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

  for (const [id, what, messages] of invalid) {
    it.effect(`${id} a client rejects messages with ${what} before its handler runs`, () =>
      Effect.gen(function*() {
        const { raw } = yield* withRawServer({
          client: { handlers: { "sampling/createMessage": () => Effect.die("the handler ran") } }
        })
        yield* raw.send(JsonRpc.request("r", "sampling/createMessage", { messages, maxTokens: 1 }))
        yield* settled
        assert.deepStrictEqual(raw.received.slice(-1).map(codeOf), [ErrorCode.InvalidParams])
      }))
  }
})
