import { JsonRpc } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { reply } from "./support/pendingCall.ts"
import { settled, start, text, withRawServer } from "./support/sessions.ts"

describe("progress of requests of a client", () => {
  it.effect("[PRG-02] law 10: reaches only the consumer of its request", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      const seen: Array<string> = []
      const callTool = (name: string) =>
        start(
          session.callTool(name, {}, {
            onProgress: ({ progress }) => Effect.sync(() => seen.push(`${name}${progress}`))
          })
        )
      yield* callTool("a")
      yield* callTool("b")
      yield* settled
      const step = (progressToken: number | string, progress: number) =>
        JsonRpc.notification("notifications/progress", { progressToken, progress })
      yield* raw.send(step(1, 1), step(2, 1), step("1", 2), step(2, 2), step(3, 1), step(1, 2), reply(1), reply(2))
      yield* settled
      assert.sameMembers(seen, ["a1", "b1", "b2", "a2"])
      assert.deepStrictEqual(seen.filter((step) => step.startsWith("a")), ["a1", "a2"])
      const tokens = raw.received.flatMap((message) =>
        "method" in message && message.method === "tools/call" ? [message.params?.["_meta"]] : []
      )
      assert.deepStrictEqual(tokens, [{ progressToken: 1 }, { progressToken: 2 }])
    }))

  it.effect("[PRG-01] [PRG-04] a request carries its _meta, and a progress token only with onProgress", () =>
    Effect.gen(function*() {
      const { raw, session } = yield* withRawServer()
      yield* start(session.callTool("x", {}, { meta: { "example.org/a": 1 } }))
      yield* start(
        session.request("tools/call", { name: "y", _meta: { own: true, twice: 1 } }, {
          meta: { twice: 2 },
          onProgress: () => Effect.void
        })
      )
      yield* start(session.listTools())
      yield* settled
      assert.deepStrictEqual(
        raw.received.slice(2).map((message) => "params" in message ? message.params : undefined),
        [
          { name: "x", arguments: {}, _meta: { "example.org/a": 1 } },
          { name: "y", _meta: { own: true, twice: 2, progressToken: 2 } },
          undefined
        ]
      )
    }))

  it.effect("[PRG-05] after the response, or with an unknown token, is dropped", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      yield* start(session.callTool("without onProgress"))
      yield* settled
      const step = (progressToken: number | string, progress: number) =>
        JsonRpc.notification("notifications/progress", { progressToken, progress })
      yield* raw.send(step(1, 1), reply(1), step(1, 2), step(2, 1), step("unknown", 1))
      yield* Fiber.join(fiber)
      yield* settled
      assert.deepStrictEqual(seen, [1])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "UnknownToken",
        "UnknownToken",
        "UnknownToken"
      ])
    }))

  it.effect("[PRG-05] law 4: after the response is dropped, even while the consumer processes earlier steps", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, {
          onProgress: ({ progress }) => Effect.andThen(Effect.sleep(10), Effect.sync(() => seen.push(progress)))
        })
      )
      yield* settled
      const step = (progress: number) => JsonRpc.notification("notifications/progress", { progressToken: 1, progress })
      yield* raw.send(step(1), step(2), reply(1), step(3))
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), text("answer"))
      assert.deepStrictEqual(seen, [1, 2])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), ["UnknownToken"])
    }))

  it.effect("[PRG-03] that does not grow, or is malformed, is dropped", () =>
    Effect.gen(function*() {
      const { raw, record, session } = yield* withRawServer()
      const seen: Array<number> = []
      const fiber = yield* start(
        session.callTool("x", {}, { onProgress: ({ progress }) => Effect.sync(() => seen.push(progress)) })
      )
      yield* settled
      for (const progress of [-1, 0, 0, 0.5, 0.4, 2]) {
        yield* raw.send(JsonRpc.notification("notifications/progress", { progressToken: 1, progress }))
      }
      for (const params of [undefined, {}, { progressToken: 1 }, { progressToken: 1, progress: "3" }]) {
        yield* raw.send(JsonRpc.notification("notifications/progress", params))
      }
      yield* raw.send(reply(1))
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen, [-1, 0, 0.5, 2])
      assert.deepStrictEqual(record.of("ProgressDropped").map(({ reason }) => reason), [
        "NotIncreasing",
        "NotIncreasing"
      ])
      assert.strictEqual(record.of("NotificationIgnored").length, 4)
    }))
})
