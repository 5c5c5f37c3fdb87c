import { JsonRpc, McpError } from "@effect-mcp/protocol"
import { CallbackContext, Middleware, RequestContext } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { recording } from "./support/recordingMiddleware.ts"
import { call, codeOf, connected, performHandshake, settled, text, tools, withRawClient } from "./support/sessions.ts"

describe("middleware on the way to a handler", () => {
  it.effect("is passed by requests, the first piece first, and by nothing the session answers itself", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { raw } = yield* withRawClient({
        handlers: tools({ x: Effect.sync(() => (said.push("x"), text("x"))) }),
        server: { middleware: Middleware.all(recording("one", said), {}, recording("two", said)) }
      })
      yield* performHandshake(raw)
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
        server: { middleware: recording("it", said) }
      })
      yield* raw.send(call(1, "wait"))
      yield* raw.response
      yield* performHandshake(raw)
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
            recording("it", said),
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
