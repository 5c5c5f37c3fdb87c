/** Handlers that ask their client, in revision 2026-07-28: what is asked in which round, and what runs again. */
import { Content, Elicitation, ErrorCode, InputRequired, type JsonRpc } from "@effect-mcp/protocol"
import { RequestContext, StatelessServer } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import { accept, ask, converse, type Handler, read, request, revision, run, serverOf } from "../support/rounds.ts"
import { info } from "../support/sessions.ts"

const together = { concurrency: "unbounded" } as const

const cases: ReadonlyArray<{
  readonly name: string
  readonly handler: Handler
  readonly rounds: ReadonlyArray<ReadonlyArray<string>>
  readonly result: unknown
}> = [
  {
    name: "questions in sequence are asked in rounds",
    handler: Effect.gen(function*() {
      const a = yield* ask("a")
      return [a, yield* ask(`b after ${a}`)]
    }),
    rounds: [["a"], ["b after <a>"]],
    result: ["<a>", "<b after <a>>"]
  },
  {
    name: "questions of concurrent branches are asked together",
    handler: Effect.all([ask("a"), ask("b"), ask("c")], together),
    rounds: [["a", "b", "c"]],
    result: ["<a>", "<b>", "<c>"]
  },
  {
    name: "questions of two branches at a time are asked two at a time",
    handler: Effect.all([ask("a"), ask("b"), ask("c")], { concurrency: 2 }),
    rounds: [["a", "b"], ["c"]],
    result: ["<a>", "<b>", "<c>"]
  },
  {
    name: "a branch that yields first asks in the same round",
    handler: Effect.all([
      ask("a"),
      Effect.andThen(Effect.forEach(Array.from({ length: 20 }), () => Effect.yieldNow), ask("b"))
    ], together),
    rounds: [["a", "b"]],
    result: ["<a>", "<b>"]
  },
  {
    name: "a branch that waits for resolved promises first asks in the same round",
    handler: Effect.all([
      ask("a"),
      Effect.andThen(
        Effect.promise(async () => {
          for (let turn = 0; turn < 50; turn++) await Promise.resolve()
        }),
        ask("b")
      )
    ], together),
    rounds: [["a", "b"]],
    result: ["<a>", "<b>"]
  },
  {
    name: "a question asks again for each occurrence",
    handler: Effect.all([ask("a"), ask("a")]),
    rounds: [["a"], ["a"]],
    result: ["<a>", "<a>"]
  },
  {
    name: "two questions in a race are both asked, and the second is not asked for again",
    handler: Effect.race(ask("a"), ask("b")),
    rounds: [["a", "b"]],
    result: "<a>"
  },
  {
    name: "a question that loses a race with a value is not asked",
    handler: Effect.race(ask("a"), Effect.succeed("at once")),
    rounds: [],
    result: "at once"
  },
  {
    name: "a timeout around a question does not fire while the user thinks",
    handler: Effect.timeout(ask("a"), "5 seconds").pipe(Effect.orDie),
    rounds: [["a"]],
    result: "<a>"
  },
  {
    name: "a branch that waits for another one does not keep the question waiting",
    handler: Effect.gen(function*() {
      const answered = yield* Deferred.make<string>()
      const asking = Effect.tap(ask("a"), (answer) => Deferred.succeed(answered, answer))
      return yield* Effect.all([asking, Deferred.await(answered)], together)
    }),
    rounds: [["a"]],
    result: ["<a>", "<a>"]
  },
  {
    name: "a handler that catches every cause does not keep the question",
    handler: Effect.catchCause(ask("a"), () => Effect.succeed("caught")),
    rounds: [["a"]],
    result: "<a>"
  },
  {
    name: "a handler that looks at the exit does not keep the question",
    handler: Effect.map(Effect.exit(ask("a")), (exit) => Exit.isSuccess(exit) ? exit.value : "caught"),
    rounds: [["a"]],
    result: "<a>"
  },
  {
    name: "uninterruptible code can ask",
    handler: Effect.uninterruptible(Effect.catchCause(ask("a"), () => Effect.succeed("caught"))),
    rounds: [["a"]],
    result: "<a>"
  },
  {
    name: "a child and its parent ask together",
    handler: Effect.gen(function*() {
      const child = yield* Effect.forkChild(ask("a"))
      const b = yield* ask("b")
      return [yield* Fiber.join(child), b]
    }),
    rounds: [["b", "a"]],
    result: ["<a>", "<b>"]
  },
  {
    name: "a detached fiber asks for the handler that waits for it",
    handler: Effect.flatMap(Effect.forkDetach(ask("a")), Fiber.join),
    rounds: [["a"]],
    result: "<a>"
  },
  {
    name: "a handler that ends before a fiber of it asks is not cut",
    handler: Effect.as(Effect.forkDetach(Effect.andThen(Effect.sleep("1 hour"), ask("a"))), "done"),
    rounds: [],
    result: "done"
  },
  {
    name: "sampling and roots are asked as elicitation is",
    handler: Effect.gen(function*() {
      const { roots } = yield* RequestContext.listRoots()
      const { model } = yield* RequestContext.createMessage({ messages: [], maxTokens: 1 })
      return [roots[0]?.uri, model]
    }),
    rounds: [["roots/list"], ["sampling/createMessage"]],
    result: ["file:///home", "a model"]
  }
]

