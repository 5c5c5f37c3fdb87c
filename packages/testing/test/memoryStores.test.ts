import { EventStore, SessionStore } from "@effect-mcp/session"
import { EventStoreLaws, SessionStoreLaws } from "@effect-mcp/testing/vitest"

EventStoreLaws.suite("memory", EventStore.makeMemory())
SessionStoreLaws.suite("memory", SessionStore.makeMemory())
