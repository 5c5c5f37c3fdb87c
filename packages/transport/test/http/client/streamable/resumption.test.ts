import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  allClosed,
  connect,
  exitOf,
  forkNow,
  notification,
  quickReconnect,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import {
  type EventReply,
  type Handler,
  idOf,
  type Received,
  type Reply,
  response,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"

/** Returns the handler of a server whose stream breaks. Each of `resumptions` handles one GET that resumes it. */
const breaking = (first: (stream: EventReply) => void, ...resumptions: ReadonlyArray<Handler>): Handler => {
  let calls = 0
  return withHandshake((received, reply) =>
    received.kind === "GET"
      ? resumptions[Math.min(calls++, resumptions.length - 1)]?.(received, reply)
      : received.kind === "ping"
      ? reply.json(response(received))
      : first(reply.stream())
  )
}

const response1 = { jsonrpc: "2.0", id: 1, result: {} }

const connected = Effect.fnUntraced(function*(handler: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(handler)
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.handshake
  const resumptions = () =>
    peer.received.filter(({ kind }) => kind === "GET").map(({ headers }) => headers["last-event-id"])
  return { peer, resumptions, ...client }
})

const lostFor = (retryAfterMillis: number | undefined, cause?: unknown) => ({
  _tag: "StreamLost" as const,
  method: "tools/call",
  id: 1,
  tool: "x",
  cause,
  retryAfterMillis
})
const resumed = { _tag: "StreamResumed", method: "tools/call", id: 1, tool: "x" } as const

it.live("[SHS-07] [SHS-19] a stream that ends before the response is resumed after its last event", () =>
  Effect.gen(function*() {
    const { events, messages, peer, request: sendRequest, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "a").event(notification(1), "b").end(),
      (_, reply) => reply.stream().event(notification(2), "c").end(),
      (_, reply) => reply.stream().event(response1, "d").end()
    ))
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [notification(1), notification(2), response1])
    assert.deepStrictEqual(resumptions(), ["b", "c"])
    assert.deepStrictEqual(events, [lostFor(2), resumed, lostFor(2), resumed])
    for (const { headers, kind } of peer.received) {
      if (kind !== "GET") continue
      assert.strictEqual(headers.accept, "text/event-stream")
      assert.strictEqual(headers["mcp-session-id"], "s1")
    }
    assert.strictEqual(peer.openResponses(), 0)
  }))

it.live("[SHS-19] a stream whose connection breaks is resumed, also before any message", () =>
  Effect.gen(function*() {
    const { events, messages, request: sendRequest, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "a").disconnect(),
      (_, reply) => reply.disconnect(),
      (_, reply) => reply.stream().raw("data: {\"half\":").disconnect(),
      (_, reply) => reply.stream().event(response1, "d").end()
    ))
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [response1])
    assert.deepStrictEqual(resumptions(), ["a", "a", "a"])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamResumed"
    ])
  }))

it.effect("[SHS-06] the client waits for the delay of the retry field", () =>
  Effect.gen(function*() {
    const { events, peer, request: sendRequest } = yield* connected(breaking(
      (stream) => stream.event("", "a").raw("retry: 5000\n\n").end(),
      (_, reply) => reply.stream().event(response1).end()
    ))
    const requesting = yield* forkNow(sendRequest(request(1)))
    yield* until(() => events.length === 1)
    assert.deepStrictEqual(events, [lostFor(5_000)])
    yield* TestClock.adjust("4999 millis")
    // An early GET would arrive before this ping.
    yield* sendRequest(request(2, "ping"))
    yield* TestClock.adjust("1 millis")
    yield* until(() => exitOf(requesting) !== undefined)
    yield* Fiber.join(requesting)
    assert.deepStrictEqual(peer.kinds().slice(2), ["tools/call", "ping", "GET"])
  }))

it.effect("[SHS-06] the delay grows with each attempt without an event, and respects Retry-After", () =>
  Effect.gen(function*() {
    const { events, request: sendRequest } = yield* connected(
      breaking(
        (stream) => stream.event("", "a").end(),
        (_, reply) => reply.stream().end(),
        (_, reply) => reply.raw(503, { "retry-after": "10" }, "busy"),
        (_, reply) => reply.stream().raw("retry: 4000\n\n").end(),
        (_, reply) => reply.stream().event(response1).end()
      ),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "3 seconds" } }
    )
    const requesting = yield* forkNow(sendRequest(request(1)))
    const delays = () => events.flatMap((event) => event._tag === "StreamLost" ? [event.retryAfterMillis] : [])
    for (const [index, expected] of [1_000, 2_000, 10_000, 4_000].entries()) {
      yield* until(() => delays().length > index)
      assert.strictEqual(delays()[index], expected)
      yield* TestClock.adjust(expected)
    }
    yield* until(() => exitOf(requesting) !== undefined)
    yield* Fiber.join(requesting)
  }))

it.live("an event that is repeated after a resumption is not delivered again", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest } = yield* connected(breaking(
      (stream) => stream.event(notification(1), "a").event(notification(2), "b").end(),
      (_, reply) =>
        reply.stream().event(notification(1), "a").event(notification(2), "b").event(notification(3), "c").end(),
      (_, reply) => reply.stream().event(notification(3), "c").event(response1, "d").end()
    ))
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [notification(1), notification(2), notification(3), response1])
  }))