const content = { type: "text", text: "hi" }

const answers: { readonly [method: string]: object } = {
  "roots/list": { roots: [{ uri: "file:///home" }] },
  "sampling/createMessage": { role: "assistant", content, model: "a model" }
}

describe("a handler that asks a client without sessions", () => {
  for (const { handler, name, result, rounds } of cases) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const conversation = yield* run(
          handler,
          (question) =>
            question.method === "elicitation/create"
              ? accept(`<${question.params.message}>`)
              : answers[question.method] ?? {}
        )
        assert.deepStrictEqual(conversation.rounds, rounds)
        assert.strictEqual(conversation.error, undefined)
        assert.deepStrictEqual<unknown>(JSON.parse(conversation.text ?? "null"), result)
      }))
  }

  it.effect("is asked again until the answer is valid", () =>
    Effect.gen(function*() {
      let answered = 0
      const conversation = yield* run(
        Effect.repeat(ask("number?"), { until: (answer) => answer === "3" }),
        () => accept(String(++answered))
      )
      assert.deepStrictEqual(conversation.rounds, [["number?"], ["number?"], ["number?"]])
      assert.strictEqual(conversation.text, "\"3\"")
    }))

  it.live("asks in two rounds if a branch waits for a timer, which is interrupted and runs again", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const sleeping = Effect.onInterrupt(
        Effect.andThen(Effect.sleep("20 millis"), Effect.sync(() => void events.push("slept"))),
        () => Effect.sync(() => void events.push("interrupted"))
      )
      const conversation = yield* run(Effect.all([ask("a"), Effect.andThen(sleeping, ask("b"))], together))
      assert.deepStrictEqual(conversation.rounds, [["a"], ["b"]])
      assert.deepStrictEqual(events, ["interrupted", "slept", "slept"])
    }))

  it.effect("releases what it has acquired at every question", () =>
    Effect.gen(function*() {
      const events: Array<string> = []
      const note = (event: string) => Effect.sync(() => void events.push(event))
      const conversation = yield* run(Effect.acquireUseRelease(note("acquire"), () => ask("a"), () => note("release")))
      assert.deepStrictEqual(conversation.rounds, [["a"]])
      assert.deepStrictEqual(events, ["acquire", "release", "acquire", "release"])
    }))

  it.live("is answered although a finalizer does not end", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(
        Effect.ensuring(ask("a"), Effect.uninterruptible(Effect.sleep("3 seconds")))
      )
      const started = Date.now()
      const { questions } = read(yield* handle(request(1, "tools/call", { name: "x" }), { revision }))
      assert.lengthOf(Object.keys(questions), 1)
      assert.isBelow(Date.now() - started, 2_500)
    }))

  it.effect("counts as in flight until its finalizers have ended, although its questions are sent before", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const { handle } = yield* serverOf(
        Effect.ensuring(ask("a"), Effect.uninterruptible(Deferred.await(released))),
        // A client has half of the capacity of a server without sessions.
        { limits: { maxIncomingRequests: 2 } }
      )
      const call = (id: number) => Effect.map(handle(request(id, "tools/call", { name: "x" }), { revision }), read)
      const asked = yield* Effect.forkChild(call(1), { startImmediately: true })
      yield* TestClock.adjust("1 second")
      assert.lengthOf(Object.keys((yield* Fiber.join(asked)).questions), 1)
      assert.strictEqual((yield* call(2)).error?.code, ErrorCode.Overloaded)
      yield* Deferred.succeed(released, undefined)
      assert.isUndefined((yield* call(3)).error)
    }))

  it.effect("that is cancelled while its finalizers run is in flight until they have ended", () =>
    Effect.gen(function*() {
      const released = yield* Deferred.make<void>()
      const finalizing = yield* Deferred.make<void>()
      const { handle } = yield* serverOf(Effect.ensuring(
        ask("a"),
        Effect.uninterruptible(Effect.andThen(Deferred.succeed(finalizing, undefined), Deferred.await(released)))
      ))
      const call = yield* Effect.forkChild(handle(request(1, "tools/call", { name: "x" }), { revision }))
      yield* Deferred.await(finalizing)
      call.interruptUnsafe()
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(call.pollUnsafe())
      yield* Deferred.succeed(released, undefined)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(call)))
    }))

  it.effect("interrupts detached fibers that wait for an answer when it ends", () =>
    Effect.gen(function*() {
      const ended = yield* Deferred.make<void>()
      const conversation = yield* run(Effect.gen(function*() {
        yield* Effect.forkDetach(Effect.onInterrupt(ask("a"), () => Deferred.succeed(ended, undefined)), {
          startImmediately: true
        })
        // While a step runs, the run is not cut.
        return yield* RequestContext.once("step", { success: Schema.String }, Effect.as(Effect.yieldNow, "done"))
      }))
      assert.strictEqual(conversation.text, "\"done\"")
      yield* Deferred.await(ended)
    }))

  it.effect("gets each answer for its own question, although its branches change their order", () =>
    Effect.gen(function*() {
      let flip = 0
      const after = (turns: number, question: string) =>
        Effect.andThen(Effect.forEach(Array.from({ length: turns }), () => Effect.yieldNow), ask(question))
      const handler = Effect.suspend(() => {
        flip++
        return Effect.all(
          [after(flip % 2 === 0 ? 9 : 1, "delete A?"), after(flip % 2 === 0 ? 1 : 9, "delete B?")],
          together
        )
      })
      const conversation = yield* run(handler)
      assert.deepStrictEqual(conversation.rounds, [["delete A?", "delete B?"]])
      assert.strictEqual(conversation.text, JSON.stringify(["<delete A?>", "<delete B?>"]))
    }))

  it.effect("[PRG-03] sends progress and logs once", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(Effect.gen(function*() {
        yield* RequestContext.progress({ progress: 10 })
        yield* RequestContext.log({ level: "info", data: "one" })
        yield* ask("a")
        yield* RequestContext.progress({ progress: 20 })
        yield* RequestContext.log({ level: "info", data: "two" })
        yield* ask("b")
        yield* RequestContext.progress({ progress: 30 })
        return "done"
      }))
      const { rounds, sent } = yield* converse(handle, undefined, { progressToken: "t" })
      assert.lengthOf(rounds, 2)
      const values = sent.map(({ params = {} }) => params["progress"] ?? params["data"])
      assert.deepStrictEqual<unknown>(values, [10, "one", 20, "two", 30])
    }))

  it.effect("sends what its finalizers report at its end, and not when it is cut", () =>
    Effect.gen(function*() {
      const report = (value: number) =>
        Effect.andThen(
          RequestContext.progress({ progress: value }),
          RequestContext.log({ level: "info", data: `log ${value}` })
        )
      const { handle } = yield* serverOf(
        Effect.ensuring(Effect.andThen(Effect.catchCause(ask("a"), () => report(2)), report(3)), report(9))
      )
      const { sent } = yield* converse(handle, undefined, { progressToken: "t" })
      const values = sent.map(({ params = {} }) => params["progress"] ?? params["data"])
      assert.deepStrictEqual<unknown>(values, [3, "log 3", 9, "log 9"])
    }))

  it.effect("sends each log message once, although its branches log in another order than before", () =>
    Effect.gen(function*() {
      const log = (data: string) => RequestContext.log({ level: "info", data })
      const { handle } = yield* serverOf(Effect.all([
        Effect.andThen(ask("a"), log("after a")),
        Effect.andThen(Effect.andThen(log("twice"), log("twice")), Effect.andThen(ask("b"), log("after b")))
      ], together))
      const { sent } = yield* converse(handle)
      assert.deepStrictEqual<unknown>(
        sent.map(({ params = {} }) => params["data"]),
        ["twice", "twice", "after a", "after b"]
      )
    }))

  it.effect("goes on if another branch than before is the first to ask", () =>
    Effect.gen(function*() {
      let runs = 0
      const conversation = yield* run(Effect.suspend(() => {
        runs++
        const branch = (question: string, first: number) =>
          Effect.andThen(runs % 3 === first ? Effect.void : Effect.sleep("1 hour"), ask(question))
        // The last run comes to all questions.
        return runs > 3
          ? Effect.all([ask("a"), ask("b"), ask("c")], together)
          : Effect.all([branch("a", 1), branch("b", 2), branch("c", 0)], together)
      }))
      assert.deepStrictEqual(conversation.rounds, [["a"], ["b"], ["c"]])
      assert.strictEqual(conversation.text, JSON.stringify(["<a>", "<b>", "<c>"]))
    }))

  it.effect("[MRTR-13] may ask the same again after an answer is missing, and ignores answers to no question", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(Effect.all([ask("a"), ask("b")], together))
      const call = (retry: object) =>
        Effect.map(handle(request(1, "tools/call", { name: "x", ...retry }), { revision }), read)
      const first = yield* call({})
      const [a = ""] = Object.keys(first.questions)
      const second = yield* call({
        inputResponses: { [a]: accept("1"), other: accept("2"), __proto__: accept("3") },
        requestState: first.state
      })
      assert.deepStrictEqual(Object.keys(second.questions), Object.keys(first.questions).slice(1))
      const third = yield* call({
        inputResponses: { [a]: accept("changed"), [Object.keys(second.questions)[0] ?? ""]: accept("4") },
        requestState: second.state
      })
      assert.strictEqual(third.text, JSON.stringify(["1", "4"]))
    }))

  it.effect("[VER-14] remembers answers only for calls that bring its state", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(ask("a"))
      const call = (retry: object) =>
        Effect.map(handle(request(1, "tools/call", { name: "x", ...retry }), { revision }), read)
      const first = yield* call({})
      const [key = ""] = Object.keys(first.questions)
      const answered = yield* call({ inputResponses: { [key]: accept("1") }, requestState: first.state })
      assert.strictEqual(answered.text, "\"1\"")
      assert.deepStrictEqual((yield* call({})).questions, first.questions)
    }))

  it.effect("[VER-06] asks clients of every name and version the same, and takes the answer from any", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(ask("a"))
      const call = (clientInfo: { readonly name: string; readonly version: string } | undefined, retry: object = {}) =>
        Effect.map(handle(request(1, "tools/call", { name: "x", ...retry }, { clientInfo }), { revision }), read)
      const infos = [{ name: "client", version: "1" }, { name: "other", version: "9" }, undefined]
      const [first, ...others] = yield* Effect.forEach(infos, (clientInfo) => call(clientInfo))
      const [key = ""] = Object.keys(first?.questions ?? {})
      assert.notStrictEqual(key, "")
      for (const { questions } of others) assert.deepStrictEqual(questions, first?.questions)
      const retry = { inputResponses: { [key]: accept("1") }, requestState: first?.state }
      for (const clientInfo of infos) assert.strictEqual((yield* call(clientInfo, retry)).text, "\"1\"")
    }))

  it.effect("[MRTR-01] [MRTR-03] [MRTR-05] asks in its result, with a state, and sends no request", () =>
    Effect.gen(function*() {
      const sent: Array<unknown> = []
      const { handle } = yield* serverOf(Effect.all([
        ask("a"),
        RequestContext.listRoots(),
        RequestContext.createMessage({ messages: [], maxTokens: 1 })
      ], together))
      const reply = yield* handle(request(1, "tools/call", { name: "x" }), {
        revision,
        notify: (message) => Effect.sync(() => void sent.push(message))
      })
      const { result: { _meta, inputRequests, requestState, ...rest } } = read(reply)
      assert.deepStrictEqual<unknown>(rest, { resultType: "input_required" })
      assert.isString(requestState)
      assert.sameMembers(Object.values(read(reply).questions).map(({ method }) => method), [
        "elicitation/create",
        "roots/list",
        "sampling/createMessage"
      ])
      const decoded = Schema.decodeUnknownExit(InputRequired.InputRequiredResult)({ inputRequests, requestState })
      assert.isTrue(Exit.isSuccess(decoded))
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("[MRTR-11] keeps nothing for a client that does not come back", () =>
    Effect.gen(function*() {
      const open = new Set<object>()
      const opened = Effect.acquireRelease(
        Effect.sync(() => {
          const one = {}
          open.add(one)
          return one
        }),
        (one) => Effect.sync(() => void open.delete(one))
      )
      const handler = Effect.scoped(Effect.andThen(opened, ask("a")))
      const { handle } = yield* serverOf(handler, { limits: { maxIncomingRequests: 2 } })
      for (let id = 1; id <= 10; id++) {
        const { questions } = read(yield* handle(request(id, "tools/call", { name: "x" }), { revision }))
        assert.lengthOf(Object.keys(questions), 1)
      }
      assert.strictEqual(open.size, 0)
    }))

  it.effect("takes answers by key without a state", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(ask("a", { key: "name" }))
      const reply = yield* handle(
        request(1, "tools/call", { name: "x", inputResponses: { name: accept("known") } }),
        { revision }
      )
      assert.strictEqual(read(reply).text, "\"known\"")
    }))

  for (const key of ["__proto__", "constructor", "toString"]) {
    it.effect(`may ask under the key ${key}`, () =>
      Effect.gen(function*() {
        const conversation = yield* run(Effect.all([ask("a", { key }), ask("b")]))
        assert.deepStrictEqual(conversation.rounds, [["a"], ["b"]])
        assert.strictEqual(conversation.text, JSON.stringify(["<a>", "<b>"]))
      }))
  }

  it.effect("[MRTR-04] fails if two questions have one key", () =>
    Effect.gen(function*() {
      const conversation = yield* run(Effect.all([ask("a", { key: "k" }), ask("b", { key: "k" })]))
      assert.deepStrictEqual(conversation.rounds, [["a"]])
      assert.strictEqual(conversation.error?.code, -32603)
      assert.include(conversation.error?.message, "two different questions have the key \"k\"")
    }))

  it.effect("fails if it asks something else in each run", () =>
    Effect.gen(function*() {
      let run_ = 0
      const conversation = yield* run(Effect.suspend(() => ask(`at ${run_++}?`)))
      assert.deepStrictEqual(conversation.rounds, Array.from({ length: 6 }, (_, run) => [`at ${run}?`]))
      assert.include(conversation.error?.message, "none of those that were answered")
    }))

  it.effect("fails after maxRounds rounds", () =>
    Effect.gen(function*() {
      const conversation = yield* run(Effect.forever(ask("again?")), undefined, { limits: { maxRounds: 3 } })
      assert.lengthOf(conversation.rounds, 3)
      assert.include(conversation.error?.message, "more than 3 rounds")
    }))

  it.effect("[ELI-07] gets the error that a session would give for an answer that does not fit", () =>
    Effect.gen(function*() {
      const conversation = yield* run(
        Effect.catch(ask("a"), ({ reason }) => Effect.succeed(reason._tag)),
        () => accept("x") && { action: "accept", content: { value: 5 } }
      )
      assert.strictEqual(conversation.text, "\"InvalidResult\"")
    }))

  it.effect("[MRTR-02] gets an error where the method has no questions", () =>
    Effect.gen(function*() {
      const tags: Array<string> = []
      const { handle } = yield* serverOf(
        Effect.catch(ask("a"), ({ message, reason }) => Effect.sync(() => void tags.push(reason._tag, message)))
      )
      yield* handle(request(1, "resources/list"), { revision })
      assert.deepStrictEqual(tags, [
        "CannotAskHere",
        "elicitation/create: a handler of resources/list cannot ask the client in revision 2026-07-28; " +
        "ask in tools/call, prompts/get or resources/read"
      ])
    }))

  it.effect("[VER-10] [MRTR-06] asks its client only for what the request declares", () =>
    Effect.gen(function*() {
      const questions: ReadonlyArray<readonly [Handler, object]> = [
        [ask("a"), { elicitation: { form: {} } }],
        [RequestContext.listRoots(), { roots: {} }],
        [RequestContext.createMessage({ messages: [], maxTokens: 1 }), { sampling: {} }]
      ]
      for (const [question, requiredCapabilities] of questions) {
        const { handle } = yield* serverOf(question)
        const asked = (clientCapabilities: object) =>
          Effect.map(handle(request(1, "tools/call", { name: "x" }, { clientCapabilities }), { revision }), read)
        const { error, questions: none } = yield* asked({})
        assert.deepStrictEqual<unknown>([error?.code, error?.data, none], [-32021, { requiredCapabilities }, {}])
        assert.lengthOf(Object.keys((yield* asked(requiredCapabilities)).questions), 1)
      }
    }))

  it.effect("[ELI-03] [SMP-02] [SMP-09] asks only in modes, and with tools and contexts, that a client declares", () =>
    Effect.gen(function*() {
      const page = { mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "1" } as const
      const sampling = { messages: [], maxTokens: 1 }
      const tool = { name: "look", inputSchema: { type: "object" } } as const
      const questions: ReadonlyArray<readonly [question: Handler, declared: object, required: object]> = [
        [RequestContext.elicit(page), { elicitation: { form: {} } }, { elicitation: { url: {} } }],
        [RequestContext.createMessage({ ...sampling, tools: [tool] }), { sampling: {} }, { sampling: { tools: {} } }],
        [
          RequestContext.createMessage({ ...sampling, includeContext: "allServers" }),
          { sampling: {} },
          { sampling: { context: {} } }
        ]
      ]
      for (const [question, declared, requiredCapabilities] of questions) {
        const { handle } = yield* serverOf(question)
        const asked = (clientCapabilities: object) =>
          Effect.map(handle(request(1, "tools/call", { name: "x" }, { clientCapabilities }), { revision }), read)
        const { error } = yield* asked(declared)
        assert.deepStrictEqual<unknown>([error?.code, error?.data], [-32021, { requiredCapabilities }])
        assert.lengthOf(Object.keys((yield* asked(requiredCapabilities)).questions), 1)
      }
    }))

  it.effect("[VER-11] is answered with −32021 if it dies because the client lacks a capability", () =>
    Effect.gen(function*() {
      const { handle } = yield* serverOf(ask("a"))
      const reply = yield* handle(request(1, "tools/call", { name: "x" }, { clientCapabilities: {} }), { revision })
      assert.deepStrictEqual(read(reply).error?.code, -32021)
      assert.deepStrictEqual<unknown>(read(reply).error?.data, { requiredCapabilities: { elicitation: { form: {} } } })
    }))

  it.effect("that requires visits to pages is answered with them, and runs again after them", () =>
    Effect.gen(function*() {
      let visits = 0
      const page = { mode: "url", message: "Sign in", url: "https://example.com/sign-in", elicitationId: "s1" } as const
      const { handle } = yield* StatelessServer.make({
        "tools/call": () =>
          Effect.suspend(() =>
            visits++ < 2
              ? Effect.fail(Elicitation.urlRequired([page]))
              : Effect.map(Effect.orDie(ask("a")), (answer) => ({ content: [Content.text(answer)] }))
          )
      }, { info })
      const asked: Array<InputRequired.InputRequest> = []
      const agreeing = yield* converse(handle, (question) => {
        asked.push(question)
        return question.method === "elicitation/create" && question.params.mode === "url"
          ? { action: "accept" }
          : accept("x")
      })
      assert.deepStrictEqual(agreeing.rounds, [["Sign in"], ["Sign in"], ["a"]])
      assert.strictEqual(agreeing.text, "x")
      const { elicitationId: _, ...params } = page
      assert.deepStrictEqual<unknown>(asked[0], { method: "elicitation/create", params })
      visits = 0
      const declining = yield* converse(handle, () => ({ action: "decline" }))
      assert.deepStrictEqual(declining.rounds, [["Sign in"]])
      assert.strictEqual(declining.error?.code, -32603)
      visits = 0
      const reply = yield* handle(request(1, "tools/call", { name: "x" }, { clientCapabilities: {} }), { revision })
      assert.strictEqual(read(reply).error?.code, -32021)
    }))

  // The calls of tools may ask their client, and lists may not.
  for (const [method, params] of [["tools/call", { name: "x" }], ["resources/list", {}]] as const) {
    it.effect(`[SHE-08] [SHE-09] is interrupted if its client leaves, and sends nothing more (${method})`, () =>
      Effect.gen(function*() {
        const events: Array<string> = []
        const sent: Array<JsonRpc.Notification> = []
        const { handle } = yield* serverOf(Effect.onInterrupt(
          Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never),
          () =>
            Effect.gen(function*() {
              events.push("interrupted")
              // The last step: any other one would be dropped, because it follows too soon.
              yield* RequestContext.progress({ progress: 2, total: 2 })
              yield* RequestContext.log({ level: "error", data: "left" })
            })
        ))
        const call = request(1, method, params, { logLevel: "debug" }, { progressToken: "p" })
        const notify = (message: JsonRpc.Notification) => Effect.sync(() => void sent.push(message))
        const fiber = yield* Effect.forkChild(handle(call, { revision, notify }), { startImmediately: true })
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(events, ["interrupted"])
        assert.deepStrictEqual(sent.map(({ params }) => params?.["progress"]), [1])
      }))
  }
})

