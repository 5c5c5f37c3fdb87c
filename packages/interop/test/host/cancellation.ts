import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as Child from "../fixtures/child.ts"
import { type Conditions, withScript } from "./conditions.ts"
import { abortedCalls, serverRequest, textOf, untilAborted } from "./results.ts"

const samplingParams = {
  messages: [{ role: "user", content: { type: "text", text: "How many beads?" } }],
  maxTokens: 9
}

export const cancellation = ({ host, it, revision }: Conditions) => {
  const unmatched = () => host.events.filter(({ _tag }) => _tag === "UnmatchedResponse")

  // The first request of the server has the id 0, which is easily mistaken for no id.
  it.effect("[CAN-04] [TMO-01] a cancelled request, the first of the server, is interrupted and not answered", () =>
    Effect.gen(function*() {
      const running = new Set<string>()
      const createMessage = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => running.add("the model")),
          () => Effect.never,
          () => Effect.sync(() => running.clear())
        )
      const before = host.entries.length
      const sending = serverRequest("sampling/createMessage", samplingParams, { timeout: 50 })
      const { error } = yield* withScript(host, { createMessage }, sending)
      assert.match(String(error), /timed out/)
      const cancellation = () => host.events.find((event) => event._tag === "Cancelled")
      yield* Child.until(() => cancellation() !== undefined && running.size === 0)
      const cancelled = cancellation()
      assert.deepInclude(cancelled, { method: "sampling/createMessage", id: 0 })
      const replies = host.entries.slice(before).filter((entry) => entry._tag === "Sent" && "result" in entry.frame)
      assert.deepStrictEqual(replies, [])
    }))

  it.effect("[CAN-01] [CAN-04] interrupting a call aborts its handler, and no response arrives", () =>
    Effect.gen(function*() {
      const { callTool, inFlight } = yield* ClientSession.ClientSession
      const before = yield* abortedCalls
      const started = yield* Deferred.make<void>()
      const call = yield* Effect.forkChild(
        callTool("count", { to: 1000, delayMs: 10 }, { onProgress: () => Deferred.succeed(started, undefined) })
      )
      yield* Deferred.await(started)
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
      yield* untilAborted(before + 1)
      assert.deepStrictEqual(unmatched(), [])
    }))

  it.effect("[TMO-03] [TMO-04] a timeout aborts the handler", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const before = yield* abortedCalls
      const { reason } = yield* Effect.flip(
        callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "50 millis" })
      )
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 50 })
      yield* untilAborted(before + 1)
      assert.deepStrictEqual(unmatched(), [])
    }))

  it.effect("[PRG-01] [PRG-03] [PRG-04] [PRG-05] progress arrives in order and before the result", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const received: Array<unknown> = []
      const result = yield* callTool("count", { to: 20, delayMs: 1 }, {
        onProgress: ({ message, progress, total }) => Effect.sync(() => received.push([progress, total, message]))
      })
      received.push(textOf(result))
      // These servers send the message at every revision.
      assert.deepStrictEqual(received, [
        ...Array.from({ length: 20 }, (_, index) => [index + 1, 20, `${index + 1} beads`]),
        "20"
      ])
    }))

  // This test is slow, and does not depend on the revision.
  if (revision !== Revision.latestLegacy) return

  it.effect("[TMO-05] [TMO-06] progress extends a timeout, up to the total timeout", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      // The server sends this request before each step, so that time passes between two steps.
      const handlers = { "roots/list": () => Effect.as(clock.adjust("600 millis"), { roots: [] }) }
      const context = yield* Effect.provideService(
        Layer.build(Layer.fresh(Layer.provide(
          ClientSession.layer({ info: { name: "host", version: "1.0.0" }, handlers }),
          host.server.transport
        ))),
        Clock.Clock,
        clock
      )
      const session = Context.get(context, ClientSession.ClientSession)
      const run = Effect.provideService(ClientSession.ClientSession, session)
      const options = { timeout: "1 second", extendOnProgress: true, onProgress: () => Effect.void } as const
      const counted = yield* session.callTool("count-with-requests", { to: 12 }, options)
      assert.strictEqual(textOf(counted), "12")
      const before = yield* run(abortedCalls)
      const { reason } = yield* Effect.flip(
        session.callTool("count-with-requests", { to: 1000 }, { ...options, totalTimeout: "1500 millis" })
      )
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 1500 })
      yield* run(untilAborted(before + 1))
    }).pipe(Effect.scoped))
}
