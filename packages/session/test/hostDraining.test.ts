import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { SessionHost, type Transport, type TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { handshakeMessages, makeHost, openOperating, openSession, store, withStore } from "./support/hosts.ts"
import { call, info, settled, start, text, tools } from "./support/sessions.ts"

const gracefulClose = { limits: { gracefulTimeout: "5 seconds" } } as const

const slowTools = (duration: "3 seconds" | "4 seconds" | "1 hour") =>
  tools({ slow: Effect.as(Effect.sleep(duration), text("done")) })

const isDraining = (error: SessionHost.HostFullError | SessionHost.OwnerUnknownError | TransportError.TransportError) =>
  error._tag === "HostFullError" && error.scope === "draining"

describe("a draining host", () => {
  it.effect("opens no sessions, and closes all sessions concurrently after their requests finish", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(slowTools("4 seconds"), gracefulClose)
      const sessions = yield* Effect.forEach([1, 2, 3], () => openOperating(host))
      yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "slow")))
      yield* settled
      const draining = yield* start(host.drain)
      const rejected = yield* Effect.flip(openSession(host))
      assert.isTrue(isDraining(rejected))
      assert.include(rejected.message, "shutting down")
      assert.deepStrictEqual(yield* host.health, {
        accepting: false,
        ready: false,
        draining: true,
        sessions: 3,
        handshaking: 0,
        limit: 10_000,
        retryAfterMillis: 5000
      })
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("4 seconds")
      yield* Fiber.join(draining)
      for (const { hosted, link, raw } of sessions) {
        assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("done")))
        assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.requested)
        assert.isFalse(link.isOpen())
      }
      assert.strictEqual((yield* host.health).sessions, 0)
      yield* host.drain
    }))

  it.effect("waits no longer than the gracefulTimeout of its sessions", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(slowTools("1 hour"), gracefulClose)
      const sessions = yield* Effect.forEach([1, 2, 3], () => openOperating(host))
      yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "slow")))
      yield* settled
      const draining = yield* start(host.drain)
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(draining)
    }))

  it.effect("waits for a session that was already closing", () =>
    Effect.gen(function*() {
      const host = yield* makeHost(slowTools("3 seconds"), gracefulClose)
      const { hosted, raw } = yield* openOperating(host)
      yield* raw.send(call(1, "slow"))
      yield* settled
      yield* start(hosted.close(CloseReason.requested))
      const draining = yield* start(host.drain)
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(draining)
    }))

  it.effect("rejects a session that is being connected, and does not wait for it", () =>
    Effect.gen(function*() {
      const host = yield* makeHost()
      const gate = yield* Deferred.make<void>()
      let open = false
      const slow: Transport.Transport["Service"] = {
        connect: Effect.andThen(
          Deferred.await(gate),
          Effect.acquireRelease(
            Effect.sync((): Transport.Connection => {
              open = true
              return { run: () => Effect.never, send: () => Effect.void }
            }),
            () =>
              Effect.sync(() => {
                open = false
              })
          )
        )
      }
      const opening = yield* start(host.open(slow, { kind: "slow" }))
      yield* host.drain
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(isDraining(yield* Effect.flip(Fiber.join(opening))))
      assert.isFalse(open)
      assert.strictEqual((yield* host.health).sessions, 0)
    }))

  it.effect("ends in time, whatever the effects do that onDrain has added, and runs none that was removed", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const messages: Array<unknown> = []
      const logger = Logger.make(({ message }) => void messages.push(message))
      const record = (event: string) => Effect.sync(() => void seen.push(event))
      const scope = yield* Scope.make()
      const host = yield* makeHost(slowTools("3 seconds"), gracefulClose).pipe(Scope.provide(scope))
      const removal = yield* Scope.make()
      yield* host.onDrain(record("removed")).pipe(Scope.provide(removal))
      yield* Scope.close(removal, Exit.void)
      yield* host.onDrain(Effect.die(new Error("broken")))
      yield* host.onDrain(Effect.uninterruptible(Effect.never))
      yield* host.onDrain(Effect.andThen(Effect.sleep("2 seconds"), record("ended")))
      const { hosted, raw } = yield* openOperating(host)
      yield* raw.send(call(1, "slow"))
      yield* settled
      const closing = yield* start(Effect.provide(Scope.close(scope, Exit.void), Logger.layer([logger])))
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(seen, ["ended"])
      yield* TestClock.adjust("3 seconds")
      assert.isDefined(closing.pollUnsafe(), "the host waits for gracefulTimeout, and no longer")
      yield* Fiber.join(closing)
      assert.deepStrictEqual<unknown>(yield* raw.response, JsonRpc.success(1, text("done")))
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.requested)
      assert.lengthOf(messages, 1)
      assert.include(String(messages[0]), "SessionHost.onDrain")
    }))

  it.effect("drains when its scope closes, and layerDrain drains it before the server stops", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const record = (event: string) =>
        Effect.sync(() => {
          seen.push(event)
        })
      const hosted = SessionHost.layer(tools({}), {
        info,
        observe: ({ _tag }) => {
          if (_tag === "Closed") seen.push("session closed")
        }
      })
      const server = Layer.effectDiscard(
        Effect.acquireRelease(record("server started"), () => record("server stopped"))
      )
      const all = Layer.provideMerge(SessionHost.layerDrain, Layer.provideMerge(server, hosted))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(all, scope)
      yield* Effect.provideContext(Effect.flatMap(SessionHost.SessionHost, openOperating), context)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(seen, ["server started", "session closed", "server stopped"])
    }))

  it.effect("is drained by its own layerDrain if a program has several hosts", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const hosts: Array<SessionHost.SessionHostShape> = []
      const part = (name: string) => {
        const hosted = SessionHost.layer(tools({}), {
          info,
          observe: ({ _tag }) => {
            if (_tag === "Closed") seen.push(`a session of ${name} closed`)
          }
        })
        const known = Layer.effectDiscard(Effect.map(SessionHost.SessionHost, (host) => hosts.push(host)))
        const server = Layer.effectDiscard(
          Effect.addFinalizer(() => Effect.sync(() => seen.push(`the server of ${name} stopped`)))
        )
        return SessionHost.layerDrain.pipe(
          Layer.provideMerge(known),
          Layer.provideMerge(server),
          Layer.provide(hosted)
        )
      }
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.merge(part("one"), part("other")), scope)
      yield* Effect.forEach(hosts, (host) => openOperating(host))
      yield* Scope.close(scope, Exit.void)
      for (const name of ["one", "other"]) {
        assert.deepStrictEqual(seen.filter((event) => event.includes(name)), [
          `a session of ${name} closed`,
          `the server of ${name} stopped`
        ])
      }
    }))

  it.effect("leaves its open sessions in the store with their last use; sessions that closed before are deleted", () =>
    Effect.gen(function*() {
      const { calls, kept, service } = store()
      const scope = yield* Scope.make()
      const host = yield* makeHost().pipe(withStore(service), Scope.provide(scope))
      const open = yield* openOperating(host, { id: "staying" })
      const closed = yield* openOperating(host, { id: "closed" })
      const ended = yield* openOperating(host, { id: "ended" })
      const expired = yield* openOperating(host, { id: "expired" })
      const unknown = yield* openOperating(host, { id: "unknown" })
      for (const { hosted } of [open, closed, ended, expired]) yield* host.remember(hosted, handshakeMessages)
      assert.deepStrictEqual(Array.from(kept.keys()), ["staying", "closed", "ended", "expired"])
      yield* TestClock.adjust("20 minutes")
      open.hosted.touch()
      unknown.hosted.touch()
      yield* closed.hosted.close(CloseReason.requested)
      ended.link.endReading()
      yield* settled
      assert.deepStrictEqual(Array.from(kept.keys()), ["staying", "expired"])
      yield* TestClock.adjust("10 minutes")
      yield* expired.hosted.session.closed
      yield* settled
      assert.deepStrictEqual(Array.from(kept.keys()), ["staying"])
      yield* TestClock.adjust("10 seconds")
      open.hosted.touch()
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* open.hosted.session.closed, CloseReason.unloaded)
      assert.deepStrictEqual(kept.get("staying")?.usedAt, 1_810_000)
      assert.isFalse(calls.includes("remove unknown"))
      assert.isFalse(calls.includes("touch unknown"))
    }))

  it.effect("leaves a session that a connection holds in the store as used now", () =>
    Effect.gen(function*() {
      const { calls, kept, service } = store()
      const host = yield* makeHost().pipe(withStore(service))
      const { hosted } = yield* openOperating(host, { id: "held" })
      yield* host.remember(hosted, handshakeMessages)
      const release = hosted.hold()
      // Between two rounds of touches.
      yield* TestClock.adjust("45 minutes")
      yield* TestClock.adjust("20 seconds")
      const before = calls.length
      const draining = yield* start(host.drain)
      release()
      yield* Fiber.join(draining)
      assert.strictEqual(kept.get("held")?.usedAt, 45 * 60_000 + 20_000)
      assert.deepStrictEqual(calls.slice(before), ["touch held"])
    }))

  it.effect("deletes a session from the store if its client leaves while the host drains", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost(slowTools("3 seconds"), gracefulClose).pipe(withStore(service))
      const { hosted, raw } = yield* openOperating(host)
      yield* host.remember(hosted, handshakeMessages)
      yield* raw.send(call(1, "slow"))
      yield* settled
      const draining = yield* start(host.drain)
      const leaving = yield* start(hosted.close({ _tag: "PeerEnded", exit: undefined }))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(draining)
      yield* Fiber.join(leaving)
      assert.strictEqual(kept.size, 0)
    }))
})