it.live("repeated events are recognized by the newest 1,024 ids", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest } = yield* connected(breaking(
      (stream) => {
        for (let id = 0; id <= 1_024; id++) stream.event(notification(id), `${id}`)
        stream.end()
      },
      (_, reply) =>
        reply.stream().event(notification("repeated"), "0").event(notification(1), "1").event(response1).end()
    ))
    yield* sendRequest(request(1))
    assert.lengthOf(messages(), 1_027)
    assert.deepStrictEqual(messages().slice(-2), [notification("repeated"), response1])
  }))

it.live("a request fails if the server only repeats events", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest, resumptions } = yield* connected(breaking(
      (stream) => stream.event(notification(1), "a").end(),
      (_, reply) => reply.stream().event(notification(1), "a").end()
    ))
    assert.strictEqual((yield* reasonOf(sendRequest(request(1))))._tag, "ExchangeEnded")
    assert.deepStrictEqual(messages(), [notification(1)])
    assert.lengthOf(resumptions(), 5)
  }))

it.live("a request fails after maxAttempts", () =>
  Effect.gen(function*() {
    const { events, peer, request: sendRequest, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").end(), (_, reply) => reply.status(500)),
      { reconnect: { ...quickReconnect, maxAttempts: 3 } }
    )
    const reason = yield* reasonOf(sendRequest(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause !== undefined)
    assert.lengthOf(resumptions(), 3)
    const last = events.at(-1)
    assert.isTrue(last?._tag === "StreamLost" && last.retryAfterMillis === undefined)
    assert.strictEqual(peer.openResponses(), 0)
  }))

it.live("[SHS-07] only attempts in a row without an event count, so that a server can be polled", () =>
  Effect.gen(function*() {
    const polled = (id: string): Handler => (_, reply) => reply.stream().event("", id).end()
    const { request: sendRequest, resumptions } = yield* connected(
      breaking(
        (stream) => stream.event("", "0").end(),
        ...Array.from({ length: 12 }, (_, index) => polled(`${index + 1}`)),
        (_, reply) => reply.stream().event(response1).end()
      ),
      { reconnect: { ...quickReconnect, maxAttempts: 1 } }
    )
    yield* sendRequest(request(1))
    assert.lengthOf(resumptions(), 13)
  }))

for (
  const [name, reject] of [
    ["405", (_: Received, reply: Reply) => reply.status(405)],
    ["400", (_: Received, reply: Reply) => reply.status(400)],
    ["JSON", (_: Received, reply: Reply) => reply.json({})]
  ] as const
) {
  it.live(`a resumption that is rejected with ${name} fails its request at once`, () =>
    Effect.gen(function*() {
      const { request: sendRequest, resumptions } = yield* connected(
        breaking((stream) => stream.event("", "a").end(), reject)
      )
      const reason = yield* reasonOf(sendRequest(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause !== undefined)
      assert.lengthOf(resumptions(), 1)
    }))
}

it.live("[SHS-19] [law 12] a stream is not resumed if its last id is empty, too long or not a valid header", () =>
  Effect.gen(function*() {
    const long = `id: ${"a".repeat(4_097)}\ndata: \n\n`
    for (const text of ["id: a\ndata: \n\nid\ndata:\n\n", "id: a\u0001\ndata: \n\n", long]) {
      const { request: sendRequest, resumptions } = yield* connected(breaking((stream) => stream.raw(text).end()))
      assert.strictEqual((yield* reasonOf(sendRequest(request(1))))._tag, "ExchangeEnded")
      assert.lengthOf(resumptions(), 0)
    }
  }))

it.live("[SHS-19] Last-Event-ID has the bytes of the id", () =>
  Effect.gen(function*() {
    const { request: sendRequest, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "漢/é:1 2").end(),
      (_, reply) => reply.stream().event(response1).end()
    ))
    yield* sendRequest(request(1))
    assert.deepStrictEqual(resumptions().map((id) => Buffer.from(id?.toString() ?? "", "latin1").toString()), [
      "漢/é:1 2"
    ])
  }))

it.live("a stream is not resumed after an event that is not JSON", () =>
  Effect.gen(function*() {
    const { frameErrors, request: sendRequest, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").raw("id: b\ndata: {\"id\":1,\n\n").end())
    )
    assert.strictEqual((yield* reasonOf(sendRequest(request(1))))._tag, "ExchangeEnded")
    assert.lengthOf(frameErrors(), 1)
    assert.lengthOf(resumptions(), 0)
  }))

it.live("each stream is resumed after its own last event", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest, resumptions } = yield* connected(withHandshake((received, reply) => {
      const [id] = /\d+/.exec(`${received.headers["last-event-id"] ?? ""}`) ?? []
      if (id !== undefined) reply.stream().event({ jsonrpc: "2.0", id: Number(id), result: {} }).end()
      else reply.stream().event("", `stream-${String(idOf(received))}`).end()
    }))
    const ids = Array.from({ length: 20 }, (_, index) => index + 1)
    yield* Effect.forEach(ids, (id) => sendRequest(request(id)), { concurrency: "unbounded" })
    assert.lengthOf(messages(), 20)
    assert.deepStrictEqual(resumptions().toSorted(), ids.map((id) => `stream-${id}`).toSorted())
  }))

it.live("an interrupted request is not resumed, and leaves no connection", () =>
  Effect.gen(function*() {
    const { events, closeAll, peer, request: sendRequest, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").end()),
      { reconnect: { initialInterval: "1 hour" } }
    )
    const requesting = yield* forkNow(sendRequest(request(1)))
    yield* until(() => events.length === 1)
    yield* Fiber.interrupt(requesting)
    yield* closeAll
    yield* allClosed(peer)
    assert.lengthOf(resumptions(), 0)
  }))
