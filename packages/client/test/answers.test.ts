/** The answers of a client to a server in the same process, in a revision with a handshake and in one without. */
import { McpAnswers, McpClient, McpClients } from "@effect-mcp/client"
import { type Capabilities, McpError, type Roots } from "@effect-mcp/protocol"
import { McpRequest } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as TestClock from "effect/testing/TestClock"
import { type Ask, ask, askingServer, revisions, textOf } from "./fixtures/askingServer.ts"
import * as SimulatedServer from "./support/SimulatedServer.ts"
import { virtually } from "./support/virtually.ts"

const info = { name: "host", version: "1.0.0" }

const Booking = Schema.Struct({
  name: Schema.NonEmptyString,
  guests: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 8 })).annotate({ default: 2 })
})

const book = Effect.map(McpRequest.elicit("Who comes?", Booking), ({ guests, name }) => `${guests} with ${name}`)

const connect = Effect.as(
  McpRequest.elicitUrl("Sign in first", { url: "https://example.com/in", elicitationId: "in-1" }),
  "signed in"
)

const summarize = Effect.map(
  McpRequest.sample("Summarize: bees", { maxTokens: 10 }),
  ({ model, text }) => `${model}: ${text}`
)

const folders = Effect.map(McpRequest.roots(), (uris) => uris.join(" "))

const capabilities = Effect.map(
  RequestContext.RequestContext,
  ({ profile }) => JSON.stringify(profile?.capabilities ?? null)
)

const sampled = { role: "assistant", content: { type: "text", text: "Busy." }, model: "test-1" } as const

const homes: ReadonlyArray<Roots.Root> = [{ uri: "file:///home/ada" }]

/** A text that no server may receive. */
const secret = "the password is bees"

const dies = Effect.die(new Error(secret))

const throws = (): never => {
  throw new Error(secret)
}

/** Questions, and answers that fail otherwise than by an error of the protocol. */
const failures: ReadonlyArray<readonly [how: string, server: Ask, answers: McpAnswers.Answers]> = [
  ["a form that dies", book, { elicit: () => dies }],
  ["a form that throws", book, { elicit: throws }],
  ["a form that does not fit", book, { elicit: (question) => McpAnswers.accept(question, { [secret]: secret }) }],
  ["a page that dies", connect, { elicitUrl: () => dies }],
  ["a model that dies", summarize, { sample: () => dies }],
  ["a model that throws", summarize, { sample: throws }],
  ["a message that is not allowed", summarize, {
    sample: () =>
      Effect.succeed({
        ...sampled,
        content: [{ type: "tool_use", id: secret, name: secret, input: {} }, sampled.content]
      })
  }],
  ["roots that die", folders, { roots: dies }],
  ["roots that throw", folders, { roots: throws }],
  ["a root that is no file", folders, { roots: [{ uri: `https://example.com/${encodeURIComponent(secret)}` }] }],
  ["a policy that dies", folders, { roots: homes, approve: () => dies }],
  ["a policy that throws", book, { elicit: () => Effect.succeed(McpAnswers.consent), approve: throws }]
]

/** The errors of those among them that the server can correct, or whose program can. */
const misfits: ReadonlyMap<string, string> = new Map([
  [
    "a form that does not fit",
    `"code":-31011,"message":"Invalid answer, which was not sent: the value of \\"name\\" does not fit the form"`
  ],
  [
    "a message that is not allowed",
    `"code":-31011,"message":"Invalid answer, which was not sent: content: expected one content block, ` +
    `because no tools were offered; got a list"`
  ]
])

/** Records the texts of all log messages of an effect. */
const logged = Effect.fnUntraced(function*<A, E, R>(effect: Effect.Effect<A, E, R>) {
  const messages: Array<string> = []
  const value = yield* Effect.provide(
    effect,
    Logger.layer([Logger.make(({ message }) => void messages.push(String(message)))])
  )
  return { value, messages }
})

