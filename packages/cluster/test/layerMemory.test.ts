import { McpStores } from "@effect-mcp/cluster"
import { EventStore, SessionStore, UsedStates } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

describe("McpStores.layerMemory", () => {
  it.effect("provides every store, each with its own options", () =>
    Effect.gen(function*() {
      const events = yield* EventStore.EventStore
      const sessions = yield* SessionStore.SessionStore
      const tasks = yield* TaskStore.TaskStore
      const { use } = yield* UsedStates.UsedStates
      assert.isUndefined(yield* sessions.load("s"))
      assert.isUndefined(yield* events.replay("s", "e"))
      assert.isUndefined(yield* tasks.load("t"))
      assert.isTrue(yield* use("a", Number.MAX_VALUE, "ada"))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(use("b", Number.MAX_VALUE, "ada"))))
    }).pipe(Effect.provide(McpStores.layerMemory({ usedStates: { capacity: 1 } }))))
})
