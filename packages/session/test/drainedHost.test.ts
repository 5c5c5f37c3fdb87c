import { CloseReason, JsonRpc } from "@effect-mcp/protocol"
import { SessionHost, type Transport, type TransportError } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"
import { arrive, handshakeMessages, host, settle, store, withStore } from "./support/hosts.ts"
import { call, info, settled, start, text, tools } from "./support/sessions.ts"

const patient = { limits: { gracefulCloseTimeout: "5 seconds" } } as const

const slowly = (duration: "3 seconds" | "4 seconds" | "1 hour") =>
  tools({ slow: Effect.as(Effect.sleep(duration), text("done")) })

const isDraining = (error: SessionHost.HostFull | TransportError.TransportError) =>
  error._tag === "HostFull" && error.scope === "draining"

describe("a host that drains", () => {
  it.effect("lets nobody in, and lets all finish, at the same time", () =>
    Effect.gen(function*() {
      const shape = yield* host(slowly("4 seconds"), patient)
      const sessions = yield* Effect.forEach([1, 2, 3], () => settle(shape))
      yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "slow")))
      yield* settled
      const draining = yield* start(shape.drain)
      const refused = yield* Effect.flip(arrive(shape))
      assert.isTrue(isDraining(refused))
      assert.include(refused.message, "shutting down")
      assert.deepStrictEqual(yield* shape.health, {
        accepting: false,
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
      assert.strictEqual((yield* shape.health).sessions, 0)
      yield* shape.drain
    }))

  it.effect("waits for nobody longer than the sessions' limits say", () =>
    Effect.gen(function*() {
      const shape = yield* host(slowly("1 hour"), patient)
      const sessions = yield* Effect.forEach([1, 2, 3], () => settle(shape))
      yield* Effect.forEach(sessions, ({ raw }) => raw.send(call(1, "slow")))
      yield* settled
      const draining = yield* start(shape.drain)
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(draining)
    }))

  it.effect("waits for a session that was ending already", () =>
    Effect.gen(function*() {
      const shape = yield* host(slowly("3 seconds"), patient)
      const { hosted, raw } = yield* settle(shape)
      yield* raw.send(call(1, "slow"))
      yield* settled
      yield* start(hosted.close(CloseReason.requested))
      const draining = yield* start(shape.drain)
      yield* TestClock.adjust("2 seconds")
      assert.isUndefined(draining.pollUnsafe())
      yield* TestClock.adjust("1 seconds")
      yield* Fiber.join(draining)
    }))

  it.effect("does not let in whoever was about to come, and does not wait either", () =>
    Effect.gen(function*() {
      const shape = yield* host()
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
      const arriving = yield* start(shape.open(slow, { kind: "slow" }))
      yield* shape.drain
      yield* Deferred.succeed(gate, undefined)
      assert.isTrue(isDraining(yield* Effect.flip(Fiber.join(arriving))))
      assert.isFalse(open)
      assert.strictEqual((yield* shape.health).sessions, 0)
    }))

  it.effect("drains when its scope closes, and what drains it in a Layer does so before the rest goes", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const say = (words: string) =>
        Effect.sync(() => {
          seen.push(words)
        })
      const hosted = SessionHost.layer(tools({}), {
        info,
        observe: ({ _tag }) => {
          if (_tag === "Closed") seen.push("session closed")
        }
      })
      const server = Layer.effectDiscard(Effect.acquireRelease(say("serves"), () => say("serves no more")))
      const all = Layer.provideMerge(SessionHost.layerDrain, Layer.provideMerge(server, hosted))
      const scope = yield* Scope.make()
      const context = yield* Layer.buildWithScope(all, scope)
      yield* Effect.provideContext(Effect.flatMap(SessionHost.SessionHost, settle), context)
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(seen, ["serves", "session closed", "serves no more"])
    }))

  it.effect("is drained for itself, also where one program has several", () =>
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
        const server = Layer.effectDiscard(Effect.addFinalizer(() => Effect.sync(() => seen.push(`${name} went`))))
        return SessionHost.layerDrain.pipe(
          Layer.provideMerge(known),
          Layer.provideMerge(server),
          Layer.provide(hosted)
        )
      }
      const scope = yield* Scope.make()
      yield* Layer.buildWithScope(Layer.merge(part("one"), part("other")), scope)
      yield* Effect.forEach(hosts, (host) => settle(host))
      yield* Scope.close(scope, Exit.void)
      for (const name of ["one", "other"]) {
        assert.deepStrictEqual(seen.filter((words) => words.includes(name)), [
          `a session of ${name} closed`,
          `${name} went`
        ])
      }
    }))

  it.effect("leaves its sessions in the store, with when they were used; others are forgotten when they end", () =>
    Effect.gen(function*() {
      const { calls, kept, service } = store()
      const scope = yield* Scope.make()
      const shape = yield* host().pipe(withStore(service), Scope.provide(scope))
      const staying = yield* settle(shape, { id: "staying" })
      const closed = yield* settle(shape, { id: "closed" })
      const ended = yield* settle(shape, { id: "ended" })
      const expired = yield* settle(shape, { id: "expired" })
      const unknown = yield* settle(shape, { id: "unknown" })
      for (const { hosted } of [staying, closed, ended, expired]) yield* shape.remember(hosted, handshakeMessages)
      assert.deepStrictEqual(Array.from(kept.keys()), ["staying", "closed", "ended", "expired"])
      yield* TestClock.adjust("20 minutes")
      staying.hosted.touch()
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
      staying.hosted.touch()
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* staying.hosted.session.closed, CloseReason.requested)
      assert.deepStrictEqual(kept.get("staying")?.usedAt, 1_810_000)
      assert.isFalse(calls.includes("remove unknown"))
      assert.isFalse(calls.includes("touch unknown"))
    }))

  it.effect("a client that leaves while the host drains has left for good", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const shape = yield* host(slowly("3 seconds"), patient).pipe(withStore(service))
      const { hosted, raw } = yield* settle(shape)
      yield* shape.remember(hosted, handshakeMessages)
      yield* raw.send(call(1, "slow"))
      yield* settled
      const draining = yield* start(shape.drain)
      const leaving = yield* start(hosted.close({ _tag: "PeerEnded", exit: undefined }))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(draining)
      yield* Fiber.join(leaving)
      assert.strictEqual(kept.size, 0)
    }))
})