describe("the check of a form", () => {
  const names = Array.from({ length: 2000 }, (_, index) => `\u{9b}2J${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: "boolean" as const }]))

  it("law 12: takes a time proportional to the number of required fields", () => {
    let reads = 0
    const required = new Proxy(names.toReversed(), {
      get: (target, name) => {
        if (typeof name === "string" && /^\d+$/.test(name)) reads++
        return Reflect.get(target, name)
      }
    })
    assert.lengthOf(McpAnswers.check({ type: "object", properties, required }, {}), names.length)
    assert.isAtMost(reads, 2 * names.length)
  })

  it("has an error with a short message, which is harmless for a terminal", () => {
    const problems = McpAnswers.check({ type: "object", properties, required: names }, {})
    const { message } = new McpAnswers.InvalidAnswerError({ server: "booking", problems })
    assert.match(message, /"\\u009b2J0" is missing; .*; and 1980 more$/)
    assert.isAtMost(message.length, 1000)
  })
})

describe.concurrent("answers", () => {
  for (const revision of revisions) {
    const connected = (
      server: Ask,
      answers: McpAnswers.Answers,
      capabilities: Capabilities.ClientCapabilities = {}
    ) =>
      McpClient.make(askingServer(server), {
        info,
        name: "booking",
        revisions: [revision],
        healthCheck: false,
        capabilities,
        answers
      })
    const asking = (server: Ask, answers: McpAnswers.Answers) => Effect.flatMap(connected(server, answers), ask)

    /** Returns the code of the error that the client answered, as the server or the caller of the tool sees it. */
    const rejection = (
      server: Ask,
      answers: McpAnswers.Answers,
      capabilities?: Capabilities.ClientCapabilities
    ) =>
      Effect.gen(function*() {
        const client = yield* connected(
          Effect.catchTag(server, "RequestError", ({ reason }) =>
            Effect.succeed(reason._tag === "ErrorResponse" ? String(reason.error.code) : reason._tag)),
          answers,
          capabilities
        )
        return yield* Effect.catchTag(ask(client), "RequestError", ({ reason }) =>
          Effect.succeed(reason._tag === "QuestionFailed" ? String(reason.error.code) : reason._tag))
      })

    describe.concurrent(`in revision ${revision}`, () => {
      it.effect("a form is answered with values, and the answer knows which server asks and what", () =>
        Effect.gen(function*() {
          const asked: Array<McpAnswers.FormQuestion> = []
          const text = yield* asking(book, {
            elicit: (question) => {
              asked.push(question)
              return McpAnswers.accept(question, { name: "Ada", guests: 3 })
            }
          })
          assert.strictEqual(text, "3 with Ada")
          assert.deepStrictEqual(
            asked.map(({ _tag, params, profile, server }) => [_tag, server, profile.info.name, params.message]),
            [["Form", "booking", "a name of its own", "Who comes?"]]
          )
        }))

      it.effect("[ELI-08] a field without a value gets the default of the form", () =>
        Effect.gen(function*() {
          const elicit = (question: McpAnswers.FormQuestion) =>
            McpAnswers.accept(question, { name: "Ada", guests: undefined })
          assert.strictEqual(yield* asking(book, { elicit }), "2 with Ada")
        }))

      it.effect("[ELI-07] values that do not fit the form fail before they are sent; the user can be asked again", () =>
        Effect.gen(function*() {
          const failed: Array<McpAnswers.InvalidAnswerError> = []
          const text = yield* asking(book, {
            elicit: (question) =>
              Effect.catchTag(
                McpAnswers.accept(question, { name: "", guests: 9, meal: "fish" }),
                "InvalidAnswerError",
                (error) => {
                  failed.push(error)
                  return McpAnswers.accept(question, { name: "Ada", guests: 8 })
                }
              )
          })
          assert.strictEqual(text, "8 with Ada")
          assert.deepStrictEqual(failed.map(({ problems, server }) => [server, problems]), [["booking", [
            { field: "name", problem: "is shorter than 1 characters" },
            { field: "guests", problem: "is more than 8" },
            { field: "meal", problem: "is no field of the form" }
          ]]])
        }))

      for (
        const [how, elicit] of [
          ["accept", (question) => McpAnswers.accept(question, { name: "Ada", guests: 9 })],
          ["the result itself", () => Effect.succeed({ action: "accept", content: { name: "Ada", guests: 9 } })]
        ] satisfies ReadonlyArray<readonly [string, McpAnswers.Answers["elicit"]]>
      ) {
        it.effect(`[ELI-07] an invalid answer by ${how} is an error in the log that names the field`, () =>
          Effect.gen(function*() {
            const { messages, value } = yield* logged(rejection(book, { elicit }))
            assert.strictEqual(value, "-31011")
            assert.deepStrictEqual(messages.filter((message) => message.includes("guests")), [
              "the answer to a form of the server \"booking\" does not fit it, and was not sent: " +
              "\"guests\" is more than 8"
            ])
          }))
      }

      it.effect("the log has 10 invalid answers at once, and then one per second", () =>
        Effect.gen(function*() {
          const { messages } = yield* logged(Effect.gen(function*() {
            const client = yield* connected(book, {
              elicit: () => Effect.succeed({ action: "accept", content: { name: "Ada", guests: 9 } })
            })
            const asked = Effect.ignore(client.callTool("ask"))
            yield* Effect.repeat(asked, { times: 29 })
            yield* TestClock.adjust("2 seconds")
            yield* Effect.repeat(asked, { times: 29 })
          }))
          assert.strictEqual(messages.filter((message) => message.includes("guests")).length, 12)
          assert.deepStrictEqual(messages.filter((message) => message.startsWith("left")), [
            "left 20 errors of answers to the server out of the log, because more than 1 per second arrived"
          ])
        }))

      it.effect("answers to a form that nothing fits are limited in the log as well", () =>
        Effect.gen(function*() {
          const form = { type: "object", properties: { a: { type: "boolean" } }, required: ["b"] } as const
          const impossible = Effect.as(RequestContext.elicit({ message: "Which?", requestedSchema: form }), "answered")
          const { messages } = yield* logged(Effect.gen(function*() {
            const client = yield* connected(impossible, {
              elicit: () => Effect.succeed({ action: "accept" })
            })
            yield* Effect.repeat(Effect.ignore(client.callTool("ask")), { times: 29 })
          }))
          assert.deepStrictEqual(
            messages,
            Array.from({ length: 10 }, () =>
              "the answer to a form of the server \"booking\" was not sent: \"b\" is missing")
          )
        }))

      it.effect("a user declines and cancels", () =>
        Effect.gen(function*() {
          const declined = yield* asking(book, { elicit: () => Effect.succeed(McpAnswers.decline) })
          const cancelled = yield* asking(book, { elicit: () => Effect.succeed(McpAnswers.cancel) })
          assert.include(declined, "declined")
          assert.notStrictEqual(cancelled, declined)
        }))

      it.effect("a page is visited with consent", () =>
        Effect.gen(function*() {
          const visited: Array<string> = []
          const text = yield* asking(connect, {
            elicitUrl: ({ _tag, params, server }) => {
              visited.push(_tag, server, params.url)
              return Effect.succeed(McpAnswers.consent)
            }
          })
          assert.strictEqual(text, "signed in")
          assert.deepStrictEqual(visited, ["Url", "booking", "https://example.com/in"])
        }))

      it.effect("a page that is not of the web, or hides its host, is rejected with -32602 and not shown", () =>
        Effect.gen(function*() {
          const shown: Array<string> = []
          const show = (url: string) => Effect.sync(() => shown.push(url) > 0)
          const answers: McpAnswers.Answers = {
            approve: (question) => question._tag === "Url" ? show(question.params.url) : Effect.succeed(true),
            elicitUrl: ({ params }) => Effect.as(show(params.url), McpAnswers.consent)
          }
          const page = (url: string) => Effect.as(McpRequest.elicitUrl("Look", { url, elicitationId: "1" }), "visited")
          const rejected = [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "data:text/html,x",
            "ms-msdt:/id",
            "vbscript:x",
            "https://example.com@other.example/",
            "https://a:b@example.com/",
            "https://example.com\\@other.example/",
            "https://example.com/\u{202e}gnp",
            "https://example.com/\u{1b}[2J",
            "https://[",
            "https:evil.example",
            "https:/evil.example"
          ]
          for (const url of rejected) assert.strictEqual(yield* rejection(page(url), answers), "-32602", url)
          assert.deepStrictEqual(shown, [])
          // The user sees what a browser opens.
          const accepted = [
            ["https://example.com/a?b=@c", "https://example.com/a?b=@c"],
            ["HTTPS://example.com", "https://example.com/"],
            ["http://127.0.0.1:8080/callback", "http://127.0.0.1:8080/callback"],
            ["https://ⓔvil.example/", "https://evil.example/"],
            ["https://аррӏе.example/", "https://xn--80ak6aa92e.example/"]
          ] as const
          for (const [url] of accepted) assert.strictEqual(yield* rejection(page(url), answers), "visited", url)
          assert.deepStrictEqual(shown, accepted.flatMap(([, url]) => [url, url]))
        }))

      it.effect("a message is sampled by a function", () =>
        Effect.gen(function*() {
          const text = yield* asking(summarize, {
            sample: ({ params, server }) => Effect.succeed({ ...sampled, model: `${server} ${params.maxTokens}` })
          })
          assert.strictEqual(text, "booking 10: Busy.")
        }))

      it.effect("without a policy, 60 messages are sampled at once, 4 at the same time, and then one per second", () =>
        Effect.gen(function*() {
          let running = 0
          let most = 0
          const sample = () =>
            Effect.gen(function*() {
              most = Math.max(most, ++running)
              yield* Effect.yieldNow
              running--
              return sampled
            })
          const codes = (answers: McpAnswers.Answers) =>
            Effect.gen(function*() {
              const client = yield* connected(
                Effect.catchTag(summarize, "RequestError", ({ reason }) =>
                  Effect.succeed(reason._tag === "ErrorResponse" ? String(reason.error.code) : reason._tag)),
                answers
              )
              const one = Effect.catchTag(ask(client), "RequestError", ({ reason }) =>
                Effect.succeed(reason._tag === "QuestionFailed" ? String(reason.error.code) : reason._tag))
              const all = yield* Effect.all(
                Array.from({ length: 70 }, () =>
                  one),
                { concurrency: "unbounded" }
              )
              return all.filter((answer) =>
                answer === "-31010"
              ).length
            })
          assert.strictEqual(yield* codes({ sample }), 10)
          assert.isAtMost(most, 4)
          assert.strictEqual(yield* codes({ sample, approve: () => Effect.succeed(true) }), 0)
        }))

      it.effect("a message of several blocks is not sent to a server that has offered no tools", () =>
        Effect.gen(function*() {
          const { messages, value } = yield* logged(rejection(summarize, {
            sample: () => Effect.succeed({ ...sampled, content: [sampled.content, sampled.content] })
          }))
          assert.strictEqual(value, "-31011")
          assert.include(messages.join("\n"), "the message for the server \"booking\" was not sent: content")
        }))

      it.effect("roots are a list, an effect, a function of the server that asks, or a ref", () =>
        Effect.gen(function*() {
          const ref = yield* SubscriptionRef.make(homes)
          const given: ReadonlyArray<McpAnswers.RootsAnswer> = [
            homes,
            Effect.succeed(homes),
            ({ server }) => Effect.succeed([{ uri: `file:///home/${server}` }]),
            ref
          ]
          assert.deepStrictEqual(yield* Effect.forEach(given, (roots) => asking(folders, { roots })), [
            "file:///home/ada",
            "file:///home/ada",
            "file:///home/booking",
            "file:///home/ada"
          ])
        }))

      it.effect("[ELI-02] only what is given is declared as a capability", () =>
        Effect.gen(function*() {
          const ref = yield* SubscriptionRef.make(homes)
          const elicit = () => Effect.succeed(McpAnswers.decline)
          const answer = () => Effect.succeed(sampled)
          // Revision 2026-07-28 has no notification of changed roots.
          const listed = revision === "2026-07-28" ? {} : { listChanged: true }
          const table: ReadonlyArray<readonly [McpAnswers.Answers, object]> = [
            [{}, {}],
            [{ approve: () => Effect.succeed(true) }, {}],
            [{ elicit }, { elicitation: { form: {} } }],
            [{ elicitUrl: elicit }, { elicitation: { url: {} } }],
            [{ elicit, elicitUrl: elicit }, { elicitation: { form: {}, url: {} } }],
            [{ sample: answer }, { sampling: {} }],
            [{ sample: { answer } }, { sampling: {} }],
            [{ sample: { answer, tools: true } }, { sampling: { tools: {} } }],
            [{ roots: homes }, { roots: {} }],
            [{ roots: ref }, { roots: listed }]
          ]
          for (const [answers, declared] of table) {
            assert.deepStrictEqual(JSON.parse(yield* asking(capabilities, answers)), declared)
          }
        }))

      it.effect("what is not given is refused", () =>
        Effect.gen(function*() {
          const table: ReadonlyArray<readonly [Ask, McpAnswers.Answers]> = [
            [book, {}],
            [book, { elicitUrl: () => Effect.succeed(McpAnswers.consent) }],
            [connect, { elicit: () => Effect.succeed(McpAnswers.consent) }],
            [summarize, { roots: homes }],
            [folders, { sample: () => Effect.succeed(sampled) }]
          ]
          for (const [server, answers] of table) {
            assert.strictEqual(yield* rejection(server, answers), "MissingCapability")
          }
        }))

      it.effect("[SMP-06] a question that is not approved is rejected in the words of its method; no answer runs", () =>
        Effect.gen(function*() {
          const asked: Array<string> = []
          let answered = 0
          const count = <A>(value: A) =>
            Effect.sync(() => {
              answered++
              return value
            })
          const answers: McpAnswers.Answers = {
            elicit: () => count(McpAnswers.consent),
            elicitUrl: () => count(McpAnswers.consent),
            sample: () => count(sampled),
            roots: () => count(homes),
            approve: ({ _tag, server }) => {
              asked.push(`${server} ${_tag}`)
              return Effect.succeed(false)
            }
          }
          assert.include(yield* asking(book, answers), "declined")
          assert.include(yield* asking(connect, answers), "declined")
          assert.strictEqual(yield* rejection(summarize, answers), "-1")
          assert.strictEqual(yield* asking(folders, answers), "")
          assert.deepStrictEqual(asked, ["booking Form", "booking Url", "booking Sample", "booking Roots"])
          assert.strictEqual(answered, 0)
        }))

      it.effect("a kind of elicitation that nothing answers is rejected before a person is asked", () =>
        Effect.gen(function*() {
          const asked: Array<string> = []
          const approve = ({ _tag }: McpAnswers.Question) => Effect.sync(() => asked.push(_tag) > 0)
          const elicit = () => Effect.succeed(McpAnswers.consent)
          // The session rejects what is not declared, so the program declares what it does not answer.
          const capabilities = { elicitation: { form: {}, url: {} } }
          assert.strictEqual(yield* rejection(book, { elicitUrl: elicit, approve }, capabilities), "-32602")
          assert.strictEqual(yield* rejection(connect, { elicit, approve }, capabilities), "-32602")
          assert.deepStrictEqual(asked, [])
        }))

      it.effect("a question that is approved is answered afterwards", () =>
        Effect.gen(function*() {
          const order: Array<string> = []
          const note = (text: string) => Effect.sync(() => void order.push(text))
          yield* asking(summarize, {
            sample: () => Effect.as(note("answered"), sampled),
            approve: ({ params }) => Effect.as(note("maxTokens" in params ? `approved ${params.maxTokens}` : ""), true)
          })
          assert.deepStrictEqual(order, ["approved 10", "answered"])
        }))

      for (const [how, server, answers] of failures) {
        it.effect(`the error of ${how} has no words of the program, and the client goes on`, () =>
          Effect.gen(function*() {
            const seen = (server: Ask, answers: McpAnswers.Answers) =>
              Effect.gen(function*() {
                const client = yield* connected(
                  Effect.catchTag(server, "RequestError", ({ reason }) => Effect.succeed(JSON.stringify(reason))),
                  answers
                )
                const session = yield* client.session
                const asked = Effect.catchTag(
                  ask(client),
                  "RequestError",
                  ({ reason }) => Effect.succeed(JSON.stringify(reason))
                )
                const both = [yield* asked, yield* asked]
                assert.strictEqual(yield* client.session, session)
                return both
              })
            const { value: [first = "", second] } = yield* logged(seen(server, answers))
            assert.include(
              first,
              `"error":{"_tag":"McpError",${misfits.get(how) ?? `"code":-32603,"message":"Internal error"`}}`
            )
            assert.notInclude(first, secret)
            assert.strictEqual(second, first)
          }))
      }

      it.effect("an error of the policy is the answer", () =>
        Effect.gen(function*() {
          const approve = () => Effect.fail(new McpError.McpError({ code: -7, message: "Ask again tomorrow" }))
          assert.strictEqual(yield* rejection(folders, { roots: homes, approve }), "-7")
        }))
    })
  }

  it.effect("an answer is interrupted when the server no longer waits for it", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const started = yield* Deferred.make<void>()
      const client = yield* McpClient.make(
        askingServer(Effect.raceFirst(book, Effect.as(Deferred.await(started), "too late"))),
        {
          info,
          revisions: ["2025-11-25"],
          healthCheck: false,
          answers: {
            elicit: () =>
              Deferred.succeed(started, undefined).pipe(
                Effect.andThen(Effect.never),
                Effect.onInterrupt(() => Deferred.succeed(interrupted, undefined))
              )
          }
        }
      )
      assert.strictEqual(yield* ask(client), "too late")
      yield* Deferred.await(interrupted)
    }))

  it.effect("a handler of a method that is answered does not compile, and is a defect", () =>
    Effect.gen(function*() {
      const handlers = { "roots/list": () => Effect.succeed({ roots: homes }) }
      const answers = { roots: homes }
      type Handlers = typeof handlers
      interface Given {
        readonly handlers: Handlers
      }
      expectTypeOf<Given>().not.toExtend<McpAnswers.Checked<Handlers, typeof answers>>()
      expectTypeOf<Given>().toExtend<McpAnswers.Checked<Handlers, { readonly sample: () => never }>>()
      // Programs whose options have a wider type compile.
      const options: McpClient.Options = { info, handlers, answers }
      const cause = yield* Effect.flip(Effect.sandbox(McpClient.make(askingServer(folders), options)))
      assert.include(Cause.pretty(cause), "the options handlers and answers of the client both serve roots/list")
    }))
})

