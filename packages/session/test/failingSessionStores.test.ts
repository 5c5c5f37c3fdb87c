import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, SessionStore } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { endOf, handshakeMessages, makeHost, openOperating, store, withStore } from "./support/hosts.ts"
import { call, recorder, settled, start, text, tools } from "./support/sessions.ts"

type Store = SessionStore.SessionStore["Service"]

const handlers = tools({ x: Effect.succeed(text("x")) })

const failure = new SessionStore.SessionStoreError({ cause: "no connection" })

/** The ways in which an operation fails, each with the milliseconds that it takes. */
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

/** Makes a store with one operation that fails while `state.isFailing` is set, and a count of its failures. */
const failing = (
  operation: keyof Store,
  way: () => Effect.Effect<never, SessionStore.SessionStoreError>
) => {
  const { calls, kept, service } = store()
  const state = { isFailing: true, failures: 0 }
  const orFail = <A, E>(
    effect: Effect.Effect<A, E>
  ): Effect.Effect<A, E | SessionStore.SessionStoreError> => {
    if (!state.isFailing) return effect
    state.failures++
    return way()
  }
  const broken: Store = {
    create: (session) => operation === "save" ? orFail(service.create(session)) : service.create(session),
    save: (session) => operation === "save" ? orFail(service.save(session)) : service.save(session),
    load: (id) => operation === "load" ? orFail(service.load(id)) : service.load(id),
    touch: (id, epoch, usedAt) =>
      operation === "touch" ? orFail(service.touch(id, epoch, usedAt)) : service.touch(id, epoch, usedAt),
    remove: (id, epoch) => operation === "remove" ? orFail(service.remove(id, epoch)) : service.remove(id, epoch)
  }
  return { calls, kept, service, broken, state }
}

/** Makes a host with this store, and records its failure events and its log. */
const hosting = Effect.fnUntraced(function*(service: Store) {
  const record = recorder()
  const logs: Array<string> = []
  const host = yield* makeHost(handlers, { observe: record.observe }).pipe(
    withStore(service),
    Effect.provide(Logger.layer([
      Logger.make(({ message }) => {
        logs.push(Array.isArray(message) ? String(message[0]) : String(message))
      })
    ]))
  )
  return { host, logs, failures: () => record.of("SessionStoreFailed").map(({ operation }) => operation) }
})

const restore = (host: SessionHost.SessionHostShape, id: string) =>
  Effect.flatMap(MemoryTransport.make(), ({ server }) => host.restore(id, server, { kind: "memory" }))

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

describe("a store that cannot save", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`affects only the restoring of the session: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, calls, state } = failing("save", run)
        const { failures, logs, host } = yield* hosting(broken)
        const { hosted, raw } = yield* openOperating(host, { id: "a" })
        const saving = yield* start(host.remember(hosted, handshakeMessages))
        if (millis > 0) {
          yield* TestClock.adjust(millis - 1)
          assert.isUndefined(saving.pollUnsafe())
          yield* TestClock.adjust(1)
        }
        yield* Fiber.join(saving)
        assert.deepStrictEqual(failures(), ["save"])
        assert.deepStrictEqual(logs, ["the session store failed to save a session"])
        yield* raw.send(call(1, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("x")))
        // The store is not called for sessions that it does not have.
        hosted.touch()
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(calls, [])
        // The failed save may take effect now or later, so the session is removed twice.
        state.isFailing = false
        yield* hosted.close(CloseReason.requested)
        assert.deepStrictEqual(calls, ["remove a"])
        yield* broken.create({
          id: "a",
          principal: undefined,
          handshakeMessages,
          openedAt: 0,
          usedAt: 120_000,
          epoch: 1
        })
        assert.deepStrictEqual(yield* restore(host, "a"), notFound)
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(calls, ["remove a", "create a", "remove a"])
      }))
  }

  it.effect("keeps the earlier save of the session", () =>
    Effect.gen(function*() {
      const { broken, calls, state } = failing("save", () => Effect.fail(failure))
      const { host } = yield* hosting(broken)
      state.isFailing = false
      const { hosted } = yield* openOperating(host, { id: "a" })
      yield* host.remember(hosted, handshakeMessages)
      state.isFailing = true
      yield* host.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("10 seconds")
      hosted.touch()
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(calls, ["create a", "touch a"])
    }))
})

describe("a store that cannot touch", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`closes no session, and learns of the use a minute later: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, calls, kept, state } = failing("touch", run)
        const { failures, logs, host } = yield* hosting(broken)
        const { hosted } = yield* openOperating(host, { id: "a" })
        yield* host.remember(hosted, handshakeMessages)
        yield* TestClock.adjust("1 second")
        hosted.touch()
        yield* TestClock.adjust(60_000 + millis)
        assert.deepStrictEqual(failures(), ["touch"])
        assert.deepStrictEqual(logs, ["the session store failed to touch a session"])
        assert.isUndefined(yield* endOf(hosted))
        state.isFailing = false
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(calls, ["create a", "touch a"])
        assert.strictEqual(kept.get("a")?.usedAt, 1000)
      }))
  }
})

