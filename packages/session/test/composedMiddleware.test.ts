import { Revision } from "@effect-mcp/protocol"
import { Middleware } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { recording } from "./support/recordingMiddleware.ts"
import { call, connected, settled, text, tools, withRawClient } from "./support/sessions.ts"

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
      const { inbound, outbound } = recording("it", said)
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

  it.effect("where none changes them, the params are the received object", () =>
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
          middleware: Middleware.all({ inbound: (request, next) => next(request) }, recording("it", []))
        }
      })
      yield* settled
      const request = Object.freeze(call(1, "x", Object.freeze({ arguments: Object.freeze({ a: 1 }) })))
      link.deliver(request)
      yield* settled
      assert.isTrue(seen.length === 1 && seen[0] === request.params)
    }))
})
