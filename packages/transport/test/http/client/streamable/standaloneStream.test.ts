import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { allClosed, connect, notification, request, until } from "../../../support/httpClientConnection.ts"
import { type Handler, response, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

/** Returns the handler of a server that handles each GET with the next of these handlers. */
const offering = (...handlers: ReadonlyArray<Handler>): Handler => {
  let calls = 0
  const others = withHandshake((received, reply) => reply.json(response(received)))
  return (received, reply) =>
    received.kind === "GET"
      ? handlers[Math.min(calls++, handlers.length - 1)]?.(received, reply)
      : others(received, reply)
}

const connected = Effect.fnUntraced(function*(handler: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(handler)
  const client = yield* connect(peer, options)
  yield* client.handshake
  const gets = () => peer.received.filter(({ kind }) => kind === "GET")
  const delays = () => client.events.flatMap((event) => event._tag === "StreamLost" ? [event.retryAfterMillis] : [])
  return { peer, gets, delays, ...client }
})

const lost = (retryAfterMillis: number | undefined, cause?: unknown) => ({
  _tag: "StreamLost" as const,
  method: undefined,
  cause,
  retryAfterMillis
})

it.live("[SHS-12] the stream is opened after the handshake, and its messages are delivered", () =>
  Effect.gen(function*() {
    const { close, messages, gets, peer } = yield* connected(offering((_, reply) => {
      reply.stream().event("", "a").event(notification(1), "b").event(notification(2), "c")
    }))
    yield* until(() => messages().length === 2)
    assert.deepStrictEqual(messages(), [notification(1), notification(2)])
    assert.deepStrictEqual(peer.kinds(), ["initialize", "notifications/initialized", "GET"])
    assert.strictEqual(gets()[0]?.headers.accept, "text/event-stream")
    yield* close
    yield* until(() => peer.openResponses() === 0)
  }))

it.live("[SHS-12] the stream is not requested again from a server that does not offer it", () =>
  Effect.gen(function*() {
    for (const status of [405, 404, 400, 501]) {
      const { events, gets, peer, request: sendRequest } = yield* connected(
        offering((_, reply) => reply.status(status))
      )
      yield* until(() => gets().length === 1)
      yield* sendRequest(request(1))
      yield* until(() => peer.openResponses() === 0)
      yield* sendRequest(request(2))
      // Only a status that the specification does not define here is reported.
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), status === 405 || status === 404 ? [] : ["StreamLost"])
      assert.lengthOf(gets(), 1)
      assert.lengthOf(peer.kinds().filter((kind) => kind === "initialize"), 1)
    }
  }))

it.live("the stream is not opened if `standalone` is false", () =>
  Effect.gen(function*() {
    const { gets, request: sendRequest } = yield* connected(
      offering((_, reply) => {
        reply.stream()
      }),
      { standalone: false }
    )
    yield* sendRequest(request(1))
    assert.lengthOf(gets(), 0)
  }))

it.live("[SHS-19] the stream is resumed after its last event, after an end or a break", () =>
  Effect.gen(function*() {
    const { events, messages, gets } = yield* connected(offering(
      (_, reply) => reply.stream().event(notification(1), "a").end(),
      (_, reply) => reply.stream().event(notification(1), "a").event(notification(2), "b").disconnect(),
      (_, reply) => {
        reply.stream().event(notification(3), "c")
      }
    ))
    yield* until(() => messages().length === 3)
    assert.deepStrictEqual(messages(), [notification(1), notification(2), notification(3)])
    assert.deepStrictEqual(gets().map(({ headers }) => headers["last-event-id"]), [undefined, "a", "b"])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamResumed"
    ])
    assert.deepStrictEqual(events[0], lost(2))
  }))

it.live("[SHS-19] a new stream is opened if the server has dropped the last event", () =>
  Effect.gen(function*() {
    const dropped: Handler = (_, reply) => reply.status(400)
    const { events, messages, gets, request: sendRequest } = yield* connected(offering(
      (_, reply) => reply.stream().event(notification(1), "a").end(),
      dropped,
      (_, reply) => reply.stream().event(notification(2), "b").end(),
      dropped,
      dropped
    ))
    yield* until(() => events.some((event) => event._tag === "StreamLost" && event.retryAfterMillis === undefined))
    assert.deepStrictEqual(messages(), [notification(1), notification(2)])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamLost",
      "StreamLost"
    ])
    yield* sendRequest(request(1))
    // It is not requested again if the server rejects a new stream, too.
    assert.deepStrictEqual(
      gets().map(({ headers }) => headers["last-event-id"]),
      [undefined, "a", undefined, "b", undefined]
    )
  }))

