import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { connect, nothingLeft, notification, request, until } from "../../../fixtures/httpConnection.ts"
import { type Handler, mcp, response, serve } from "../../../fixtures/httpPeer.ts"

/** A server with a standalone stream, and what it does when it is opened for the first, second, … time. */
const offering = (...openings: ReadonlyArray<Handler>): Handler => {
  let calls = 0
  const others = mcp((received, reply) => reply.json(response(received)))
  return (received, reply) =>
    received.what === "GET"
      ? openings[Math.min(calls++, openings.length - 1)]?.(received, reply)
      : others(received, reply)
}

const connected = Effect.fnUntraced(function*(handler: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(handler)
  const client = yield* connect(peer, options)
  yield* client.shake
  const openings = () => peer.received.filter(({ what }) => what === "GET")
  const delays = () => client.events.flatMap((event) => event._tag === "StreamLost" ? [event.retryAfterMillis] : [])
  return { peer, openings, delays, ...client }
})

const lost = (retryAfterMillis: number | undefined, cause?: unknown) => ({
  _tag: "StreamLost" as const,
  method: undefined,
  cause,
  retryAfterMillis
})

it.live("[SHS-12] once the handshake is done a stream is opened, and what comes on it is delivered", () =>
  Effect.gen(function*() {
    const { close, messages, openings, peer } = yield* connected(offering((_, reply) => {
      reply.stream().event("", "a").event(notification(1), "b").event(notification(2), "c")
    }))
    yield* until(() => messages().length === 2)
    assert.deepStrictEqual(messages(), [notification(1), notification(2)])
    assert.deepStrictEqual(peer.asked(), ["initialize", "notifications/initialized", "GET"])
    assert.strictEqual(openings()[0]?.headers.accept, "text/event-stream")
    yield* close
    yield* until(() => peer.open() === 0)
  }))

it.live("[SHS-12] a server that offers none is left in peace, whatever its words for it", () =>
  Effect.gen(function*() {
    for (const status of [405, 404, 400, 501]) {
      const { events, openings, peer, request: ask } = yield* connected(offering((_, reply) => reply.status(status)))
      yield* until(() => openings().length === 1)
      yield* ask(request(1))
      yield* until(() => peer.open() === 0)
      yield* ask(request(2))
      // Only an answer that is not provided for is worth a word.
      assert.deepStrictEqual(events.map(({ _tag }) => _tag), status === 405 || status === 404 ? [] : ["StreamLost"])
      assert.lengthOf(openings(), 1)
      assert.lengthOf(peer.asked().filter((what) => what === "initialize"), 1)
    }
  }))

it.live("it is not opened where the program does not want it", () =>
  Effect.gen(function*() {
    const { openings, request: ask } = yield* connected(
      offering((_, reply) => {
        reply.stream()
      }),
      { standalone: false }
    )
    yield* ask(request(1))
    assert.lengthOf(openings(), 0)
  }))

it.live("[SHS-19] it is taken up again behind its last event, however it ended", () =>
  Effect.gen(function*() {
    const { events, messages, openings } = yield* connected(offering(
      (_, reply) => reply.stream().event(notification(1), "a").end(),
      (_, reply) => reply.stream().event(notification(1), "a").event(notification(2), "b").cut(),
      (_, reply) => {
        reply.stream().event(notification(3), "c")
      }
    ))
    yield* until(() => messages().length === 3)
    assert.deepStrictEqual(messages(), [notification(1), notification(2), notification(3)])
    assert.deepStrictEqual(openings().map(({ headers }) => headers["last-event-id"]), [undefined, "a", "b"])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamResumed"
    ])
    assert.deepStrictEqual(events[0], lost(2))
  }))

it.live("[SHS-19] one that cannot be taken up again, since its last event is gone, begins anew", () =>
  Effect.gen(function*() {
    const gone: Handler = (_, reply) => reply.status(400)
    const { events, messages, openings, request: ask } = yield* connected(offering(
      (_, reply) => reply.stream().event(notification(1), "a").end(),
      gone,
      (_, reply) => reply.stream().event(notification(2), "b").end(),
      gone,
      gone
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
    yield* ask(request(1))
    // It is not asked for again where it cannot begin anew, either.
    assert.deepStrictEqual(
      openings().map(({ headers }) => headers["last-event-id"]),
      [undefined, "a", undefined, "b", undefined]
    )
  }))

it.effect("one that always ends at once is waited for longer and longer, and never opened in a loop without delay", () =>
  Effect.gen(function*() {
    const { delays, openings, request: ask } = yield* connected(
      offering((_, reply) => reply.stream().end()),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "5 seconds" } }
    )
    const expected = [1_000, 2_000, 4_000, 5_000, 5_000, 5_000, 5_000, 5_000]
    for (const [index, millis] of expected.entries()) {
      yield* until(() => delays().length > index)
      // Had it been opened again already, that would have come before this.
      yield* ask(request(index + 1))
      assert.lengthOf(openings(), index + 1)
      yield* TestClock.adjust(millis)
    }
    assert.deepStrictEqual(delays().slice(0, expected.length), expected)
  }))

