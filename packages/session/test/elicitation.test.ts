import {
  type Capabilities,
  type Elicitation,
  type ElicitationSchema,
  ErrorCode,
  JsonRpc,
  McpError
} from "@effect-mcp/protocol"
import { ClientRequestContext, type Handlers, RequestContext } from "@effect-mcp/session"
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

const urlMode = { url: "https://example.com/sign-in", elicitationId: "1" }

type Handler = Handlers.RequestHandler<"elicitation/create", ClientRequestContext.ClientRequestContext>

type Declared = Capabilities.ClientCapabilities["elicitation"]

const client = (handler: Handler, elicitation?: Declared): { readonly client: ClientOptions } => ({
  client: {
    handlers: { "elicitation/create": handler },
    ...(elicitation === undefined ? undefined : { capabilities: { elicitation } })
  }
})

const accept: Handler = ({ mode }) =>
  Effect.succeed(mode === "url" ? { action: "accept" } : { action: "accept", content: { name: "Ada" } })

describe("the modes of elicitation", () => {
  const cases: ReadonlyArray<
    readonly [what: string, declared: Declared, form: boolean, url: boolean]
  > = [
    ["only a handler", undefined, true, false],
    ["no modes", {}, true, false],
    ["form mode", { form: {} }, true, false],
    ["URL mode", { url: {} }, false, true],
    ["both modes", { form: {}, url: {} }, true, true]
  ]

  for (const [what, declared, byForm, byUrl] of cases) {
    it.effect(`[ELI-02] [ELI-03] a server sends only declared modes to a client that declares ${what}`, () =>
      Effect.gen(function*() {
        const { links, server } = yield* connected(client(accept, declared))
        const before = links.server.sent.length
        const outcomes = [
          yield* Effect.result(server.elicitForm("Who?", form)),
          yield* Effect.result(server.elicitUrl("Sign in", urlMode))
        ]
        assert.deepStrictEqual(
          outcomes.map((outcome) =>
            outcome._tag === "Success" || outcome.failure.reason._tag !== "MissingCapability"
              ? outcome._tag
              : outcome.failure.reason.capability
          ),
          [byForm ? "Success" : "elicitation.form", byUrl ? "Success" : "elicitation.url"]
        )
        assert.strictEqual(links.server.sent.length - before, Number(byForm) + Number(byUrl))
      }))

    it.effect(`[ELI-04] [ELI-05] a client that declares ${what} rejects requests of other modes`, () =>
      Effect.gen(function*() {
        let handled = 0
        const { raw } = yield* withRawServer(client(() => {
          handled++
          return Effect.succeed({ action: "decline" })
        }, declared))
        const before = raw.received.length
        const elicitation = (id: string, params: object) => JsonRpc.request(id, "elicitation/create", { ...params })
        yield* raw.send(
          elicitation("no mode", { message: "Who?", requestedSchema: form }),
          elicitation("form", { mode: "form", message: "Who?", requestedSchema: form }),
          elicitation("url", { mode: "url", message: "Sign in", ...urlMode })
        )
        yield* settled
        const outcome = (accepted: boolean) => accepted ? undefined : ErrorCode.InvalidParams
        assert.sameDeepMembers(
          raw.received.slice(before).map((reply) => ["id" in reply && reply.id, codeOf(reply)]),
          [["no mode", outcome(byForm)], ["form", outcome(byForm)], ["url", outcome(byUrl)]]
        )
        assert.strictEqual(handled, 2 * Number(byForm) + Number(byUrl))
      }))
  }
})

