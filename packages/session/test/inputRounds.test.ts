/** The questions of a server in revision 2026-07-28: the client answers them, and sends its request again. */
import { type Elicitation, JsonRpc, McpError } from "@effect-mcp/protocol"
import { ClientRequestContext, ClientSession, MemoryTransport, type RequestError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import { withModernServer } from "./support/modernServers.ts"
import { names, reasonOf, settled, start, text } from "./support/sessions.ts"

const form = (message: string) => ({
  method: "elicitation/create",
  params: { message, requestedSchema: { type: "object", properties: { name: { type: "string" } } } }
})

const page = { method: "elicitation/create", params: { mode: "url", message: "Sign in", url: "https://example.com" } }

const sampling = {
  method: "sampling/createMessage",
  params: { messages: [{ role: "user", content: { type: "text", text: "2 + 2?" } }], maxTokens: 10 }
}

const asking = (inputRequests: object | undefined, requestState?: string) => ({
  resultType: "input_required",
  ...(inputRequests === undefined ? undefined : { inputRequests }),
  ...(requestState === undefined ? undefined : { requestState })
})

/** Makes a script that answers requests with these results, in turn. The last one stays. */
const inTurn = (...results: ReadonlyArray<object>) => {
  let next = 0
  return (message: JsonRpc.Message) =>
    JsonRpc.isRequest(message)
      ? [JsonRpc.success(message.id, results[Math.min(next++, results.length - 1)] ?? {})]
      : []
}

const withoutMeta = (message: JsonRpc.Message | undefined) => {
  const { _meta: _, ...params } = message !== undefined && "params" in message ? message.params ?? {} : {}
  return params
}

const accept = (name: string): Elicitation.ElicitResult => ({ action: "accept", content: { name } })

const echoes = ClientSession.handlers({
  "elicitation/create": ({ message }) => Effect.succeed(accept(message)),
  "sampling/createMessage": () =>
    Effect.succeed({ role: "assistant", content: { type: "text", text: "4" }, model: "test-1" } as const),
  "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///home" }] })
})

const everything = { handlers: echoes, capabilities: { elicitation: { form: {}, url: {} } } }

