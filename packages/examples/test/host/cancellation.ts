import { Revision } from "@effect-mcp/protocol"
import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { answering, type Conditions } from "./conditions.ts"
import { asked, told, words } from "./results.ts"

const question = { messages: [{ role: "user", content: { type: "text", text: "How many beads?" } }], maxTokens: 9 }

const aborted = Effect.map(told("seen"), ({ aborted }) => Number(aborted))

const untilAborted = Effect.fnUntraced(function*(times: number) {
  while ((yield* aborted) < times) yield* Effect.sleep("5 millis")
  assert.strictEqual(yield* aborted, times)
})

export const cancellation = ({ host, it, revision }: Conditions) => {
  const unmatched = () => host.events.filter(({ _tag }) => _tag === "UnmatchedResponse")

  // The first thing it asks has the id 0, which is easily taken for none.
  it.effect("[CAN-04] [TMO-01] what the server gives up, its very first request, is interrupted and not answered", () =>
    Effect.gen(function*() {
      const interrupted = yield* Deferred.make<void>()
      const sample = () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      const before = host.entries.length
      const asking = asked("sampling/createMessage", question, { timeout: 50 })
      const { thrown } = yield* answering(host, { sample }, asking)
      assert.match(String(thrown), /timed out/)
      yield* Deferred.await(interrupted)
      const cancelled = host.events.find((event) => event._tag === "Cancelled")
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
        callTool("remind", { text: "", afterMs: 60_000 }, { deadline: "50 millis" })
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
      const { callTool } = yield* ClientSession.ClientSession
      const options = { deadline: "1 second", extendOnProgress: true, onProgress: () => Effect.void } as const
      const counted = yield* callTool("count", { to: 12, delayMs: 100 }, options)
      assert.strictEqual(words(counted), "12")
      const before = yield* aborted
      const { reason } = yield* Effect.flip(
        callTool("count", { to: 1000, delayMs: 100 }, { ...options, maxTotal: "1200 millis" })
      )
      assert.deepInclude(reason, { _tag: "Timeout" })
      yield* untilAborted(before + 1)
    }))
}