it.effect("one that was open for long is not held for such a one", () =>
  Effect.gen(function*() {
    const ends: Array<() => void> = []
    const { delays, openings } = yield* connected(
      offering((_, reply) => {
        const stream = reply.stream()
        ends.push(stream.end)
      }),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "5 seconds" } }
    )
    for (let index = 0; index < 4; index++) {
      yield* until(() => openings().length > index)
      yield* TestClock.adjust("5 seconds")
      ends[index]?.()
      yield* until(() => delays().length > index)
      assert.strictEqual(delays()[index], 1_000)
      yield* TestClock.adjust("1 second")
    }
  }))

it.effect("[SHS-06] it is opened again when the server said, and not before", () =>
  Effect.gen(function*() {
    const { delays, openings, request: ask } = yield* connected(offering(
      (_, reply) => reply.stream().raw("retry: 7000\n\n").end(),
      (_, reply) => {
        reply.stream()
      }
    ))
    yield* until(() => delays().length === 1)
    assert.deepStrictEqual(delays(), [7_000])
    yield* TestClock.adjust("6999 millis")
    yield* ask(request(1))
    assert.lengthOf(openings(), 1)
    yield* TestClock.adjust("1 millis")
    yield* until(() => openings().length === 2)
  }))

it.effect("a server that asks for no delay is sent no more than ten requests a second, and fewer while nothing comes", () =>
  Effect.gen(function*() {
    let primed = 0
    const { delays, openings, request: ask } = yield* connected(
      offering((_, reply) => reply.stream().raw("retry: 0\n\n").event("", `priming ${++primed}`).end()),
      { reconnect: { initialInterval: "1 second", factor: 2 } }
    )
    const expected = [100, 200, 400, 800, 1_000, 1_000]
    for (const [index, millis] of expected.entries()) {
      yield* until(() => delays().length > index)
      yield* TestClock.adjust(millis - 1)
      // Had it been opened again already, that would have come before this.
      yield* ask(request(index + 1))
      assert.lengthOf(openings(), index + 1)
      yield* TestClock.adjust(1)
    }
    assert.deepStrictEqual(delays().slice(0, expected.length), expected)
  }))

it.live("a server that cannot open it now is tried again, also for the first time", () =>
  Effect.gen(function*() {
    const failing = [500, 503, 429, 409, 408].map((status): Handler => (_, reply) => reply.status(status))
    const { messages, openings } = yield* connected(offering(
      ...failing,
      (_, reply) => reply.cut(),
      ...failing,
      (_, reply) => {
        reply.stream().event(notification(1))
      }
    ))
    yield* until(() => messages().length === 1)
    assert.lengthOf(openings(), 12)
  }))

it.live("what it says of no use costs no request anything", () =>
  Effect.gen(function*() {
    const { faults, messages, request: ask } = yield* connected(offering((_, reply) => {
      reply.stream().raw("data: {\n\nevent: other\ndata: {}\n\ndata: \n\n").event(notification(1))
    }))
    yield* until(() => messages().length === 1)
    assert.deepStrictEqual(faults(), [{ _tag: "NotJson", text: "{" }])
    yield* ask(request(1))
    assert.lengthOf(messages(), 2)
  }))

it.live("leaving while it is open, or while it waits to be opened again, leaves nothing", () =>
  Effect.gen(function*() {
    const open: Handler = (_, reply) => {
      reply.stream()
    }
    for (const opening of [open, (_, reply) => reply.stream().end()] satisfies ReadonlyArray<Handler>) {
      const { leave, openings, peer } = yield* connected(offering(opening), {
        reconnect: { initialInterval: "1 hour" }
      })
      yield* until(() => openings().length === 1)
      yield* leave
      yield* nothingLeft(peer)
      assert.lengthOf(openings(), 1)
    }
  }))
