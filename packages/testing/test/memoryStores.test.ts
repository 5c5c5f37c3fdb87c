import { ChangeBus, EventStore, SessionOwners, SessionStore } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import {
  ChangeBusSuite,
  EventStoreSuite,
  SessionOwnersSuite,
  SessionStoreSuite,
  TaskStoreSuite
} from "@effect-mcp/testing/vitest"
import * as Effect from "effect/Effect"

ChangeBusSuite.suite(
  "memory",
  Effect.map(ChangeBus.makeMemory, ({ connection, interrupt }) => ({ bus: ChangeBus.make(connection), interrupt }))
)
EventStoreSuite.suite("memory", EventStore.makeMemory())
SessionOwnersSuite.suite("memory", SessionOwners.makeStoreInMemory)
SessionStoreSuite.suite("memory", SessionStore.makeMemory())
TaskStoreSuite.suite("memory", TaskStore.makeMemory())
