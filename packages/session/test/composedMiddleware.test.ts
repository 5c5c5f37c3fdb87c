import { Revision } from "@effect-mcp/protocol"
import { Middleware } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { recording } from "./support/recordingMiddleware.ts"
import { call, connected, settled, text, tools, withRawClient } from "./support/sessions.ts"

describe("composed middleware", () => {
  /** Appends a mark to the tool name of each request. */
  const marking = (mark: string): Middleware.Middleware =>
    Middleware.all(
      Middleware.inbound("tools/call", (request, next) =>
        next({ ...request, params: { ...request.params, name: `${request.params.name}${mark}` } })),
      Middleware.outbound("tools/call", (request, next) =>
        next({ ...request, params: { ...request.params, name: `${request.params.name}${mark}` } }))
    )

  it.effect("each piece receives the request as the previous piece changed it, inbound and outbound", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: { "tools/call": ({ name }) => Effect.succeed(text(name)) },
        client: { middleware: Middleware.all(marking("a"), marking("b")) },
        server: { middleware: Middleware.all(marking("c"), marking("d")) }
      })
      assert.deepStrictEqual(yield* client.callTool("-"), text("-abcd"))
    }))

  it.effect("inbound pieces do not affect outbound requests, in any order, and vice versa", () =>
    Effect.gen(function*() {
      const trace: Array<string> = []
      const { inbound, outbound } = recording("it", trace)
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
      assert.deepStrictEqual(trace, [...once, ...once])
    }))

  it.effect("a piece for one method does not affect other methods, inbound or outbound", () =>
    Effect.gen(function*() {
      const { client } = yield* connected({
        handlers: tools({ x: Effect.succeed(text("x")) }),
        client: { middleware: Middleware.outbound("tools/list", () => Effect.succeed({ tools: [] })) },
        server: { middleware: Middleware.inbound("tools/list", () => Effect.succeed({ tools: [] })) }
      })
      assert.deepStrictEqual(yield* client.callTool("x"), text("x"))
    }))

  it.effect("the handler receives the received params object if no piece changes it", () =>
    Effect.gen(function*() {
      const received: Array<unknown> = []
      const { link } = yield* withRawClient({
        handlers: {
          "tools/call": (params) => {
            received.push(params)
            return Effect.succeed(text("x"))
          }
        },
        server: {
          stateless: { revision: Revision.latestLegacy },
          middleware: Middleware.all({ inbound: (request, next) => next(request) }, recording("it", []))
        }
      })
      yield* settled
      const request = Object.freeze(call(1, "x", Object.freeze({ arguments: Object.freeze({ a: 1 }) })))
      link.deliver(request)
      yield* settled
      assert.isTrue(received.length === 1 && received[0] === request.params)
    }))
})
