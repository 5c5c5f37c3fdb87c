import { ClientSession } from "@effect-mcp/session"
import { assert } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { Conditions } from "./conditions.ts"
import { aborted, asked, said, untilAborted } from "./results.ts"

const mebibyte = 2 ** 20

export const load = ({ host, it, over }: Conditions) => {
  it.effect("[MSG-03] [MSG-07] many calls at a time, answered in any order", () =>
    Effect.gen(function*() {
      const { callTool, inFlight } = yield* ClientSession.ClientSession
      const numbers = Array.from({ length: 64 }, (_, index) => index)
      const givenUp = yield* aborted
      const hasBegun = yield* Deferred.make<void>()
      const first = yield* Effect.forkChild(
        callTool("count", { to: 1000, delayMs: 60 }, { onProgress: () => Deferred.succeed(hasBegun, undefined) })
      )
      yield* Deferred.await(hasBegun)
      const before = host.entries.length
      const reminded = yield* Effect.forEach(
        numbers,
        (number) => said("remind", { text: String(number), afterMs: number % 8 }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(reminded, numbers.map(String))
      assert.isUndefined(first.pollUnsafe(), "what was asked first is not done yet")
      const ids = host.entries.slice(before).flatMap((entry) =>
        entry._tag === "Received" && typeof entry.frame === "object" && entry.frame !== null && "id" in entry.frame
          ? [Number(entry.frame.id)]
          : []
      )
      assert.strictEqual(new Set(ids).size, numbers.length)
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(yield* inFlight, { sent: 0, served: 0 })
      yield* untilAborted(givenUp + 1)
    }))

  it.effect("[MSG-07] questions of the server cross those of the host", () =>
    Effect.gen(function*() {
      const both = (number: number) =>
        Effect.all([
          asked("sampling/createMessage", {
            messages: [{ role: "user", content: { type: "text", text: `bead ${number}` } }],
            maxTokens: 9
          }),
          said("echo", { text: String(number) })
        ], { concurrency: 2 })
      const numbers = Array.from({ length: 16 }, (_, index) => index)
      const answers = yield* Effect.forEach(numbers, both, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        answers,
        numbers.map((number) => [
          {
            answer: {
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

  it.effect(`${framed}[MSG-02] gives and takes a message of a mebibyte`, () =>
    Effect.gen(function*() {
      // Sixteen bytes: letters of one to four of them, and what a line must not hold.
      const text = "a\nä\r\n€𝄞\u2028".repeat(mebibyte / 16)
      assert.isTrue((yield* said("echo", { text })) === text)
    }))

  it.effect("[MSG-02] any letters", () =>
    Effect.gen(function*() {
      const text = "𝄞 עברית \u0000 \ud800 {\"jsonrpc\":\"2.0\"}\n\n\u2029"
      assert.strictEqual(yield* said("echo", { text }), text)
    }))
}
