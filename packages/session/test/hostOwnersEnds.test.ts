import { CloseReason } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, makeHost, openOperating, withStore } from "./support/hosts.ts"
import { makeService, opened, openShared, pass, restoreShared, shared } from "./support/processes.ts"
import { call, settled, start, text, tools } from "./support/sessions.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

const ada = { principal: { id: "ada" } }

/** Returns the session `s` as the store has it in an epoch. */
const storedSession = (epoch: number): SessionStore.StoredSession => ({
  id: "s",
  principal: undefined,
  handshakeMessages,
  openedAt: 0,
  usedAt: 0,
  epoch
})

const withoutLogger = Effect.provide(Logger.layer([]))

describe("a session that its process unloads", () => {
  it.effect("is free at once when its host drains, and has later request ids", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const two = yield* startProcess("two", handlers)
      const one = yield* startProcess("one", tools({ slow: Effect.never }), {
        limits: { gracefulTimeout: "5 seconds" }
      })
      const { hosted, raw } = yield* openShared(one, "s", ada)
      const busy = yield* openShared(one, "busy", ada)
      yield* busy.raw.send(call(1, "slow"))
      yield* start(hosted.session.ping())
      const first = yield* raw.receive
      const draining = yield* start(one.host.drain)
      yield* settled
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.unloaded)
      assert.isUndefined(draining.pollUnsafe(), "a call is in flight")
      assert.include(one.calls, "release s 1")
      const restored = yield* restoreShared(two, "s", ada)
      assert.strictEqual(restored.outcome._tag, "Restored")
      yield* start((yield* opened(restored.hosted)).session.ping())
      const second = yield* restored.raw.receive
      assert.notStrictEqual("id" in second ? second.id : undefined, "id" in first ? first.id : undefined)
      assert.strictEqual((yield* one.host.locate("s"))._tag, "Elsewhere", "the draining process forwards")
      assert.strictEqual((yield* restoreShared(two, "busy", ada)).outcome._tag, "Elsewhere")
      yield* pass(6000)
      yield* Fiber.join(draining)
      assert.deepStrictEqual(yield* busy.hosted.session.closed, CloseReason.unloaded)
      assert.strictEqual((yield* restoreShared(two, "busy", ada)).outcome._tag, "Restored")
    }))

  it.effect("is not claimed by a draining host", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      yield* openShared(one, "s")
      yield* one.host.drain
      yield* two.host.drain
      const error = yield* Effect.flip(restoreShared(two, "s"))
      assert.strictEqual(error._tag === "HostFullError" ? error.scope : error._tag, "draining")
      assert.deepStrictEqual(two.calls, [])
    }))

  it.effect("is claimed again by its own process, and by any other one", () =>
    Effect.gen(function*() {
      const { ownerStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one", {}, { sessions: { maxPerPrincipal: 1 } })
      const two = yield* startProcess("two")
      yield* openShared(one, "s", ada)
      yield* pass(4000)
      yield* openShared(one, "t", ada)
      assert.deepStrictEqual(one.calls, ["claim s 0", "release s 1", "claim t 0"])
      yield* pass(4000)
      const again = yield* restoreShared(one, "s", ada)
      assert.strictEqual(again.outcome._tag, "Restored")
      assert.strictEqual((yield* restoreShared(two, "t", ada)).outcome._tag, "Restored")
      assert.deepInclude(yield* ownerStore.locate("s"), { epoch: 2, process: one.owners.process })
      assert.deepInclude(yield* ownerStore.locate("t"), { epoch: 2, process: two.owners.process })
    }))

  it.effect("of a process that owns it, but has no copy of it, is claimed by this process", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      yield* one.owners.claim("s", 0)
      yield* sessionStore.create(storedSession(1))
      assert.deepStrictEqual(yield* one.host.locate("s"), { _tag: "Unowned" })
      assert.strictEqual((yield* restoreShared(one, "s")).outcome._tag, "Restored")
      assert.deepStrictEqual(one.calls, ["claim s 0", "claim s 1"])
    }))

  it.effect("is free if its copy could not be opened", () =>
    Effect.gen(function*() {
      const { ownerStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two", {}, { sessions: { max: 1 } })
      yield* openShared(one, "s", ada)
      yield* one.host.drain
      yield* openOperating(two.host)
      const error = yield* Effect.flip(restoreShared(two, "s", ada))
      assert.strictEqual(error._tag, "HostFullError")
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Free", epoch: 2 })
    }))
})

