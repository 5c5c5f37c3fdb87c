/** The tools, called by a client in the same process. */
import { McpServer } from "@effect-mcp/server"
import { ClientSession } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import { DatesLive } from "../src/dates.ts"

const info = { name: "test", version: "1.0.0" }
const connected = Layer.provide(ClientSession.layer({ info }), McpServer.layerMemory(DatesLive, { info }))

it.effect("days_until counts the days until a date, and rejects one that is past", () =>
  Effect.gen(function*() {
    yield* TestClock.setTime(Date.UTC(2026, 11, 30))
    const { callTool } = yield* ClientSession.ClientSession
    const later = yield* callTool("days_until", { date: "2027-01-01T00:00:00Z" })
    assert.deepStrictEqual(later.structuredContent, { days: 2 })
    const past = yield* callTool("days_until", { date: "2026-12-29T00:00:00Z" })
    assert.isTrue(past.isError)
    assert.deepStrictEqual(past.content, [{ type: "text", text: "The date was 1 days ago; give a later one" }])
  }).pipe(Effect.provide(connected)))
