import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { ClientRequestContext, Middleware, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { recording } from "./support/recordingMiddleware.ts"
import { call, codeOf, connected, performHandshake, settled, text, tools, withRawClient } from "./support/sessions.ts"

describe("inbound middleware", () => {
  it.effect("runs for requests to handlers, the first piece first, and not for requests that the session answers", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { raw } = yield* withRawClient({
        handlers: tools({ x: Effect.sync(() => (trace.push("x"), text("x"))) }),
        server: { middleware: Middleware.all(recording("one", trace), {}, recording("two", trace)) }
      })
      yield* performHandshake(raw)
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* raw.response
      assert.deepStrictEqual(trace, [])
      yield* raw.send(call(2, "x"))
      yield* raw.response
      assert.deepStrictEqual(trace, [
        "one > tools/call",
        "two > tools/call",
        "x",
        "two < Success",
        "one < Success"
      ])
    }))

  it.effect("does not run for an unknown method, invalid params, a duplicate id or an early request", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { raw } = yield* withRawClient({
        handlers: tools({ wait: Effect.never }),
        server: { middleware: recording("it", trace) }
      })
      yield* raw.send(call(1, "wait"))
      yield* raw.response
      yield* performHandshake(raw)
      yield* raw.send(JsonRpc.request(2, "acme/unknown", {}))
      yield* raw.response
      yield* raw.send(JsonRpc.request(3, "tools/call", { name: 1 }))
      yield* raw.response
      assert.deepStrictEqual(trace, [])
      yield* raw.send(call(4, "wait"))
      yield* raw.send(call(4, "wait"))
      yield* raw.response
      assert.deepStrictEqual(trace, ["it > tools/call"])
    }))

  it.effect("can change the params and the result, reply itself, and fail with its own error", () =>
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
                  (result) => ({ ...result, _meta: { received: true } })
                )
            }
          })
        }
      })
      assert.deepStrictEqual(yield* client.callTool("echo", { words: "given" }), {
        ...text("changed"),
        _meta: { received: true }
      })
      assert.deepStrictEqual(yield* client.callTool("cached"), text("from the cache"))
      const { reason } = yield* Effect.flip(client.callTool("hidden"))
      assert.strictEqual(reason._tag === "ErrorResponse" ? reason.error.code : reason._tag, -32602)
      assert.deepStrictEqual(yield* client.listTools(), { tools: [] })
    }))

  it.effect("receives the client's profile, and can send requests to the client", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { handlers: { "roots/list": () => Effect.succeed({ roots: [{ uri: "file:///a" }] }) } },
        server: {
          middleware: {
            inbound: (request, next) =>
              Effect.flatMap(Effect.orDie(RequestContext.listRoots()), ({ roots }) => {
                received.push([request.id, request.method, request.profile.info?.name, roots.length])
                return next(request)
              })
          }
        }
      })
      yield* client.callTool("x")
      assert.deepStrictEqual(received, [[1, "tools/call", "test", 1]])
    }))

  it.effect("law 5: [CAN-04] is interrupted with its request; its defect becomes an internal error", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { raw, record } = yield* withRawClient({
        handlers: tools({ wait: Effect.never, x: Effect.succeed(text("x")) }),
        server: {
          middleware: Middleware.all(
            recording("it", trace),
            Middleware.inbound(
              "tools/call",
              (request, next) =>
                request.params.name === "x" ? Effect.die(new Error("broken middleware")) : next(request)
            )
          )
        }
      })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      yield* settled
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
      yield* settled
      assert.deepStrictEqual(trace, ["it > tools/call", "it < Failure"])
      assert.deepStrictEqual(yield* raw.pending, [])
      yield* raw.send(call(2, "x"))
      const reply = yield* raw.response
      assert.strictEqual(codeOf(reply), -32603)
      assert.isFalse(JSON.stringify(reply).includes("broken middleware"))
      assert.strictEqual(record.of("HandlerFailed").length, 1)
    }))

  it.effect("runs for handlers of a client", () =>
    Effect.gen(function*() {
      const received: Array<string> = []
      const { server } = yield* connected({
        client: {
          handlers: { "roots/list": () => Effect.succeed({ roots: [] }) },
          middleware: {
            inbound: (request, next) =>
              Effect.flatMap(ClientRequestContext.ClientRequestContext, ({ profile }) => {
                received.push(`${profile.info.name}: ${request.method}`)
                return next(request)
              })
          }
        }
      })
      assert.deepStrictEqual(yield* server.listRoots(), { roots: [] })
      assert.deepStrictEqual(received, ["test: roots/list"])
    }))
})
