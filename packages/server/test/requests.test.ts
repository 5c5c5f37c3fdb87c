import { Content, McpError, Revision } from "@effect-mcp/protocol"
import { McpGroup, McpLogger, McpMount, McpRequest, McpServer, SessionState } from "@effect-mcp/server"
import {
  ClientSession,
  MemoryTransport,
  NotificationContext,
  Question,
  RequestError,
  SessionHost,
  StatelessServer,
  Transport
} from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Queue from "effect/Queue"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import { connect, handshake, info } from "./support/connect.ts"
import { describeForBothEras } from "./support/eras.ts"

const Wishes = Schema.Struct({
  audience: Schema.Literals(["kids", "experts"]),
  words: Schema.Int.check(Schema.isBetween({ minimum: 10, maximum: 500 })),
  note: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^x/)))
})

const elicited = McpGroup.make("elicited", Tool.make("ask", { success: Wishes })).toLayer((handlers) =>
  handlers.tool("ask", () => McpRequest.elicit("Who is it for?", Wishes))
)

describe("the name of a server", () => {
  const nameOf = (server: McpServer.Named<McpServer.Options>) =>
    Effect.provide(
      Effect.map(ClientSession.ClientSession, ({ profile }) => profile.info),
      Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(Layer.empty, server))
    )
  const named = { name: "notes", title: "Notes", version: "2.0.0", websiteUrl: "https://notes.example" }

  it.effect("is in info", () => Effect.map(nameOf({ info: named }), (found) => assert.deepStrictEqual(found, named)))

  it.effect("may stand beside the other options", () =>
    Effect.map(nameOf({ ...named, pageSize: 5 }), (found) => assert.deepStrictEqual(found, named)))
})

const one = <R>(run: Effect.Effect<string, McpGroup.ToolFailure, R>) =>
  McpGroup.make("one", Tool.make("run", { success: Schema.String })).toLayer((handlers) =>
    handlers.tool("run", () => run)
  )

const Destination = Schema.Struct({ city: Schema.NonEmptyString })

/** A tool that returns what it needs: a city, and consent to the trip there. */
const booking = one(Question.answering((answers) => {
  const destination = Question.make("destination", (options) => McpRequest.elicit("Where?", Destination, options))
  const place = answers.to(destination)
  if (place === undefined) return Effect.succeed(Question.required(destination))
  const consent = Question.make(
    "consent",
    (options) => McpRequest.elicit(`Book ${place.city}?`, Schema.Struct({ sure: Schema.Boolean }), options)
  )
  const sure = answers.to(consent)?.sure
  return Effect.succeed(sure === undefined ? Question.required(consent) : `${place.city}: ${sure}`)
}))

describe("a tool that returns its questions", () => {
  for (const revisions of [handshake.revisions, Revision.modern]) {
    const connectAnswering = (action: "accept" | "decline", asked: Array<string>) =>
      connect(booking, {
        client: {
          revisions,
          handlers: {
            "elicitation/create": ({ message }) => {
              asked.push(message)
              return Effect.succeed(
                action === "decline" ? { action } : { action, content: { city: "Oslo", sure: true } }
              )
            }
          }
        }
      })

    it.effect(`gets decoded answers from a client of ${revisions.at(-1)}, in the order in which it needs them`, () =>
      Effect.gen(function*() {
        const asked: Array<string> = []
        const session = yield* connectAnswering("accept", asked)
        assert.deepStrictEqual((yield* session.callTool("run")).content, [Content.text("Oslo: true")])
        assert.deepStrictEqual(asked, ["Where?", "Book Oslo?"])
      }).pipe(Effect.scoped))

    it.effect(`fails as one that asks if a user of ${revisions.at(-1)} declines`, () =>
      Effect.gen(function*() {
        const session = yield* connectAnswering("decline", [])
        const { content, isError } = yield* session.callTool("run")
        assert.deepStrictEqual([isError, content.length], [true, 1])
        assert.include(JSON.stringify(content), "declined")
      }).pipe(Effect.scoped))
  }
})

