import { CloseReason, JsonRpc, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, SessionStore, Transport } from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { endOf, handshakeMessages, host, type HostOptions, settle, store, withStore } from "./support/hosts.ts"
import { call, forms, info, initialize, initialized, settled, start, text, tools } from "./support/sessions.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

/** A session that was opened, remembered, and left behind by a host that is no more. */
const leftBehind = Effect.fnUntraced(function*(
  service: SessionStore.SessionStore["Service"],
  said: typeof handshakeMessages = handshakeMessages,
  options: HostOptions = {}
) {
  const scope = yield* Scope.make()
  const shape = yield* host(handlers, options).pipe(withStore(service), Scope.provide(scope))
  const { hosted, raw } = yield* settle(shape, { id: "kept", principal: { id: "ada", claims: { tenant: 1 } } })
  yield* shape.remember(hosted, said)
  yield* Scope.close(scope, Exit.void)
  return raw
})

/** Whoever it belongs to asks for it. */
const asked: SessionHost.RestoreOptions = { kind: "memory", principal: { id: "ada" } }

/** Restores a session, and is its client. */
const back = Effect.fnUntraced(function*(
  shape: SessionHost.SessionHostShape,
  pair: Effect.Effect<MemoryTransport.Pair> = MemoryTransport.make()
) {
  const { client, server } = yield* pair
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
  return { raw, hosted: yield* shape.restore("kept", server, asked) }
})

const quiet = Effect.provide(Logger.layer([]))

