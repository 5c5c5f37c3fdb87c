import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  beside,
  connect,
  nothingLeft,
  notification,
  outcomeOf,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import { type Handler, idOf, mcp, response, serve } from "../../../fixtures/httpPeer.ts"

const connected = Effect.fnUntraced(function*(rest: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(mcp(rest))
  const client = yield* connect(peer, options)
  yield* client.shake
  return { peer, ...client }
})

it.live("[HTTP-10] an answer may be JSON or a stream of events, whose messages come in order", () =>
  Effect.gen(function*() {
    let calls = 0
    const { messages, peer, request: ask } = yield* connected((received, reply) =>
      calls++ === 0
        ? reply.json(response(received, { first: true }))
        : reply.stream().event(notification(1)).raw(": a comment\n\n").event(notification(2)).event(
          response(received, { second: true })
        ).end()
    )
    yield* ask(request(1))
    yield* ask(request(2))
    assert.deepStrictEqual(messages(), [
      { jsonrpc: "2.0", id: 1, result: { first: true } },
      notification(1),
      notification(2),
      { jsonrpc: "2.0", id: 2, result: { second: true } }
    ])
    assert.strictEqual(peer.open(), 0)
  }))

it.live("[HTTP-10] the type of an answer may be written in capitals and have parameters", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected((received, reply) =>
      reply.raw(200, { "content-type": "Application/JSON; charset=utf-8" }, JSON.stringify(response(received)))
    )
    yield* ask(request(1))
    assert.lengthOf(messages(), 1)
  }))

it.live("messages are delivered while the stream is open", () =>
  Effect.gen(function*() {
    let finish = () => {}
    const { messages, request: ask } = yield* connected((received, reply) => {
      const stream = reply.stream().event(notification(1))
      finish = () => stream.event(response(received)).end()
    })
    const asking = yield* beside(ask(request(1)))
    yield* until(() => messages().length === 1)
    assert.isUndefined(outcomeOf(asking))
    finish()
    yield* Fiber.join(asking)
    assert.lengthOf(messages(), 2)
  }))

it.live("a server that leaves the stream open behind the response is not waited for", () =>
  Effect.gen(function*() {
    const { messages, peer, request: ask } = yield* connected((received, reply) => {
      reply.stream().event(response(received))
    })
    yield* ask(request(1))
    assert.lengthOf(messages(), 1)
    yield* until(() => peer.open() === 0)
  }))

it.live("a batch is delivered as it came, and holds the response", () =>
  Effect.gen(function*() {
    let calls = 0
    const batch = (received: Parameters<Handler>[0]) => [notification(1), response(received)]
    const { messages, request: ask } = yield* connected((received, reply) =>
      calls++ === 0 ? reply.json(batch(received)) : reply.stream().event(batch(received))
    )
    yield* ask(request(1))
    yield* ask(request(2))
    assert.deepStrictEqual(messages(), [
      [notification(1), { jsonrpc: "2.0", id: 1, result: {} }],
      [notification(1), { jsonrpc: "2.0", id: 2, result: {} }]
    ])
  }))

it.live("a request of the server with the same id is not taken for the response", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected((received, reply) => {
      const stream = reply.stream().event({ jsonrpc: "2.0", id: idOf(received), method: "ping" })
      if (idOf(received) === 1) stream.event(response(received))
      stream.end()
    })
    yield* ask(request(1))
    assert.strictEqual((yield* reasonOf(ask(request(2))))._tag, "ExchangeEnded")
    assert.lengthOf(messages(), 3)
  }))

it.live("a stream that ends without the response fails its request at once, where it has no event ids", () =>
  Effect.gen(function*() {
    const { events, messages, request: ask } = yield* connected((_, reply) =>
      reply.stream().event(notification(1)).end()
    )
    const reason = yield* reasonOf(ask(request(1)))
    assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    assert.deepStrictEqual(messages(), [notification(1)])
    assert.deepStrictEqual(events, [
      { _tag: "StreamLost", method: "tools/call", cause: undefined, retryAfterMillis: undefined }
    ])
  }))

it.live("even a request that only reads is not asked again while its session stands", () =>
  Effect.gen(function*() {
    const { peer, request: ask } = yield* connected((_, reply) => reply.stream().end())
    assert.strictEqual((yield* reasonOf(ask(request(1, "tools/list"))))._tag, "ExchangeEnded")
    assert.lengthOf(peer.asked().filter((what) => what === "tools/list"), 1)
  }))