describe("a store that cannot remove", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`does not restore a closed session, and is called again: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, kept, state } = failing("remove", run)
        const { failures, logs, host } = yield* hosting(broken)
        const { hosted } = yield* openOperating(host, { id: "a" })
        const another = yield* openOperating(host, { id: "b" })
        yield* host.remember(hosted, handshakeMessages)
        yield* host.remember(another.hosted, handshakeMessages)
        const closing = yield* start(hosted.close(CloseReason.requested))
        yield* TestClock.adjust(millis)
        yield* Fiber.join(closing)
        assert.deepStrictEqual(failures(), ["remove"])
        assert.deepStrictEqual(logs, ["the session store failed to remove a session"])
        assert.deepStrictEqual(Array.from(kept.keys()), ["a", "b"])
        assert.deepStrictEqual(yield* restore(host, "a"), notFound)
        yield* TestClock.adjust("29 seconds")
        assert.strictEqual(state.failures, 1)
        yield* TestClock.adjust(1000 + millis)
        assert.strictEqual(state.failures, 2)
        assert.deepStrictEqual(yield* restore(host, "a"), notFound)
        state.isFailing = false
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(Array.from(kept.keys()), ["b"])
        // There are no further retries.
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(state.failures, 2)
        assert.isUndefined(yield* endOf(another.hosted))
      }))
  }

  it.effect("is not called after its host has shut down", () =>
    Effect.gen(function*() {
      const { broken, state } = failing("remove", () => Effect.fail(failure))
      const scope = yield* Scope.make()
      const { host } = yield* Scope.provide(hosting(broken), scope)
      const { hosted } = yield* openOperating(host)
      yield* host.remember(hosted, handshakeMessages)
      yield* hosted.close(CloseReason.requested)
      yield* Scope.close(scope, Exit.void)
      yield* TestClock.adjust("5 minutes")
      assert.strictEqual(state.failures, 1)
    }))
})

describe("a store that cannot load", () => {
  for (const [way, millis, run] of ways) {
    it.effect(`fails restore, and is called again by the next restore: ${way}`, () =>
      Effect.gen(function*() {
        const { broken, service, state } = failing("load", run)
        yield* service.create({
          id: "a",
          principal: undefined,
          handshakeMessages,
          openedAt: 0,
          usedAt: 0,
          epoch: 1
        })
        const { logs, host } = yield* hosting(broken)
        const restoring = yield* start(Effect.flip(restore(host, "a")))
        yield* TestClock.adjust(millis)
        assert.strictEqual((yield* Fiber.join(restoring))._tag, "SessionStoreError")
        assert.deepStrictEqual(logs, ["the session store failed to load a session"])
        state.isFailing = false
        assert.strictEqual((yield* restore(host, "a"))._tag, "Restored")
      }))
  }

  it.effect("is logged once a second, with the number of warnings that were left out", () =>
    Effect.gen(function*() {
      const { broken } = failing("load", () => Effect.fail(failure))
      const { logs, host } = yield* hosting(broken)
      for (let count = 0; count < 100; count++) yield* Effect.flip(restore(host, `session ${count}`))
      yield* TestClock.adjust("1 second")
      yield* Effect.flip(restore(host, "a"))
      assert.deepStrictEqual(logs, [
        "the session store failed to load a session",
        "the session store failed to load a session (99 more warnings were left out)"
      ])
    }))

  it.effect("law 12: is not called while 256 uninterruptible calls run after their deadline", () =>
    Effect.gen(function*() {
      const ends: Array<() => void> = []
      const { broken, state } = failing("load", () =>
        Effect.uninterruptible(Effect.callback((resume) => {
          ends.push(() => resume(Effect.fail(failure)))
        })))
      const { host } = yield* hosting(broken)
      const restoring = yield* Effect.forEach(
        Array.from({ length: 256 }, (_, count) => count),
        (count) => start(Effect.flip(restore(host, `session ${count}`)))
      )
      yield* TestClock.adjust("5 seconds")
      yield* Fiber.awaitAll(restoring)
      assert.strictEqual(state.failures, 256)
      const rejected = yield* Effect.flip(restore(host, "a"))
      assert.include(rejected._tag === "SessionStoreError" ? String(rejected.cause) : "", "256 calls have not ended")
      assert.strictEqual(state.failures, 256)
      ends[0]?.()
      yield* settled
      state.isFailing = false
      assert.deepStrictEqual(yield* restore(host, "a"), notFound)
    }))

  it.effect("law 12: is not called while 256 uninterruptible calls of interrupted callers run", () =>
    Effect.gen(function*() {
      const { broken, state } = failing("save", () => Effect.uninterruptible(Effect.never))
      const { host } = yield* hosting(broken)
      const { hosted } = yield* openOperating(host, { id: "a" })
      for (let count = 0; count < 256; count++) {
        yield* Fiber.interrupt(yield* start(host.remember(hosted, handshakeMessages)))
      }
      assert.strictEqual(state.failures, 256)
      yield* host.remember(hosted, handshakeMessages)
      assert.strictEqual(state.failures, 256)
    }))
})