describeForBothEras("a handler whose request to another party failed", ({ connect }) => {
  it.effect("passes on none of its text", () =>
    Effect.gen(function*() {
      const error = McpError.received({ code: -32000, message: "token sk-live-SECRET" })
      const foreign = [
        RequestError.make("ping", { _tag: "ErrorResponse", error }),
        RequestError.make("elicitation/create", { _tag: "ErrorResponse", error }),
        RequestError.make("roots/list", { _tag: "InvalidResult", problem: "token sk-live-SECRET" }),
        RequestError.make("sampling/createMessage", { _tag: "MissingCapability", capability: "sampling" })
      ]
      for (const error of foreign) {
        const session = yield* connect(one(Effect.fail(error)))
        const result = yield* session.callTool("run")
        assert.deepStrictEqual(result, { content: [Content.text(RequestError.withoutCause(error))], isError: true })
        assert.notInclude(JSON.stringify(result), "SECRET")
      }
    }).pipe(Effect.scoped))
})

describe("a handler whose question failed", () => {
  const lunch = McpError.received({ code: -32000, message: "out for lunch" })
  const asking = Effect.as(McpRequest.elicit("Where?", Destination), "done")
  const away = { client: { ...handshake, handlers: { "elicitation/create": () => Effect.fail(lunch) } } }

  it.effect("passes on the text of the client of its call", () =>
    Effect.gen(function*() {
      const session = yield* connect(one(asking), away)
      assert.deepStrictEqual((yield* session.callTool("run")).content, [
        Content.text("elicitation/create: the peer replied with error -32000: out for lunch")
      ])
    }).pipe(Effect.scoped))

  const approved = McpGroup.make("one", Tool.make("run", { success: Schema.String, needsApproval: true })).toLayer(
    (handlers) => handlers.tool("run", () => Effect.succeed("done"))
  )

  const endings = [
    ["leaves the outcome unknown if the session ends before its question is answered", one(asking), "OutcomeUnknown"],
    ["has not run if the session ends before its call is approved", approved, "ErrorResponse"]
  ] as const

  for (const [name, groups, reason] of endings) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const asked = yield* Deferred.make<void>()
        const context = yield* Layer.build(McpServer.layerHost(groups, { info }))
        const host = Context.get(context, SessionHost.SessionHost)
        const pair = yield* MemoryTransport.make()
        yield* host.open(pair.server, { kind: "memory" })
        const session = yield* ClientSession.make({
          ...handshake,
          info,
          handlers: { "elicitation/create": () => Effect.andThen(Deferred.succeed(asked, undefined), Effect.never) }
        }).pipe(Effect.provideService(Transport.Transport, pair.client))
        const calling = yield* Effect.forkChild(Effect.flip(session.callTool("run")))
        yield* Deferred.await(asked)
        yield* Effect.forkChild(host.drain)
        const error = yield* Fiber.join(calling)
        assert.strictEqual(error.reason._tag, reason)
        assert.strictEqual(error.message.includes("did not run"), reason === "ErrorResponse")
      }).pipe(Effect.scoped))
  }

  it.effect("passes on no text of the client of another call", () =>
    Effect.gen(function*() {
      const failure = yield* Deferred.make<RequestError.RequestError>()
      const session = yield* connect(
        one(Effect.tapError(asking, (error) =>
          error._tag === "RequestError" ? Deferred.succeed(failure, error) : Effect.void)),
        away
      )
      yield* session.callTool("run")
      const other = yield* connect(one(Effect.flatMap(Deferred.await(failure), Effect.fail)), { client: handshake })
      assert.deepStrictEqual((yield* other.callTool("run")).content, [
        Content.text("elicitation/create: the peer replied with error -32000")
      ])
    }).pipe(Effect.scoped))
})