describe("a question of the server", () => {
  it.effect("[MRTR-17] is answered by the handler of its method, and the request is sent again with a new id", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(
          asking({ a: form("Ada"), b: sampling, c: { method: "roots/list" } }, "{\"s\": 1 }"),
          text("done")
        )
      })
      const result = yield* session.callTool("greet", { loud: true })
      assert.deepStrictEqual(result.content, text("done").content)
      const [, first, second, ...others] = raw.received
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(withoutMeta(first), { name: "greet", arguments: { loud: true } })
      assert.deepStrictEqual(withoutMeta(second), {
        name: "greet",
        arguments: { loud: true },
        inputResponses: {
          a: accept("Ada"),
          b: { role: "assistant", content: { type: "text", text: "4" }, model: "test-1" },
          c: { roots: [{ uri: "file:///home" }] }
        },
        requestState: "{\"s\": 1 }"
      })
      assert.deepStrictEqual(
        [first, second].map((message) => message !== undefined && "id" in message ? message.id : undefined),
        [1, 2]
      )
      assert.property(
        second !== undefined && "params" in second ? second.params?.["_meta"] : {},
        "io.modelcontextprotocol/protocolVersion"
      )
    }))

  it.effect("is answered for prompts/get and resources/read, too", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(
          asking({ a: form("Ada") }),
          { messages: [] },
          asking({ a: form("Ada") }),
          { contents: [] }
        )
      })
      yield* session.getPrompt("greet")
      yield* session.readResource("file:///a")
      assert.deepStrictEqual(names(raw.received), [
        "server/discover",
        "prompts/get",
        "prompts/get",
        "resources/read",
        "resources/read"
      ])
    }))

  it.effect("[MRTR-15] [MRTR-18] its answers and its state go with the next round only", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(
          asking({ a: form("Ada") }, "one"),
          asking({ b: form("Bob") }),
          text("done"),
          text("done")
        )
      })
      yield* session.callTool("greet")
      yield* session.callTool("greet")
      assert.deepStrictEqual(raw.received.slice(1).map(withoutMeta), [
        { name: "greet" },
        { name: "greet", inputResponses: { a: accept("Ada") }, requestState: "one" },
        { name: "greet", inputResponses: { b: accept("Bob") } },
        { name: "greet" }
      ])
    }))

  it.effect("all questions of a round are answered at the same time", () =>
    Effect.gen(function*() {
      const both = Deferred.makeUnsafe<void>()
      let running = 0
      const { session } = yield* withModernServer({
        client: {
          handlers: {
            "elicitation/create": ({ message }) =>
              Effect.gen(function*() {
                if (++running === 2) yield* Deferred.succeed(both, undefined)
                yield* Deferred.await(both)
                return accept(message)
              })
          }
        },
        script: inTurn(asking({ a: form("Ada"), b: form("Bob") }), text("done"))
      })
      yield* session.callTool("greet")
      assert.strictEqual(running, 2)
    }))

  it.effect("[MRTR-14] no answer is sent before all answers of the round are there", () =>
    Effect.gen(function*() {
      const slow = Deferred.makeUnsafe<void>()
      const { raw, session } = yield* withModernServer({
        client: {
          handlers: {
            "elicitation/create": ({ message }) =>
              Effect.as(message === "Bob" ? Deferred.await(slow) : Effect.void, accept(message))
          }
        },
        script: inTurn(asking({ a: form("Ada"), b: form("Bob"), c: form("Cleo") }), text("done"))
      })
      const calling = yield* start(session.callTool("greet"))
      yield* settled
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call"])
      yield* Deferred.succeed(slow, undefined)
      yield* Fiber.join(calling)
      assert.deepStrictEqual(raw.received.slice(2).map(withoutMeta), [
        { name: "greet", inputResponses: { a: accept("Ada"), b: accept("Bob"), c: accept("Cleo") } }
      ])
    }))

  it.effect("[MRTR-16] its state keeps characters that Unicode also writes in another way", () =>
    Effect.gen(function*() {
      const state = " e\u0301 \u00e9 \u212b \ufb01 \u0000"
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(asking({ a: form("Ada") }, state), text("done"))
      })
      yield* session.callTool("greet")
      assert.strictEqual(withoutMeta(raw.received.at(-1))["requestState"], state)
    }))

  it.effect.prop(
    "[MRTR-15] [MRTR-16] its state is a text that the client sends back as it is",
    [Schema.String],
    ([state]) =>
      Effect.gen(function*() {
        const { raw, session } = yield* withModernServer({
          client: everything,
          script: inTurn(asking({ a: form("Ada") }, state), text("done"))
        })
        yield* session.callTool("greet")
        assert.strictEqual(withoutMeta(raw.received.at(-1))["requestState"], state)
      }),
    { arbitrary: { runs: 100 } }
  )

  it.effect("its handler has a ClientRequestContext, a scope, and the id of a page", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { session } = yield* withModernServer({
        client: {
          capabilities: { elicitation: { form: {}, url: {} } },
          handlers: {
            "elicitation/create": Effect.fnUntraced(function*(params) {
              const { id, method, profile } = yield* ClientRequestContext.ClientRequestContext
              yield* ClientRequestContext.progress({ progress: 1 })
              yield* Effect.addFinalizer(() => Effect.sync(() => void seen.push("released")))
              seen.push(method, profile.revision, params.mode === "url" && params.elicitationId === id)
              return { action: "accept" } as const
            }, Effect.scoped)
          }
        },
        script: inTurn(asking({ a: page }), text("done"))
      })
      yield* session.callTool("greet")
      assert.deepStrictEqual(seen, ["elicitation/create", "2026-07-28", true, "released"])
    }))

  it.effect("the middleware sees the call once, and its questions", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { session } = yield* withModernServer({
        client: {
          ...everything,
          middleware: {
            inbound: (request, next) => Effect.suspend(() => (seen.push(`in ${request.method}`), next(request))),
            outbound: (request, next) => Effect.suspend(() => (seen.push(`out ${request.method}`), next(request)))
          }
        },
        script: inTurn(asking({ a: form("Ada") }), text("done"))
      })
      yield* session.callTool("greet")
      assert.deepStrictEqual(seen, ["out tools/call", "in elicitation/create"])
    }))

  it.effect("a handler that fails ends the call with its error, interrupts the others, and sends nothing", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const { raw, session } = yield* withModernServer({
        client: {
          handlers: {
            "sampling/createMessage": () => Effect.fail(new McpError.McpError({ code: -1, message: "User rejected" })),
            "roots/list": () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void seen.push("interrupted")))
          }
        },
        script: inTurn(asking({ a: { method: "roots/list" }, b: sampling }), text("done"))
      })
      const error = yield* Effect.flip(session.callTool("greet"))
      assert.deepStrictEqual(error.reason, {
        _tag: "QuestionFailed",
        method: "sampling/createMessage",
        error: new McpError.McpError({ code: -1, message: "User rejected" })
      })
      assert.strictEqual(
        error.message,
        "tools/call: the server asked for sampling/createMessage, and the handler of this client failed with error " +
          "-1: User rejected"
      )
      yield* settled
      assert.deepStrictEqual(seen, ["interrupted"])
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call"])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("a handler that dies ends the call as an internal error, and its cause is an event", () =>
    Effect.gen(function*() {
      const { record, session } = yield* withModernServer({
        client: { handlers: { "roots/list": () => Effect.die(new Error("secret")) } },
        script: inTurn(asking({ a: { method: "roots/list" } }), text("done"))
      })
      const { reason } = yield* Effect.flip(session.callTool("greet"))
      assert.deepStrictEqual(reason, { _tag: "QuestionFailed", method: "roots/list", error: McpError.internalError })
      assert.deepStrictEqual(record.of("HandlerFailed").map(({ method }) => method), ["roots/list"])
    }))

  const rejected: ReadonlyArray<{
    readonly test: string
    readonly answer: object
    readonly problem: string
    readonly client?: Parameters<typeof withModernServer>[0] extends infer O | undefined
      ? O extends { readonly client?: infer C } ? C : never
      : never
  }> = [
    {
      test: "of a method without a handler",
      client: {},
      answer: asking({ key: sampling }),
      problem: "the server's question \"key\" cannot be answered: sampling/createMessage needs the capability " +
        "\"sampling\", which this client has not declared"
    },
    {
      test: "of a method that is declared and has no handler",
      client: { capabilities: { roots: {} } },
      answer: asking({ key: { method: "roots/list" } }),
      problem: "the server's question \"key\" cannot be answered: Method not found: roots/list"
    },
    {
      test: "for a page, of a client with forms only",
      client: { handlers: echoes },
      answer: asking({ key: page }),
      problem: "the server's question \"key\" cannot be answered: elicitation/create needs the capability " +
        "\"elicitation.url\", which this client has not declared"
    },
    {
      test: "with tools, of a client without sampling.tools",
      client: { handlers: echoes },
      answer: asking({ key: { ...sampling, params: { ...sampling.params, tools: [] } } }),
      problem: "the server's question \"key\" cannot be answered: sampling/createMessage needs the capability " +
        "\"sampling.tools\", which this client has not declared"
    },
    { test: "of another method", answer: asking({ key: { method: "ping" } }), problem: "inputRequests" },
    { test: "that is none", answer: asking({ key: 1 }), problem: "inputRequests" },
    { test: "in a list", answer: asking([form("Ada")]), problem: "inputRequests" },
    { test: "and no state", answer: asking(undefined), problem: "inputRequests" }
  ]
  for (const { answer, client, problem, test } of rejected) {
    it.effect(`fails the call if it is one ${test}`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withModernServer({
          client: client ?? everything,
          script: inTurn(answer, text("done"))
        })
        const { reason } = yield* Effect.flip(session.callTool("greet"))
        assert.strictEqual(reason._tag, "InvalidResult")
        assert.include(reason._tag === "InvalidResult" ? reason.problem : "", problem)
        assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call"])
      }))
  }

  it.effect("a later round that cannot be sent fails the call as one that the server has received", () =>
    Effect.gen(function*() {
      for (const isClosed of [false, true]) {
        const answer = yield* Deferred.make<Elicitation.ElicitResult>()
        const { link, session } = yield* withModernServer({
          client: { handlers: { "elicitation/create": () => Deferred.await(answer) } },
          script: inTurn(asking({ a: form("Ada") }, "s"), text("done"))
        })
        const calling = yield* start(session.callTool("greet"))
        yield* settled
        const closed = isClosed ? yield* start(session.close) : undefined
        if (!isClosed) link.failSending(Link.writeFailed)
        yield* Deferred.succeed(answer, accept("Ada"))
        const reason = yield* reasonOf(calling)
        assert.deepStrictEqual(
          [reason._tag, reason._tag === "Closed" && reason.isSent],
          isClosed ? ["Closed", true] : ["OutcomeUnknown", false]
        )
        if (closed !== undefined) yield* Fiber.join(closed)
      }
    }).pipe(Effect.scoped))

  it.effect("too many questions at once fail the call before a handler runs", () =>
    Effect.gen(function*() {
      const questions = Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`q${n}`, form("Ada")]))
      const { session } = yield* withModernServer({
        client: { ...everything, limits: { maxIncomingRequests: 3 } },
        script: inTurn(asking(questions), text("done"))
      })
      const { message } = yield* Effect.flip(session.callTool("greet"))
      assert.include(message, "asks 4 questions at once; set limits.maxIncomingRequests to allow more than 3")
    }))

  it.effect("an answer that does not fit the form is a failure of the handler", () =>
    Effect.gen(function*() {
      const { session } = yield* withModernServer({
        client: {
          handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: 1 } }) }
        },
        script: inTurn(asking({ a: form("Ada") }), text("done"))
      })
      assert.strictEqual((yield* Effect.flip(session.callTool("greet"))).reason._tag, "QuestionFailed")
    }))
})

