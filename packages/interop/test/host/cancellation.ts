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
import { answering, type Conditions } from "./conditions.ts"
import { aborted, asked, untilAborted, words } from "./results.ts"

const question = { messages: [{ role: "user", content: { type: "text", text: "How many beads?" } }], maxTokens: 9 }

export const cancellation = ({ host, it, revision }: Conditions) => {
  const unmatched = () => host.events.filter(({ _tag }) => _tag === "UnmatchedResponse")

  // The first thing it asks has the id 0, which is easily taken for none.
  it.effect("[CAN-04] [TMO-01] what the server gives up, its very first request, is interrupted and not answered", () =>
    Effect.gen(function*() {
      const waiting = new Set<string>()
      const createMessage = () =>
        Effect.acquireUseRelease(
          Effect.sync(() => waiting.add("the model")),
          () => Effect.never,
          () => Effect.sync(() => waiting.clear())
        )
      const before = host.entries.length
      const asking = asked("sampling/createMessage", question, { timeout: 50 })
      const { thrown } = yield* answering(host, { createMessage }, asking)
      assert.match(String(thrown), /timed out/)
      const cancellation = () => host.events.find((event) => event._tag === "Cancelled")
      yield* Child.until(() => cancellation() !== undefined && waiting.size === 0)
      const cancelled = cancellation()
      assert.deepInclude(cancelled, { method: "sampling/createMessage", id: 0 })
      const replies = host.entries.slice(before).filter((entry) => entry._tag === "Sent" && "result" in entry.frame)
      assert.deepStrictEqual(replies, [])
    }))

  it.effect("[CAN-01] [CAN-04] interrupting a call aborts its handler, and no answer comes", () =>
    Effect.gen(function*() {
      const { callTool, inFlight } = yield* ClientSession.ClientSession
      const before = yield* aborted
      const isUnderWay = yield* Deferred.make<void>()
      const call = yield* Effect.forkChild(
        callTool("count", { to: 1000, delayMs: 10 }, { onProgress: () => Deferred.succeed(isUnderWay, undefined) })
      )
      yield* Deferred.await(isUnderWay)
      yield* Fiber.interrupt(call)
      assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
      yield* untilAborted(before + 1)
      assert.deepStrictEqual(unmatched(), [])
    }))

  it.effect("[TMO-03] [TMO-04] a deadline aborts the handler as well", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const before = yield* aborted
      const { reason } = yield* Effect.flip(
        callTool("remind", { text: "", afterMs: 60_000 }, { timeout: "50 millis" })
      )
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 50 })
      yield* untilAborted(before + 1)
      assert.deepStrictEqual(unmatched(), [])
    }))

  it.effect("[PRG-01] [PRG-03] [PRG-04] [PRG-05] progress comes in order and before the result", () =>
    Effect.gen(function*() {
      const { callTool } = yield* ClientSession.ClientSession
      const heard: Array<unknown> = []
      const result = yield* callTool("count", { to: 20, delayMs: 1 }, {
        onProgress: ({ message, progress, total }) => Effect.sync(() => heard.push([progress, total, message]))
      })
      heard.push(words(result))
      // These servers send the message at every revision.
      assert.deepStrictEqual(heard, [
        ...Array.from({ length: 20 }, (_, index) => [index + 1, 20, `${index + 1} beads`]),
        "20"
      ])
    }))

  // It takes its time, and is the same at every revision.
  if (revision !== Revision.latest) return

  it.effect("[TMO-05] [TMO-06] progress puts a deadline off, up to a total", () =>
    Effect.gen(function*() {
      const clock = yield* TestClock.make()
      // Each step of the server comes after an answer to this, so that time passes between any two.
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
      const marched = yield* session.callTool("march", { to: 12 }, options)
      assert.strictEqual(words(marched), "12")
      const before = yield* run(aborted)
      const { reason } = yield* Effect.flip(
        session.callTool("march", { to: 1000 }, { ...options, totalTimeout: "1500 millis" })
      )
      assert.deepStrictEqual(reason, { _tag: "Timeout", afterMillis: 1500 })
      yield* run(untilAborted(before + 1))
    }).pipe(Effect.scoped))
}
