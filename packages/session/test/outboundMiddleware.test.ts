import { Content, JsonRpc } from "@effect-mcp/protocol"
import { Middleware, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { recording } from "./support/recordingMiddleware.ts"
import { connected, names, settled, start, text, tools, withRawServer } from "./support/sessions.ts"

describe("middleware on the way out", () => {
  it.effect("is passed by every request, the first piece first, but not by the handshake", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { client, links } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { middleware: Middleware.all(recording("one", said), recording("two", said)) }
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
      assert.deepStrictEqual(names(links.client.sent), [
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
      const listing = yield* start(session.listTools({}, { timeout: "1 second" }))
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(names(raw.received.slice(2)), [
        "tools/list",
        "notifications/cancelled",
        "tools/list",
        "notifications/cancelled",
        "tools/list"
      ])
      yield* raw.send(JsonRpc.success(3, { tools: [] }))
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
      const { raw, session } = yield* withRawServer({ client: { middleware: recording("it", said) } })
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
