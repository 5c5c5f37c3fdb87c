import { CloseReason } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { makeParts } from "../../support/hostParts.ts"
import { settled, start } from "../../support/sessions.ts"

describe("the table of a host's sessions", () => {
  it.effect("reserves an id for one session at a time", () =>
    Effect.gen(function*() {
      const { open, table } = yield* makeParts
      assert.isTrue(table.reserve("a"))
      assert.isFalse(table.reserve("a"))
      assert.isTrue(table.reserve("b"))
      table.release("a")
      assert.isTrue(table.reserve("a"))
      table.release("a")
      yield* open("a")
      assert.isFalse(table.reserve("a"))
    }))

  it.effect("finds and lists a session until it begins to close, and has it until it is removed", () =>
    Effect.gen(function*() {
      const { open, table } = yield* makeParts
      const hosted = yield* open("a")
      const other = yield* open("b")
      assert.strictEqual(table.find("a"), hosted)
      assert.isUndefined(table.find("c"))
      assert.deepStrictEqual(table.list().map(({ id }) => id), ["a", "b"])
      hosted.beginToEnd()
      assert.isUndefined(table.find("a"))
      assert.deepStrictEqual(table.live(), [other])
      assert.deepStrictEqual(table.list().map(({ id }) => id), ["b"])
      assert.isTrue(table.has(hosted))
      table.remove(hosted)
      assert.isFalse(table.has(hosted))
      assert.strictEqual(table.all.size, 1)
    }))

  it.effect("distinguishes a later session from an earlier one with the same id", () =>
    Effect.gen(function*() {
      const { open, table } = yield* makeParts
      const first = yield* open("a")
      table.remove(first)
      const second = yield* open("a")
      assert.isFalse(table.has(first))
      assert.isTrue(table.has(second))
    }))

  it.effect("lists the identity, the use and the holds of a session", () =>
    Effect.gen(function*() {
      const { open, table } = yield* makeParts
      const hosted = yield* open("a")
      hosted.hold()
      assert.deepStrictEqual(table.list(), [{
        id: "a",
        kind: "memory",
        principal: "ada",
        client: undefined,
        revision: undefined,
        operating: false,
        openedAt: 0,
        usedAt: 0,
        inFlight: 0,
        held: 1
      }])
    }))

  it.effect("notifies its owner and every waiter when the last session is removed", () =>
    Effect.gen(function*() {
      const { calls, open, table } = yield* makeParts
      yield* table.awaitEmpty()
      const hosted = yield* open("a")
      const other = yield* open("b")
      const waiters = [yield* start(table.awaitEmpty()), yield* start(table.awaitEmpty())]
      table.remove(hosted)
      yield* settled
      assert.deepStrictEqual(calls, [])
      assert.deepStrictEqual(waiters.map((waiter) => waiter.pollUnsafe()), [undefined, undefined])
      table.remove(other)
      assert.deepStrictEqual(calls, ["empty"])
      for (const waiter of waiters) yield* Fiber.join(waiter)
    }))

  it.effect("is empty after the last session has closed", () =>
    Effect.gen(function*() {
      const { open, table } = yield* makeParts
      const hosted = yield* open("a")
      yield* hosted.close(CloseReason.requested)
      yield* table.awaitEmpty()
      assert.strictEqual(table.all.size, 0)
    }))
})
