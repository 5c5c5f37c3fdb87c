import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, SessionOwners, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { handshakeMessages, makeHost, openOperating } from "./support/hosts.ts"
import { makeService, openShared, pass, pause, resume, shared } from "./support/processes.ts"
import { settled, start } from "./support/sessions.ts"

const withoutLogger = Effect.provide(Logger.layer([]))

describe("a host that opens a shared session", () => {
  it.effect("claims it before the transport connects, with its first epoch", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { server } = yield* MemoryTransport.make()
      const events: Array<unknown> = []
      const connect = Effect.suspend(() => {
        events.push(...one.calls, "connect")
        return server.connect
      })
      yield* one.host.open({ connect }, { ...shared, id: "s", onEpoch: (epoch) => void events.push(epoch) })
      assert.deepStrictEqual(events, [1, "claim s 0", "connect"])
      assert.deepStrictEqual(yield* one.host.locate("s"), { _tag: "Here" })
    }))

  it.effect("claims no session that belongs to its connection, and serves it without a lease", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { hosted, raw } = yield* openOperating(one.host)
      assert.deepStrictEqual(one.calls, [])
      one.faults.isAway = true
      yield* pass(3000)
      assert.isFalse(one.owners.isAlive())
      const ready = one.host.ready(hosted)
      assert.isTrue(Exit.isExit(ready) && Exit.isSuccess(ready) && ready.value)
      yield* raw.send(JsonRpc.request(1, "ping", undefined))
      yield* raw.response
    }).pipe(withoutLogger))

  it.effect("fails without a lease after 5 seconds, and has its slot free again", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      one.faults.isAway = true
      yield* pass(2000)
      const { server } = yield* MemoryTransport.make()
      const opening = yield* start(Effect.flip(one.host.open(server, shared)))
      yield* pass(4900)
      assert.isUndefined(opening.pollUnsafe())
      yield* pass(100)
      const error = yield* Fiber.join(opening)
      assert.strictEqual(error._tag === "OwnerUnknownError" ? error.problem : error._tag, "lease")
      assert.strictEqual((yield* one.host.health).sessions, 0)
      assert.deepStrictEqual(one.calls, [])
    }).pipe(withoutLogger))

  it.effect("is not ready while its process has no lease, and is full but ready with one", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one", {}, { sessions: { max: 1 } })
      const { hosted } = yield* openShared(one, "s")
      hosted.hold()
      const health = Effect.map(one.host.health, ({ accepting, draining, ready }) => ({ accepting, draining, ready }))
      assert.deepStrictEqual(yield* health, { accepting: false, draining: false, ready: true })
      yield* hosted.close(CloseReason.requested)
      assert.deepStrictEqual(yield* health, { accepting: true, draining: false, ready: true })
      one.faults.isAway = true
      yield* pass(2000)
      assert.deepStrictEqual(yield* health, { accepting: false, draining: false, ready: false })
      one.faults.isAway = false
      yield* pass(1500)
      assert.deepStrictEqual(yield* health, { accepting: true, draining: false, ready: true })
    }).pipe(withoutLogger))

  it.effect("fails if the store rejects the claim, and deletes the claim of a session that does not connect", () =>
    Effect.gen(function*() {
      const { ownerStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      yield* openShared(two, "s")
      const { server } = yield* MemoryTransport.make()
      const error = yield* Effect.flip(one.host.open(server, { ...shared, id: "s" }))
      assert.strictEqual(error._tag === "OwnerUnknownError" ? error.problem : error._tag, "claim")
      assert.strictEqual((yield* ownerStore.locate("s"))._tag, "Owned", "the session of another process stays")
      yield* Effect.flip(one.host.open({ connect: Effect.andThen(server.connect, server.connect) }, {
        ...shared,
        id: "t"
      }))
      assert.deepStrictEqual(yield* ownerStore.locate("t"), { _tag: "Unknown" })
    }))

  it.effect("leaves no claim if its caller is interrupted, or its answer is lost, after the store made it", () =>
    Effect.gen(function*() {
      const { ownerStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { server } = yield* MemoryTransport.make()
      pause(one)
      const interrupted = yield* start(one.host.open(server, { ...shared, id: "s" }))
      yield* settled
      const interrupting = yield* start(Fiber.interrupt(interrupted))
      yield* resume(one)
      yield* Fiber.join(interrupting)
      yield* settled
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Free", epoch: 1 })
      one.faults.loses = "claim"
      const error = yield* Effect.flip(one.host.open(server, { ...shared, id: "t" }))
      assert.strictEqual(error._tag === "OwnerUnknownError" ? error.problem : error._tag, "store")
      delete one.faults.loses
      yield* pass(2000)
      assert.deepStrictEqual(yield* ownerStore.locate("t"), { _tag: "Free", epoch: 1 })
      assert.strictEqual((yield* one.host.health).sessions, 0)
    }).pipe(withoutLogger))

  it.effect("leaves no claim if its caller is interrupted while the claim is answered", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const { owners } = yield* startProcess("one")
      const interrupting: typeof owners = {
        ...owners,
        claim: (session, epoch) =>
          Effect.uninterruptible(Effect.tap(owners.claim(session, epoch), () =>
            Effect.withFiber((fiber) => {
              fiber.interruptUnsafe()
              return Effect.void
            })))
      }
      const host = yield* makeHost().pipe(
        Effect.provideService(SessionStore.SessionStore, sessionStore),
        Effect.provideService(SessionOwners.SessionOwners, interrupting)
      )
      const { server } = yield* MemoryTransport.make()
      const opening = yield* start(host.open(server, { ...shared, id: "s" }))
      assert.isTrue(Exit.isFailure(yield* Fiber.await(opening)))
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
      assert.isFalse(owners.owns("s", 1))
    }))

  it.effect("closes a session that cannot be stored: it would be lost with its process", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const failing: typeof sessionStore = {
        ...sessionStore,
        create: () => Effect.fail(new SessionStore.SessionStoreError({ cause: "away" }))
      }
      const one = yield* startProcess("one", {}, { stored: failing })
      const { server } = yield* MemoryTransport.make()
      const hosted = yield* one.host.open(server, { ...shared, id: "s" })
      const error = yield* Effect.flip(one.host.remember(hosted, handshakeMessages))
      assert.strictEqual(error._tag, "SessionStoreError")
      assert.strictEqual((yield* hosted.session.closed)._tag, "HandshakeFailed")
      assert.deepStrictEqual(yield* ownerStore.locate("s"), { _tag: "Unknown" })
    }).pipe(withoutLogger))
})
