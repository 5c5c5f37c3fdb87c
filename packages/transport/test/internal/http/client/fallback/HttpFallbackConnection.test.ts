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

type Port = Transport.Transport["Service"]

/** Runs it in a fiber that yields after so many steps, and so sooner or later between any two. */
const yielding = (steps: number): <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E> =>
  Effect.runForkWith(Context.make(Scheduler.MaxOpsBeforeYield, steps))

const end: Transport.End = { exit: undefined, writable: false }

/** Two transports, of which the newer refuses what is sent, and how many connections of both are open. */
const transports = () => {
  const state = { newer: 0, older: 0, refused: 0 }
  const opened = (kind: "newer" | "older") =>
    Effect.acquireRelease(
      Effect.sync(() => {
        state[kind]++
        return Deferred.makeUnsafe<Transport.End>()
      }),
      (over) =>
        Effect.sync(() => {
          state[kind]--
          Deferred.doneUnsafe(over, Exit.succeed(end))
        })
    )
  const refusal = TransportError.make({ _tag: "Rejected", status: 405, problem: "no", retryAfterMillis: undefined })
  const refuse = Effect.andThen(
    Effect.yieldNow,
    Effect.suspend(() => {
      state.refused++
      return Effect.fail(refusal)
    })
  )
  const newer: Port = {
    connect: Effect.map(opened("newer"), (over): Transport.Connection => ({
      run: () => Deferred.await(over),
      send: () => refuse,
      request: () => refuse
    }))
  }
  const older: Port = {
    connect: Effect.andThen(
      Effect.yieldNow,
      Effect.map(opened("older"), (over): Transport.Connection => {
        const kept: Array<Transport.Inbound> = []
        let deliver = (inbound: Transport.Inbound): void => void kept.push(inbound)
        return {
          run: (heard) =>
            Effect.suspend(() => {
              kept.splice(0).forEach(heard)
              deliver = heard
              return Deferred.await(over)
            }),
          send: ({ message }) =>
            Effect.andThen(
              Effect.yieldNow,
              Effect.sync(() => {
                if (JsonRpc.isRequest(message)) {
                  deliver({ frame: Result.succeed(JsonRpc.success(message.id, {})), bytes: 1 })
                }
              })
            )
        }
      })
    )
  }
  return { state, transport: HttpFallbackConnection.make(newer, older) }
}

/** One session: it asks, and is over when it has been answered. What comes back is what it heard, and whether it ended before. */
const session = ({ connect }: Port) =>
  Effect.scoped(Effect.gen(function*() {
    const scope = yield* Effect.scope
    const connection = yield* connect
    const heard: Array<unknown> = []
    const running = yield* Effect.forkIn(
      connection.run((inbound) => heard.push(Result.merge(inbound.frame)), { abandon: () => {}, report: () => {} }),
      scope
    )
    const message = JsonRpc.request(0, "initialize", {})
    yield* connection.request?.(message) ?? connection.send({ message, replyTo: undefined, last: false })
    for (let step = 0; step < 50; step++) yield* Effect.yieldNow
    return { heard, ended: running.pollUnsafe() !== undefined }
  }))

const answered = { heard: [JsonRpc.success(0, {})], ended: false }

const ways = Array.from({ length: 40 }, (_, index) => index + 3)

describe("a client that falls back, wherever its fibers yield", () => {
  it.live("[SSE-07] hears its answer on the older way, and goes on there", () =>
    Effect.gen(function*() {
      for (const steps of ways) {
        const { state, transport } = transports()
        const sessions = ways.slice(0, 3).map(() => yielding(steps)(session(transport)))
        for (const fiber of sessions) assert.deepStrictEqual(yield* Fiber.join(fiber), answered, `${steps} steps`)
        assert.deepStrictEqual(state, { newer: 0, older: 0, refused: 1 }, `${steps} steps`)
      }
    }))

  it.live("[law 2] leaves nothing where it is interrupted, and nobody who waits for it waits for ever", () =>
    Effect.gen(function*() {
      for (const steps of [3, 5, 8]) {
        for (let after = 0; after < 80; after++) {
          const { state, transport } = transports()
          const first = yielding(steps)(session(transport))
          const second = yielding(steps)(session(transport))
          for (let step = 0; step < after; step++) yield* Effect.yieldNow
          yield* Fiber.interrupt(first)
          assert.deepStrictEqual(yield* Fiber.join(second), answered, `${steps} steps, after ${after}`)
          assert.deepStrictEqual([state.newer, state.older], [0, 0], `${steps} steps, after ${after}`)
        }
      }
    }))

  it.live("[SSE-07] is heard also where nobody listened before it was decided", () =>
    Effect.scoped(Effect.gen(function*() {
      const { transport } = transports()
      const connection = yield* transport.connect
      const message = JsonRpc.notification("notifications/initialized")
      yield* connection.send({ message, replyTo: undefined, last: false })
      const heard: Array<Transport.Inbound> = []
      const running = yield* Effect.forkScoped(
        connection.run((inbound) => heard.push(inbound), { abandon: () => {}, report: () => {} }),
        { startImmediately: true }
      )
      yield* connection.request?.(JsonRpc.request(1, "ping", {})) ?? Effect.die("requests have streams of their own")
      assert.lengthOf(heard, 1)
      assert.isUndefined(running.pollUnsafe())
    })))
})
