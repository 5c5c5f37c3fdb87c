import { CloseReason, JsonRpc, type RequestId, Revision } from "@effect-mcp/protocol"
import { MemoryTransport, type SessionEvent, type SessionHost, SessionStore, Transport } from "@effect-mcp/session"
import { FiberCount, RawPeer } from "@effect-mcp/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { identity } from "effect/Function"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/testing/TestClock"
import * as SessionId from "../src/internal/engine/SessionId.ts"
import {
  endOf,
  handshakeMessages,
  type HostOptions,
  makeHost,
  openOperating,
  store,
  withStore
} from "./support/hosts.ts"
import { call, forms, info, initialize, initialized, settled, start, text, tools } from "./support/sessions.ts"

const handlers = tools({ x: Effect.succeed(text("x")) })

/** Opens a session, saves it to the store, and shuts its host down. Returns the client of the session. */
const storeSession = Effect.fnUntraced(function*(
  service: SessionStore.SessionStore["Service"],
  messages: typeof handshakeMessages = handshakeMessages,
  options: HostOptions = {}
) {
  const scope = yield* Scope.make()
  const host = yield* makeHost(handlers, options).pipe(withStore(service), Scope.provide(scope))
  const { hosted, raw } = yield* openOperating(host, { id: "kept", principal: { id: "ada", claims: { tenant: 1 } } })
  yield* host.remember(hosted, messages)
  yield* Scope.close(scope, Exit.void)
  return raw
})

/** The options for the principal of the stored session. */
const asOwner: SessionHost.RestoreOptions = { kind: "memory", principal: { id: "ada" } }

const notFound: SessionHost.RestoreOutcome = { _tag: "NotFound" }

/** Restores the session for its principal. Returns the outcome, and the client of the transport. */
const restore = Effect.fnUntraced(function*(
  host: SessionHost.SessionHostShape,
  pair: Effect.Effect<MemoryTransport.Pair> = MemoryTransport.make()
) {
  const { client, server } = yield* pair
  const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
  const outcome = yield* host.restore("kept", server, asOwner)
  return { raw, server, outcome, hosted: "hosted" in outcome ? outcome.hosted : undefined }
})

/** Receives the next message, which is a request of the server. */
const requestTo = (raw: RawPeer.RawPeer): Effect.Effect<JsonRpc.Request> =>
  Effect.flatMap(
    raw.receive,
    (message) => JsonRpc.isRequest(message) ? Effect.succeed(message) : Effect.die(new Error("no request"))
  )

type Unmatched = Extract<SessionEvent.SessionEvent, { readonly _tag: "UnmatchedResponse" }>

const isUnmatched = (event: SessionEvent.SessionEvent): event is Unmatched => event._tag === "UnmatchedResponse"

const withoutLogger = Effect.provide(Logger.layer([]))

