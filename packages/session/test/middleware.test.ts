import { Content, JsonRpc, McpError, Revision } from "@effect-mcp/protocol"
import {
  CallbackContext,
  ClientSession,
  MemoryTransport,
  Middleware,
  RequestContext,
  ServerSession,
  Transport,
  type TransportError
} from "@effect-mcp/session"
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import {
  call,
  codeOf,
  connected,
  info,
  introduce,
  names,
  settled,
  start,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

/** Says what it sees, on the way there and on the way back. */
const told = (who: string, said: Array<string>): Middleware.Middleware => ({
  inbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        said.push(`${who} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => said.push(`${who} < ${exit._tag}`))
    ),
  outbound: (request, next) =>
    Effect.onExit(
      Effect.suspend(() => {
        said.push(`${who} > ${request.method}`)
        return next(request)
      }),
      (exit) => Effect.sync(() => said.push(`${who} < ${exit._tag}`))
    )
})

describe("middleware on the way to a handler", () => {
  it.effect("is passed by requests, the first piece first, and by nothing the session answers itself", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { raw } = yield* withRawClient({
        handlers: tools({ x: Effect.sync(() => (said.push("x"), text("x"))) }),
        server: { middleware: Middleware.all(told("one", said), {}, told("two", said)) }
      })
      yield* introduce(raw)
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* raw.response
      assert.deepStrictEqual(said, [])
      yield* raw.send(call(2, "x"))
      yield* raw.response
      assert.deepStrictEqual(said, [
        "one > tools/call",
        "two > tools/call",
        "x",
        "two < Success",
        "one < Success"
      ])
    }))

  it.effect("stands behind the gates: what is unknown, unfit, a duplicate or too early never gets there", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { raw } = yield* withRawClient({
        handlers: tools({ wait: Effect.never }),
        server: { middleware: told("it", said) }
      })
      yield* raw.send(call(1, "wait"))
      yield* raw.response
      yield* introduce(raw)
      yield* raw.send(JsonRpc.request(2, "acme/unknown", {}))
      yield* raw.response
      yield* raw.send(JsonRpc.request(3, "tools/call", { name: 1 }))
      yield* raw.response
      assert.deepStrictEqual(said, [])
      yield* raw.send(call(4, "wait"))
      yield* raw.send(call(4, "wait"))
      yield* raw.response
      assert.deepStrictEqual(said, ["it > tools/call"])
    }))

  it.effect("may change the params and the result, answer itself, and fail with an error of its own", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ echo: ({ words }) => Effect.succeed(text(String(words))) }),
        server: {
          middleware: Middleware.inbound("tools/call", (request, next) => {
            switch (request.params.name) {
              case "hidden":
                return Effect.fail(McpError.invalidParams("Unknown tool: hidden"))
              case "cached":
                return Effect.succeed(text("from the cache"))
              default:
                return Effect.map(
                  next({ ...request, params: { ...request.params, arguments: { words: "changed" } } }),
                  (result) => ({ ...result, _meta: { seen: true } })
                )
            }
          })
        }
      })
      assert.deepStrictEqual(yield* client.callTool("echo", { words: "given" }), {
        ...text("changed"),
        _meta: { seen: true }
      })
      assert.deepStrictEqual(yield* client.callTool("cached"), text("from the cache"))
      const { reason } = yield* Effect.flip(client.callTool("hidden"))
      assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.code : reason._tag, -32602)
      assert.deepStrictEqual(yield* client.listTools(), { tools: [] })
    }))

  it.effect("sees who asks, and may ask the client itself", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///a" }] }) } },
        server: {
          middleware: {
            inbound: (request, next) =>
              Effect.flatMap(Effect.orDie(RequestContext.listRoots()), ({ roots }) => {
                seen.push([request.id, request.method, request.profile.info?.name, roots.length])
                return next(request)
              })
          }
        }
      })
      yield* client.callTool("x")
      assert.deepStrictEqual(seen, [[1, "tools/call", "test", 1]])
    }))

  it.effect("law 5: [CAN-04] is interrupted with its request; what dies in it is no more than an internal error", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { raw, record } = yield* withRawClient({
        handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) }),
        server: {
          middleware: Middleware.all(
            told("it", said),
            Middleware.inbound(
              "tools/call",
              (request, next) =>
                request.params.name === "x" ? Effect.die(new Error("broken middleware")) : next(request)
            )
          )
        }
      })
      yield* introduce(raw)
      yield* raw.send(call(1, "wait"))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(said, ["it > tools/call", "it < Failure"])
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* raw.send(call(2, "x"))
      const answer = yield* raw.response
      assert.strictEqual(codeOf(answer), -32603)
      assert.isFalse(JSON.stringify(answer).includes("broken middleware"))
      assert.strictEqual(record.of("HandlerFailed").length, 1)
    }))

  it.effect("works for a client's handlers, too", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const { server } = yield* connected({
        client: {
          handlers: { "roots/list": () => Effect.succeed({ roots: [] }) },
          middleware: {
            inbound: (request, next) =>
              Effect.flatMap(CallbackContext.CallbackContext, ({ profile }) => {
                asked.push(`${profile.info.name}: ${request.method}`)
                return next(request)
              })
          }
        }
      })
      assert.deepStrictEqual(yield* server.listRoots(), { roots: [] })
      assert.deepStrictEqual(asked, ["test: roots/list"])
    }))
})

describe("middleware on the way out", () => {
  it.effect("is passed by every request, the first piece first, but not by the handshake", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { client, links } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { middleware: Middleware.all(told("one", said), told("two", said)) }
      })
      assert.deepStrictEqual(said, [])
      yield* client.callTool("x")
      yield* client.ping()
      assert.deepStrictEqual(said, [
        "one > tools/call",
        "two > tools/call",
        "two < Success",
        "one < Success",
        "one > ping",
        "two > ping",
        "two < Success",
        "one < Success"
      ])
      assert.deepStrictEqual(names(links.client.handed), [
        "initialize",
        "notifications/initialized",
        "tools/call",
        "ping"
      ])
    }))

  it.effect("law 1: each time it hands a request on is an exchange of its own", () =>
    Effect.gen(function*() {
      const opened: Array<unknown> = []
      const { raw, session } = yield* withRawServer({
        client: {
          middleware: Middleware.all(
            Middleware.outbound("tools/list", (request, next) =>
              Effect.retry(next(request), {
                while: (error) => error.reason._tag === "Timeout",
                times: 2
              })),
            {
              outbound: (request, next) => next({ ...request, onOpen: (id) => opened.push(id) })
            }
          )
        }
      })
      const listing = yield* start(session.listTools({}, { deadline: "1 second" }))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(names(raw.received.slice(2)), [
        "tools/list",
        "notifications/cancelled",
        "tools/list",
        "notifications/cancelled",
        "tools/list"
      ])
      yield* raw.say(JsonRpc.success(3, { tools: [] }))
      assert.deepStrictEqual(yield* Fiber.join(listing), { tools: [] })
      assert.deepStrictEqual(opened, [1, 2, 3])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("may answer itself, and then nothing is sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        client: {
          middleware: Middleware.outbound("tools/call", () => Effect.succeed(text("from the cache")))
        }
      })
      assert.deepStrictEqual(yield* session.callTool("x"), text("from the cache"))
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
    }))

  it.effect("[INIT-15] stands before the gates: what it makes of a request is judged like any other", () =>
    Effect.gen(function*() {
      const { server } = yield* connected({
        client: {
          capabilities: { elicitation: { form: {} } },
          handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
        },
        server: {
          middleware: Middleware.outbound("elicitation/create", (request, next) =>
            next({
              ...request,
              params: { mode: "url", message: "Visit", url: "https://example.com", elicitationId: "1" }
            }))
        }
      })
      const { reason } = yield* Effect.flip(server.elicitForm("Who?", { type: "object", properties: {} }))
      assert.deepStrictEqual(reason, { _tag: "MissingCapability", capability: "elicitation.url" })
    }))

  it.effect("law 8: [CAN-04] is interrupted with its caller, and the peer is told once", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { raw, session } = yield* withRawServer({ client: { middleware: told("it", said) } })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* Fiber.interrupt(calling)
      assert.deepStrictEqual(said, ["it > tools/call", "it < Failure"])
      assert.deepStrictEqual(names(raw.received.slice(2)), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("is passed by what a handler asks, as by what its server asks on its own account", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { client, server } = yield* connected({
        handlers: tools({
          ask: Effect.map(Effect.orDie(RequestContext.listRoots()), ({ roots }) => text(String(roots.length)))
        }),
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } },
        server: {
          middleware: {
            outbound: (request, next) =>
              Effect.suspend(() => {
                said.push(`${request.method} to ${request.profile?.revision}`)
                return next(request)
              })
          }
        }
      })
      assert.deepStrictEqual(yield* client.callTool("ask"), text("0"))
      yield* server.listRoots()
      assert.deepStrictEqual(said, ["roots/list to 2025-11-25", "roots/list to 2025-11-25"])
    }))

  it.effect("nothing of it happens before a request runs, and all of it each time that it does", () =>
    Effect.gen(function*() {
      let passed = 0
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: {
          middleware: {
            outbound: (request, next) => {
              passed++
              return next(request)
            }
          }
        }
      })
      const calling = client.callTool("x")
      assert.strictEqual(passed, 0)
      yield* calling
      yield* calling
      assert.strictEqual(passed, 2)
    }))

  it.effect("law 9: one that throws fails its request, when that runs, and no other", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: {
          middleware: Middleware.outbound("tools/list", () => {
            throw new Error("broken middleware")
          })
        }
      })
      const listing = client.listTools()
      assert.isTrue(Exit.hasDies(yield* Effect.exit(listing)))
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
      assert.deepStrictEqual(yield* client.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("an error that the peer answered with may become a result", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({}),
        client: {
          middleware: Middleware.outbound("tools/call", (request, next) =>
            Effect.catchReason(next(request), "RequestError", "ErrorResponse", ({ error }) =>
              Effect.succeed({ content: [Content.text(error.message)], isError: true })))
        }
      })
      assert.deepStrictEqual(yield* client.callTool("none"), {
        content: [Content.text("Unknown tool: none")],
        isError: true
      })
    }))
})

describe("several pieces of middleware", () => {
  /** Marks what it hands on. */
  const marking = (mark: string): Middleware.Middleware =>
    Middleware.all(
      Middleware.inbound("tools/call", (request, next) =>
        next({ ...request, params: { ...request.params, name: `${request.params.name}${mark}` } })),
      Middleware.outbound("tools/call", (request, next) =>
        next({ ...request, params: { ...request.params, name: `${request.params.name}${mark}` } }))
    )

  it.effect("each gets what the one before it made of the request, whichever way it goes", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: { "tools/call": ({ name }) => Effect.succeed(text(name)) },
        client: { middleware: Middleware.all(marking("a"), marking("b")) },
        server: { middleware: Middleware.all(marking("c"), marking("d")) }
      })
      assert.deepStrictEqual(yield* client.callTool("-"), text("-abcd"))
    }))

  it.effect("a piece for one way leaves the other way to the others, wherever it stands", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { inbound, outbound } = told("it", said)
      const pieces = [{ inbound }, { outbound }]
      for (const middleware of [pieces, pieces.toReversed()]) {
        const { client, server } = yield* connected({
          handlers: tools({ x: Effect.succeed(text("x")) }),
          client: { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } },
          server: { middleware: Middleware.all(...middleware) }
        })
        yield* client.callTool("x")
        yield* server.listRoots()
      }
      const once = ["it > tools/call", "it < Success", "it > roots/list", "it < Success"]
      assert.deepStrictEqual(said, [...once, ...once])
    }))

  it.effect("a piece for one method leaves the others alone, on either way", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { middleware: Middleware.outbound("tools/list", () => Effect.succeed({ tools: [] })) },
        server: { middleware: Middleware.inbound("tools/list", () => Effect.succeed({ tools: [] })) }
      })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    }))

  it.effect("[TOOL-05] where none changes them, the params are the received object", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const { link } = yield* withRawClient({
        handlers: {
          "tools/call": (params) => {
            seen.push(params)
            return Effect.succeed(text("x"))
          }
        },
        server: {
          sessionless: { revision: Revision.latest },
          middleware: Middleware.all({ inbound: (request, next) => next(request) }, told("it", []))
        }
      })
      yield* settled
      const request = Object.freeze(call(1, "x", Object.freeze({ arguments: Object.freeze({ a: 1 }) })))
      link.deliver(request)
      yield* settled
      assert.isTrue(seen.length === 1 && seen[0] === request.params)
    }))
})

describe("the services of middleware", () => {
  class Names extends Context.Service<Names, { readonly of: (method: string) => string }>()("test/Names") {}
  class Caller extends Context.Service<Caller, string>()("test/Caller") {}

  const naming = (said: Array<string>): Middleware.Middleware<Names, Names> => ({
    inbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        said.push(names.of(request.method))
        return next(request)
      }),
    outbound: (request, next) =>
      Effect.flatMap(Names, (names) => {
        said.push(names.of(request.method))
        return next(request)
      })
  })

  it.effect("are requirements of the session's Layer, and given to it there", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const server = ServerSession.layer(tools({ x: Effect.succeed(text("x")) }), { info, middleware: naming(said) })
      const client = ClientSession.layer({ info, middleware: naming(said) })
      expectTypeOf(server).toEqualTypeOf<
        Layer.Layer<ServerSession.ServerSession, TransportError.TransportError, Transport.Transport | Names>
      >()
      const names = Layer.succeed(Names, { of: (method) => `it is ${method}` })
      yield* Effect.flatMap(ClientSession.ClientSession, (session) => session.callTool("x")).pipe(
        Effect.provide(Layer.provide(
          Layer.merge(
            Layer.provide(client, MemoryTransport.layer(pair.client)),
            Layer.provide(server, MemoryTransport.layer(pair.server))
          ),
          names
        ))
      )
      assert.deepStrictEqual(said, ["it is tools/call", "it is tools/call"])
    }))

  it.effect("on the way out, what the caller provides comes before what the session was made with", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const middleware: Middleware.Middleware<never, Caller> = {
        outbound: (request, next) =>
          Effect.flatMap(Caller, (caller) => {
            said.push(caller)
            return next(request)
          })
      }
      yield* ServerSession.make(tools({ x: Effect.succeed(text("x")) }), { info }).pipe(
        Effect.provideService(Transport.Transport, pair.server)
      )
      const session = yield* ClientSession.make({ info, middleware }).pipe(
        Effect.provideService(Transport.Transport, pair.client),
        Effect.provideService(Caller, "the session")
      )
      yield* session.callTool("x")
      yield* Effect.provideService(session.callTool("x"), Caller, "the caller")
      assert.deepStrictEqual(said, ["the session", "the caller"])
    }))

  it("each piece's are those of all of them", () => {
    const one: Middleware.Middleware<Names, never> = {}
    const two: Middleware.Middleware<Caller | RequestContext.RequestContext, Caller> = {}
    const both = Middleware.all(one, two)
    expectTypeOf(both).toEqualTypeOf<
      Middleware.Middleware<Names | Caller | RequestContext.RequestContext, Caller>
    >()
  })
})

describe("what a handler acquires", () => {
  it.effect("law 2: is released when its request has ended, before it is answered, and not with the session", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const held: Effect.Effect<void, never, Scope.Scope> = Effect.acquireRelease(
        Effect.sync(() => {
          said.push("acquired")
        }),
        () => Effect.sync(() => said.push("released"))
      )
      const pair = yield* MemoryTransport.make()
      const handlers = ServerSession.handlers({
        "tools/call": ({ name }) => Effect.andThen(held, name === "wait" ? Effect.never : Effect.succeed(text(name)))
      })
      yield* ServerSession.make(handlers, { info }).pipe(Effect.provideService(Transport.Transport, pair.server))
      const client = yield* ClientSession.make({ info }).pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* client.callTool("x")
      assert.deepStrictEqual(said, ["acquired", "released"])
      const waiting = yield* start(client.callTool("wait"))
      yield* settled
      yield* Fiber.interrupt(waiting)
      yield* settled
      assert.deepStrictEqual(said, ["acquired", "released", "acquired", "released"])
    }))
})