for (const revision of revisions) {
  const connected = (server: SimulatedServer.SimulatedServer, roots: McpAnswers.RootsAnswer) =>
    McpClient.make(server.target, { info, revisions: [revision], healthCheck: false, answers: { roots } })

  describe(`in virtual time and revision ${revision}`, () => {
    it("an answer that never ends holds no other call, and is interrupted when the server no longer waits", () =>
      virtually(Effect.gen(function*() {
        let interrupted = 0
        const server = SimulatedServer.make()
        const client = yield* connected(
          server,
          Effect.onInterrupt(Effect.never, () =>
            Effect.sync(() => {
              interrupted++
            }))
        )
        const session = yield* client.session
        const calling = yield* Effect.forkScoped(Effect.exit(client.callTool("roots")), { startImmediately: true })
        yield* Effect.sleep("1 second")
        assert.strictEqual(textOf(yield* client.callTool("pid")), "1")
        assert.deepStrictEqual([calling.pollUnsafe(), interrupted], [undefined, 0])
        yield* Effect.sleep("1 minute")
        assert.strictEqual((yield* Fiber.join(calling))._tag, "Failure")
        assert.strictEqual(interrupted, 1)
        assert.strictEqual(yield* client.session, session)
      })))

    it("an answer that is larger than the server accepts ends its call by a timeout, and not the session", () =>
      virtually(Effect.gen(function*() {
        const server = SimulatedServer.make()
        const client = yield* connected(server, [{ uri: `file:///${"a".repeat(5_000_000)}` }])
        const session = yield* client.session
        yield* Effect.flip(client.callTool("roots"))
        assert.strictEqual(yield* Effect.clockWith((clock) => clock.currentTimeMillis), 60_000)
        assert.strictEqual(textOf(yield* client.callTool("pid")), "1")
        assert.strictEqual(yield* client.session, session)
      })))
  })
}