describeForBothEras("elicit", ({ connect }) => {
  it.effect("sends the form of the schema, and decodes the input by it", () =>
    Effect.gen(function*() {
      const asked = yield* Ref.make<unknown>(undefined)
      const session = yield* connect(elicited, {
        client: {
          handlers: {
            "elicitation/create": (params) =>
              Effect.as(Ref.set(asked, params), { action: "accept", content: { audience: "kids", words: 20 } } as const)
          }
        }
      })
      assert.deepStrictEqual((yield* session.callTool("ask")).structuredContent, { audience: "kids", words: 20 })
      assert.deepStrictEqual(yield* Ref.get(asked), {
        message: "Who is it for?",
        requestedSchema: {
          type: "object",
          properties: {
            audience: { type: "string", enum: ["kids", "experts"] },
            words: { type: "integer", minimum: 10, maximum: 500 },
            note: { type: "string" }
          },
          required: ["audience", "words"]
        }
      })
    }).pipe(Effect.scoped))

  it.effect("fails so that the model reads it if the user declines, cancels, or sends misfits [ELI-09]", () =>
    Effect.gen(function*() {
      const answers = [
        [{ action: "decline" }, "the user declined: Who is it for?"],
        [{ action: "cancel" }, "the user dismissed the request: Who is it for?"],
        [
          { action: "accept", content: { audience: "kids", words: 20, note: "y" } },
          "elicitation/create: the result is invalid: "
        ]
      ] as const
      for (const [answer, message] of answers) {
        const session = yield* connect(elicited, {
          client: { handlers: { "elicitation/create": () => Effect.succeed(answer) } }
        })
        const { content: [block], isError } = yield* session.callTool("ask")
        assert.isTrue(isError)
        assert.isTrue(block?.type === "text" && block.text.startsWith(message), JSON.stringify(block))
      }
    }).pipe(Effect.scoped))
})

describeForBothEras("elicitUrl", ({ connect }) => {
  it.effect("succeeds if the user agrees to visit the page [ELI-10]", () =>
    Effect.gen(function*() {
      const page = { url: "https://example.com/connect", elicitationId: "1" }
      const session = yield* connect(one(Effect.as(McpRequest.elicitUrl("Connect", page), "done")), {
        client: {
          capabilities: { elicitation: { url: {} } },
          handlers: { "elicitation/create": () => Effect.succeed({ action: "accept" }) }
        }
      })
      assert.deepStrictEqual((yield* session.callTool("run")).content, [Content.text("done")])
    }).pipe(Effect.scoped))
})

describeForBothEras("sample", ({ connect }) => {
  it.effect("returns the text of the model's answer", () =>
    Effect.gen(function*() {
      const session = yield* connect(
        one(Effect.map(
          McpRequest.sample("Write on bees", { maxTokens: 10, systemPrompt: "Be short" }),
          ({ model, stopReason, text }) => `${model} ${stopReason}: ${text}`
        )),
        {
          client: {
            handlers: {
              "sampling/createMessage": ({ maxTokens, messages, systemPrompt }) =>
                Effect.succeed({
                  role: "assistant",
                  model: "parrot",
                  stopReason: "endTurn",
                  content: Content.text(JSON.stringify([messages, maxTokens, systemPrompt]))
                })
            }
          }
        }
      )
      assert.deepStrictEqual((yield* session.callTool("run")).content, [
        Content.text(
          "parrot endTurn: " +
            JSON.stringify([[{ role: "user", content: Content.text("Write on bees") }], 10, "Be short"])
        )
      ])
    }).pipe(Effect.scoped))
})

describeForBothEras("roots", ({ connect }) => {
  it.effect("are the URIs of the client's folders", () =>
    Effect.gen(function*() {
      const session = yield* connect(one(Effect.map(McpRequest.roots(), (uris) => uris.join(" "))), {
        client: {
          handlers: { "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///a" }, { uri: "file:///b" }] }) }
        }
      })
      assert.deepStrictEqual((yield* session.callTool("run")).content, [Content.text("file:///a file:///b")])
    }).pipe(Effect.scoped))
})

