import { EventStore, SessionStore, TaskStore } from "@effect-mcp/session"
import { EventStoreSuite, SessionStoreSuite, TaskStoreSuite } from "@effect-mcp/testing/vitest"

EventStoreSuite.suite("memory", EventStore.makeMemory())
SessionStoreSuite.suite("memory", SessionStore.makeMemory())
TaskStoreSuite.suite("memory", TaskStore.makeMemory())
