import { Content, JsonRpc } from "@effect-mcp/protocol"
import { Middleware, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { recording } from "./support/recordingMiddleware.ts"
import { connected, names, settled, start, text, tools, withRawServer } from "./support/sessions.ts"

describe("outbound middleware", () => {
  it.effect("runs for every request, the first piece first, but not for the handshake", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { client, links } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { middleware: Middleware.all(recording("one", trace), recording("two", trace)) }
      })
      assert.deepStrictEqual(trace, [])
      yield* client.callTool("x")
      yield* client.ping()
      assert.deepStrictEqual(trace, [
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

  it.effect("law 1: opens an exchange each time it calls next", () =>
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

  it.effect("can return a result itself, and then nothing is sent", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer({
        client: {
          middleware: Middleware.outbound("tools/call", () => Effect.succeed(text("from the cache")))
        }
      })
      assert.deepStrictEqual(yield* session.callTool("x"), text("from the cache"))
      assert.deepStrictEqual(names(raw.received), ["initialize", "notifications/initialized"])
    }))

  it.effect("[INIT-15] runs before the checks, so that a request that it changes is checked", () =>
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

  it.effect("law 8: is interrupted with its caller, and one cancellation is sent", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { raw, session } = yield* withRawServer({ client: { middleware: recording("it", trace) } })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* Fiber.interrupt(calling)
      assert.deepStrictEqual(trace, ["it > tools/call", "it < Failure"])
      assert.deepStrictEqual(names(raw.received.slice(2)), ["tools/call", "notifications/cancelled"])
    }))

  it.effect("runs for requests of a handler and of the server session", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { client, server } = yield* connected({
        handlers: tools({
          ask: Effect.map(Effect.orDie(RequestContext.listRoots()), ({ roots }) => text(String(roots.length)))
        }),
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [] }) } },
        server: {
          middleware: {
            outbound: (request, next) =>
              Effect.suspend(() => {
                trace.push(`${request.method} to ${request.profile?.revision}`)
                return next(request)
              })
          }
        }
      })
      assert.deepStrictEqual(yield* client.callTool("ask"), text("0"))
      yield* server.listRoots()
      assert.deepStrictEqual(trace, ["roots/list to 2025-11-25", "roots/list to 2025-11-25"])
    }))

  it.effect("runs each time that a request runs, and not before", () =>
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

  it.effect("law 9: fails only the request for which it throws, when that runs", () =>
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

  it.effect("can turn an error response into a result", () =>
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