describeForBothEras("the logger", ({ connect }) => {
  it.effect("sends what is logged while a request is served, with its level and without causes", () =>
    Effect.gen(function*() {
      const logs = yield* Ref.make<ReadonlyArray<unknown>>([])
      const live = one(
        Effect.logDebug("one").pipe(
          Effect.andThen(Effect.logWarning("two", { three: 3 })),
          Effect.andThen(Effect.logError("four", new Error("secret"))),
          Effect.andThen(Effect.logInfo({ count: 1n })),
          Effect.as("done")
        )
      ).pipe(Layer.provide(McpLogger.layer))
      const session = yield* connect(live, {
        client: {
          handlers: {
            "notifications/message": ({ data, level }) => Ref.update(logs, (all) => [...all, [level, data]])
          }
        }
      })
      yield* session.callTool("run")
      assert.deepStrictEqual(yield* Ref.get(logs), [["warning", ["two", { three: 3 }]], ["error", "four"]])
    }).pipe(Effect.scoped))
})

describe("the logger of a client that does not read", () => {
  it.effect("lets 100 messages wait beside those in the outbox, and drops the others", () =>
    Effect.gen(function*() {
      const latch = yield* Latch.make(true)
      const pair = yield* MemoryTransport.make()
      const slow: Transport.Transport["Service"] = {
        ...pair.server,
        connect: Effect.map(pair.server.connect, (connection) => ({
          ...connection,
          send: (outbound) => latch.whenOpen(connection.send(outbound))
        }))
      }
      const logged = yield* Deferred.make<void>()
      const live = one(
        Effect.forEach(Array.from({ length: 1_000 }), () => Effect.logInfo("again"), { discard: true }).pipe(
          Effect.andThen(Deferred.succeed(logged, undefined)),
          Effect.as("done")
        )
      ).pipe(Layer.provide(McpLogger.layer))
      yield* Effect.forkScoped(Effect.provideService(
        McpServer.serve(live, { info, limits: { maxOutgoingMessages: 50 } }),
        Transport.Transport,
        slow
      ))
      const received = yield* Ref.make(0)
      const session = yield* ClientSession.make({
        info,
        handlers: { "notifications/message": () => Ref.update(received, (count) => count + 1) }
      }).pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* session.listTools()
      yield* latch.close
      const call = yield* Effect.forkScoped(session.callTool("run"))
      yield* Deferred.await(logged)
      yield* latch.open
      yield* Fiber.join(call)
      // The outbox has room for 50, and the transport is sending one.
      const waited = yield* Ref.get(received)
      assert.isAtMost(waited, 100 + 50 + 1)
      assert.isAtLeast(waited, 100)
      yield* session.callTool("run")
      assert.isAbove(yield* Ref.get(received), waited)
    }).pipe(Effect.scoped))
})

describeForBothEras("handlers beside the groups", ({ connect }) => {
  const roots = one(Effect.succeed("done"))

  it.effect("serve notifications and methods that the groups do not have, and declare them", () =>
    Effect.gen(function*() {
      const changed = yield* Deferred.make<void>()
      const session = yield* connect(roots, {
        client: { ...handshake, capabilities: { roots: { listChanged: true } } },
        server: {
          handlers: {
            "notifications/roots/list_changed": () => Deferred.succeed(changed, undefined),
            "prompts/list": () => Effect.succeed({ prompts: [{ name: "by hand" }] })
          }
        }
      })
      assert.property(session.profile.capabilities, "prompts")
      assert.deepStrictEqual((yield* session.listPrompts()).prompts, [{ name: "by hand" }])
      assert.strictEqual((yield* session.listTools()).tools.length, 1)
      yield* session.rootsListChanged
      yield* Deferred.await(changed)
    }).pipe(Effect.scoped))

  it.effect("[ROOT-02] know the session of a notification, and change its state", () =>
    Effect.gen(function*() {
      const state = SessionState.make("changes", () => 0)
      const read = one(Effect.orDie(Effect.map(state.get, String)))
      const changed = yield* Queue.unbounded<void>()
      const context = yield* Layer.build(McpServer.layerHost(read, {
        info,
        handlers: {
          "notifications/roots/list_changed": Effect.fnUntraced(function*() {
            const { session } = yield* NotificationContext.NotificationContext
            if (session !== undefined) yield* Ref.update(yield* state.of(session), (count) => count + 1)
            yield* Queue.offer(changed, undefined)
          })
        }
      }))
      const open = Effect.gen(function*() {
        const pair = yield* MemoryTransport.make()
        yield* Context.get(context, SessionHost.SessionHost).open(pair.server, { kind: "memory" })
        return yield* ClientSession.make({ info, ...handshake, capabilities: { roots: { listChanged: true } } }).pipe(
          Effect.provideService(Transport.Transport, pair.client)
        )
      })
      const [ada, bob] = [yield* open, yield* open]
      yield* ada.rootsListChanged
      yield* ada.rootsListChanged
      yield* Queue.takeN(changed, 2)
      const counts = [yield* ada.callTool("run"), yield* bob.callTool("run")].map(({ content }) => content)
      assert.deepStrictEqual(counts, [[Content.text("2")], [Content.text("0")]])
    }).pipe(Effect.scoped))

  it.effect("of a method that the groups serve are a defect that names it", () =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(
        connect(roots, { server: { handlers: { "tools/list": () => Effect.succeed({ tools: [] }) } } })
      )
      assert.isTrue(Exit.isFailure(exit) && String(Cause.squash(exit.cause)).includes("it has a handler of tools/list"))
    }).pipe(Effect.scoped))
})

