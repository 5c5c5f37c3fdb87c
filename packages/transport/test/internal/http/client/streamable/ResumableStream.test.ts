import { JsonRpc } from "@effect-mcp/protocol"
import * as TransportError from "@effect-mcp/session/TransportError"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { sessionIdentity } from "../../../../../src/internal/http/client/streamable/ClientState.ts"
import { ResponseReader } from "../../../../../src/internal/http/client/streamable/ResponseReader.ts"
import { resume } from "../../../../../src/internal/http/client/streamable/ResumableStream.ts"
import { events, response, type Script, stateOver } from "../../../../support/scriptedEndpoint.ts"

const answer = { jsonrpc: "2.0", id: 7, result: {} }
const note = { jsonrpc: "2.0", method: "notifications/message", params: {} }
const broken = new Error("reset")

/** Creates a request whose stream broke after one event, and its resumption. */
const brokenStream = Effect.fnUntraced(function*(script: Script, firstId = "a") {
  const parts = yield* stateOver(script)
  const reader = new ResponseReader(7, parts.state.settings, parts.state.deliver)
  const cause = yield* reader.follow(events([[firstId, ""]], broken))
  const renewed: Array<unknown> = []
  const resumed = resume(
    parts.state,
    (lost) => Effect.sync(() => void renewed.push(lost)),
    { message: JsonRpc.request(7, "tools/call", { name: "book" }), reader, session: parts.state.session, cause }
  )
  return { ...parts, resumed, renewed }
})

it.effect("[SHS-07] [SHS-19] the stream continues after its last event, until the response arrives", () =>
  Effect.gen(function*() {
    const { delivered, reported, resumed, sent } = yield* brokenStream((_, index) =>
      index === 0 ? events([["b", note]], broken) : events([["c", answer]])
    )
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("999 millis")
    assert.lengthOf(sent, 0)
    yield* TestClock.adjust("10 seconds")
    assert.isUndefined(yield* Fiber.join(fiber))
    assert.deepStrictEqual(sent.map(({ lastEventId, session }) => [lastEventId, session]), [["a", "one"], ["b", "one"]])
    assert.deepStrictEqual(delivered, [note, answer])
    assert.deepStrictEqual(reported.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamResumed"
    ])
  }))

it.effect("a stream whose events have no ids cannot be resumed", () =>
  Effect.gen(function*() {
    const { resumed, sent } = yield* brokenStream(() => response(500), "")
    assert.deepStrictEqual((yield* resumed)?.reason, { _tag: "ExchangeEnded", cause: broken })
    assert.lengthOf(sent, 0)
  }))

it.effect("attempts without an event are limited, and each waits longer", () =>
  Effect.gen(function*() {
    const { reported, resumed, sent } = yield* brokenStream(() => response(503))
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    assert.strictEqual((yield* Fiber.join(fiber))?.reason._tag, "ExchangeEnded")
    assert.lengthOf(sent, 3)
    const delays = reported.flatMap((event) => event._tag === "StreamLost" ? [event.retryAfterMillis] : [])
    assert.deepStrictEqual(delays, [1_000, 2_000, 4_000, undefined])
  }))

it.effect("a stream that the server rejects fails the request at once", () =>
  Effect.gen(function*() {
    const { resumed, sent } = yield* brokenStream(() => response(400))
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("1 second")
    const error = yield* Fiber.join(fiber)
    assert.isTrue(error?.reason._tag === "ExchangeEnded" && error.reason.cause instanceof TransportError.TransportError)
    assert.lengthOf(sent, 1)
  }))

it.effect("a lost session is renewed, and the request fails", () =>
  Effect.gen(function*() {
    const { renewed, resumed, state } = yield* brokenStream(() => response(404))
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* Fiber.join(fiber))?.reason._tag, "ExchangeEnded")
    assert.deepStrictEqual(renewed, [state.session])
  }))

it.effect("a stream of an earlier session is not resumed", () =>
  Effect.gen(function*() {
    const { resumed, sent, state } = yield* brokenStream(() => response(500))
    const fiber = yield* Effect.forkChild(Effect.andThen(Effect.sleep("1 second"), resumed))
    state.session = yield* sessionIdentity("two", true)
    yield* TestClock.adjust("1 second")
    assert.strictEqual((yield* Fiber.join(fiber))?.reason._tag, "ExchangeEnded")
    assert.lengthOf(sent, 0)
  }))

const required = (authorized: Effect.Effect<void, TransportError.TransportError>) =>
  TransportError.make({ _tag: "AuthorizationRequired", target: "x", since: 0, authorized })

const refused = TransportError.make({ _tag: "AuthorizationFailed", target: "x", problem: "no", cause: undefined })

it.effect("a stream waits for a person who has to authorize the client, and only the stream is requested again", () =>
  Effect.gen(function*() {
    const { resumed, sent } = yield* brokenStream((_, index) =>
      index === 0 ? required(Effect.sleep("1 hour")) : events([["b", answer]])
    )
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("59 minutes")
    assert.lengthOf(sent, 1)
    yield* TestClock.adjust("5 minutes")
    assert.isUndefined(yield* Fiber.join(fiber))
    assert.deepStrictEqual(sent.map(({ lastEventId, method }) => [method, lastEventId]), [["GET", "a"], ["GET", "a"]])
  }))

it.effect("a request whose stream is not authorized again may have been carried out", () =>
  Effect.gen(function*() {
    const { resumed } = yield* brokenStream(() => required(Effect.fail(refused)))
    const fiber = yield* Effect.forkChild(resumed, { startImmediately: true })
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual((yield* Fiber.join(fiber))?.reason, { _tag: "ExchangeEnded", cause: refused })
    // The lost session may have carried it out, although the new one is not authorized.
    const { state } = yield* stateOver(() => response(404))
    const reader = new ResponseReader(7, state.settings, state.deliver)
    const cause = yield* reader.follow(events([["a", ""]], broken))
    const error = required(Effect.never)
    const resuming = yield* Effect.forkChild(
      resume(state, () => Effect.fail(error), {
        message: JsonRpc.request(7, "tools/call", { name: "book" }),
        reader,
        session: state.session,
        cause
      }),
      { startImmediately: true }
    )
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual((yield* Fiber.join(resuming))?.reason, { _tag: "ExchangeEnded", cause: error })
  }))