describe("the answer to an elicitation", () => {
  const ask = tools({
    ask: Effect.gen(function*() {
      return yield* Effect.match(RequestContext.elicit({ message: "Who are you?", requestedSchema: form }), {
        onSuccess: ({ action, content }) => text(content === undefined ? action : JSON.stringify(content)),
        onFailure: ({ message }) => ({ ...text(message), isError: true })
      })
    })
  })

  const outcomes: ReadonlyArray<readonly [string, Handler, string]> = [
    ["declines", () => Effect.succeed({ action: "decline" }), "decline"],
    ["cancels", () => Effect.succeed({ action: "cancel" }), "cancel"],
    [
      "cannot be reached",
      () => Effect.fail(new McpError.McpError({ code: -4, message: "no user" })),
      "elicitation/create: the peer replied with error -4: no user"
    ]
  ]

  for (const [what, handler, outcome] of outcomes) {
    it.effect(`[ELI-09] a server receives the outcome if the user ${what}, and the session continues`, () =>
      Effect.gen(function*() {
        const session = yield* connected({ ...client(handler), handlers: ask })
        const { content } = yield* session.client.callTool("ask")
        assert.deepStrictEqual(content, text(outcome).content)
        yield* session.client.ping()
      }))
  }

  it.effect("the handler receives the name of the server", () =>
    Effect.gen(function*() {
      const prompts: Array<string> = []
      const { client: caller } = yield* connected({
        ...client(({ message }) =>
          Effect.gen(function*() {
            const { profile } = yield* ClientRequestContext.ClientRequestContext
            prompts.push(`${profile.info.title} asks: ${message}`)
            return { action: "decline" }
          })
        ),
        handlers: ask,
        server: { info: { name: "census", title: "The Census", version: "1" } }
      })
      yield* caller.callTool("ask")
      assert.deepStrictEqual(prompts, ["The Census asks: Who are you?"])
    }))

  it.effect("[ELI-08] the handler receives the default values of the form", () =>
    Effect.gen(function*() {
      const { client: caller } = yield* connected({
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
      const { content } = yield* caller.callTool("ask")
      assert.deepStrictEqual(
        content,
        text(JSON.stringify({ name: "Ada", city: "Vienna", age: 42, member: false })).content
      )
    }))
})

describe("content that does not match the form", () => {
  const misfits: ReadonlyArray<readonly [string, Elicitation.ElicitResult["content"], string]> = [
    ["no content", undefined, "\"name\" is missing"],
    ["a number instead of a string", { name: 1 }, "\"name\" is not a string"],
    ["a fraction instead of an integer", { name: "Ada", age: 42.5 }, "\"age\" is not a whole number"]
  ]
  for (const [what, content, problem] of misfits) {
    const answer = content === undefined ? { action: "accept" as const } : { action: "accept" as const, content }

    it.effect(`[ELI-07] a client does not send an answer with ${what}`, () =>
      Effect.gen(function*() {
        const { records, server } = yield* connected(client(() => Effect.succeed(answer)))
        const { reason } = yield* Effect.flip(server.elicitForm("Who?", form))
        assert(reason._tag === "ErrorResponse")
        assert.strictEqual(reason.error.code, ErrorCode.InvalidAnswer)
        assert.strictEqual(
          reason.error.message,
          `Invalid answer, which was not sent: the content does not match the form: ${problem}`
        )
        assert.strictEqual(records.client.of("HandlerFailed").length, 1)
      }))

    it.effect(`[ELI-07] a server rejects an answer with ${what}`, () =>
      Effect.gen(function*() {
        const { raw, session } = yield* withRawClient()
        yield* raw.send(JsonRpc.request(0, "initialize", {
          protocolVersion: "2025-11-25",
          capabilities: { elicitation: {} },
          clientInfo: { name: "raw", version: "1" }
        }))
        yield* raw.response
        yield* raw.send(initialized)
        const elicitation = yield* start(Effect.flip(session.elicitForm("Who?", form)))
        yield* raw.send(JsonRpc.success(1, answer))
        assert.deepStrictEqual((yield* Fiber.join(elicitation)).reason, {
          _tag: "InvalidResult",
          problem: `the content does not match the form: ${problem}`
        })
      }))
  }
})

describe("elicitation in URL mode", () => {
  const byUrl = client(accept, { url: {} })

  for (
    const url of ["", "sign-in", "/sign-in", "//example.com", "https: //example.com", "https://exa mple.com", "a b:c"]
  ) {
    it.effect(`[ELI-10] ${JSON.stringify(url)} is rejected as a URL by the server and by the client`, () =>
      Effect.gen(function*() {
        const { links, server } = yield* connected(byUrl)
        const before = links.server.sent.length
        const { reason } = yield* Effect.flip(server.elicitUrl("Sign in", { ...urlMode, url }))
        assert.strictEqual(reason._tag, "InvalidParams")
        assert.strictEqual(links.server.sent.length, before)
        // A client rejects it from a server that sends it.
        const { raw } = yield* withRawServer(byUrl)
        yield* raw.send(
          JsonRpc.request("x", "elicitation/create", { mode: "url", message: "Sign in", ...urlMode, url })
        )
        yield* settled
        assert.deepStrictEqual(raw.received.slice(-1).map(codeOf), [ErrorCode.InvalidParams])
      }))
  }

  it.effect("[ELI-12] elicitation/complete reaches only the client that received the request", () =>
    Effect.gen(function*() {
      const [one, other] = [yield* connected(byUrl), yield* connected(byUrl)]
      const received: Array<string> = []
      const consumers = yield* Effect.forEach([one, other], ({ client }, index) =>
        Effect.forkChild(
          Stream.runForEach(
            client.notifications("notifications/elicitation/complete"),
            ({ elicitationId }) => Effect.sync(() => received.push(`${index}: ${elicitationId}`))
          ),
          { startImmediately: true }
        ))
      yield* settled
      yield* one.server.elicitUrl("Sign in", urlMode)
      yield* one.server.elicitationComplete(urlMode.elicitationId)
      yield* settled
      assert.deepStrictEqual(received, ["0: 1"])
      yield* Fiber.interruptAll(consumers)
    }))

  it.effect("[ELI-12] elicitation/complete can follow the answer and the end of the related request", () =>
    Effect.gen(function*() {
      const served = Deferred.makeUnsafe<RequestContext.RequestContext["Service"]>()
      const finish = Deferred.makeUnsafe<void>()
      const received: Array<string> = []
      const { client, server } = yield* connected({
        handlers: tools({
          x: Effect.gen(function*() {
            const context = yield* RequestContext.RequestContext
            const { action } = yield* Effect.orDie(
              RequestContext.elicit({ mode: "url", message: "Sign in", ...urlMode })
            )
            yield* Deferred.succeed(served, context)
            yield* Deferred.await(finish)
            return text(action)
          })
        }),
        client: {
          ...byUrl.client,
          handlers: {
            ...byUrl.client.handlers,
            "notifications/elicitation/complete": ({ elicitationId }) => Effect.sync(() => received.push(elicitationId))
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
      assert.deepStrictEqual(received, ["while it is served", "later"])
    }))

  it.effect("elicitation/complete is ignored if its id is unknown, completed or missing", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer(byUrl)
      const before = raw.received.length
      const complete = (params: JsonRpc.Params) => JsonRpc.notification("notifications/elicitation/complete", params)
      yield* raw.send(JsonRpc.request("r", "elicitation/create", { mode: "url", message: "Sign in", ...urlMode }))
      yield* settled
      yield* raw.send(
        complete({ elicitationId: "unknown" }),
        complete({ elicitationId: "1" }),
        complete({ elicitationId: "1" }),
        complete({})
      )
      yield* settled
      assert.deepStrictEqual(names(raw.received.slice(before)), ["r"])
      assert.deepStrictEqual(record.of("NotificationIgnored").length, 4)
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))
})