it.live("a stream that is cut off fails its request with the cause", () =>
  Effect.gen(function*() {
    const { request: ask } = yield* connected((_, reply) => reply.stream().event(notification(1)).cut())
    const reason = yield* reasonOf(ask(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause instanceof Error)
  }))

it.live("a connection that is cut before the answer fails its request, which may have been carried out", () =>
  Effect.gen(function*() {
    const { request: ask } = yield* connected((_, reply) => reply.cut())
    const reason = yield* reasonOf(ask(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause instanceof Error)
  }))

it.live("a JSON answer that is cut off fails its request", () =>
  Effect.gen(function*() {
    const { request: ask } = yield* connected((_, reply) => {
      reply.raw(200, { "content-type": "application/json", "content-length": 100 }, "{\"jsonrpc\":", false)
      setImmediate(() => reply.cut())
    })
    assert.strictEqual((yield* reasonOf(ask(request(1))))._tag, "ExchangeEnded")
  }))

for (
  const [name, status, type, words] of [
    ["no content", 202, undefined, "status 202"],
    ["a page", 200, "text/html", "text/html"],
    ["nothing at all", 204, undefined, "204"]
  ] as const
) {
  it.live(`a request that is answered with ${name} fails at once`, () =>
    Effect.gen(function*() {
      const { request: ask } = yield* connected((_, reply) =>
        reply.raw(status, type === undefined ? {} : { "content-type": type }, type === undefined ? "" : "<p>Hello</p>")
      )
      const reason = yield* reasonOf(ask(request(1)))
      assert.isTrue(
        reason._tag === "ExchangeEnded" && reason.cause instanceof Error && reason.cause.message.includes(words)
      )
    }))
}

it.live("JSON that cannot be read is reported, and fails its request", () =>
  Effect.gen(function*() {
    const { faults, request: ask } = yield* connected((_, reply) =>
      reply.raw(200, { "content-type": "application/json" }, "{\"jsonrpc\":")
    )
    assert.strictEqual((yield* reasonOf(ask(request(1))))._tag, "ExchangeEnded")
    assert.deepStrictEqual(faults(), [{ _tag: "NotJson", text: "{\"jsonrpc\":" }])
  }))

it.live("[law 7] an event that cannot be read is reported, and its neighbours are delivered", () =>
  Effect.gen(function*() {
    const { faults, messages, request: ask } = yield* connected((received, reply) =>
      reply.stream().event(notification(1)).raw("data: {\"half\":\n\n").event(response(received)).end()
    )
    yield* ask(request(1))
    assert.deepStrictEqual(messages(), [notification(1), { jsonrpc: "2.0", id: 1, result: {} }])
    assert.deepStrictEqual(faults(), [{ _tag: "NotJson", text: "{\"half\":" }])
  }))

it.live("[law 7] arrays in arrays without end are delivered as they came, and cost nothing else", () =>
  Effect.gen(function*() {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
    const { messages, request: ask } = yield* connected((received, reply) =>
      reply.stream().raw(`data: ${deep}\n\n`).event(response(received)).end()
    )
    yield* ask(request(1))
    assert.lengthOf(messages(), 2)
    assert.deepStrictEqual(messages()[1], { jsonrpc: "2.0", id: 1, result: {} })
  }))

it.live("an answer larger than the limit is given up, reported, and fails its request", () =>
  Effect.gen(function*() {
    const large = { text: "x".repeat(2_000) }
    let calls = 0
    const { faults, messages, peer, request: ask } = yield* connected((received, reply) => {
      calls++
      if (calls === 1) reply.json(response(received, large))
      else if (calls === 2) {
        // It never ends, and is not read for ever.
        reply.raw(200, { "content-type": "application/json" }, "x".repeat(2_000), false)
      } else reply.stream().event(notification(1)).event(response(received, large)).event(notification(2)).end()
    }, { maxMessageBytes: 1_000 })
    for (let id = 1; id <= 3; id++) assert.strictEqual((yield* reasonOf(ask(request(id))))._tag, "ExchangeEnded")
    const tooLarge = { _tag: "TooLarge", limitBytes: 1_000 } as const
    assert.deepStrictEqual(faults(), [tooLarge, tooLarge, tooLarge])
    assert.deepStrictEqual(messages(), [notification(1), notification(2)])
    yield* until(() => peer.open() === 0)
  }))

it.live("law 12: an answer of more arrays, objects and members than the limit is not parsed, and fails its request", () =>
  Effect.gen(function*() {
    const wide = { list: Array.from({ length: 100 }, () => []) }
    let calls = 0
    const { faults, messages, request: ask } = yield* connected((received, reply) => {
      calls++
      if (calls === 1) reply.json(response(received, wide))
      else if (calls === 2) reply.stream().event(notification(1)).event(response(received, wide)).end()
      else reply.json(response(received))
    }, { maxMessageNodes: 50 })
    for (let id = 1; id <= 2; id++) assert.strictEqual((yield* reasonOf(ask(request(id))))._tag, "ExchangeEnded")
    // The message and its four members, the result and its one, the list, and what is in it.
    const tooComplex = { _tag: "TooComplex", nodes: 107, limitNodes: 50 } as const
    assert.deepStrictEqual(faults(), [tooComplex, tooComplex])
    yield* ask(request(3))
    assert.lengthOf(messages(), 2)
  }))

it.live("giving a request up gives its connection up, in whatever state it is", () =>
  Effect.gen(function*() {
    let calls = 0
    const { leave, messages, peer, request: ask } = yield* connected((_, reply) => {
      calls++
      if (calls === 1) return
      if (calls === 2) reply.raw(200, { "content-type": "application/json" }, "{", false)
      else reply.stream().event(notification(1), "a")
    })
    for (let call = 1; call <= 3; call++) {
      const asking = yield* beside(ask(request(call)))
      yield* until(() => calls === call && (call < 3 || messages().length > 0))
      yield* Fiber.interrupt(asking)
      yield* until(() => peer.open() === 0)
    }
    // It was not taken for a stream that broke off.
    assert.notInclude(peer.received.map(({ headers }) => headers["last-event-id"]), "a")
    yield* leave
    yield* nothingLeft(peer)
  }))
