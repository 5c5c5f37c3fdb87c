import { CloseReason } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionHost, type Transport } from "@effect-mcp/session"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { endOf } from "./support/hosts.ts"
import {
  makeService,
  opened,
  openShared,
  pass,
  pause,
  restoreShared,
  resume,
  type Service,
  shared
} from "./support/processes.ts"
import { call, settled, start, text, tools } from "./support/sessions.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

const withoutLogger = Effect.provide(Logger.layer([]))

describe("a process whose lease is over", () => {
  it.effect("serves no shared session until the lease is renewed, and waits for it up to 5 seconds", () =>
    Effect.gen(function*() {
      const { start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const { hosted } = yield* openShared(one, "s")
      assert.isTrue(Exit.isExit(one.host.ready(hosted)))
      one.faults.isAway = true
      yield* pass(2000)
      assert.strictEqual(one.host.find("s"), hosted)
      const failing = yield* start(Effect.flip(one.host.ready(hosted)))
      yield* pass(4900)
      assert.isUndefined(failing.pollUnsafe())
      yield* pass(100)
      assert.strictEqual((yield* Fiber.join(failing)).problem, "lease")
      const waiting = yield* start(one.host.ready(hosted))
      one.faults.isAway = false
      yield* pass(600)
      assert.isTrue(yield* Fiber.join(waiting))
    }).pipe(withoutLogger))

  it.effect("closes the sessions that others have before it serves again, and deletes nothing", () =>
    Effect.gen(function*() {
      const { ownerStore, sessionStore, start: startProcess } = yield* makeService
      const interrupted = yield* Deferred.make<void>()
      const slow = tools({ slow: Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined)) })
      const one = yield* startProcess("one", slow, { limits: { gracefulTimeout: "1 hour" } })
      const two = yield* startProcess("two", handlers)
      const { hosted, raw } = yield* openShared(one, "s")
      const kept = yield* openShared(one, "kept")
      yield* raw.send(call(1, "slow"))
      yield* pass(3000)
      pause(one)
      yield* pass(3000)
      const { hosted: successor } = yield* restoreShared(two, "s")
      const waiting = yield* start(one.host.ready(hosted))
      yield* resume(one)
      yield* pass(600)
      assert.isTrue(one.owners.isAlive())
      assert.isFalse(yield* Fiber.join(waiting))
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
      yield* Deferred.await(interrupted)
      yield* settled
      assert.deepStrictEqual(yield* raw.pending, [], "no reply of the old copy")
      assert.isUndefined(one.host.find("s"))
      assert.strictEqual((yield* one.host.locate("s"))._tag, "Elsewhere")
      assert.isUndefined(yield* endOf(kept.hosted), "no process has claimed the other session")
      assert.strictEqual(one.host.find("kept"), kept.hosted)
      assert.isUndefined(yield* endOf(yield* opened(successor)))
      assert.strictEqual((yield* sessionStore.load("s"))?.epoch, 2)
      assert.deepInclude(yield* ownerStore.locate("s"), { _tag: "Owned", process: two.owners.process, epoch: 2 })
      assert.deepStrictEqual(one.calls, ["claim s 0", "claim kept 0"], "the old copy releases nothing")
    }).pipe(withoutLogger))

  it.effect("does not bring a session back that another process has ended meanwhile", () =>
    Effect.gen(function*() {
      const { sessionStore, start: startProcess } = yield* makeService
      const one = yield* startProcess("one")
      const two = yield* startProcess("two")
      const { hosted } = yield* openShared(one, "s")
      yield* pass(3000)
      pause(one)
      yield* pass(3000)
      const restored = yield* restoreShared(two, "s")
      yield* (yield* opened(restored.hosted)).close({ _tag: "PeerEnded", exit: undefined })
      hosted.touch()
      yield* resume(one)
      yield* pass(120_000)
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
      assert.isUndefined(yield* sessionStore.load("s"))
      for (const process of [one, two]) {
        assert.deepStrictEqual((yield* restoreShared(process, "s")).outcome, notFound)
        assert.deepStrictEqual(yield* process.host.locate("s"), { _tag: "Unowned" })
      }
    }).pipe(withoutLogger))
})

describe("a session that another process takes while it is being opened", () => {
  /** Begins to open a session, whose transport connects after another process has taken the session. */
  const openWhileLost = Effect.fnUntraced(function*<A, E>(
    { start: startProcess }: Service,
    begin: (host: SessionHost.SessionHostShape, transport: Transport.Transport["Service"]) => Effect.Effect<A, E>
  ) {
    const one = yield* startProcess("one")
    const two = yield* startProcess("two")
    const connecting = yield* Deferred.make<void>()
    const { server } = yield* MemoryTransport.make()
    yield* pass(3000)
    const beginning = yield* start(
      begin(one.host, { connect: Effect.andThen(Deferred.await(connecting), server.connect) })
    )
    const claimed = [...one.calls]
    const epoch = Number(claimed.at(-1)?.split(" ").at(-1)) + 1
    pause(one)
    yield* pass(3000)
    assert.strictEqual(yield* two.owners.claim("s", epoch), epoch + 1)
    yield* resume(one)
    yield* pass(600)
    assert.isTrue(one.owners.isAlive())
    yield* Deferred.succeed(connecting, undefined)
    const exit = yield* Fiber.await(beginning)
    yield* settled
    assert.isUndefined(one.host.find("s"))
    assert.deepStrictEqual(one.calls, claimed, "it is neither released nor deleted")
    return exit
  })

  it.effect("closes at once", () =>
    Effect.gen(function*() {
      const exit = yield* openWhileLost(
        yield* makeService,
        (host, transport) => host.open(transport, { ...shared, id: "s" })
      )
      const hosted = yield* opened(Exit.isSuccess(exit) ? exit.value : undefined)
      assert.deepStrictEqual(yield* hosted.session.closed, CloseReason.superseded)
    }).pipe(withoutLogger))

  it.effect("is not restored, and the store keeps what the other process writes", () =>
    Effect.gen(function*() {
      const service = yield* makeService
      const zero = yield* service.start("zero")
      yield* openShared(zero, "s")
      yield* zero.host.drain
      const exit = yield* Effect.map(
        openWhileLost(service, (host, transport) => Effect.flip(host.restore("s", transport, shared))),
        Exit.map(({ _tag }) => _tag)
      )
      assert.deepStrictEqual(exit, Exit.succeed("OwnerUnknownError"))
      assert.strictEqual((yield* service.sessionStore.load("s"))?.epoch, 1)
    }).pipe(withoutLogger))
})
