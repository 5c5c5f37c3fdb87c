import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import {
  beside,
  connect,
  nothingLeft,
  notification,
  outcomeOf,
  quick,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import {
  type EventReply,
  type Handler,
  idOf,
  mcp,
  type Received,
  type Reply,
  response,
  serve
} from "../../../fixtures/httpPeer.ts"

/** A server whose answer to the request breaks off, and what it does when the client comes back for the first, second, … time. */
const breaking = (first: (stream: EventReply) => void, ...again: ReadonlyArray<Handler>): Handler => {
  let calls = 0
  return mcp((received, reply) =>
    received.what === "GET"
      ? again[Math.min(calls++, again.length - 1)]?.(received, reply)
      : received.what === "ping"
      ? reply.json(response(received))
      : first(reply.stream())
  )
}

const answer = { jsonrpc: "2.0", id: 1, result: {} }

const connected = Effect.fnUntraced(function*(handler: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(handler)
  const client = yield* connect(peer, { standalone: false, ...options })
  yield* client.shake
  const resumptions = () =>
    peer.received.filter(({ what }) => what === "GET").map(({ headers }) => headers["last-event-id"])
  return { peer, resumptions, ...client }
})

const lostFor = (retryAfterMillis: number | undefined, cause?: unknown) => ({
  _tag: "StreamLost" as const,
  method: "tools/call",
  cause,
  retryAfterMillis
})
const resumed = { _tag: "StreamResumed", method: "tools/call" } as const

it.live("[SHS-07] [SHS-19] a stream that ends before the response is taken up again behind its last event", () =>
  Effect.gen(function*() {
    const { events, messages, peer, request: ask, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "a").event(notification(1), "b").end(),
      (_, reply) => reply.stream().event(notification(2), "c").end(),
      (_, reply) => reply.stream().event(answer, "d").end()
    ))
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [notification(1), notification(2), answer])
    assert.deepStrictEqual(resumptions(), ["b", "c"])
    assert.deepStrictEqual(events, [lostFor(2), resumed, lostFor(2), resumed])
    for (const { headers, what } of peer.received) {
      if (what !== "GET") continue
      assert.strictEqual(headers.accept, "text/event-stream")
      assert.strictEqual(headers["mcp-session-id"], "s1")
    }
    assert.strictEqual(peer.open(), 0)
  }))

it.live("[SHS-19] so is one whose connection breaks, also before any message", () =>
  Effect.gen(function*() {
    const { events, messages, request: ask, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "a").cut(),
      (_, reply) => reply.cut(),
      (_, reply) => reply.stream().raw("data: {\"half\":").cut(),
      (_, reply) => reply.stream().event(answer, "d").end()
    ))
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [answer])
    assert.deepStrictEqual(resumptions(), ["a", "a", "a"])
    assert.deepStrictEqual(events.map(({ _tag }) => _tag), [
      "StreamLost",
      "StreamLost",
      "StreamResumed",
      "StreamLost",
      "StreamResumed"
    ])
  }))

it.effect("[SHS-06] the client comes back when it was told to, and not before", () =>
  Effect.gen(function*() {
    const { events, peer, request: ask } = yield* connected(breaking(
      (stream) => stream.event("", "a").raw("retry: 5000\n\n").end(),
      (_, reply) => reply.stream().event(answer).end()
    ))
    const asking = yield* beside(ask(request(1)))
    yield* until(() => events.length === 1)
    assert.deepStrictEqual(events, [lostFor(5_000)])
    yield* TestClock.adjust("4999 millis")
    // Had it come back too early, it would have done so before this.
    yield* ask(request(2, "ping"))
    yield* TestClock.adjust("1 millis")
    yield* until(() => outcomeOf(asking) !== undefined)
    yield* Fiber.join(asking)
    assert.deepStrictEqual(peer.asked().slice(2), ["tools/call", "ping", "GET"])
  }))

it.effect("[SHS-06] it waits longer each time that nothing comes of it, and as long as the server is busy", () =>
  Effect.gen(function*() {
    const { events, request: ask } = yield* connected(
      breaking(
        (stream) => stream.event("", "a").end(),
        (_, reply) => reply.stream().end(),
        (_, reply) => reply.raw(503, { "retry-after": "10" }, "busy"),
        (_, reply) => reply.stream().raw("retry: 4000\n\n").end(),
        (_, reply) => reply.stream().event(answer).end()
      ),
      { reconnect: { initialInterval: "1 second", factor: 2, maxInterval: "3 seconds" } }
    )
    const asking = yield* beside(ask(request(1)))
    const delays = () => events.flatMap((event) => event._tag === "StreamLost" ? [event.retryAfterMillis] : [])
    for (const [index, expected] of [1_000, 2_000, 10_000, 4_000].entries()) {
      yield* until(() => delays().length > index)
      assert.strictEqual(delays()[index], expected)
      yield* TestClock.adjust(expected)
    }
    yield* until(() => outcomeOf(asking) !== undefined)
    yield* Fiber.join(asking)
  }))

it.live("an event that comes again after a resumption is not delivered again", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected(breaking(
      (stream) => stream.event(notification(1), "a").event(notification(2), "b").end(),
      (_, reply) =>
        reply.stream().event(notification(1), "a").event(notification(2), "b").event(notification(3), "c").end(),
      (_, reply) => reply.stream().event(notification(3), "c").event(answer, "d").end()
    ))
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [notification(1), notification(2), notification(3), answer])
  }))

