import {
  type Capabilities,
  type Elicitation,
  type ElicitationSchema,
  ErrorCode,
  JsonRpc,
  McpError
} from "@effect-mcp/protocol"
import { CallbackContext, type Handlers, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import {
  type ClientOptions,
  codeOf,
  connected,
  initialized,
  names,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const form: ElicitationSchema.ElicitationSchema = {
  type: "object",
  properties: {
    name: { type: "string" },
    city: { type: "string", default: "Vienna" },
    age: { type: "integer", default: 42 },
    member: { type: "boolean", default: false }
  },
  required: ["name"]
}

const page = { url: "https://example.com/sign-in", elicitationId: "1" }

type Answering = Handlers.RequestHandler<"elicitation/create", CallbackContext.CallbackContext>

type Means = Capabilities.ClientCapabilities["elicitation"]

const client = (answer: Answering, elicitation?: Means): { readonly client: ClientOptions } => ({
  client: {
    handlers: { "elicitation/create": answer },
    ...(elicitation === undefined ? undefined : { capabilities: { elicitation } })
  }
})

const accept: Answering = ({ mode }) =>
  Effect.succeed(mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } })

describe("by which means a client can be asked", () => {
  const cases: ReadonlyArray<
    readonly [what: string, declared: Means, form: boolean, page: boolean]
  > = [
    ["nothing but a handler", undefined, true, false],
    ["no means", {}, true, false],
    ["forms", { form: {} }, true, false],
    ["pages", { url: {} }, false, true],
    ["both", { form: {}, url: {} }, true, true]
  ]

  for (const [what, declared, byForm, byPage] of cases) {
    it.effect(`[ELI-02] [ELI-03] a server asks one that declares ${what} by no other`, () =>
      Effect.gen(function*() {
        const { links, server } = yield* connected(client(accept, declared))
        const before = links.server.sent.length
        const outcomes = [
          yield* Effect.result(server.elicitForm("Who?", form)),
          yield* Effect.result(server.elicitUrl("Sign in", page))
        ]
        assert.deepStrictEqual(
          outcomes.map((outcome) =>
            outcome._tag === "Success" || outcome.failure.reason._tag !== "MissingCapability"
              ? outcome._tag
              : outcome.failure.reason.capability
          ),
          [byForm ? "Success" : "elicitation.form", byPage ? "Success" : "elicitation.url"]
        )
        assert.strictEqual(links.server.sent.length - before, Number(byForm) + Number(byPage))
      }))

    it.effect(`[ELI-04] [ELI-05] nor does a client that declares ${what} answer otherwise`, () =>
      Effect.gen(function*() {
        let asked = 0
        const { raw } = yield* withRawServer(client(() => {
          asked++
          return Effect.succeed({ action: "decline" })
        }, declared))
        const said = raw.received.length
        const question = (id: string, params: object) => JsonRpc.request(id, "elicitation/create", { ...params })
        yield* raw.send(
          question("no mode", { message: "Who?", requestedSchema: form }),
          question("form", { mode: "form", message: "Who?", requestedSchema: form }),
          question("url", { mode: "url", message: "Sign in", ...page })
        )
        yield* settled
        const outcome = (answered: boolean) => answered ? undefined : ErrorCode.InvalidParams
        assert.sameDeepMembers(
          raw.received.slice(said).map((answer) => ["id" in answer && answer.id, codeOf(answer)]),
          [["no mode", outcome(byForm)], ["form", outcome(byForm)], ["url", outcome(byPage)]]
        )
        assert.strictEqual(asked, 2 * Number(byForm) + Number(byPage))
      }))
  }
})

