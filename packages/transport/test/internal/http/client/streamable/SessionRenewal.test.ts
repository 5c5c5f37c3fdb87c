import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import * as SessionCleanup from "../../../../../src/internal/http/client/streamable/SessionCleanup.ts"
import {
  indicatesLoss,
  RenewalBackOff,
  SessionRenewal
} from "../../../../../src/internal/http/client/streamable/SessionRenewal.ts"
import { connectFailed, json, response, type Script, stateOver } from "../../../../support/scriptedEndpoint.ts"

const initialized = (id: unknown, protocolVersion: unknown, session: string) =>
  json({ jsonrpc: "2.0", id, result: { protocolVersion } }, { "mcp-session-id": session })

/** A server that accepts each handshake, with sessions "two", "three" and so on. */
const accepting = (protocolVersion: unknown = "2025-11-25"): Script => {
  const names = ["two", "three", "four", "five"]
  return ({ message, method }) =>
    method === "POST" && message?.method === "initialize"
      ? initialized(message.id, protocolVersion, names.shift() ?? "more")
      : response(202)
}

const renewal = Effect.fnUntraced(function*(script: Script) {
  const parts = yield* stateOver(script)
  const sessions = SessionCleanup.make((session) => parts.state.endpoint.remove({ session, revision: undefined }), 1000)
  let starts = 0
  const { renew } = new SessionRenewal(
    parts.state,
    sessions,
    yield* Effect.scope,
    Effect.sync(() => void starts++)
  )
  return { ...parts, sessions, renew, starts: () => starts }
})