it.live("the newest 1,024 ids are remembered for that, and no more", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected(breaking(
      (stream) => {
        for (let id = 0; id <= 1_024; id++) stream.event(notification(id), `${id}`)
        stream.end()
      },
      (_, reply) => reply.stream().event(notification("again"), "0").event(notification(1), "1").event(answer).end()
    ))
    yield* ask(request(1))
    assert.lengthOf(messages(), 1_027)
    assert.deepStrictEqual(messages().slice(-2), [notification("again"), answer])
  }))

it.live("a server that only ever repeats itself is given up", () =>
  Effect.gen(function*() {
    const { messages, request: ask, resumptions } = yield* connected(breaking(
      (stream) => stream.event(notification(1), "a").end(),
      (_, reply) => reply.stream().event(notification(1), "a").end()
    ))
    assert.strictEqual((yield* reasonOf(ask(request(1))))._tag, "ExchangeEnded")
    assert.deepStrictEqual(messages(), [notification(1)])
    assert.lengthOf(resumptions(), 5)
  }))

it.live("when the tries run out, the request fails then, and not at its deadline", () =>
  Effect.gen(function*() {
    const { events, peer, request: ask, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").end(), (_, reply) => reply.status(500)),
      { reconnect: { ...quick, maxAttempts: 3 } }
    )
    const reason = yield* reasonOf(ask(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause !== undefined)
    assert.lengthOf(resumptions(), 3)
    const last = events.at(-1)
    assert.isTrue(last?._tag === "StreamLost" && last.retryAfterMillis === undefined)
    assert.strictEqual(peer.open(), 0)
  }))

it.live("[SHS-07] only tries in a row without an event are counted, so that a server may be polled for long", () =>
  Effect.gen(function*() {
    const polled = (id: string): Handler => (_, reply) => reply.stream().event("", id).end()
    const { request: ask, resumptions } = yield* connected(
      breaking(
        (stream) => stream.event("", "0").end(),
        ...Array.from({ length: 12 }, (_, index) => polled(`${index + 1}`)),
        (_, reply) => reply.stream().event(answer).end()
      ),
      { reconnect: { ...quick, maxAttempts: 1 } }
    )
    yield* ask(request(1))
    assert.lengthOf(resumptions(), 13)
  }))

for (
  const [name, refuse] of [
    ["405", (_: Received, reply: Reply) => reply.status(405)],
    ["400", (_: Received, reply: Reply) => reply.status(400)],
    ["JSON", (_: Received, reply: Reply) => reply.json({})]
  ] as const
) {
  it.live(`a resumption that is refused with ${name} is not tried again, and its request fails at once`, () =>
    Effect.gen(function*() {
      const { request: ask, resumptions } = yield* connected(breaking((stream) => stream.event("", "a").end(), refuse))
      const reason = yield* reasonOf(ask(request(1)))
      assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause !== undefined)
      assert.lengthOf(resumptions(), 1)
    }))
}

it.live("[SHS-19] [law 12] a stream is not resumed whose last id is empty, or that no header can carry, or a long one", () =>
  Effect.gen(function*() {
    const long = `id: ${"a".repeat(4_097)}\ndata: \n\n`
    for (const text of ["id: a\ndata: \n\nid\ndata:\n\n", "id: a\u0001\ndata: \n\n", long]) {
      const { request: ask, resumptions } = yield* connected(breaking((stream) => stream.raw(text).end()))
      assert.strictEqual((yield* reasonOf(ask(request(1))))._tag, "ExchangeEnded")
      assert.lengthOf(resumptions(), 0)
    }
  }))

it.live("[SHS-19] an id goes back byte for byte", () =>
  Effect.gen(function*() {
    const { request: ask, resumptions } = yield* connected(breaking(
      (stream) => stream.event("", "漢/é:1 2").end(),
      (_, reply) => reply.stream().event(answer).end()
    ))
    yield* ask(request(1))
    assert.deepStrictEqual(resumptions().map((id) => Buffer.from(id?.toString() ?? "", "latin1").toString()), [
      "漢/é:1 2"
    ])
  }))

it.live("a stream is not resumed for a response that could not be read", () =>
  Effect.gen(function*() {
    const { faults, request: ask, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").raw("id: b\ndata: {\"id\":1,\n\n").end())
    )
    assert.strictEqual((yield* reasonOf(ask(request(1))))._tag, "ExchangeEnded")
    assert.lengthOf(faults(), 1)
    assert.lengthOf(resumptions(), 0)
  }))

it.live("each stream is resumed by itself", () =>
  Effect.gen(function*() {
    const { messages, request: ask, resumptions } = yield* connected(mcp((received, reply) => {
      const [id] = /\d+/.exec(`${received.headers["last-event-id"] ?? ""}`) ?? []
      if (id !== undefined) reply.stream().event({ jsonrpc: "2.0", id: Number(id), result: {} }).end()
      else reply.stream().event("", `stream-${String(idOf(received))}`).end()
    }))
    const ids = Array.from({ length: 20 }, (_, index) => index + 1)
    yield* Effect.forEach(ids, (id) => ask(request(id)), { concurrency: "unbounded" })
    assert.lengthOf(messages(), 20)
    assert.deepStrictEqual(resumptions().toSorted(), ids.map((id) => `stream-${id}`).toSorted())
  }))

it.live("a request that is given up while its stream is down is not resumed, and nothing is left", () =>
  Effect.gen(function*() {
    const { events, leave, peer, request: ask, resumptions } = yield* connected(
      breaking((stream) => stream.event("", "a").end()),
      { reconnect: { initialInterval: "1 hour" } }
    )
    const asking = yield* beside(ask(request(1)))
    yield* until(() => events.length === 1)
    yield* Fiber.interrupt(asking)
    yield* leave
    yield* nothingLeft(peer)
    assert.lengthOf(resumptions(), 0)
  }))
