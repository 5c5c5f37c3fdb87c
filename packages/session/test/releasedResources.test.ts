import { JsonRpc } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import { advancingClockOnError, connected, forms, settled, start, tools } from "./support/sessions.ts"

describe("a session that has ended has no fiber, no request and no entry in a table", () => {
  const endings: ReadonlyArray<
    readonly [string, (all: Effect.Success<ReturnType<typeof connected>>) => Effect.Effect<unknown>]
  > = [
    ["the client's close", ({ client }) => client.close],
    ["the server's close", ({ server }) => server.close],
    [
      "the close of both at once",
      ({ client, server }) => Effect.all([client.close, server.close], { concurrency: "unbounded" })
    ],
    ["the end of the client's reading", ({ links }) => Effect.sync(() => links.client.endReading())],
    ["the end of the server's reading", ({ links }) => Effect.sync(() => links.server.endReading())],
    ["a failed read of the client", ({ links }) => Effect.sync(() => links.client.breakReading(Link.readFailed))],
    ["a failed read of the server", ({ links }) => Effect.sync(() => links.server.breakReading(Link.readFailed))],
    ["a failed write of the client", ({ client, links }) => {
      links.client.failSending(Link.writeFailed)
      return Effect.exit(client.ping())
    }],
    ["a failed write of the server", ({ links, server }) => {
      links.server.failSending(Link.writeFailed)
      return Effect.exit(server.ping())
    }],
    ["a stalled client", ({ links }) =>
      Effect.sync(() => {
        links.client.stall()
        links.client.deliver(JsonRpc.request("p", "ping", undefined))
      })],
    ["a stalled server", ({ links, server }) => {
      links.server.stall()
      return Effect.exit(server.ping())
    }]
  ]

  for (const { form, pair } of forms) {
    for (const [ending, end] of endings) {
      // If each request has a stream, a server that stalls closes the stream and keeps the session.
      if (ending === "a stalled server" && form === "a stream for each request") continue
      it.effect(`law 2: after ${ending}, with requests in flight on both sides (${form})`, () =>
        Effect.gen(function*() {
          const census = FiberCount.make()
          const program = Effect.gen(function*() {
            const all = yield* connected({
              pair,
              handlers: tools({
                wait: Effect.never,
                ask: Effect.gen(function*() {
                  const { request } = yield* RequestContext.RequestContext
                  yield* Effect.ignore(request("ping", {}))
                  return yield* Effect.never
                }),
                steps: Effect.andThen(RequestContext.progress({ progress: 1 }), Effect.never),
                log: Effect.andThen(RequestContext.log({ level: "info", data: "x" }), Effect.never)
              }),
              client: {
                handlers: { "notifications/message": () => Effect.never },
                limits: { gracefulTimeout: "5 seconds" }
              },
              server: { limits: { gracefulTimeout: "5 seconds" } }
            })
            const { client, server } = all
            const calls = yield* Effect.forEach(
              ["wait", "ask", "steps", "log"],
              (name) => start(Effect.exit(client.callTool(name, {}, { onProgress: () => Effect.sleep("1 second") })))
            )
            const consumers = yield* Effect.forEach([client, server], ({ events }) => start(Stream.runDrain(events)))
            yield* settled
            const ended = yield* start(end(all))
            yield* TestClock.adjust("60 seconds")
            yield* settled
            assert.isDefined(ended.pollUnsafe())
            assert.strictEqual((yield* client.state)._tag, "Closed")
            assert.strictEqual((yield* server.state)._tag, "Closed")
            for (const fiber of calls) assert.isTrue(Exit.isFailure(yield* Fiber.join(fiber)))
            yield* Fiber.awaitAll(consumers)
            assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
              { sent: 0, served: 0 },
              { sent: 0, served: 0 }
            ])
          })
          yield* census.count(Effect.scoped(advancingClockOnError(program)))
          yield* settled
          assert.strictEqual(census.living(), 0)
        }))
    }
  }
})
