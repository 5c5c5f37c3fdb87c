import { JsonRpc } from "@effect-mcp/protocol"
import { type Transport, TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scheduler from "effect/Scheduler"
import * as HttpFallbackConnection from "../../../../../src/internal/http/client/fallback/HttpFallbackConnection.ts"
import { InboundBuffer } from "../../../../../src/internal/shared/InboundBuffer.ts"

type Port = Transport.Transport["Service"]

/** Returns a function that runs effects in fibers that yield after this many steps, so between any two of them. */
const yielding = (steps: number): <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E> =>
  Effect.runForkWith(Context.make(Scheduler.MaxOpsBeforeYield, steps))

const end: Transport.End = { exit: undefined, writable: false }

/** Returns a fallback over a Streamable HTTP transport that rejects each message, and counts the open connections. */
const transports = () => {
  const counts = { streamable: 0, httpSse: 0, rejected: 0 }
  const opened = (kind: "streamable" | "httpSse") =>
    Effect.acquireRelease(
      Effect.sync(() => {
        counts[kind]++
        return Deferred.makeUnsafe<Transport.End>()
      }),
      (ended) =>
        Effect.sync(() => {
          counts[kind]--
          Deferred.doneUnsafe(ended, Exit.succeed(end))
        })
    )
  const rejection = TransportError.make({ _tag: "Rejected", status: 405, problem: "no", retryAfterMillis: undefined })
  const reject = Effect.andThen(
    Effect.yieldNow,
    Effect.suspend(() => {
      counts.rejected++
      return Effect.fail(rejection)
    })
  )
  const streamable: Port = {
    connect: Effect.map(opened("streamable"), (ended): Transport.Connection => ({
      run: () => Deferred.await(ended),
      send: () => reject,
      request: () => reject
    }))
  }
  const httpSse: Port = {
    connect: Effect.andThen(
      Effect.yieldNow,
      Effect.map(opened("httpSse"), (ended): Transport.Connection => {
        const buffer = new InboundBuffer()
        return {
          run: (deliver) =>
            Effect.suspend(() => {
              buffer.subscribe(deliver)
              return Deferred.await(ended)
            }),
          send: ({ message }) =>
            Effect.andThen(
              Effect.yieldNow,
              Effect.sync(() => {
                if (JsonRpc.isRequest(message)) {
                  buffer.deliver({ frame: Result.succeed(JsonRpc.success(message.id, {})), bytes: 1 })
                }
              })
            )
        }
      })
    )
  }
  return { counts, transport: HttpFallbackConnection.make(streamable, httpSse) }
}

/** Sends one request in a session. Returns the frames that arrived, and whether `run` ended before the scope closed. */
const session = ({ connect }: Port) =>
  Effect.scoped(Effect.gen(function*() {
    const scope = yield* Effect.scope
    const connection = yield* connect
    const received: Array<unknown> = []
    const running = yield* Effect.forkIn(
      connection.run((inbound) => received.push(Result.merge(inbound.frame)), { abandon: () => {}, report: () => {} }),
      scope
    )
    const message = JsonRpc.request(0, "initialize", {})
    yield* connection.request?.(message) ?? connection.send({ message, replyTo: undefined, last: false })
    for (let step = 0; step < 50; step++) yield* Effect.yieldNow
    return { received, ended: running.pollUnsafe() !== undefined }
  }))

const expected = { received: [JsonRpc.success(0, {})], ended: false }

const stepCounts = Array.from({ length: 40 }, (_, index) => index + 3)

describe("a client that falls back, wherever its fibers yield", () => {
  it.live("[SSE-07] receives its response over HTTP+SSE, and continues there", () =>
    Effect.gen(function*() {
      for (const steps of stepCounts) {
        const { counts, transport } = transports()
        const sessions = stepCounts.slice(0, 3).map(() => yielding(steps)(session(transport)))
        for (const fiber of sessions) assert.deepStrictEqual(yield* Fiber.join(fiber), expected, `${steps} steps`)
        assert.deepStrictEqual(counts, { streamable: 0, httpSse: 0, rejected: 1 }, `${steps} steps`)
      }
    }))

  it.live("[law 2] leaves no connection if it is interrupted, and a session that waits for it continues", () =>
    Effect.gen(function*() {
      for (const steps of [3, 5, 8]) {
        for (let after = 0; after < 80; after++) {
          const { counts, transport } = transports()
          const first = yielding(steps)(session(transport))
          const second = yielding(steps)(session(transport))
          for (let step = 0; step < after; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(first)
          assert.deepStrictEqual(yield* Fiber.join(second), expected, `${steps} steps, after ${after}`)
          assert.deepStrictEqual([counts.streamable, counts.httpSse], [0, 0], `${steps} steps, after ${after}`)
        }
      }
    }))

  it.live("[SSE-07] delivers responses also if it is run only after the detection", () =>
    Effect.scoped(Effect.gen(function*() {
      const { transport } = transports()
      const connection = yield* transport.connect
      const message = JsonRpc.notification("notifications/initialized")
      yield* connection.send({ message, replyTo: undefined, last: false })
      const received: Array<Transport.Inbound> = []
      const running = yield* Effect.forkScoped(
        connection.run((inbound) => received.push(inbound), { abandon: () => {}, report: () => {} }),
        { startImmediately: true }
      )
      yield* connection.request?.(JsonRpc.request(1, "ping", {})) ??
        Effect.die("the connection has no streams for requests")
      assert.lengthOf(received, 1)
      assert.isUndefined(running.pollUnsafe())
    })))
})