describe("what becomes of a question", () => {
  const ask = tools({
    ask: Effect.gen(function*() {
      const { elicit } = yield* RequestContext.RequestContext
      return yield* Effect.match(elicit({ message: "Who are you?", requestedSchema: form }), {
        onSuccess: ({ action, content }) => text(content === undefined ? action : JSON.stringify(content)),
        onFailure: ({ message }) => ({ ...text(message), isError: true })
      })
    })
  })

  const outcomes: ReadonlyArray<readonly [string, Answering, string]> = [
    ["said no", () => Effect.succeed({ action: "decline" }), "decline"],
    ["went away", () => Effect.succeed({ action: "cancel" }), "cancel"],
    [
      "could not be asked",
      () => Effect.fail(new McpError.McpError({ code: -4, message: "nobody is here" })),
      "elicitation/create: the peer replied with error -4: nobody is here"
    ]
  ]

  for (const [what, answer, outcome] of outcomes) {
    it.effect(`[ELI-09] a server learns that the user ${what}, and goes on`, () =>
      Effect.gen(function*() {
        const session = yield* connected({ ...client(answer), handlers: ask })
        const { content } = yield* session.client.callTool("ask")
        assert.deepStrictEqual(content, text(outcome).content)
        yield* session.client.ping()
      }))
  }

  it.effect("the user can be shown which server asks", () =>
    Effect.gen(function*() {
      const shown: Array<string> = []
      const { client: asking } = yield* connected({
        ...client(({ message }) =>
          Effect.gen(function*() {
            const { profile } = yield* CallbackContext.CallbackContext
            shown.push(`${profile.info.title} asks: ${message}`)
            return { action: "decline" }
          })
        ),
        handlers: ask,
        server: { info: { name: "census", title: "The Census", version: "1" } }
      })
      yield* asking.callTool("ask")
      assert.deepStrictEqual(shown, ["The Census asks: Who are you?"])
    }))

  it.effect("[ELI-08] what the form suggests can be filled in", () =>
    Effect.gen(function*() {
      const { client: asking } = yield* connected({
        ...client((params) =>
          Effect.succeed({
            action: "accept",
            content: {
              name: "Ada",
              ...(params.mode === "url"
                ? undefined
                : Object.fromEntries(
                  Object.entries(params.requestedSchema.properties).flatMap(([name, field]) =>
                    field.default === undefined ? [] : [[name, field.default]]
                  )
                ))
            }
          })
        ),
        handlers: ask
      })
      const { content } = yield* asking.callTool("ask")
      assert.deepStrictEqual(
        content,
        text(JSON.stringify({ name: "Ada", city: "Vienna", age: 42, member: false })).content
      )
    }))
})

describe("content that does not fit the form", () => {
  const misfits: ReadonlyArray<readonly [string, Elicitation.ElicitResult["content"], string]> = [
    ["nothing", undefined, "\"name\" is missing"],
    ["a number for a text", { name: 1 }, "\"name\" is not a string"],
    ["half a year", { name: "Ada", age: 42.5 }, "\"age\" is not a whole number"]
  ]
  for (const [what, content, problem] of misfits) {
    const answer = content === undefined ? { action: "accept" as const } : { action: "accept" as const, content }

    it.effect(`[ELI-07] a client does not send ${what}`, () =>
      Effect.gen(function*() {
        const { records, server } = yield* connected(client(() => Effect.succeed(answer)))
        const { reason } = yield* Effect.flip(server.elicitForm("Who?", form))
        assert.strictEqual(reason._tag === "ErrorResponse" && reason.error.code, ErrorCode.InternalError)
        assert.strictEqual(records.client.of("HandlerFailed").length, 1)
      }))

    it.effect(`[ELI-07] a server does not take ${what}`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient()
        yield* raw.send(JsonRpc.request(0, "initialize", {
          protocolVersion: "2025-11-25",
          capabilities: { elicitation: {} },
          clientInfo: { name: "raw", version: "1" }
        }))
        yield* raw.response
        yield* raw.send(initialized)
        const asking = yield* start(Effect.flip(session.elicitForm("Who?", form)))
        yield* raw.send(JsonRpc.success(1, answer))
        assert.deepStrictEqual((yield* Fiber.join(asking)).reason, {
          _tag: "InvalidResult",
          problem: `the content does not match the form: ${problem}`
        })
      }))
  }
})

