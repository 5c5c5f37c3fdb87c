import { MemoryTransport, Recording, Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as Link from "./support/Link.ts"
import { client, forms, server, settled, text, tools } from "./support/sessions.ts"

const methodOf = (entry: Recording.Entry): string => {
  const frame = entry._tag === "Unreadable" ? entry.error : entry.frame
  return typeof frame === "object" && frame !== null && "method" in frame ? String(frame.method) : "a response"
}

describe("a recording", () => {
  for (const { form, pair } of forms) {
    it.effect(`has each message with its direction and time, in order (${form})`, () =>
      Effect.gen(function*() {
        const ends = yield* pair
        const { entries, transport } = yield* Recording.make(ends.client)
        const recording = yield* Effect.forkChild(Stream.runCollect(Stream.take(entries, 5)))
        yield* settled
        yield* server(ends.server, tools({ x: Effect.succeed(text("x")) }))
        const session = yield* client(transport)
        yield* TestClock.adjust(1500)
        yield* session.callTool("x")
        const recorded = yield* Fiber.join(recording)
        assert.deepStrictEqual(recorded.map((entry) => [entry._tag, entry.at, methodOf(entry)]), [
          ["Sent", 0, "initialize"],
          ["Received", 0, "a response"],
          ["Sent", 0, "notifications/initialized"],
          ["Sent", 1500, "tools/call"],
          ["Received", 1500, "a response"]
        ])
      }).pipe(Effect.scoped))
  }

  it.effect("its Layer writes lines of JSON, unreadable frames included", () =>
    Effect.gen(function*() {
      const lines: Array<string> = []
      const pair = yield* MemoryTransport.make()
      const link = Link.over(pair.client)
      yield* server(pair.server, {})
      const context = yield* Layer.build(
        Layer.provide(
          Recording.layer((entry) => lines.push(Recording.toJsonLine(entry))),
          MemoryTransport.layer(link.transport)
        )
      )
      yield* Effect.gen(function*() {
        yield* client(yield* Transport.Transport)
        link.deliverUnreadable({ _tag: "NotJson", text: "{" })
      }).pipe(Effect.provideContext(context))
      assert.deepStrictEqual(lines.map((line) => JSON.parse(line)._tag), ["Sent", "Received", "Sent", "Unreadable"])
    }).pipe(Effect.scoped))

  it("a message that JSON cannot represent becomes a line with frame null", () => {
    const line = Recording.toJsonLine({ _tag: "Received", at: 1, frame: { value: 1n } })
    assert.deepStrictEqual(JSON.parse(line), { _tag: "Received", at: 1, frame: null })
  })
})
