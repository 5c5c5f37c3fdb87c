import { CloseReason } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { makeParts } from "../../support/hostParts.ts"

describe("the closer of a host's sessions", () => {
  it.effect("deletes a session from the store before it frees its slot and removes it from the table", () =>
    Effect.gen(function*() {
      const { calls, closer, open, table } = yield* makeParts
      const hosted = yield* open("a")
      hosted.keptInStore = true
      yield* closer.close(hosted, CloseReason.requested)
      assert.deepStrictEqual(calls, ["delete a", "free ada", "empty"])
      assert.isFalse(table.has(hosted))
    }))

  it.effect("unloads every live session, and the store keeps them", () =>
    Effect.gen(function*() {
      const { calls, closer, open, table } = yield* makeParts
      const hosted = yield* open("a")
      yield* open("b")
      closer.unloadAll()
      yield* table.awaitEmpty()
      assert.deepStrictEqual(calls, ["free ada", "free ada", "empty"])
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.requested)
    }))

  it.effect("does not free the slot of an evicted session, which the newcomer has", () =>
    Effect.gen(function*() {
      const { calls, closer, open } = yield* makeParts
      const hosted = yield* open("a")
      hosted.evicted = true
      yield* closer.evict(hosted)
      assert.deepStrictEqual(calls, ["delete a", "empty"])
    }))

  it.effect("closes an evicted session with the time for which it was unused, held or in its handshake", () =>
    Effect.gen(function*() {
      const { closer, open } = yield* makeParts
      const idle = yield* open("idle")
      const held = yield* open("held")
      const handshake = yield* open("handshake")
      yield* TestClock.adjust("2 seconds")
      for (const hosted of [idle, held]) {
        hosted.operates = true
        hosted.touch()
      }
      held.hold()
      yield* TestClock.adjust("5 seconds")
      for (const hosted of [idle, held, handshake]) yield* closer.evict(hosted)
      assert.deepStrictEqual(yield* idle.session.closed, { _tag: "Evicted", afterMillis: 5000, of: "idle" })
      assert.deepStrictEqual(yield* held.session.closed, { _tag: "Evicted", afterMillis: 7000, of: "held" })
      assert.deepStrictEqual(yield* handshake.session.closed, { _tag: "Evicted", afterMillis: 7000, of: "handshake" })
    }))

  it.effect("keeps an evicted session in the store only if it is stored and its handshake is finished", () =>
    Effect.gen(function*() {
      const { calls, closer, open } = yield* makeParts
      const cases = [["finished", true, "Yes"], ["unfinished", false, "Yes"], ["unsaved", true, "Perhaps"]] as const
      for (const [id, operates, stored] of cases) {
        const hosted = yield* open(id)
        hosted.operates = operates
        hosted.stored = stored
        yield* closer.evict(hosted)
      }
      const deleted = calls.filter((call) => call.startsWith("delete"))
      assert.deepStrictEqual(deleted, ["delete unfinished", "delete unsaved"])
    }))

  it.effect("does nothing for a session that is not in the table", () =>
    Effect.gen(function*() {
      const { calls, closer, open, table } = yield* makeParts
      const hosted = yield* open("a")
      table.remove(hosted)
      calls.length = 0
      closer.remove(hosted, Scope.makeUnsafe())
      assert.deepStrictEqual(calls, [])
      assert.isUndefined(hosted.removal)
    }))
})