describe("a renewal", () => {
  it.effect("[SHS-27] repeats the handshake without a session id, and continues in the new session", () =>
    Effect.gen(function*() {
      const { delivered, renew, reported, resets, sent, starts, state } = yield* renewal(accepting())
      yield* renew(state.session)
      yield* Effect.yieldNow
      assert.strictEqual(state.session.id, "two")
      assert.isTrue(state.session.isRenewed)
      assert.deepStrictEqual(
        sent.map(({ message, revision, session }) => [message?.method, message?.id, session, revision]),
        [
          ["initialize", "renew-1", undefined, undefined],
          ["notifications/initialized", undefined, "two", "2025-11-25"]
        ]
      )
      assert.deepStrictEqual(reported, [{ _tag: "SessionRenewed" }])
      assert.deepStrictEqual(delivered, [])
      assert.strictEqual(starts(), 1)
      assert.strictEqual(resets(), 1)
    }))

  it.effect("is shared by all callers that have lost the same session", () =>
    Effect.gen(function*() {
      const { renew, sent, state } = yield* renewal(accepting())
      const lost = state.session
      yield* Effect.all([renew(lost), renew(lost), renew(lost)], { concurrency: "unbounded" })
      yield* renew(lost)
      assert.lengthOf(sent, 2)
    }))

  it.effect("continues although its caller is interrupted", () =>
    Effect.gen(function*() {
      const { renew, state } = yield* renewal(accepting())
      const fiber = yield* Effect.forkChild(renew(state.session), { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      yield* state.ready
      assert.strictEqual(state.session.id, "two")
    }))

  it.effect("ends the connection if the server answers with another revision", () =>
    Effect.gen(function*() {
      const { renew, state } = yield* renewal(accepting("2025-06-18"))
      const error = yield* Effect.flip(renew(state.session))
      assert.include(error.message, "a new one would be of revision 2025-06-18, not 2025-11-25")
      assert.strictEqual(yield* Effect.flip(state.failed), error)
      assert.strictEqual(yield* Effect.flip(state.ready), error)
    }))

  it.effect("ends the connection if the server answers with a revision that is no text", () =>
    Effect.gen(function*() {
      const { renew, state } = yield* renewal(accepting({ toString: 1 }))
      assert.include((yield* Effect.flip(renew(state.session))).message, "a new one was rejected")
    }))

  it.effect("ends the connection if the server cannot be reached", () =>
    Effect.gen(function*() {
      const { renew, state } = yield* renewal(() => connectFailed)
      const error = yield* Effect.flip(renew(state.session))
      assert.strictEqual(error.reason._tag, "SessionLost")
      assert.include(error.message, "a new one could not be opened")
    }))

  it.effect("fails if the session is lost during the handshake", () =>
    Effect.gen(function*() {
      const { renew, sent, state } = yield* renewal(accepting())
      state.initializeRequest = undefined
      assert.include((yield* Effect.flip(renew(state.session))).message, "it was lost in the handshake")
      assert.lengthOf(sent, 0)
    }))
})

describe("the back-off of renewals", () => {
  const backOff = Effect.gen(function*() {
    const parts = yield* stateOver(() => response(202))
    const sessions = SessionCleanup.make(
      (id) => parts.state.endpoint.remove({ session: id, revision: undefined }),
      1000
    )
    return { ...parts, wait: new RenewalBackOff(parts.state, sessions) }
  })

  it.effect("starts the first renewal at once, and delays each later one longer", () =>
    Effect.gen(function*() {
      const { state, wait } = yield* backOff
      yield* wait.wait(state.session)
      const fiber = yield* Effect.forkChild(wait.wait(yield* sessionIdentity("two", true)), { startImmediately: true })
      yield* TestClock.adjust("799 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("402 millis")
      yield* Fiber.join(fiber)
    }))

  it.effect("fails after too many sessions in a row without use", () =>
    Effect.gen(function*() {
      const { wait } = yield* backOff
      const useless = Effect.flatMap(sessionIdentity("again", true), (session) => wait.wait(session))
      const fiber = yield* Effect.forkChild(useless, { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(fiber)
      assert.include((yield* Effect.flip(useless)).message, "2 new ones in a row were lost")
    }))

  it.effect("is reset by a session in which a request was answered", () =>
    Effect.gen(function*() {
      const { wait } = yield* backOff
      for (const _ of [1, 2, 3, 4]) {
        const session = yield* sessionIdentity("useful", true)
        session.answered = true
        yield* wait.wait(session)
      }
    }))
})

it.effect("indicatesLoss is true only for a 404, or a 400 that names the session, in a session with an id", () =>
  Effect.gen(function*() {
    const { state } = yield* stateOver(() => response(404))
    const without = yield* sessionIdentity(undefined, false)
    const noSession = { status: 400, text: "Bad Request: No valid session ID provided" }
    assert.isTrue(indicatesLoss({ status: 404, text: "" }, state.session))
    assert.isTrue(indicatesLoss(noSession, state.session))
    assert.isTrue(indicatesLoss({ status: 400, text: "Bad Request: Server not initialized" }, state.session))
    assert.isFalse(indicatesLoss({ status: 400, text: "Bad Request: Invalid JSON" }, state.session))
    assert.isFalse(indicatesLoss({ ...noSession, status: 410 }, state.session))
    assert.isFalse(indicatesLoss({ status: 404, text: "" }, without))
    assert.isFalse(indicatesLoss(noSession, without))
  }))

describe("a renewal whose server requires that a person authorizes the client", () => {
  /** A server that accepts handshakes after a person has acted. */
  const guarded = () => {
    const acted = Deferred.makeUnsafe<void, TransportError.TransportError>()
    const authorized = Deferred.await(acted)
    const required = TransportError.make({ _tag: "AuthorizationRequired", target: "x", since: 0, authorized })
    let isAuthorized = false
    const accept = accepting()
    return {
      script: ((sent, index) => isAuthorized ? accept(sent, index) : required) satisfies Script,
      act: () => {
        isAuthorized = true
        Deferred.doneUnsafe(acted, Exit.void)
      }
    }
  }

  it.effect("fails its callers with the reason, keeps the connection, and succeeds after that", () =>
    Effect.gen(function*() {
      const { act, script } = guarded()
      const { renew, state, starts } = yield* renewal(script)
      const lost = state.session
      const error = yield* Effect.flip(renew(lost))
      assert.strictEqual(error.reason._tag, "AuthorizationRequired")
      yield* state.ready
      // A person needs longer than a renewal may take.
      yield* TestClock.adjust("1 hour")
      act()
      yield* renew(lost)
      assert.strictEqual(state.session.id, "two")
      yield* Effect.yieldNow
      assert.strictEqual(starts(), 1)
    }))

  it.effect("counts the useless session that it replaces once", () =>
    Effect.gen(function*() {
      const { act, script } = guarded()
      const { renew, sent, state } = yield* renewal(script)
      state.session = yield* sessionIdentity("useless", true)
      const lost = state.session
      for (let attempt = 0; attempt < 5; attempt++) {
        const renewing = yield* Effect.forkChild(Effect.flip(renew(lost)), { startImmediately: true })
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(renewing)).reason._tag, "AuthorizationRequired")
      }
      assert.strictEqual(sent.filter(({ method }) => method === "DELETE").length, 1)
      act()
      const renewing = yield* Effect.forkChild(renew(lost), { startImmediately: true })
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(renewing)
    }))
})
