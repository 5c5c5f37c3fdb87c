import { JsonRpc, McpError } from "@effect-mcp/protocol"
import type { Handlers } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  call,
  connected,
  names,
  performHandshake,
  settled,
  text,
  tools,
  withRawClient,
  withRawServer
} from "./support/sessions.ts"

const start = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkChild(effect, { startImmediately: true })

const cancel = (requestId: unknown, reason?: string) =>
  JsonRpc.notification("notifications/cancelled", { requestId, ...(reason === undefined ? undefined : { reason }) })

const rootsList = (id: number | string) => JsonRpc.request(id, "roots/list", undefined)

/**
 * Makes the handlers of a client that serve `roots/list` by this work, and a record of its start, end and interruption.
 */
const recordedRoots = (work: Effect.Effect<void>) => {
  const steps: Array<string> = []
  const record = (step: string) => Effect.sync(() => steps.push(step))
  const handlers: Handlers.Handlers<"server"> = {
    "roots/list": () =>
      record("started").pipe(
        Effect.andThen(work),
        Effect.andThen(record("finished")),
        Effect.onInterrupt(() => record("interrupted")),
        Effect.as({ roots: [] })
      )
  }
  return { steps, handlers }
}

describe("a client whose server cancels a request", () => {
  it.effect("[CAN-04] [CAN-08] interrupts the handler, sends no reply, and reports the reason", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.never)
      const { raw, record, session } = yield* withRawServer({ client: { handlers } })
      const before = raw.received.length
      yield* raw.send(rootsList(1), cancel(1, "the user has left"))
      yield* settled
      assert.deepStrictEqual(steps, ["started", "interrupted"])
      assert.deepStrictEqual(raw.received.slice(before), [])
      assert.deepStrictEqual(record.of("Cancelled"), [
        { _tag: "Cancelled", method: "roots/list", id: 1, reason: "the user has left" }
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-04] [CAN-07] sends no reply later, if the handler cannot be interrupted", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.uninterruptible(Effect.sleep(10)))
      const { raw } = yield* withRawServer({ client: { handlers } })
      const before = raw.received.length
      yield* raw.send(rootsList(1), cancel(1))
      yield* TestClock.adjust(10)
      yield* settled
      assert.include(steps, "started")
      assert.deepStrictEqual(raw.received.slice(before), [])
    }))

  it.effect("[CAN-05] [CAN-07] ignores the cancellation of a request that has its reply, or is unknown", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.void)
      const { raw, record } = yield* withRawServer({ client: { handlers } })
      const before = raw.received.length
      yield* raw.send(rootsList(1))
      yield* settled
      yield* raw.send(cancel(1), cancel("1"), cancel(99), rootsList(2))
      yield* settled
      assert.deepStrictEqual(steps, ["started", "finished", "started", "finished"])
      assert.deepStrictEqual(names(raw.received.slice(before)), [1, 2])
      assert.deepStrictEqual(record.of("CancelIgnored").map(({ id }) => id), [1, "1", 99])
    }))

  it.effect("[CAN-09] ignores a malformed cancellation", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.never)
      const { raw, record } = yield* withRawServer({ client: { handlers } })
      const before = raw.received.length
      yield* raw.send(
        rootsList(1),
        cancel(null),
        cancel([1]),
        cancel(1.5),
        JsonRpc.notification("notifications/cancelled")
      )
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: 7 }))
      yield* settled
      assert.deepStrictEqual(steps, ["started"])
      assert.deepStrictEqual(record.of("Cancelled"), [])
      assert.deepStrictEqual(raw.received.slice(before), [])
    }))
})

describe("a server that cancels a request", () => {
  it.effect("[CAN-06] [CAN-07] ignores a response that arrives after the cancellation", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const pinging = yield* start(session.ping())
      yield* Fiber.interrupt(pinging)
      yield* raw.send(JsonRpc.success(1, {}))
      yield* raw.send(JsonRpc.failure(1, McpError.invalidRequest("cancelled")))
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["ping", "notifications/cancelled"])
      assert.strictEqual(record.of("UnmatchedResponse")[0]?.kind, "Late")
      assert.strictEqual((yield* session.state)._tag, "Operating")
    }))

  it.effect("[CAN-01] sends no cancellation of a request that has its response", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient()
      yield* performHandshake(raw)
      const pinging = yield* start(session.ping({ timeout: 10 }))
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(pinging)
      yield* Fiber.interrupt(pinging)
      yield* TestClock.adjust(10)
      yield* settled
      assert.deepStrictEqual(names(yield* raw.pending), ["ping"])
    }))
})

describe("[CAN-01] a cancellation applies only to requests of its sender", () => {
  it.effect("a request of the client with the same id continues", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.never)
      const { raw, session } = yield* withRawServer({ client: { handlers } })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* raw.send(rootsList(1), cancel(1))
      yield* settled
      assert.deepStrictEqual(steps, ["started", "interrupted"])
      assert.isUndefined(calling.pollUnsafe())
      yield* raw.send(JsonRpc.success(1, text("answer")))
      assert.deepStrictEqual(yield* Fiber.join(calling), text("answer"))
    }))

  it.effect("a request of the server with the same id continues", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawClient({ handlers: tools({ wait: Effect.never }) })
      yield* performHandshake(raw)
      yield* raw.send(call(1, "wait"))
      const pinging = yield* start(session.ping())
      yield* raw.send(cancel(1))
      yield* settled
      assert.deepStrictEqual(yield* session.inFlight, { sent: 1, served: 0 })
      yield* raw.send(JsonRpc.success(1, {}))
      yield* Fiber.join(pinging)
    }))

  it.effect("equal ids of the two directions of one session are distinguished", () =>
    Effect.gen(function*() {
      const { handlers, steps } = recordedRoots(Effect.never)
      const { client, server } = yield* connected({
        client: { handlers },
        handlers: tools({ wait: Effect.never })
      })
      const calling = yield* start(client.callTool("wait"))
      const listing = yield* start(server.listRoots())
      yield* settled
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 1, served: 1 },
        { sent: 1, served: 1 }
      ])
      yield* Fiber.interrupt(listing)
      yield* settled
      assert.deepStrictEqual(steps, ["started", "interrupted"])
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 1, served: 0 },
        { sent: 0, served: 1 }
      ])
      yield* Fiber.interrupt(calling)
    }))
})