describe("pages to visit", () => {
  const byPage = client(accept, { url: {} })

  for (
    const url of ["", "sign-in", "/sign-in", "//example.com", "https: //example.com", "https://exa mple.com", "a b:c"]
  ) {
    it.effect(`[ELI-10] ${JSON.stringify(url)} is no address, and nobody is sent there`, () =>
      Effect.gen(function*() {
        const { links, server } = yield* connected(byPage)
        const before = links.server.sent.length
        const { reason } = yield* Effect.flip(server.elicitUrl("Sign in", { ...page, url }))
        assert.strictEqual(reason._tag, "InvalidParams")
        assert.strictEqual(links.server.sent.length, before)
        // Nor would the client take it from a server that sends it all the same.
        const { raw } = yield* withRawServer(byPage)
        yield* raw.send(JsonRpc.request("x", "elicitation/create", { mode: "url", message: "Sign in", ...page, url }))
        yield* settled
        assert.deepStrictEqual(raw.received.slice(-1).map(codeOf), [ErrorCode.InvalidParams])
      }))
  }

  it.effect("[ELI-12] that one has been dealt with is told to the client that was asked, and to no other", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* connected(byPage), yield* connected(byPage)]
      const heard: Array<string> = []
      const listening = yield* Effect.forEach([one, other], ({ client }, index) =>
        Effect.forkChild(
          Stream.runForEach(
            client.notifications("notifications/elicitation/complete"),
            ({ elicitationId }) => Effect.sync(() => heard.push(`${index}: ${elicitationId}`))
          ),
          { startImmediately: true }
        ))
      yield* settled
      yield* one.server.elicitUrl("Sign in", page)
      yield* one.server.elicitationComplete(page.elicitationId)
      yield* settled
      assert.deepStrictEqual(heard, ["0: 1"])
      yield* Fiber.interruptAll(listening)
    }))

  it.effect("[ELI-12] it is told after the answer, and after the request that led to the page has ended", () =>
    Effect.gen(function*() {
      const served = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const finish = Deferred.makeUnsafe<void>()
      const heard: Array<string> = []
      const { client, server } = yield* connected({
        handlers: tools({
          x: Effect.gen(function*() {
            const context = yield* RequestContext.RequestContext
            const { action } = yield* Effect.orDie(context.elicit({ mode: "url", message: "Sign in", ...page }))
            yield* Deferred.succeed(served, context)
            yield* Deferred.await(finish)
            return text(action)
          })
        }),
        client: {
          ...byPage.client,
          handlers: {
            ...byPage.client.handlers,
            "notifications/elicitation/complete": ({ elicitationId }) => Effect.sync(() => heard.push(elicitationId))
          }
        }
      })
      const calling = yield* start(client.callTool("x"))
      const { id } = yield* Deferred.await(served)
      yield* server.elicitationComplete("while it is served", { relatedRequestId: id })
      yield* Deferred.succeed(finish, undefined)
      assert.deepStrictEqual(yield* Fiber.join(calling), text("accept"))
      yield* server.elicitationComplete("later", { relatedRequestId: id })
      yield* settled
      assert.deepStrictEqual(heard, ["while it is served", "later"])
    }))

  it.effect("news of a page that nobody was asked to visit, or that is done, is passed over", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer(byPage)
      const said = raw.received.length
      const complete = (params: JsonRpc.Params) => JsonRpc.notification("notifications/elicitation/complete", params)
      yield* raw.send(JsonRpc.request("r", "elicitation/create", { mode: "url", message: "Sign in", ...page }))
      yield* settled
      yield* raw.send(
        complete({ elicitationId: "unknown" }),
        complete({ elicitationId: "1" }),
        complete({ elicitationId: "1" }),
        complete({})
      )
      yield* settled
      assert.deepStrictEqual(names(raw.received.slice(said)), ["r"])
      assert.deepStrictEqual(record.of("NotificationIgnored").length, 4)
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))
})
