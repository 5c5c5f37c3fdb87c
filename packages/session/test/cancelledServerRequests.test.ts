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

const ask = (id: number | string) => JsonRpc.request(id, "roots/list", undefined)

/** A client whose user takes as long as `answering` does, and what becomes of the question. */
const asking = (answering: Effect.Effect<void>) => {
  const seen: Array<string> = []
  const say = (words: string) => Effect.sync(() => seen.push(words))
  const handlers: Handlers.Handlers<"server"> = {
    "roots/list": () =>
      say("began").pipe(
        Effect.andThen(answering),
        Effect.andThen(say("finished")),
        Effect.onInterrupt(() => say("interrupted")),
        Effect.as({ roots: [] })
      )
  }
  return { seen, handlers }
}

describe("a client whose server cancels", () => {
  it.effect("[CAN-04] [CAN-08] stops, does not answer, and shows why", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.never)
      const { raw, record, session } = yield* withRawServer({ client: { handlers } })
      const said = raw.received.length
      yield* raw.send(ask(1), cancel(1, "the user has left"))
      yield* settled
      assert.deepStrictEqual(seen, ["began", "interrupted"])
      assert.deepStrictEqual(raw.received.slice(said), [])
      assert.deepStrictEqual(record.of("Cancelled"), [
        { _tag: "Cancelled", method: "roots/list", id: 1, reason: "the user has left" }
      ])
      assert.deepStrictEqual(yield* session.inFlight, { sent: 0, served: 0 })
    }))

  it.effect("[CAN-04] [CAN-07] does not answer later either, where the question cannot be stopped", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.uninterruptible(Effect.sleep(10)))
      const { raw } = yield* withRawServer({ client: { handlers } })
      const said = raw.received.length
      yield* raw.send(ask(1), cancel(1))
      yield* TestClock.adjust(10)
      yield* settled
      assert.include(seen, "began")
      assert.deepStrictEqual(raw.received.slice(said), [])
    }))

  it.effect("[CAN-05] [CAN-07] passes over what is answered already, or was never asked", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.void)
      const { raw, record } = yield* withRawServer({ client: { handlers } })
      const said = raw.received.length
      yield* raw.send(ask(1))
      yield* settled
      yield* raw.send(cancel(1), cancel("1"), cancel(99), ask(2))
      yield* settled
      assert.deepStrictEqual(seen, ["began", "finished", "began", "finished"])
      assert.deepStrictEqual(names(raw.received.slice(said)), [1, 2])
      assert.deepStrictEqual(record.of("CancelIgnored").map(({ id }) => id), [1, "1", 99])
    }))

  it.effect("[CAN-09] passes over what makes no sense", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.never)
      const { raw, record } = yield* withRawServer({ client: { handlers } })
      const said = raw.received.length
      yield* raw.send(ask(1), cancel(null), cancel([1]), cancel(1.5), JsonRpc.notification("notifications/cancelled"))
      yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1, reason: 7 }))
      yield* settled
      assert.deepStrictEqual(seen, ["began"])
      assert.deepStrictEqual(record.of("Cancelled"), [])
      assert.deepStrictEqual(raw.received.slice(said), [])
    }))
})

describe("a server that cancels", () => {
  it.effect("[CAN-06] [CAN-07] passes over an answer that comes after it", () =>
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

  it.effect("[CAN-01] says nothing of a question that has been answered", () =>
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

describe("[CAN-01] a cancellation is about the requests of who sent it", () => {
  it.effect("the client's own request with the same id goes on", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.never)
      const { raw, session } = yield* withRawServer({ client: { handlers } })
      const calling = yield* start(session.callTool("x"))
      yield* settled
      yield* raw.send(ask(1), cancel(1))
      yield* settled
      assert.deepStrictEqual(seen, ["began", "interrupted"])
      assert.isUndefined(calling.pollUnsafe())
      yield* raw.send(JsonRpc.success(1, text("answer")))
      assert.deepStrictEqual(yield* Fiber.join(calling), text("answer"))
    }))

  it.effect("so does the server's", () =>
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

  it.effect("between two sessions, ids that are the same are told apart", () =>
    Effect.gen(function*() {
      const { handlers, seen } = asking(Effect.never)
      const { client, server } = yield* connected({
        client: { handlers },
        handlers: tools({ wait: Effect.never })
      })
      const calling = yield* start(client.callTool("wait"))
      const questioning = yield* start(server.listRoots())
      yield* settled
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 1, served: 1 },
        { sent: 1, served: 1 }
      ])
      yield* Fiber.interrupt(questioning)
      yield* settled
      assert.deepStrictEqual(seen, ["began", "interrupted"])
      assert.deepStrictEqual([yield* client.inFlight, yield* server.inFlight], [
        { sent: 1, served: 0 },
        { sent: 0, served: 1 }
      ])
      yield* Fiber.interrupt(calling)
    }))
})
