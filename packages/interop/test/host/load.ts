import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Conditions } from "./conditions.ts"
import { abortedCalls, callForText, serverRequest, untilAborted } from "./results.ts"

const mebibyte = 2 ** 20

export const load = ({ host, it, over }: Conditions) => {
  it.effect("[MSG-07] concurrent calls may be answered in any order", () =>
    Effect.gen(function*() {
      const { callTool, inFlight } = yield* ClientSession.ClientSession
      const numbers = Array.from({ length: 64 }, (_, index) => index)
      const abortedBefore = yield* abortedCalls
      const started = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(
        callTool("count", { to: 1000, delayMs: 60 }, { onProgress: () => Deferred.succeed(started, undefined) })
      )
      yield* Deferred.await(started)
      const before = host.entries.length
      const reminded = yield* Effect.forEach(
        numbers,
        (number) => callForText("remind", { text: String(number), afterMs: number % 8 }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(reminded, numbers.map(String))
      assert.isUndefined(first.pollUnsafe(), "the first call has not finished")
      const ids = host.entries.slice(before).flatMap((entry) =>
        entry._tag === "Received" && typeof entry.frame === "object" && entry.frame !== null && "id" in entry.frame
          ? [Number(entry.frame.id)]
          : []
      )
      assert.strictEqual(new Set(ids).size, numbers.length)
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
      yield* untilAborted(abortedBefore + 1)
    }))

  it.effect("[MSG-07] requests of the server and of the host run concurrently", () =>
    Effect.gen(function*() {
      const both = (number: number) =>
        Effect.all([
          serverRequest("sampling/createMessage", {
            messages: [{ role: "user", content: { type: "text", text: `bead ${number}` } }],
            maxTokens: 9
          }),
          callForText("echo", { text: String(number) })
        ], { concurrency: 2 })
      const numbers = Array.from({ length: 16 }, (_, index) => index)
      const results = yield* Effect.forEach(numbers, both, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        results,
        numbers.map((number) => [
          {
            result: {
              role: "assistant",
              model: "parrot",
              stopReason: "endTurn",
              content: { type: "text", text: `bead ${number}` }
            }
          },
          String(number)
        ])
      )
    }))

  const framed = over === "stdio" ? "[STD-02] " : ""

  it.effect(`${framed}[MSG-02] sends and receives a message of 1 MiB`, () =>
    Effect.gen(function*() {
      // 16 bytes: characters of one to four bytes of UTF-8, and line separators.
      const text = "a\nä\r\n€𝄞\u2028".repeat(mebibyte / 16)
      assert.isTrue((yield* callForText("echo", { text })) === text)
    }))

  it.effect("[MSG-02] sends and receives any characters", () =>
    Effect.gen(function*() {
      const text = "𝄞 עברית \u0000 \ud800 {\"jsonrpc\":\"2.0\"}\n\n\u2029"
      assert.strictEqual(yield* callForText("echo", { text }), text)
    }))
}
