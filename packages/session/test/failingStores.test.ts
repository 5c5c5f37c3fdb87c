import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { endOf, handshakeMessages, host, settle, store, withStore } from "./support/hosts.ts"
import { call, recorder, settled, start, text, tools } from "./support/sessions.ts"

type Store = SessionStore.SessionStore["Service"]

const handlers = tools({ x: Effect.succeed(text("x")) })

const failure = new SessionStore.SessionStoreError({ cause: "no connection" })

/** The ways in which an operation fails, each with the time that it takes. */
const ways: ReadonlyArray<readonly [string, number, () => Effect.Effect<never, SessionStore.SessionStoreError>]> = [
  ["fails", 0, () => Effect.fail(failure)],
  ["throws", 0, () => {
    throw new Error("no connection")
  }],
  ["dies", 0, () => Effect.die(new Error("no connection"))],
  ["interrupts itself", 0, () => Effect.interrupt],
  ["hangs", 5000, () => Effect.never],
  ["hangs and cannot be interrupted", 5000, () => Effect.uninterruptible(Effect.never)]
]

/** A store whose operations fail in some way as long as they are told to, and how often that happened. */
const failing = (
  operation: keyof Store,
  way: () => Effect.Effect<never, SessionStore.SessionStoreError>
) => {
  const { calls, kept, service } = store()
  const state = { isFailing: true, failures: 0 }
  const orFail = <A>(effect: Effect.Effect<A, SessionStore.SessionStoreError>) => {
    if (!state.isFailing) return effect
    state.failures++
    return way()
  }
  const broken: Store = {
    save: (session) => operation === "save" ? orFail(service.save(session)) : service.save(session),
    load: (id) => operation === "load" ? orFail(service.load(id)) : service.load(id),
    touch: (id, usedAt) => operation === "touch" ? orFail(service.touch(id, usedAt)) : service.touch(id, usedAt),
    remove: (id) => operation === "remove" ? orFail(service.remove(id)) : service.remove(id)
  }
  return { calls, kept, service, broken, state }
}

/** A host over such a store, what happened in its sessions, and what was logged. */
const hosting = Effect.fnUntraced(function*(service: Store) {
  const record = recorder()
  const logs: Array<string> = []
  const shape = yield* host(handlers, { observe: record.observe }).pipe(
    withStore(service),
    Effect.provide(Logger.layer([
      Logger.make(({ message }) => {
        logs.push(Array.isArray(message) ? String(message[0]) : String(message))
      })
    ]))
  )
  return { shape, logs, failures: () => record.of("SessionStoreFailed").map(({ operation }) => operation) }
})

const restore = (shape: SessionHost.SessionHostShape, id: string) =>
  Effect.flatMap(MemoryTransport.make(), ({ server }) => shape.restore(id, server, { kind: "memory" }))

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

describe("a store that cannot save", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`costs a session that it can be restored, and nothing else: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, calls, state } = failing("save", run)
        const { failures, logs, shape } = yield* hosting(broken)
        const { hosted, raw } = yield* settle(shape, { id: "a" })
        const remembering = yield* start(shape.remember(hosted, handshakeMessages))
        if (millis > 0) {
          yield* TestClock.adjust(millis - 1)
          assert.isUndefined(remembering.pollUnsafe())
          yield* TestClock.adjust(1)
        }
        yield* Fiber.join(remembering)
        assert.deepStrictEqual(failures(), ["save"])
        assert.deepStrictEqual(logs, ["the session store failed to save a session"])
        yield* raw.send(call(1, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("x")))
        // The store is not told of what it does not know.
        hosted.touch()
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(calls, [])
        // It may have been saved all the same, or may be yet: it is removed now and once more later.
        state.isFailing = false
        yield* hosted.close(CloseReason.requested)
        assert.deepStrictEqual(calls, ["remove a"])
        yield* broken.save({ id: "a", principal: undefined, handshakeMessages, openedAt: 0, usedAt: 120_000 })
        assert.deepStrictEqual(yield* restore(shape, "a"), notFound)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(calls, ["remove a", "save a", "remove a"])
      }))
  }

  it.effect("again loses nothing that it saved before", () =>
    Effect.gen(function*() {
      const { broken, calls, state } = failing("save", () => Effect.fail(failure))
      const { shape } = yield* hosting(broken)
      state.isFailing = false
      const { hosted } = yield* settle(shape, { id: "a" })
      yield* shape.remember(hosted, handshakeMessages)
      state.isFailing = true
      yield* shape.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("10 seconds")
      hosted.touch()
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(calls, ["save a", "touch a"])
    }))
})

describe("a store that cannot be told of use", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`ends no session: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, calls, state } = failing("touch", run)
        const { failures, logs, shape } = yield* hosting(broken)
        const { hosted } = yield* settle(shape, { id: "a" })
        yield* shape.remember(hosted, handshakeMessages)
        yield* TestClock.adjust("1 second")
        hosted.touch()
        yield* TestClock.adjust(120_000 + millis)
        assert.deepStrictEqual(failures(), ["touch"])
        assert.deepStrictEqual(logs, ["the session store failed to touch a session"])
        assert.isUndefined(yield* endOf(hosted))
        state.isFailing = false
        hosted.touch()
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(calls, ["save a", "touch a"])
      }))
  }
})