it.effect("the delay before each GET grows if the stream always ends at once", () =>
  Effect.gen(function*() {
    const { delays, gets, request: sendRequest } = yield* connected(
      offering((_, reply) => reply.stream().end()),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "5 seconds" } }
    )
    const expected = [1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]
    for (const [index, millis] of expected.entries()) {
      yield* until(() => delays().length > index)
      // An early GET would arrive before this request.
      yield* sendRequest(request(index + 1))
      assert.lengthOf(gets(), index + 1)
      yield* TestClock.adjust(millis)
    }
    assert.deepStrictEqual(delays().slice(0, expected.length), expected)
  }))

it.effect("the delay does not grow after a stream that was open for maxInterval", () =>
  Effect.gen(function*() {
    const ends: Array<() => void> = []
    const { delays, gets } = yield* connected(
      offering((_, reply) => {
        const stream = reply.stream()
        ends.push(stream.end)
      }),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "5 seconds" } }
    )
    for (let index = 0; index < 4; index++) {
      yield* until(() => gets().length > index)
      yield* TestClock.adjust("5 seconds")
      ends[index]?.()
      yield* until(() => delays().length > index)
      assert.strictEqual(delays()[index], 1_000)
      yield* TestClock.adjust("1 second")
    }
  }))

it.effect("[SHS-06] the client waits for the delay of the retry field", () =>
  Effect.gen(function*() {
    const { delays, gets, request: sendRequest } = yield* connected(offering(
      (_, reply) => reply.stream().raw("retry: 7000\n\n").end(),
      (_, reply) => {
        reply.stream()
      }
    ))
    yield* until(() => delays().length === 1)
    assert.deepStrictEqual(delays(), [7_000])
    yield* TestClock.adjust("6999 millis")
    yield* sendRequest(request(1))
    assert.lengthOf(gets(), 1)
    yield* TestClock.adjust("1 millis")
    yield* until(() => gets().length === 2)
  }))

it.effect("a server with a retry of 0 receives at most ten GETs in a second, and fewer without messages", () =>
  Effect.gen(function*() {
    let events = 0
    const { delays, gets, request: sendRequest } = yield* connected(
      offering((_, reply) => reply.stream().raw("retry: 0\n\n").event("", `priming ${++events}`).end()),
      { reconnect: { initialInterval: "1 second", factor: 2 } }
    )
    const expected = [100, 200, 400, 800, 1_000, 1_000]
    for (const [index, millis] of expected.entries()) {
      yield* until(() => delays().length > index)
      yield* TestClock.adjust(millis - 1)
      // An early GET would arrive before this request.
      yield* sendRequest(request(index + 1))
      assert.lengthOf(gets(), index + 1)
      yield* TestClock.adjust(1)
    }
    assert.deepStrictEqual(delays().slice(0, expected.length), expected)
  }))

it.live("a GET that fails temporarily is repeated, also the first one", () =>
  Effect.gen(function*() {
    const failing = [500, 503, 429, 409, 408].map((status): Handler => (_, reply) => reply.status(status))
    const { messages, gets } = yield* connected(offering(
      ...failing,
      (_, reply) => reply.disconnect(),
      ...failing,
      (_, reply) => {
        reply.stream().event(notification(1))
      }
    ))
    yield* until(() => messages().length === 1)
    assert.lengthOf(gets(), 12)
  }))

it.live("invalid and unknown events of the stream affect no request", () =>
  Effect.gen(function*() {
    const { frameErrors, messages, request: sendRequest } = yield* connected(offering((_, reply) => {
      reply.stream().raw("data: {\n\nevent: other\ndata: {}\n\ndata: \n\n").event(notification(1))
    }))
    yield* until(() => messages().length === 1)
    assert.deepStrictEqual(frameErrors(), [{ _tag: "NotJson", text: "{" }])
    yield* sendRequest(request(1))
    assert.lengthOf(messages(), 2)
  }))

it.live("closing while the stream is open, or waits to be reconnected, leaves no connection", () =>
  Effect.gen(function*() {
    const open: Handler = (_, reply) => {
      reply.stream()
    }
    for (const handler of [open, (_, reply) => reply.stream().end()] satisfies ReadonlyArray<Handler>) {
      const { closeAll, gets, peer } = yield* connected(offering(handler), {
        reconnect: { initialInterval: "1 hour" }
      })
      yield* until(() => gets().length === 1)
      yield* closeAll
      yield* allClosed(peer)
      assert.lengthOf(gets(), 1)
    }
  }))
