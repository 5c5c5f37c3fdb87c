import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/testing/TestClock"
import { sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import { StandaloneStream } from "../../../../../src/internal/http/client/streamable/StandaloneStream.ts"
import { events, response, type Script, stateOver } from "../../../../support/scriptedEndpoint.ts"

const note = (data: number) => ({ jsonrpc: "2.0", method: "notifications/message", params: { data } })

const standalone = Effect.fnUntraced(function*(script: Script) {
  const parts = yield* stateOver(script)
  const renewed: Array<unknown> = []
  const stream = new StandaloneStream(
    parts.state,
    (lost) => Effect.sync(() => void renewed.push(lost)),
    yield* Effect.scope
  )
  yield* stream.start
  yield* Effect.yieldNow
  return { ...parts, renewed, stream }
})

it.effect("[SHS-13] the stream is not requested again after a 405", () =>
  Effect.gen(function*() {
    const { reported, sent } = yield* standalone(() => response(405))
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(sent, 1)
    assert.deepStrictEqual(reported, [])
  }))

it.effect("the stream does not renew the session after a 404, if there was no stream before", () =>
  Effect.gen(function*() {
    const { renewed, sent } = yield* standalone(() => response(404))
    yield* TestClock.adjust("1 hour")
    assert.lengthOf(sent, 1)
    assert.deepStrictEqual(renewed, [])
  }))

it.effect("the stream renews the session after a 404, if there was a stream before", () =>
  Effect.gen(function*() {
    const { renewed, reported, state } = yield* standalone((_, index) =>
      index === 0 ? events([["a", note(1)]]) : response(404)
    )
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(renewed, [state.session])
    assert.deepStrictEqual(reported.map(({ _tag }) => _tag), ["StreamLost", "StreamLost"])
  }))

it.effect("the stream is reconnected after its last event, as long as the session lasts", () =>
  Effect.gen(function*() {
    const { delivered, sent } = yield* standalone((_, index) => events([[`e${index}`, note(index)]]))
    for (let turn = 0; turn < 20; turn++) yield* TestClock.adjust("1 second")
    assert.isAtLeast(sent.length, 20)
    assert.deepStrictEqual(sent.slice(0, 3).map(({ lastEventId }) => lastEventId), [undefined, "e0", "e1"])
    assert.deepStrictEqual(delivered.slice(0, 3), [note(0), note(1), note(2)])
  }))

it.effect("the stream starts anew if the server has dropped the events to resume after", () =>
  Effect.gen(function*() {
    const { sent } = yield* standalone((_, index) => index === 1 ? response(400) : events([[`e${index}`, note(index)]]))
    for (let turn = 0; turn < 5; turn++) yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(sent.slice(0, 3).map(({ lastEventId }) => lastEventId), [undefined, "e0", undefined])
  }))

it.effect("the stream is replaced by the stream of a renewed session", () =>
  Effect.gen(function*() {
    const { sent, state, stream } = yield* standalone(() => response(503))
    assert.lengthOf(sent, 1)
    state.session = yield* sessionIdentity("two", true)
    yield* stream.start
    yield* TestClock.adjust("10 seconds")
    assert.isAbove(sent.length, 2)
    assert.isTrue(sent.slice(1).every(({ session }) => session === "two"))
  }))

describe("a standalone stream whose server requires that a person authorizes the client", () => {
  const person = () => {
    const acted = Deferred.makeUnsafe<void, TransportError.TransportError>()
    const authorized = Deferred.await(acted)
    return {
      acted,
      required: TransportError.make({ _tag: "AuthorizationRequired", target: "x", since: 0, authorized })
    }
  }

  it.effect("waits for the person without a deadline, and resumes after its last event", () =>
    Effect.gen(function*() {
      const { acted, required } = person()
      let isAuthorized = true
      const { sent } = yield* standalone((_, index) => isAuthorized ? events([[`e${index}`, note(index)]]) : required)
      isAuthorized = false
      yield* TestClock.adjust("1 hour")
      assert.lengthOf(sent, 2)
      isAuthorized = true
      Deferred.doneUnsafe(acted, Exit.void)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(sent.slice(0, 3).map(({ lastEventId }) => lastEventId), [undefined, "e0", "e0"])
    }))

  const kinds = { "permanently": { isPermanent: true }, "for a time": {} } as const
  for (const [kind, members] of Object.entries(kinds)) {
    it.effect(`is requested again with pauses if the authorization fails ${kind}, and resumes when it succeeds`, () =>
      Effect.gen(function*() {
        const { acted, required } = person()
        const refused = TransportError.make({
          _tag: "AuthorizationFailed",
          target: "x",
          problem: "no",
          cause: undefined,
          ...members
        })
        let error: TransportError.TransportError | undefined
        const { reported, sent } = yield* standalone((_, index) => error ?? events([[`e${index}`, note(index)]]))
        error = required
        yield* TestClock.adjust("1 minute")
        error = refused
        Deferred.doneUnsafe(acted, Exit.fail(refused))
        for (let minute = 0; minute < 10; minute++) yield* TestClock.adjust("1 minute")
        const attempts = sent.length
        assert.isAbove(attempts, 4)
        assert.isBelow(attempts, 120)
        assert.deepInclude(reported.at(-1), { _tag: "StreamLost", cause: refused })
        error = undefined
        yield* TestClock.adjust("1 minute")
        const ids = sent.map(({ lastEventId }) => lastEventId)
        assert.deepStrictEqual(ids.slice(0, 3), [undefined, "e0", "e0"])
        assert.strictEqual(ids[attempts], "e0")
        assert.strictEqual(ids[attempts + 1], `e${attempts}`)
      }))
  }

  it.effect("is not requested without a pause if an authorization completes and is useless", () =>
    Effect.gen(function*() {
      const required = TransportError.make({
        _tag: "AuthorizationRequired",
        target: "x",
        since: 0,
        authorized: Effect.void
      })
      const { sent } = yield* standalone(() => required)
      yield* TestClock.adjust("1 minute")
      assert.isBelow(sent.length, 15)
    }))

  it.effect("renews a lost session after the person has acted", () =>
    Effect.gen(function*() {
      const { acted, required } = person()
      const { state } = yield* stateOver((_, index) => index === 0 ? events([["a", note(1)]]) : response(404))
      let renewals = 0
      const stream = new StandaloneStream(
        state,
        () => Effect.suspend(() => ++renewals === 1 ? Effect.fail(required) : Effect.void),
        yield* Effect.scope
      )
      yield* stream.start
      yield* TestClock.adjust("1 hour")
      assert.strictEqual(renewals, 1)
      Deferred.doneUnsafe(acted, Exit.void)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(renewals, 2)
    }))
})
