import { EventStore, SessionStore } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import { EventStoreSuite, SessionStoreSuite, TaskStoreSuite } from "@effect-mcp/testing/vitest"

EventStoreSuite.suite("memory", EventStore.makeMemory())
SessionStoreSuite.suite("memory", SessionStore.makeMemory())
TaskStoreSuite.suite("memory", TaskStore.makeMemory())
