import { EventStore, SessionStore } from "@effect-mcp/session"
import { EventStoreSuite, SessionStoreSuite } from "@effect-mcp/testing/vitest"

EventStoreSuite.suite("memory", EventStore.makeMemory())
SessionStoreSuite.suite("memory", SessionStore.makeMemory())