describe("without sessions", () => {
  const state = SessionState.make("count", () => 0)

  it.effect("state fails, and changes reach only clients that listen", () =>
    Effect.gen(function*() {
      const live = McpGroup.make("one", Tool.make("run", { success: Schema.String })).toLayer((handlers) =>
        handlers.tool(
          "run",
          () => Effect.catch(Effect.map(state.get, String), ({ message }) => Effect.succeed(message))
        )
      )
      const handlers = yield* McpServer.makeStatelessHandlers(live)
      assert.deepStrictEqual(Object.keys(handlers), ["tools/list", "tools/call", "subscriptions/listen"])
      const server = yield* StatelessServer.make(handlers, { info })
      const reply = yield* server.handle(
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run" } },
        { revision: "2025-11-25" }
      )
      assert.deepStrictEqual(reply, {
        jsonrpc: "2.0",
        id: 1,
        result: {
          content: [Content.text(
            "the state \"count\" needs a session, and this request has none: provide SessionState.layer to the server"
          )]
        }
      })
    }).pipe(Effect.scoped))
})

describe("a program that needs the state of sessions", () => {
  const state = SessionState.make("count", () => 0)
  const counting = Layer.merge(
    McpGroup.make("one", Tool.make("run", { success: Schema.String })).toLayer((handlers) =>
      handlers.tool("run", () => Effect.map(Effect.orDie(state.update((count) => count + 1)), String))
    ),
    SessionState.layer(state)
  )
  const problemOf = <A, E>(exit: Exit.Exit<A, E>) => Exit.isFailure(exit) ? String(Cause.squash(exit.cause)) : ""

  it.effect("serves clients of both eras with a handshake, also under a mount", () =>
    Effect.gen(function*() {
      for (const [name, groups] of [["run", counting], ["m_run", McpMount.prefixed("m", counting)]] as const) {
        const session = yield* connect(groups)
        assert.strictEqual(session.profile.revision, "2025-11-25")
        yield* session.callTool(name)
        assert.deepStrictEqual((yield* session.callTool(name)).content, [Content.text("2")])
      }
    }).pipe(Effect.scoped))

  it.effect("does not start where no revision has sessions, and says why", () =>
    Effect.gen(function*() {
      const problem = "the state \"count\" needs sessions"
      const modern = yield* Effect.exit(connect(counting, { server: { revisions: ["2026-07-28"] } }))
      assert.include(problemOf(modern), `${problem}, and revision 2026-07-28 has none; add an older one to revisions`)
      const stateless = yield* Effect.exit(McpServer.makeStatelessHandlers(counting))
      assert.include(problemOf(stateless), `${problem}; serve the groups by McpServer.layerHost`)
    }).pipe(Effect.scoped))

  it.effect("serves the revisions that it names, and fails where one has no sessions", () =>
    Effect.gen(function*() {
      const session = yield* connect(counting, { server: { revisions: ["2026-07-28", "2025-11-25"] } })
      assert.strictEqual(session.profile.revision, "2026-07-28")
      assert.include((yield* Effect.flip(session.callTool("run"))).message, "-32603")
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))))
})
