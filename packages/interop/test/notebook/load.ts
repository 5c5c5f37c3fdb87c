import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Child from "../fixtures/child.ts"
import { call, OfficialClient } from "../fixtures/officialClient.ts"
import type { Conditions } from "../fixtures/officialClients.ts"
import { list, receivedSince } from "./results.ts"

const mebibyte = 2 ** 20

export const load = ({ it, over }: Conditions) => {
  it.effect("[MSG-07] serves concurrent calls, and answers each when it completes", () =>
    Effect.gen(function*() {
      const { received, stderr } = yield* OfficialClient
      const before = received.length
      const first = yield* Effect.forkChild(call("remind", { text: "the last", afterMs: 60_000 }))
      yield* Child.until(() => stderr().includes("reminder of the last: due"))
      const numbers = Array.from({ length: 64 }, (_, index) => index)
      const reminded = yield* Effect.forEach(
        numbers,
        (number) => call("remind", { text: String(number), afterMs: number % 8 }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(reminded, numbers.map((number) => ({ text: String(number), isError: false })))
      const ids = receivedSince(received, before).map(({ id }) => Number(id))
      assert.strictEqual(ids.length, numbers.length)
      assert.strictEqual(new Set(ids).size, numbers.length)
      assert.isUndefined(first.pollUnsafe(), "the first call has not finished")
      yield* Fiber.interrupt(first)
      yield* Child.until(() => stderr().includes("reminder of the last: cancelled"))
    }))

  const framed = over === "stdio" ? "[STD-02] " : ""

  it.effect(`${framed}[MSG-02] receives and sends a message of 1 MiB`, () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      // 16 bytes: characters of one to four bytes of UTF-8, and line separators.
      const text = "a\nä\r\n€𝄞\u2028".repeat(mebibyte / 16)
      yield* call("write", { name: "novel", text })
      const novel = yield* request.readResource({ uri: "note:///novel" })
      const [contents] = list(novel["contents"])
      assert.isTrue(contents?.["text"] === text)
    }))

  it.effect("[MSG-02] any characters in names, texts and URIs", () =>
    Effect.gen(function*() {
      const { request } = yield* OfficialClient
      const name = "メモ 🗒️ / ä?#%"
      const text = "𝄞 עברית \u0000 \ud800 {\"jsonrpc\":\"2.0\"}\n\n\u2029"
      assert.deepInclude(yield* call("write", { name, text }), { isError: false })
      const read = yield* request.readResource({ uri: `note:///${encodeURIComponent(name)}` })
      assert.strictEqual(list(read["contents"])[0]?.["text"], text)
      assert.deepInclude(yield* call("show", { name }), { isError: false })
    }))
}
