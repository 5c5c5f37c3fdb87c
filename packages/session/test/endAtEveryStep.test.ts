/**
 * Ends a call or its session at every step of the call. The programs yield after every third operation, and each run
 * ends one step later than the one before, so that every pair of operations is separated once.
 */
import { JsonRpc, Revision } from "@effect-mcp/protocol"
import {
  ClientSession,
  type MemoryTransport,
  Metrics,
  Middleware,
  RequestContext,
  ServerSession,
  Tracing,
  Transport
} from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Metric from "effect/Metric"
import * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import { advancingClockOnError, call, forms, info, start, text, withRawClient } from "./support/sessions.ts"

/** The number of steps after which the last run ends; a call takes about 40. */
const lastStep = 50

/** Yields after every third operation. */
const yieldingOften = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.provideService(effect, Scheduler.MaxOpsBeforeYield, 3)

const steps = (count: number) =>
  Effect.gen(function*() {
    for (let step = 0; step < count; step++) yield* Effect.yieldNow
  })

const middleware = Middleware.all(Tracing.make(), Metrics.middleware)

/** Returns the gauges of active requests, which are zero while nothing is in flight. */
const activeRequests = Effect.gen(function*() {
  const inFlight = { "mcp.method.name": "tools/call" }
  const sent = yield* Metric.value(Metric.withAttributes(Metrics.clientActiveRequests, inFlight))
  const served = yield* Metric.value(Metric.withAttributes(Metrics.serverActiveRequests, inFlight))
  return { sent: Number(sent.value), served: Number(served.value) }
})

/** A tool that acquires a resource, reports progress, and releases the resource in two steps. */
const tool = (held: { count: number }) =>
  Effect.gen(function*() {
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        held.count++
      }),
      () =>
        Effect.andThen(
          Effect.yieldNow,
          Effect.sync(() => {
            held.count--
          })
        )
    )
    yield* RequestContext.progress({ progress: 1 })
    yield* steps(5)
    return text("done")
  })

const connect = Effect.fnUntraced(function*(
  pair: MemoryTransport.Pair,
  held: { count: number },
  revision: Revision.Revision
) {
  const links = { client: Link.over(pair.client), server: Link.over(pair.server) }
  const options = { info, middleware, limits: { gracefulTimeout: 0 } }
  const server = yield* ServerSession.make({ "tools/call": () => tool(held) }, options).pipe(
    Effect.provideService(Transport.Transport, links.server.transport)
  )
  const client = yield* ClientSession.make({ ...options, revisions: [revision] }).pipe(
    Effect.provideService(Transport.Transport, links.client.transport)
  )
  return { client, links, server }
})

type Connected = Effect.Success<ReturnType<typeof connect>>

const ends: ReadonlyArray<
  readonly [string, (all: Connected, calling: Fiber.Fiber<unknown, unknown>) => Effect.Effect<unknown>]
> = [
  ["the caller is interrupted", (_, calling) => Fiber.interrupt(calling)],
  ["the client closes", ({ client }) => client.close],
  ["the server closes", ({ server }) => server.close],
  ["the server's input ends", ({ links, server }) => {
    links.server.endReading()
    return server.closed
  }],
  ["the client's input fails", ({ client, links }) => {
    links.client.breakReading(Link.readFailed)
    return client.closed
  }]
]

const nothing = { sent: 0, served: 0 }

for (const { form, pair } of forms) {
  describe(`at every step of a call (${form})`, () => {
    const inBothEras = ends.flatMap(([what, end]) => [
      { what, end, revision: Revision.latestLegacy, era: "" },
      { what, end, revision: Revision.latest, era: " without a handshake" }
    ])
    for (const { end, era, revision, what } of inBothEras) {
      it.effect(`laws 1, 2, 5 and 8: ${what}${era}, and no request, fiber or resource remains`, () =>
        Effect.gen(function*() {
          for (let step = 0; step < lastStep; step++) {
            const held = { count: 0 }
            const census = FiberCount.make()
            const program = Effect.gen(function*() {
              const all = yield* connect(yield* pair, held, revision)
              const { client, links, server } = all
              const calling = yield* start(yieldingOften(client.callTool("x", {}, { onProgress: () => Effect.void })))
              yield* steps(step)
              const ending = yield* start(end(all, calling))
              yield* TestClock.adjust("10 seconds")
              yield* steps(100)
              assert.isDefined(ending.pollUnsafe(), `step ${step}`)
              const exit = yield* Fiber.await(calling)
              const sent = links.client.sent.flatMap((message) => "method" in message ? [message.method] : [])
              const calls = sent.filter((name) => name === "tools/call").length
              const cancellations = sent.filter((name) => name === "notifications/cancelled").length
              const replies = links.server.sent.filter((message) => !("method" in message) && message.id === 1).length
              assert.isAtMost(calls, 1, `step ${step}`)
              assert.isAtMost(cancellations, calls, `step ${step}`)
              assert.isAtMost(replies, calls, `step ${step}`)
              // After the response there is nothing to cancel.
              if (what === "the caller is interrupted" && Exit.isFailure(exit) && replies === 0) {
                // Without a handshake, the end of its stream cancels a request that has one.
                const isMessage = Revision.isLegacy(revision) || form !== "a stream for each request"
                assert.strictEqual(cancellations, isMessage ? calls : 0, `step ${step}`)
              }
              assert.deepStrictEqual(
                [yield* client.inFlight, yield* server.inFlight],
                [nothing, nothing],
                `step ${step}`
              )
            })
            yield* Effect.gen(function*() {
              yield* census.count(Effect.scoped(advancingClockOnError(program)))
              yield* steps(30)
              assert.deepStrictEqual(yield* activeRequests, nothing, `step ${step}`)
            }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
            assert.deepStrictEqual([held.count, census.living()], [0, 0], `step ${step}`)
          }
        }))
    }

    for (const [what, together] of [["a call", false], ["one of two calls in a batch", true]] as const) {
      it.effect(`laws 2 and 5: [CAN-04] ${what} is cancelled, and no request, fiber or resource remains`, () =>
        Effect.gen(function*() {
          for (let step = 0; step < lastStep; step++) {
            const census = FiberCount.make()
            const program = yieldingOften(Effect.gen(function*() {
              const { link, record, session } = yield* withRawClient({
                pair,
                handlers: {
                  "tools/call": () => Effect.as(RequestContext.progress({ progress: 1 }), text("x"))
                },
                server: { middleware, stateless: { revision: "2025-03-26" } }
              })
              yield* steps(30)
              link.deliver(together ? [call(1, "x"), call(2, "x")] : call(1, "x"))
              yield* steps(step)
              link.deliver(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
              yield* steps(300)
              const replies = link.sent.flatMap((message) => "method" in message ? [] : [message.id])
              const cancelled = record.of("Cancelled").length
              assert.strictEqual(cancelled + record.of("CancelIgnored").length, 1, `step ${step}`)
              assert.sameMembers(replies, [...(cancelled === 1 ? [] : [1]), ...(together ? [2] : [])], `step ${step}`)
              assert.deepStrictEqual(record.of("HandlerFailed"), [])
              assert.deepStrictEqual(yield* session.inFlight, nothing, `step ${step}`)
            }))
            yield* census.count(Effect.scoped(advancingClockOnError(program)))
            yield* steps(30)
            assert.strictEqual(census.living(), 0, `step ${step}`)
          }
        }))
    }
  })
}