describe("a store that cannot remove", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`does not bring an ended session back, and is asked again: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, kept, state } = failing("remove", run)
        const { failures, logs, shape } = yield* hosting(broken)
        const { hosted } = yield* settle(shape, { id: "a" })
        const another = yield* settle(shape, { id: "b" })
        yield* shape.remember(hosted, handshakeMessages)
        yield* shape.remember(another.hosted, handshakeMessages)
        const closing = yield* start(hosted.close(CloseReason.requested))
        yield* TestClock.adjust(millis)
        yield* Fiber.join(closing)
        assert.deepStrictEqual(failures(), ["remove"])
        assert.deepStrictEqual(logs, ["the session store failed to remove a session"])
        assert.deepStrictEqual(Array.from(kept.keys()), ["a", "b"])
        assert.deepStrictEqual(yield* restore(shape, "a"), notFound)
        yield* TestClock.adjust("29 seconds")
        assert.strictEqual(state.failures, 1)
        yield* TestClock.adjust(1000 + millis)
        assert.strictEqual(state.failures, 2)
        assert.deepStrictEqual(yield* restore(shape, "a"), notFound)
        state.isFailing = false
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(Array.from(kept.keys()), ["b"])
        // There is nothing left to do.
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(state.failures, 2)
        assert.isUndefined(yield* endOf(another.hosted))
      }))
  }

  it.effect("is asked no more when its host has gone", () =>
    Effect.gen(function*() {
      const { broken, state } = failing("remove", () => Effect.fail(failure))
      const scope = yield* Scope.make()
      const { shape } = yield* Scope.provide(hosting(broken), scope)
      const { hosted } = yield* settle(shape)
      yield* shape.remember(hosted, handshakeMessages)
      yield* hosted.close(CloseReason.requested)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(state.failures, 1)
    }))
})

describe("a store that cannot load", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`fails those that ask for a session, and may be asked again: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, service, state } = failing("load", run)
        yield* service.save({ id: "a", principal: undefined, handshakeMessages, openedAt: 0, usedAt: 0 })
        const { logs, shape } = yield* hosting(broken)
        const restoring = yield* start(Effect.flip(restore(shape, "a")))
        yield* TestClock.adjust(millis)
        assert.strictEqual((yield* Fiber.join(restoring))._tag, "SessionStoreError")
        assert.deepStrictEqual(logs, ["the session store failed to load a session"])
        state.isFailing = false
        assert.strictEqual((yield* restore(shape, "a"))._tag, "Restored")
      }))
  }

  it.effect("is warned of once a second, with the number of warnings that were left out", () =>
    Effect.gen(function*() {
      const { broken } = failing("load", () => Effect.fail(failure))
      const { logs, shape } = yield* hosting(broken)
      for (let count = 0; count < 100; count++) yield* Effect.flip(restore(shape, `session ${count}`))
      yield* TestClock.adjust("1 second")
      yield* Effect.flip(restore(shape, "a"))
      assert.deepStrictEqual(logs, [
        "the session store failed to load a session",
        "the session store failed to load a session (99 more warnings were left out)"
      ])
    }))

  it.effect("law 12: is not called any more while 256 calls that cannot be interrupted have not ended", () =>
    Effect.gen(function*() {
      const ends: Array<() => void> = []
      const { broken, state } = failing("load", () =>
        Effect.uninterruptible(Effect.callback((resume) => {
          ends.push(() => resume(Effect.fail(failure)))
        })))
      const { shape } = yield* hosting(broken)
      const asking = yield* Effect.forEach(
        Array.from({ length: 256 }, (_, count) => count),
        (count) => start(Effect.flip(restore(shape, `session ${count}`)))
      )
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.awaitAll(asking)
      assert.strictEqual(state.failures, 256)
      const refused = yield* Effect.flip(restore(shape, "a"))
      assert.include(refused._tag === "SessionStoreError" ? String(refused.cause) : "", "256 calls have not ended")
      assert.strictEqual(state.failures, 256)
      ends[0]?.()
      yield* settled
      state.isFailing = false
      assert.deepStrictEqual(yield* restore(shape, "a"), notFound)
    }))

  it.effect("law 12: is not called any more while 256 calls have not ended whose callers were interrupted", () =>
    Effect.gen(function*() {
      const { broken, state } = failing("save", () => Effect.uninterruptible(Effect.never))
      const { shape } = yield* hosting(broken)
      const { hosted } = yield* settle(shape, { id: "a" })
      for (let count = 0; count < 256; count++) {
        yield* Fiber.interrupt(yield* start(shape.remember(hosted, handshakeMessages)))
      }
      assert.strictEqual(state.failures, 256)
      yield* shape.remember(hosted, handshakeMessages)
      assert.strictEqual(state.failures, 256)
    }))
})