describe("the rounds of a call", () => {
  it.effect("are bounded", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: { ...everything, limits: { maxRounds: 3 } },
        script: inTurn(asking({ a: form("Ada") }))
      })
      const { message } = yield* Effect.flip(session.callTool("greet"))
      assert.include(message, "asked 3 times, and asks again; set limits.maxRounds to allow more")
      assert.strictEqual(raw.received.length, 5)
    }))

  it.effect("are paced if they carry a state only, more and more", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(asking(undefined, "s"), asking({}, "s"), text("done"))
      })
      const calling = yield* start(session.callTool("greet"))
      yield* settled
      assert.strictEqual(raw.received.length, 2)
      yield* TestClock.adjust("100 millis")
      yield* settled
      assert.strictEqual(raw.received.length, 3)
      yield* TestClock.adjust("199 millis")
      yield* settled
      assert.strictEqual(raw.received.length, 3)
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual((yield* Fiber.join(calling)).content, text("done").content)
      assert.deepStrictEqual(raw.received.slice(2).map(withoutMeta), [
        { name: "greet", requestState: "s" },
        { name: "greet", requestState: "s" }
      ])
    }))

  const waiting = ClientSession.handlers({ "roots/list": () => Effect.never })
  const waits = { client: { handlers: waiting }, script: inTurn(asking({ a: { method: "roots/list" } })) }

  it.effect("have one deadline, which ends the handlers of questions", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer(waits)
      const calling = yield* start(session.callTool("greet", {}, { timeout: "2 seconds" }))
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 1 })
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(yield* reasonOf(calling), { _tag: "Timeout", afterMillis: 2000 })
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call"])
    }))

  it.effect("the deadline of a later round is what the earlier ones have left", () =>
    Effect.gen(function*() {
      const { session } = yield* withModernServer({
        client: { handlers: { "roots/list": () => Effect.delay(Effect.succeed({ roots: [] }), "1500 millis") } },
        script: (message) =>
          JsonRpc.isRequest(message) && message.params?.["inputResponses"] === undefined
            ? [JsonRpc.success(message.id, asking({ a: { method: "roots/list" } }))]
            : []
      })
      const calling = yield* start(session.callTool("greet", {}, { timeout: "2 seconds" }))
      yield* TestClock.adjust("1999 millis")
      assert.isUndefined(calling.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* reasonOf(calling), { _tag: "Timeout", afterMillis: 2000 })
    }))

  it.effect("an interruption of the caller interrupts the handlers, and cancels nothing at the server", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer(waits)
      const calling = yield* start(session.callTool("greet"))
      yield* settled
      yield* Fiber.interrupt(calling)
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
      assert.deepStrictEqual(names(raw.received), ["server/discover", "tools/call"])
    }))

  it.effect("the end of the session fails the call, and leaves no handler alive", () =>
    Effect.gen(function*() {
      for (const end of ["server", "client"] as const) {
        const { raw, record, session } = yield* withModernServer(waits)
        const calling = yield* start(session.callTool("greet"))
        yield* settled
        yield* end === "server" ? raw.end : session.close
        const reason: RequestError.RequestErrorReason = yield* reasonOf(calling)
        assert.strictEqual(reason._tag, "Closed")
        yield* session.closed
        assert.deepStrictEqual(record.of("Closed").map(({ unfinished }) => unfinished), [[]])
      }
    }))

  it.effect("progress increases over all rounds", () =>
    Effect.gen(function*() {
      const progress = (id: JsonRpc.Request["id"], value: number) =>
        JsonRpc.notification("notifications/progress", { progressToken: id, progress: value })
      let round = 0
      const { record, session } = yield* withModernServer({
        client: everything,
        script: (message) => {
          if (!JsonRpc.isRequest(message)) return []
          return round++ === 0
            ? [progress(message.id, 1), progress(message.id, 5), JsonRpc.success(message.id, asking({ a: form("A") }))]
            : [progress(message.id, 3), progress(message.id, 6), JsonRpc.success(message.id, text("done"))]
        }
      })
      const steps: Array<number> = []
      yield* session.callTool("greet", {}, {
        onProgress: ({ progress }) => Effect.sync(() => void steps.push(progress))
      })
      assert.deepStrictEqual(steps, [1, 5, 6])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["NotIncreasing"])
    }))

  it.effect("work with a stream for each request", () =>
    Effect.gen(function*() {
      const { session } = yield* withModernServer({
        client: everything,
        pair: MemoryTransport.makeMultiStream(),
        script: inTurn(asking({ a: form("Ada") }, "s"), text("done"))
      })
      assert.deepStrictEqual((yield* session.callTool("greet")).content, text("done").content)
    }))

  it.effect("a round whose stream is lost is sent again with its answers, and asks no question again", () =>
    Effect.gen(function*() {
      let asked = 0
      let lost: JsonRpc.Request["id"] | undefined
      const { raw, session } = yield* withModernServer({
        client: {
          handlers: { "elicitation/create": ({ message }) => Effect.sync(() => (asked++, accept(message))) }
        },
        pair: MemoryTransport.makeMultiStream(),
        script: (message) => {
          if (!JsonRpc.isRequest(message)) return []
          if (message.params?.["inputResponses"] === undefined) {
            return [JsonRpc.success(message.id, asking({ a: form("Ada") }, "s"))]
          }
          if (lost !== undefined) return [JsonRpc.success(message.id, { messages: [] })]
          lost = message.id
          return []
        }
      })
      const getting = yield* start(session.getPrompt("greet"))
      yield* settled
      yield* raw.endExchange(lost)
      yield* Fiber.join(getting)
      const answered = { name: "greet", inputResponses: { a: accept("Ada") }, requestState: "s" }
      assert.deepStrictEqual(raw.received.slice(1).map(withoutMeta), [{ name: "greet" }, answered, answered])
      assert.strictEqual(asked, 1)
    }))

  it.effect("end with the error of a server that then rejects headers, and begin no second call", () =>
    Effect.gen(function*() {
      let asked = 0
      const { raw, session } = yield* withModernServer({
        client: {
          handlers: { "elicitation/create": ({ message }) => Effect.sync(() => (asked++, accept(message))) }
        },
        script: (message) => {
          if (!JsonRpc.isRequest(message)) return []
          if (message.method === "tools/list") {
            return [JsonRpc.success(message.id, { tools: [{ name: "greet", inputSchema: { type: "object" } }] })]
          }
          return message.params?.["inputResponses"] === undefined
            ? [JsonRpc.success(message.id, asking({ a: form("Ada") }, "s"))]
            : [JsonRpc.failure(message.id, { code: -32020, message: "Header mismatch" })]
        }
      })
      const { message } = yield* Effect.flip(session.callTool("greet"))
      assert.include(message, "error -32020")
      assert.deepStrictEqual(names(raw.received).slice(1), ["tools/call", "tools/call"])
      assert.strictEqual(asked, 1)
    }))

  it.effect("[MRTR-18] the caller's own answers are not sent again", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: everything,
        script: inTurn(asking({ a: form("Ada") }), text("done"))
      })
      const params = { name: "greet", requestState: "old", inputResponses: {} }
      yield* session.request("tools/call", params)
      assert.deepStrictEqual(raw.received.slice(1).map(withoutMeta), [
        params,
        { name: "greet", inputResponses: { a: accept("Ada") } }
      ])
    }))

  it.effect("are left to a program that says so, which repeats the call with its answers and the state", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withModernServer({
        client: { capabilities: { elicitation: { form: {} } } },
        script: inTurn(
          asking({ a: form("Ada") }, "one"),
          text("done"),
          asking({ a: form("Ada") }, "two"),
          { messages: [] },
          asking(undefined, "three"),
          { contents: [] }
        )
      })
      const options = { questions: "program" } as const
      const answers = { a: { action: "accept", content: { name: "Ada" } } }
      const requiredOf = ({ reason }: RequestError.RequestError) =>
        reason._tag === "InputRequired" ? reason.required : undefined

      const call = { name: "greet", arguments: { polite: true } }
      const asked = requiredOf(yield* Effect.flip(session.request("tools/call", call, options)))
      assert.deepStrictEqual([asked?.requestState, Object.keys(asked?.inputRequests ?? {})], ["one", ["a"]])
      const called = yield* session.request("tools/call", {
        name: "greet",
        arguments: { polite: true },
        inputResponses: answers,
        requestState: "one"
      }, options)
      assert.deepStrictEqual(called.content, text("done").content)

      yield* Effect.flip(session.request("prompts/get", { name: "p" }, options))
      yield* session.request("prompts/get", { name: "p", inputResponses: answers, requestState: "two" }, options)

      const waiting = requiredOf(yield* Effect.flip(session.request("resources/read", { uri: "a:b" }, options)))
      assert.deepStrictEqual([waiting?.requestState, waiting?.inputRequests], ["three", undefined])
      yield* session.request("resources/read", { uri: "a:b", requestState: "three" }, options)

      assert.deepStrictEqual(raw.received.slice(1).map(withoutMeta), [
        call,
        { ...call, inputResponses: answers, requestState: "one" },
        { name: "p" },
        { name: "p", inputResponses: answers, requestState: "two" },
        { uri: "a:b" },
        { uri: "a:b", requestState: "three" }
      ])
    }))
})