describe("once", () => {
  const step = (log: Array<string>, name: string) =>
    RequestContext.once(
      name,
      { success: Schema.Struct({ at: Schema.Date, big: Schema.BigInt }) },
      Effect.sync(() => {
        log.push(name)
        return { at: new Date(5), big: 2n }
      })
    )

  it.effect("runs a step once in a call with several rounds, and its result keeps its types", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const conversation = yield* run(Effect.gen(function*() {
        const { at, big } = yield* step(log, "charge")
        yield* ask("a")
        yield* ask("b")
        return `${at.getTime()} ${big + 1n}`
      }))
      assert.lengthOf(conversation.rounds, 2)
      assert.strictEqual(conversation.text, "\"5 3\"")
      assert.deepStrictEqual(log, ["charge"])
    }))

  it.live("keeps a question waiting until it has ended", () =>
    Effect.gen(function*() {
      let runs = 0
      const slow = RequestContext.once(
        "slow",
        { success: Schema.Number },
        Effect.andThen(Effect.sleep("30 millis"), Effect.sync(() => ++runs))
      )
      const conversation = yield* run(Effect.all([ask("a"), Effect.andThen(slow, ask("b"))], together))
      assert.deepStrictEqual(conversation.rounds, [["a", "b"]])
      assert.strictEqual(runs, 1)
    }))

  it.effect("runs a failed step again, unless its failure has a schema", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const failing = (name: string, schemas: Partial<RequestContext.OnceSchemas<never, string>>) =>
        Effect.catch(
          RequestContext.once(
            name,
            { success: Schema.Never, ...schemas },
            Effect.suspend(() => {
              log.push(name)
              return Effect.fail(`${name} failed`)
            })
          ),
          Effect.succeed
        )
      const conversation = yield* run(Effect.gen(function*() {
        const results = [yield* failing("again", {}), yield* failing("kept", { error: Schema.String })]
        yield* ask("a")
        return results
      }))
      assert.strictEqual(conversation.text, JSON.stringify(["again failed", "kept failed"]))
      assert.deepStrictEqual(log, ["again", "kept", "again"])
    }))

  it.effect("dies if it asks", () =>
    Effect.gen(function*() {
      const conversation = yield* run(RequestContext.once("x", { success: Schema.String }, Effect.orDie(ask("a"))))
      assert.deepStrictEqual(conversation.rounds, [])
      assert.strictEqual(conversation.error?.code, -32603)
    }))

  it.effect("fails the call if the results take too many characters", () =>
    Effect.gen(function*() {
      const big = RequestContext.once("x", { success: Schema.String }, Effect.succeed("x".repeat(500)))
      const conversation = yield* run(Effect.andThen(big, ask("a")), undefined, {
        limits: { maxRequestStateCharacters: 400 }
      })
      assert.deepStrictEqual(conversation.rounds, [])
      assert.strictEqual(conversation.error?.code, -32603)
    }))
})