describe("a session that is restored", () => {
  for (const { form, pair } of forms) {
    it.effect(`goes on as if nothing had happened, and its handshake messages are not answered again (${form})`, () =>
      Effect.gen(function*() {
        const { service } = store()
        yield* TestClock.adjust("5 seconds")
        yield* leftBehind(service)
        yield* TestClock.adjust("5 minutes")
        const shape = yield* host(handlers).pipe(withStore(service))
        assert.isUndefined(shape.find("kept"))
        const { hosted, raw } = yield* back(shape, pair)
        assert.strictEqual(shape.find("kept"), hosted)
        const state = yield* (hosted?.session.state ?? Effect.undefined)
        assert.deepStrictEqual(state, {
          _tag: "Operating",
          profile: { revision: Revision.latest, capabilities: {}, info }
        })
        assert.deepStrictEqual([hosted?.id, hosted?.openedAt, hosted?.principal], ["kept", 5000, { id: "ada" }])
        yield* raw.send(call(7, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(7, text("x")))
        yield* raw.send(initialize())
        const again = yield* raw.response
        assert.isTrue(JsonRpc.isFailure(again), "it is initialized already")
        yield* settled
        assert.deepStrictEqual(yield* raw.pending, [])
      }))
  }

  it.effect("takes what its client sends while it is restored", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* leftBehind(service)
      const shape = yield* host(handlers).pipe(withStore(service))
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* raw.send(call(1, "x"))
      yield* shape.restore("kept", pair.server, asked)
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
    }))

  it.effect("that was not ready yet is ready with its first request", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* leftBehind(service, [initialize()])
      const shape = yield* host(handlers).pipe(withStore(service))
      const { hosted, raw } = yield* back(shape)
      assert.strictEqual((yield* (hosted?.session.state ?? Effect.undefined))?._tag, "Negotiated")
      yield* raw.send(initialized)
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
    }))

  it.effect("speaks the revision that was agreed on, even where a newer one was asked for and is known by now", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* leftBehind(service, handshakeMessages, { revisions: ["2025-06-18"] })
      const shape = yield* host(handlers).pipe(withStore(service))
      yield* back(shape)
      assert.deepStrictEqual((yield* shape.sessions).map(({ revision }) => revision), ["2025-06-18"])
    }))

  it.effect("is the same for all who restore it at the same time, and when it is there already", () =>
    Effect.gen(function*() {
      const { calls, service } = store()
      yield* leftBehind(service)
      const gate = yield* Deferred.make<void>()
      const slow = { ...service, load: (id: string) => Effect.andThen(Deferred.await(gate), service.load(id)) }
      const shape = yield* host(handlers).pipe(withStore(slow))
      const first = yield* start(back(shape))
      const second = yield* start(back(shape))
      const third = yield* start(back(shape))
      // Whoever came first may leave.
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(gate, undefined)
      const { hosted } = yield* Fiber.join(second)
      assert.isDefined(hosted)
      assert.strictEqual((yield* Fiber.join(third)).hosted, hosted)
      assert.strictEqual((yield* back(shape)).hosted, hosted)
      assert.deepStrictEqual(calls.filter((one) => one === "load kept").length, 1)
      assert.strictEqual((yield* shape.health).sessions, 1)
    }))

  it.effect("has to be known, and not to have expired", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const shape = yield* host(handlers).pipe(withStore(service))
      assert.isUndefined((yield* back(shape)).hosted)
      assert.isUndefined((yield* back(yield* host(handlers))).hosted, "there is no store")
      yield* leftBehind(service)
      // What the store knows of its use may be a minute late.
      yield* TestClock.adjust("31 minutes")
      assert.isUndefined((yield* back(shape)).hosted)
      assert.strictEqual(kept.size, 0)

      yield* leftBehind(service)
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(
        (yield* back(yield* host(handlers, { sessions: { maxAge: "10 minutes" } }).pipe(withStore(service)))).hosted
      )
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("has its age, and all the time to be idle", () =>
    Effect.gen(function*() {
      const { service } = store()
      const options: HostOptions = { sessions: { maxAge: "1 hour" } }
      yield* leftBehind(service, handshakeMessages, options)
      yield* TestClock.adjust("20 minutes")
      const shape = yield* host(handlers, options).pipe(withStore(service))
      const { hosted } = yield* back(shape)
      assert.isDefined(hosted)
      if (hosted === undefined) return
      yield* TestClock.adjust("29 minutes")
      hosted.touch()
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "Expired", afterMillis: 3_600_000, of: "age" })
    }))

  it.effect("is not, by a server that would agree on another revision: its client begins anew", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      yield* leftBehind(service)
      const shape = yield* host(handlers, { revisions: ["2025-03-26"] }).pipe(withStore(service))
      assert.isUndefined((yield* back(shape)).hosted)
      assert.strictEqual(kept.size, 0)
      assert.strictEqual((yield* shape.health).sessions, 0)
      kept.set("kept", { id: "kept", principal: "ada", handshakeMessages: [initialized], openedAt: 0, usedAt: 0 })
      assert.isUndefined((yield* back(shape)).hosted)
      assert.strictEqual((yield* shape.health).sessions, 0)
    }).pipe(quiet))

  it.effect("[SHS-26] is not there for anybody else, who does not even learn that there is no room for it", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* leftBehind(service)
      const shape = yield* host(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      yield* settle(shape, { id: "another", principal: { id: "ada" } })
      const { client, server } = yield* MemoryTransport.make()
      yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
      for (const principal of [{ id: "bob" }, undefined]) {
        assert.isUndefined(yield* shape.restore("kept", server, { kind: "memory", principal }))
      }
      const full = yield* Effect.flip(shape.restore("kept", server, asked))
      assert.strictEqual(full._tag, "HostFull")
    }))

  it.effect("is let in like any other", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      yield* leftBehind(service)
      const full = yield* host(handlers, { sessions: { max: 0 } }).pipe(withStore(service))
      assert.strictEqual((yield* Effect.flip(back(full)))._tag, "HostFull")
      const drained = yield* host(handlers).pipe(withStore(service))
      yield* drained.drain
      assert.strictEqual((yield* Effect.flip(back(drained)))._tag, "HostFull")
      assert.strictEqual(kept.size, 1)
    }))

  it.effect("cannot be while its store fails, which is not the client's fault", () =>
    Effect.gen(function*() {
      const failure = new SessionStore.SessionStoreError({ cause: "no connection" })
      const broken: SessionStore.SessionStore["Service"] = {
        load: () => Effect.fail(failure),
        save: () => Effect.fail(failure),
        touch: () => Effect.fail(failure),
        remove: () => Effect.fail(failure)
      }
      const shape = yield* host(handlers).pipe(withStore(broken))
      assert.strictEqual(yield* Effect.flip(back(shape)), failure)
      // What cannot be remembered goes on all the same.
      const { hosted } = yield* settle(shape)
      yield* shape.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("2 minutes")
      assert.isUndefined(yield* endOf(hosted))
      yield* hosted.close(CloseReason.requested)
      assert.strictEqual((yield* shape.health).sessions, 0)
    }).pipe(quiet))

  it.effect("is not there for anybody else where it lives, either", () =>
    Effect.gen(function*() {
      const { service } = store()
      const shape = yield* host(handlers).pipe(withStore(service))
      const { hosted } = yield* settle(shape, { id: "kept", principal: { id: "ada" } })
      const { server } = yield* MemoryTransport.make()
      assert.isUndefined(yield* shape.restore("kept", server, { kind: "memory", principal: { id: "bob" } }))
      assert.strictEqual(yield* shape.restore("kept", server, asked), hosted)
    }))

  it.effect("law 12: a store that takes longer than a minute to hear of all is not told by twice as many", () =>
    Effect.gen(function*() {
      const { service } = store()
      let telling = 0
      let most = 0
      let answers = false
      const slow = {
        ...service,
        touch: () =>
          Effect.onExit(
            Effect.suspend(() => {
              most = Math.max(most, ++telling)
              return answers ? Effect.void : Effect.never
            }),
            () => Effect.sync(() => void telling--)
          )
      }
      const shape = yield* host(handlers).pipe(withStore(slow))
      const all = yield* Effect.forEach(Array.from({ length: 260 }), () => settle(shape))
      yield* Effect.forEach(all, ({ hosted }) => shape.remember(hosted, handshakeMessages))
      for (let step = 0; step < 15; step++) {
        for (const { hosted } of all) hosted.touch()
        yield* TestClock.adjust("10 seconds")
      }
      answers = true
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(most, 16)
    }).pipe(quiet))

  it.effect("is remembered with when it was used, at most once a minute", () =>
    Effect.gen(function*() {
      const { calls, kept, service } = store()
      const shape = yield* host(handlers).pipe(withStore(service))
      const { hosted } = yield* settle(shape, { id: "kept" })
      yield* shape.remember(hosted, handshakeMessages)
      for (let second = 0; second < 600; second++) {
        yield* TestClock.adjust("1 second")
        hosted.touch()
      }
      const touched = calls.filter((one) => one === "touch kept").length
      assert.isAtLeast(touched, 9)
      assert.isAtMost(touched, 10)
      assert.isAtLeast(kept.get("kept")?.usedAt ?? 0, 540_000)
      // What nobody uses is nothing to tell.
      yield* TestClock.adjust("2 minutes")
      const before = calls.length
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(calls.length, before)
    }))

  it.effect("that ends while it is being remembered is forgotten", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const gate = yield* Deferred.make<void>()
      const slow = {
        ...service,
        save: (session: SessionStore.StoredSession) => Effect.andThen(Deferred.await(gate), service.save(session))
      }
      const shape = yield* host(handlers).pipe(withStore(slow))
      const { hosted } = yield* settle(shape)
      const remembering = yield* start(shape.remember(hosted, handshakeMessages))
      yield* hosted.close(CloseReason.requested)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(remembering)
      assert.strictEqual(kept.size, 0)
      yield* shape.remember(hosted, handshakeMessages)
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("is not waited for for ever, and may be tried again when the store answers", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* leftBehind(service)
      let answers = false
      const shape = yield* host(handlers).pipe(
        withStore({ ...service, load: (id) => answers ? service.load(id) : Effect.never })
      )
      const both = [yield* start(Effect.flip(back(shape))), yield* start(Effect.flip(back(shape)))]
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(both.map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
      yield* TestClock.adjust("1 millis")
      for (const fiber of both) assert.strictEqual((yield* Fiber.join(fiber))._tag, "SessionStoreError")
      answers = true
      assert.isDefined((yield* back(shape)).hosted)
    }))

  it.effect("is given up when the host goes before the store has answered", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { service } = store()
      const scope = yield* Scope.make()
      const shape = yield* host(handlers).pipe(
        withStore({ ...service, load: () => Effect.never }),
        Scope.provide(scope),
        census.count
      )
      const restoring = yield* start(back(shape))
      assert.isAbove(census.living(), 0)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(restoring)))
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("is told of to the store even where nothing ever expires", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const shape = yield* host(handlers, { sessions: { idle: "Infinity" }, limits: { initializeTimeout: "Infinity" } })
        .pipe(
          withStore(service)
        )
      const { hosted } = yield* settle(shape, { id: "kept" })
      yield* shape.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("30 seconds")
      hosted.touch()
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(kept.get("kept")?.usedAt, 30_000)
    }))

  it.effect("a store that takes its time keeps nobody waiting for ever", () =>
    Effect.gen(function*() {
      const { service } = store()
      const shape = yield* host(handlers).pipe(withStore({ ...service, remove: () => Effect.never }))
      const { hosted } = yield* settle(shape)
      yield* shape.remember(hosted, handshakeMessages)
      const closing = yield* start(hosted.close(CloseReason.requested))
      const draining = yield* start(shape.drain)
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      yield* Fiber.join(draining)
    }).pipe(quiet))
})