class Person extends Context.Service<Person, { readonly consents: boolean }>()("test/Person") {}
class Model extends Context.Service<Model, { readonly text: string }>()("test/Model") {}

const answersOfServices = McpAnswers.make({
  sample: () => Effect.map(Model, ({ text }) => ({ ...sampled, content: { type: "text", text } } as const)),
  approve: () => Effect.map(Person, ({ consents }) => consents)
})

it("a client and a group need the services of their answers", () => {
  const options = { info, answers: answersOfServices }
  const client = McpClient.make(askingServer(summarize), options)
  expectTypeOf<Effect.Services<typeof client>>().toEqualTypeOf<Person | Model | Scope.Scope>()
  const group = McpClients.make({ notes: askingServer(summarize) }, options)
  expectTypeOf<Effect.Services<typeof group>>().toEqualTypeOf<Person | Model | Scope.Scope>()
  const layer = McpClients.layer({ notes: askingServer(summarize) }, options)
  expectTypeOf<Layer.Services<typeof layer>>().toEqualTypeOf<Person | Model>()
})

it("answers that are written in the options know the types of their questions", () => {
  const client = McpClient.make(askingServer(book), {
    info,
    answers: {
      elicit: (question) => McpAnswers.accept(question, { name: question.server }),
      sample: ({ server }) =>
        Effect.map(Model, ({ text }) => ({ ...sampled, content: { type: "text", text: `${server}: ${text}` } })),
      approve: ({ server }) => Effect.succeed(server === "booking")
    }
  })
  expectTypeOf<Effect.Services<typeof client>>().toEqualTypeOf<Model | Scope.Scope>()
  const group = McpClients.make({ booking: askingServer(book) }, {
    info,
    answers: McpAnswers.make({ elicit: (question) => McpAnswers.accept(question, { name: question.server }) })
  })
  expectTypeOf<Effect.Services<typeof group>>().toEqualTypeOf<Scope.Scope>()
  const plain = McpClient.make(askingServer(book), { info })
  expectTypeOf<Effect.Services<typeof plain>>().toEqualTypeOf<Scope.Scope>()
})

it.effect("answers run with the services of the client", () =>
  Effect.gen(function*() {
    const client = yield* McpClient.make(askingServer(summarize), { info, answers: answersOfServices })
    assert.strictEqual(yield* ask(client), "test-1: Hm.")
  }).pipe(Effect.provideService(Person, { consents: true }), Effect.provideService(Model, { text: "Hm." })))

it.effect("the answers of a group receive the name of the server, and those of one server replace them", () =>
  Effect.gen(function*() {
    const answers = McpAnswers.make({
      sample: ({ server }) =>
        Effect.map(Model, ({ text }) => ({ ...sampled, content: { type: "text", text: `${text} ${server}` } } as const))
    })
    const clients = yield* McpClients.make({ notes: askingServer(summarize), mail: askingServer(summarize) }, {
      info,
      answers,
      servers: {
        mail: { answers: { sample: () => Effect.map(Model, ({ text: model }) => ({ ...sampled, model })) } }
      }
    })
    assert.strictEqual(yield* ask(clients.client("notes")), "test-1: Hm. notes")
    assert.strictEqual(yield* ask(clients.client("mail")), "Hm.: Busy.")
  }).pipe(Effect.provideService(Model, { text: "Hm." })))