describe("a restored session", () => {
  for (const { form, pair } of forms) {
    it.effect(`continues in its old state, and its handshake messages are not answered again (${form})`, () =>
      Effect.gen(function*() {
        const { service } = store()
        yield* TestClock.adjust("5 seconds")
        yield* storeSession(service)
        yield* TestClock.adjust("5 minutes")
        const host = yield* makeHost(handlers).pipe(withStore(service))
        assert.isUndefined(host.find("kept"))
        const { hosted, outcome, raw, server } = yield* restore(host, pair)
        assert.strictEqual(outcome._tag, "Restored")
        assert.strictEqual(hosted?.transport, server)
        assert.strictEqual(host.find("kept"), hosted)
        const state = yield* (hosted?.session.state ?? Effect.undefined)
        assert.deepStrictEqual(state, {
          _tag: "Operating",
          profile: { revision: Revision.latestLegacy, capabilities: {}, info }
        })
        assert.deepStrictEqual([hosted?.id, hosted?.openedAt, hosted?.principal], ["kept", 5000, { id: "ada" }])
        yield* raw.send(call(7, "x"))
        assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(7, text("x")))
        yield* raw.send(initialize())
        const again = yield* raw.response
        assert.isTrue(JsonRpc.isFailure(again), "a second initialize is rejected")
        yield* settled
        assert.deepStrictEqual(yield* raw.pending, [])
      }))
  }

  it.effect("receives the messages that its client sends while it is being restored", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service)
      const host = yield* makeHost(handlers).pipe(withStore(service))
      const pair = yield* MemoryTransport.make()
      const raw = yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, pair.client))
      yield* raw.send(call(1, "x"))
      yield* host.restore("kept", pair.server, asOwner)
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
    }))

  it.effect("[MSG-05] law 3: has other request ids than in its earlier lives, and takes no answers to those", () =>
    Effect.gen(function*() {
      const { service } = store()
      const first = yield* makeHost(handlers).pipe(withStore(service))
      const { hosted, raw } = yield* openOperating(first, { id: "kept", principal: { id: "ada" } })
      yield* first.remember(hosted, handshakeMessages)
      yield* start(hosted.session.ping())
      const { id: oldId } = yield* requestTo(raw)
      assert.strictEqual(oldId, 1)
      // The first host was killed, or it serves the session still: the store cannot tell.
      const lives: Array<RequestId.RequestId> = [oldId]
      for (let life = 0; life < 20; life++) {
        const host = yield* makeHost(handlers).pipe(withStore(service))
        const restored = yield* restore(host)
        const session = restored.hosted?.session ?? (yield* Effect.die("not restored"))
        const pinging = yield* start(session.ping({ onProgress: () => Effect.void }))
        const { id, params } = yield* requestTo(restored.raw)
        assert.deepStrictEqual(params?.["_meta"], { progressToken: id })
        const unmatched = yield* start(Stream.runHead(Stream.filter(session.events, isUnmatched)))
        for (const old of lives) yield* restored.raw.send(JsonRpc.success(old, {}))
        yield* settled
        assert.isUndefined(pinging.pollUnsafe(), "no answer to a request of an earlier life completes the new one")
        assert.deepStrictEqual<unknown>(Option.getOrUndefined(yield* Fiber.join(unmatched)), {
          _tag: "UnmatchedResponse",
          kind: "Unknown",
          response: JsonRpc.success(oldId, {})
        })
        yield* restored.raw.send(JsonRpc.success(id, {}))
        yield* Fiber.join(pinging)
        const again = yield* start(session.ping())
        const next = yield* requestTo(restored.raw)
        assert.notStrictEqual(next.id, id)
        yield* restored.raw.send(JsonRpc.success(next.id, {}))
        yield* Fiber.join(again)
        lives.push(id, next.id)
      }
      assert.strictEqual(new Set(lives).size, 41)
    }).pipe(withoutLogger))

  it.effect("reports a late and a duplicate response to its requests as such", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service)
      const host = yield* makeHost(handlers).pipe(withStore(service))
      const { hosted, raw } = yield* restore(host)
      const session = hosted?.session ?? (yield* Effect.die("not restored"))
      const reported = yield* start(Stream.runCollect(Stream.take(Stream.filter(session.events, isUnmatched), 3)))
      const late = yield* start(Effect.flip(session.ping({ timeout: 10 })))
      const first = yield* requestTo(raw)
      yield* TestClock.adjust(10)
      yield* Fiber.join(late)
      const cancellation = yield* raw.receive
      assert.deepStrictEqual("params" in cancellation ? cancellation.params : undefined, {
        requestId: first.id,
        reason: "no response within 10 ms"
      })
      yield* raw.send(JsonRpc.success(first.id, {}))
      const answered = yield* start(session.ping())
      const second = yield* requestTo(raw)
      yield* raw.send(JsonRpc.success(second.id, {}))
      yield* Fiber.join(answered)
      yield* raw.send(JsonRpc.success(second.id, {}))
      yield* raw.send(JsonRpc.success(`${second.id}0`, {}))
      const kinds = (yield* Fiber.join(reported)).map((event) => isUnmatched(event) ? event.kind : undefined)
      assert.deepStrictEqual(kinds, ["Late", "Duplicate", "Unknown"])
    }).pipe(withoutLogger))

  it.effect("law 3: has other request ids in each life, whatever the seed of Effect's Random", () => {
    const idOf = (prefix?: () => string) =>
      Effect.gen(function*() {
        const { service } = store()
        yield* storeSession(service)
        const host = yield* makeHost(handlers).pipe(withStore(service))
        const { hosted, raw } = yield* restore(host)
        yield* start(hosted?.session.ping() ?? Effect.void)
        return (yield* requestTo(raw)).id
      }).pipe(
        Effect.scoped,
        Random.withSeed("seed"),
        prefix === undefined ? identity : Effect.provideService(SessionId.RequestIdPrefix, prefix)
      )
    return Effect.gen(function*() {
      const ids = [yield* idOf(), yield* idOf(), yield* idOf()]
      for (const id of ids) assert.match(String(id), /^[\da-z]{14}-1$/)
      assert.strictEqual(new Set(ids).size, 3)
      assert.strictEqual(yield* idOf(() => "restored-"), "restored-1")
    })
  })

  it.effect("can finish a handshake that was not finished before", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service, [initialize()])
      const host = yield* makeHost(handlers).pipe(withStore(service))
      const { hosted, raw } = yield* restore(host)
      assert.strictEqual((yield* (hosted?.session.state ?? Effect.undefined))?._tag, "Negotiated")
      yield* raw.send(initialized)
      yield* raw.send(call(1, "x"))
      assert.deepStrictEqual<unknown>(yield* raw.receive, JsonRpc.success(1, text("x")))
    }))

  it.effect("keeps the negotiated revision, even if the client requested a newer one that this host supports", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service, handshakeMessages, { revisions: ["2025-06-18"] })
      const host = yield* makeHost(handlers).pipe(withStore(service))
      yield* restore(host)
      assert.deepStrictEqual((yield* host.sessions).map(({ revision }) => revision), ["2025-06-18"])
    }))

  it.effect("is the same for all concurrent callers, and for later ones", () =>
    Effect.gen(function*() {
      const { calls, service } = store()
      yield* storeSession(service)
      const gate = yield* Deferred.make<void>()
      const slow = { ...service, load: (id: string) => Effect.andThen(Deferred.await(gate), service.load(id)) }
      const host = yield* makeHost(handlers).pipe(withStore(slow))
      const first = yield* start(restore(host))
      const second = yield* start(restore(host))
      const third = yield* start(restore(host))
      // The session is opened in a fiber of the host, so the first caller can be interrupted.
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(gate, undefined)
      const { hosted, outcome, server } = yield* Fiber.join(second)
      assert.strictEqual(outcome._tag, "AlreadyOpen")
      assert.notStrictEqual(hosted?.transport, server)
      assert.deepStrictEqual((yield* Fiber.join(third)).outcome, outcome)
      assert.deepStrictEqual((yield* restore(host)).outcome, outcome)
      assert.deepStrictEqual(calls.filter((one) => one === "load kept").length, 1)
      assert.strictEqual((yield* host.health).sessions, 1)
    }))

  it.effect("is not found if the store does not have it, or if it has expired", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost(handlers).pipe(withStore(service))
      assert.deepStrictEqual((yield* restore(host)).outcome, notFound)
      assert.deepStrictEqual((yield* restore(yield* makeHost(handlers))).outcome, notFound, "a host without a store")
      yield* storeSession(service)
      // The host may send the last use to the store a minute late.
      yield* TestClock.adjust("31 minutes")
      assert.deepStrictEqual((yield* restore(host)).outcome, notFound)
      assert.strictEqual(kept.size, 0)

      yield* storeSession(service)
      yield* TestClock.adjust("10 minutes")
      const strict = yield* makeHost(handlers, { sessions: { maxAge: "10 minutes" } }).pipe(withStore(service))
      assert.deepStrictEqual((yield* restore(strict)).outcome, notFound)
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("keeps its age, and gets its full idle time", () =>
    Effect.gen(function*() {
      const { service } = store()
      const options: HostOptions = { sessions: { maxAge: "1 hour" } }
      yield* storeSession(service, handshakeMessages, options)
      yield* TestClock.adjust("20 minutes")
      const host = yield* makeHost(handlers, options).pipe(withStore(service))
      const { hosted } = yield* restore(host)
      assert.isDefined(hosted)
      if (hosted === undefined) return
      yield* TestClock.adjust("29 minutes")
      hosted.touch()
      yield* TestClock.adjust("10 minutes")
      assert.isUndefined(yield* endOf(hosted))
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* hosted.session.closed, { _tag: "Expired", afterMillis: 3_600_000, of: "age" })
    }))

  it.effect("is not found by a server that negotiates another revision", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      yield* storeSession(service)
      const host = yield* makeHost(handlers, { revisions: ["2025-03-26"] }).pipe(withStore(service))
      assert.deepStrictEqual((yield* restore(host)).outcome, notFound)
      assert.strictEqual(kept.size, 0)
      assert.strictEqual((yield* host.health).sessions, 0)
      kept.set("kept", {
        id: "kept",
        principal: "ada",
        handshakeMessages: [initialized],
        openedAt: 0,
        usedAt: 0,
        epoch: 1
      })
      assert.deepStrictEqual((yield* restore(host)).outcome, notFound)
      assert.strictEqual((yield* host.health).sessions, 0)
    }).pipe(withoutLogger))

  it.effect("[SHS-26] is not found by another principal, not even if the host has no slot for it", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service)
      const host = yield* makeHost(handlers, { sessions: { maxPerPrincipal: 1 } }).pipe(withStore(service))
      yield* openOperating(host, { id: "another", principal: { id: "ada" } })
      const { client, server } = yield* MemoryTransport.make()
      yield* RawPeer.make.pipe(Effect.provideService(Transport.Transport, client))
      for (const principal of [{ id: "bob" }, undefined]) {
        assert.deepStrictEqual(yield* host.restore("kept", server, { kind: "memory", principal }), notFound)
      }
      const full = yield* Effect.flip(host.restore("kept", server, asOwner))
      assert.strictEqual(full._tag, "HostFullError")
    }))

  it.effect("needs a slot, as a new session does", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      yield* storeSession(service)
      const full = yield* makeHost(handlers, { sessions: { max: 0 } }).pipe(withStore(service))
      assert.strictEqual((yield* Effect.flip(restore(full)))._tag, "HostFullError")
      const drained = yield* makeHost(handlers).pipe(withStore(service))
      yield* drained.drain
      assert.strictEqual((yield* Effect.flip(restore(drained)))._tag, "HostFullError")
      assert.strictEqual(kept.size, 1)
    }))

  it.effect("is not available while the store fails, and other sessions are not affected", () =>
    Effect.gen(function*() {
      const failure = new SessionStore.SessionStoreError({ cause: "no connection" })
      const broken: SessionStore.SessionStore["Service"] = {
        load: () => Effect.fail(failure),
        create: () => Effect.fail(failure),
        save: () => Effect.fail(failure),
        touch: () => Effect.fail(failure),
        remove: () => Effect.fail(failure)
      }
      const host = yield* makeHost(handlers).pipe(withStore(broken))
      assert.strictEqual(yield* Effect.flip(restore(host)), failure)
      // A session that cannot be saved continues.
      const { hosted } = yield* openOperating(host)
      yield* host.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("2 minutes")
      assert.isUndefined(yield* endOf(hosted))
      yield* hosted.close(CloseReason.requested)
      assert.strictEqual((yield* host.health).sessions, 0)
    }).pipe(withoutLogger))

  it.effect("is not found by another principal while it is open", () =>
    Effect.gen(function*() {
      const { service } = store()
      const host = yield* makeHost(handlers).pipe(withStore(service))
      const { hosted } = yield* openOperating(host, { id: "kept", principal: { id: "ada" } })
      const { server } = yield* MemoryTransport.make()
      assert.deepStrictEqual(
        yield* host.restore("kept", server, { kind: "memory", principal: { id: "bob" } }),
        notFound
      )
      assert.deepStrictEqual(yield* host.restore("kept", server, asOwner), { _tag: "AlreadyOpen", hosted })
    }))

  it.effect("law 12: a slow store gets at most 16 concurrent touches, even if they take longer than a minute", () =>
    Effect.gen(function*() {
      const { service } = store()
      let running = 0
      let most = 0
      let answers = false
      const slow = {
        ...service,
        touch: () =>
          Effect.onExit(
            Effect.suspend(() => {
              most = Math.max(most, ++running)
              return answers ? Effect.void : Effect.never
            }),
            () => Effect.sync(() => void running--)
          )
      }
      const host = yield* makeHost(handlers).pipe(withStore(slow))
      const all = yield* Effect.forEach(Array.from({ length: 260 }), () => openOperating(host))
      yield* Effect.forEach(all, ({ hosted }) => host.remember(hosted, handshakeMessages))
      for (let step = 0; step < 15; step++) {
        for (const { hosted } of all) hosted.touch()
        yield* TestClock.adjust("10 seconds")
      }
      answers = true
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(most, 16)
    }).pipe(withoutLogger))

  it.effect("is stored with its last use, which the host sends to the store at most once a minute", () =>
    Effect.gen(function*() {
      const { calls, kept, service } = store()
      const host = yield* makeHost(handlers).pipe(withStore(service))
      const { hosted } = yield* openOperating(host, { id: "kept" })
      yield* host.remember(hosted, handshakeMessages)
      for (let second = 0; second < 600; second++) {
        yield* TestClock.adjust("1 second")
        hosted.touch()
      }
      const touched = calls.filter((one) => one === "touch kept").length
      assert.isAtLeast(touched, 9)
      assert.isAtMost(touched, 10)
      assert.isAtLeast(kept.get("kept")?.usedAt ?? 0, 540_000)
      // An unused session needs no touch.
      yield* TestClock.adjust("2 minutes")
      const before = calls.length
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(calls.length, before)
    }))

  for (const use of ["hold", "request"] as const) {
    it.effect(`is used now while it is in use by a ${use}: the store learns so once a minute`, () =>
      Effect.gen(function*() {
        const { calls, kept, service } = store()
        const host = yield* makeHost(tools({ slow: Effect.never })).pipe(withStore(service))
        const { hosted, raw } = yield* openOperating(host, { id: "kept" })
        yield* host.remember(hosted, handshakeMessages)
        const release = use === "hold" ? hosted.hold() : undefined
        if (use === "request") yield* raw.send(call(1, "slow"))
        yield* TestClock.adjust("25 minutes")
        assert.isAtLeast(kept.get("kept")?.usedAt ?? 0, 24 * 60_000)
        const touches = () => calls.filter((one) => one === "touch kept").length
        assert.isAtMost(touches(), 25)
        release?.()
        if (use === "request") yield* raw.send(JsonRpc.notification("notifications/cancelled", { requestId: 1 }))
        yield* TestClock.adjust("2 minutes")
        const before = touches()
        // The host learns of the release, and not of the end of a request.
        if (use === "hold") assert.strictEqual(kept.get("kept")?.usedAt, 25 * 60_000)
        yield* TestClock.adjust("10 minutes")
        assert.strictEqual(touches(), before)
      }))
  }

  it.effect("is deleted from the store if it closes while it is being saved", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const gate = yield* Deferred.make<void>()
      const slow = {
        ...service,
        save: (session: SessionStore.StoredSession) => Effect.andThen(Deferred.await(gate), service.save(session))
      }
      const host = yield* makeHost(handlers).pipe(withStore(slow))
      const { hosted } = yield* openOperating(host)
      const saving = yield* start(host.remember(hosted, handshakeMessages))
      yield* hosted.close(CloseReason.requested)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(saving)
      assert.strictEqual(kept.size, 0)
      yield* host.remember(hosted, handshakeMessages)
      assert.strictEqual(kept.size, 0)
    }))

  it.effect("times out after 5 seconds if the store does not answer, and can be restored later", () =>
    Effect.gen(function*() {
      const { service } = store()
      yield* storeSession(service)
      let answers = false
      const host = yield* makeHost(handlers).pipe(
        withStore({ ...service, load: (id) => answers ? service.load(id) : Effect.never })
      )
      const both = [yield* start(Effect.flip(restore(host))), yield* start(Effect.flip(restore(host)))]
      yield* TestClock.adjust("4999 millis")
      assert.deepStrictEqual(both.map((fiber) => fiber.pollUnsafe()), [undefined, undefined])
      yield* TestClock.adjust("1 millis")
      for (const fiber of both) assert.strictEqual((yield* Fiber.join(fiber))._tag, "SessionStoreError")
      answers = true
      assert.isDefined((yield* restore(host)).hosted)
    }))

  it.effect("is interrupted if the host shuts down before the store answers", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const { service } = store()
      const scope = yield* Scope.make()
      const host = yield* makeHost(handlers).pipe(
        withStore({ ...service, load: () => Effect.never }),
        Scope.provide(scope),
        census.count
      )
      const restoring = yield* start(restore(host))
      assert.isAbove(census.living(), 0)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(restoring)))
      assert.strictEqual(census.living(), 0)
    }))

  it.effect("is touched in the store even if no session of the host ever expires", () =>
    Effect.gen(function*() {
      const { kept, service } = store()
      const host = yield* makeHost(handlers, {
        sessions: { idleTimeout: "Infinity" },
        limits: { initializeTimeout: "Infinity" }
      })
        .pipe(
          withStore(service)
        )
      const { hosted } = yield* openOperating(host, { id: "kept" })
      yield* host.remember(hosted, handshakeMessages)
      yield* TestClock.adjust("30 seconds")
      hosted.touch()
      yield* TestClock.adjust("2 minutes")
      assert.strictEqual(kept.get("kept")?.usedAt, 30_000)
    }))

  it.effect("closes and drains within 5 seconds if the store does not answer", () =>
    Effect.gen(function*() {
      const { service } = store()
      const host = yield* makeHost(handlers).pipe(withStore({ ...service, remove: () => Effect.never }))
      const { hosted } = yield* openOperating(host)
      yield* host.remember(hosted, handshakeMessages)
      const closing = yield* start(hosted.close(CloseReason.requested))
      const draining = yield* start(host.drain)
      yield* TestClock.adjust("4999 millis")
      assert.isUndefined(closing.pollUnsafe())
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(closing)
      yield* Fiber.join(draining)
    }).pipe(withoutLogger))
})