describe("a session that ends permanently", () => {
  it.effect("is deleted from the store before its owner is", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const gate = yield* Deferred.make<void>()
      const slow: typeof sessionStore = {
        ...sessionStore,
        remove: (id, epoch) =>
          Effect.andThen(Deferred.await(gate), Effect.suspend(() => sessionStore.remove(id, epoch)))
      }
      const one = yield* startProcess("one", {}, { stored: slow })
      const two = yield* startProcess("two")
      const { hosted } = yield* openShared(one, "s")
      const closing = yield* start(hosted.close(CloseReason.requested))
      assert.strictEqual((yield* restoreShared(two, "s")).outcome._tag, "Elsewhere")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(closing)
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
      assert.deepStrictEqual((yield* restoreShared(two, "s")).outcome, notFound)
    }))

  it.effect("keeps its owner while the store cannot delete it, so that no other process restores it", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const state = { isFailing: true }
      const failing: typeof sessionStore = {
        ...sessionStore,
        remove: (id, epoch) =>
          state.isFailing
            ? Effect.fail(new SessionStore.SessionStoreError({ cause: "away" }))
            : sessionStore.remove(id, epoch)
      }
      const one = yield* startProcess("one", {}, { stored: failing })
      const two = yield* startProcess("two")
      const { hosted } = yield* openShared(one, "s")
      yield* hosted.close(CloseReason.requested)
      yield* pass(10_000)
      assert.strictEqual((yield* restoreShared(two, "s")).outcome._tag, "Elsewhere")
      assert.deepStrictEqual((yield* restoreShared(one, "s")).outcome, notFound)
      state.isFailing = false
      yield* pass(30_000)
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
      assert.deepStrictEqual((yield* restoreShared(two, "s")).outcome, notFound)
    }).pipe(withoutLogger))
})

describe("a write of an earlier epoch", () => {
  it.effect("closes its copy at once, and deletes nothing, also without owners", () =>
    Effect.gen(function*() {
      const sessionStore = yield* SessionStore.makeMemory()
      const scope = yield* Scope.make()
      const first = yield* makeHost(handlers).pipe(withStore(sessionStore), Scope.provide(scope))
      const { hosted } = yield* openOperating(first, { id: "s" })
      yield* first.remember(hosted, handshakeMessages)
      const second = yield* makeHost(handlers).pipe(withStore(sessionStore))
      const { server } = yield* MemoryTransport.make()
      yield* second.restore("s", server, { kind: "memory" })
      yield* TestClock.adjust("1 second")
      hosted.touch()
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
      yield* settled
      assert.isUndefined(first.find("s"))
      assert.isDefined(yield* sessionStore.load("s"))
      yield* Scope.close(scope, Exit.void)
      assert.isDefined(second.find("s"))
      assert.strictEqual((yield* sessionStore.load("s"))?.epoch, 2)
    }))

  it.effect("of a save fails the opening of a new session", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { server } = yield* MemoryTransport.make()
      const hosted = yield* one.host.open(server, { ...shared, id: "s" })
      yield* sessionStore.create(storedSession(2))
      yield* Effect.flip(one.host.remember(hosted, handshakeMessages))
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
      assert.strictEqual((yield* sessionStore.load("s"))?.epoch, 2)
    }))

  it.effect("that the transport reports closes the copy", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { hosted } = yield* openShared(one, "s")
      hosted.supersede()
      hosted.supersede()
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
      yield* hosted.close(CloseReason.requested)
      assert.isDefined(yield* sessionStore.load("s"))
      assert.deepStrictEqual(one.calls, ["claim s 0"])
    }))
})
