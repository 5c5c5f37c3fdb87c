import { ExactJson, JsonRpc } from "@effect-mcp/protocol"
import { SessionStore } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/testing/TestClock"

const session = (
  id: string,
  handshakeMessages: SessionStore.StoredSession["handshakeMessages"] = []
): SessionStore.StoredSession => ({
  id,
  principal: undefined,
  handshakeMessages,
  openedAt: 0,
  usedAt: 0,
  epoch: 1
})

/** Returns which of these sessions a store has. */
const known = (store: SessionStore.SessionStore["Service"], ...ids: ReadonlyArray<string>) =>
  Effect.map(
    Effect.forEach(ids, (id) => store.load(id)),
    (sessions) => sessions.flatMap((session) => session === undefined ? [] : [session.id])
  )

describe("SessionStore.makeMemory", () => {
  it.effect("law 12: a store with maxSessions drops the least recently used session", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory({ maxSessions: 3 })
      for (const id of ["a", "b", "c"]) yield* store.create(session(id))
      yield* store.touch("a", 1, 1)
      // A load is no use: another principal can cause it.
      yield* store.load("b")
      yield* store.create(session("d"))
      assert.deepStrictEqual(yield* known(store, "a", "b", "c", "d"), ["a", "c", "d"])
    }))

  it.effect("law 12: stores 10,000 sessions by default", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory()
      for (let index = 0; index <= 10_000; index++) yield* store.create(session(String(index)))
      assert.deepStrictEqual(yield* known(store, "0", "1", "10000"), ["1", "10000"])
    }))

  it.effect("law 12: limits the bytes of all handshake messages", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory({ maxBytes: 1000 })
      const handshakeMessages = [JsonRpc.notification("notifications/initialized", { _meta: { pad: "x".repeat(100) } })]
      for (const id of ["a", "b", "c"]) yield* store.create(session(id, handshakeMessages))
      assert.deepStrictEqual(yield* known(store, "a", "b", "c"), ["b", "c"])
    }))

  it.effect("keeps the digits of large integers in handshake messages", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory()
      const text = `[{"jsonrpc":"2.0","method":"notifications/initialized","params":{"id":1915883588174806058}}]`
      yield* store.create(session("a", ExactJson.parse(text) as SessionStore.StoredSession["handshakeMessages"]))
      assert.strictEqual(JSON.stringify((yield* store.load("a"))?.handshakeMessages), text)
    }))

  it.effect("deletes a session after the idle time without use, and no other", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const store = yield* census.count(SessionStore.makeMemory({ idleTimeout: "1 minute" }))
      for (const id of ["unused", "touched", "loaded", "saved"]) yield* store.create(session(id))
      yield* TestClock.adjust(59_999)
      // The store measures the idle time with its own clock, not by `usedAt`.
      yield* store.touch("touched", 1, 5)
      yield* store.load("loaded")
      yield* store.create(session("saved"))
      yield* TestClock.adjust(1)
      yield* store.touch("unused", 1, 10)
      assert.deepStrictEqual(yield* known(store, "unused", "touched", "loaded", "saved"), ["touched", "saved"])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* known(store, "unused", "touched", "loaded", "saved"), [])
      assert.strictEqual(census.started(), 0)
    }))

  it.effect("has no idle time by default", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory()
      yield* store.create(session("a"))
      yield* TestClock.adjust("1000 days")
      assert.deepStrictEqual(yield* known(store, "a"), ["a"])
    }))

  it.effect("every operation completes synchronously, without a fiber", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.makeMemory()
      const operations = [store.create(session("a")), store.touch("a", 1, 1), store.load("a"), store.remove("a", 1)]
      assert.deepStrictEqual(operations.map(Exit.isExit), [true, true, true, true])
      assert.deepStrictEqual(yield* known(store, "a"), [])
    }))
})

describe("SessionStore.layerMemory", () => {
  it.effect("provides the store with its options", () =>
    Effect.gen(function*() {
      const store = yield* SessionStore.SessionStore
      for (const id of ["a", "b"]) yield* store.create(session(id))
      assert.deepStrictEqual(yield* known(store, "a", "b"), ["b"])
    }).pipe(Effect.provide(SessionStore.layerMemory({ maxSessions: 1 }))))
})
