import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import {
  allClosed,
  connect,
  exitOf,
  forkNow,
  notification,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import { type Handler, idOf, response, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

const connected = Effect.fnUntraced(function*(rest: Handler, options?: Parameters<typeof connect>[1]) {
  const peer = yield* serve(withHandshake(rest))
  const client = yield* connect(peer, options)
  yield* client.handshake
  return { peer, ...client }
})

it.live("[HTTP-10] a response is JSON or an SSE stream, whose messages are delivered in order", () =>
  Effect.gen(function*() {
    let calls = 0
    const { messages, peer, request: sendRequest } = yield* connected((received, reply) =>
      calls++ === 0
        ? reply.json(response(received, { first: true }))
        : reply.stream().event(notification(1)).raw(": a comment\n\n").event(notification(2)).event(
          response(received, { second: true })
        ).end()
    )
    yield* sendRequest(request(1))
    yield* sendRequest(request(2))
    assert.deepStrictEqual(messages(), [
      { jsonrpc: "2.0", id: 1, result: { first: true } },
      notification(1),
      notification(2),
      { jsonrpc: "2.0", id: 2, result: { second: true } }
    ])
    assert.strictEqual(peer.openResponses(), 0)
  }))

it.live("[HTTP-10] the content type is read without regard to case and parameters", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest } = yield* connected((received, reply) =>
      reply.raw(200, { "content-type": "Application/JSON; charset=utf-8" }, JSON.stringify(response(received)))
    )
    yield* sendRequest(request(1))
    assert.lengthOf(messages(), 1)
  }))

it.live("messages are delivered as they arrive", () =>
  Effect.gen(function*() {
    let finish = () => {}
    const { messages, request: sendRequest } = yield* connected((received, reply) => {
      const stream = reply.stream().event(notification(1))
      finish = () => stream.event(response(received)).end()
    })
    const requesting = yield* forkNow(sendRequest(request(1)))
    yield* until(() => messages().length === 1)
    assert.isUndefined(exitOf(requesting))
    finish()
    yield* Fiber.join(requesting)
    assert.lengthOf(messages(), 2)
  }))

it.live("a request does not wait for the end of the stream after its response", () =>
  Effect.gen(function*() {
    const { messages, peer, request: sendRequest } = yield* connected((received, reply) => {
      reply.stream().event(response(received))
    })
    yield* sendRequest(request(1))
    assert.lengthOf(messages(), 1)
    yield* until(() => peer.openResponses() === 0)
  }))

it.live("a batch that contains the response is delivered unchanged", () =>
  Effect.gen(function*() {
    let calls = 0
    const batch = (received: Parameters<Handler>[0]) => [notification(1), response(received)]
    const { messages, request: sendRequest } = yield* connected((received, reply) =>
      calls++ === 0 ? reply.json(batch(received)) : reply.stream().event(batch(received))
    )
    yield* sendRequest(request(1))
    yield* sendRequest(request(2))
    assert.deepStrictEqual(messages(), [
      [notification(1), { jsonrpc: "2.0", id: 1, result: {} }],
      [notification(1), { jsonrpc: "2.0", id: 2, result: {} }]
    ])
  }))

it.live("a request of the server with the same id is not the response", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest } = yield* connected((received, reply) => {
      const stream = reply.stream().event({ jsonrpc: "2.0", id: idOf(received), method: "ping" })
      if (idOf(received) === 1) stream.event(response(received))
      stream.end()
    })
    yield* sendRequest(request(1))
    assert.strictEqual((yield* reasonOf(sendRequest(request(2))))._tag, "ExchangeEnded")
    assert.lengthOf(messages(), 3)
  }))

it.live("a stream without event ids that ends without the response fails its request at once", () =>
  Effect.gen(function*() {
    const { events, messages, request: sendRequest } = yield* connected((_, reply) =>
      reply.stream().event(notification(1)).end()
    )
    const reason = yield* reasonOf(sendRequest(request(1)))
    assert.deepStrictEqual(reason, { _tag: "ExchangeEnded" })
    assert.deepStrictEqual(messages(), [notification(1)])
    assert.deepStrictEqual(events, [
      { _tag: "StreamLost", method: "tools/call", id: 1, tool: "x", cause: undefined, retryAfterMillis: undefined }
    ])
  }))

it.live("a request with a safe method is not repeated in the same session", () =>
  Effect.gen(function*() {
    const { peer, request: sendRequest } = yield* connected((_, reply) => reply.stream().end())
    assert.strictEqual((yield* reasonOf(sendRequest(request(1, "tools/list"))))._tag, "ExchangeEnded")
    assert.lengthOf(peer.kinds().filter((kind) => kind === "tools/list"), 1)
  }))

it.live("a stream that breaks fails its request with the cause", () =>
  Effect.gen(function*() {
    const { request: sendRequest } = yield* connected((_, reply) => reply.stream().event(notification(1)).disconnect())
    const reason = yield* reasonOf(sendRequest(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause instanceof Error)
  }))

it.live("a connection that breaks before the response fails its request with ExchangeEnded", () =>
  Effect.gen(function*() {
    const { request: sendRequest } = yield* connected((_, reply) => reply.disconnect())
    const reason = yield* reasonOf(sendRequest(request(1)))
    assert.isTrue(reason._tag === "ExchangeEnded" && reason.cause instanceof Error)
  }))

it.live("an incomplete JSON body fails its request", () =>
  Effect.gen(function*() {
    const { request: sendRequest } = yield* connected((_, reply) => {
      reply.raw(200, { "content-type": "application/json", "content-length": 100 }, "{\"jsonrpc\":", false)
      setImmediate(() => reply.disconnect())
    })
    assert.strictEqual((yield* reasonOf(sendRequest(request(1))))._tag, "ExchangeEnded")
  }))

for (
  const [name, status, type, problem] of [
    ["202", 202, undefined, "status 202"],
    ["an HTML page", 200, "text/html", "text/html"],
    ["204", 204, undefined, "204"]
  ] as const
) {
  it.live(`a request that is answered with ${name} fails at once`, () =>
    Effect.gen(function*() {
      const { request: sendRequest } = yield* connected((_, reply) =>
        reply.raw(status, type === undefined ? {} : { "content-type": type }, type === undefined ? "" : "<p>Hello</p>")
      )
      const reason = yield* reasonOf(sendRequest(request(1)))
      assert.isTrue(
        reason._tag === "ExchangeEnded" && reason.cause instanceof Error && reason.cause.message.includes(problem)
      )
    }))
}

it.live("an invalid JSON body is reported, and fails its request", () =>
  Effect.gen(function*() {
    const { frameErrors, request: sendRequest } = yield* connected((_, reply) =>
      reply.raw(200, { "content-type": "application/json" }, "{\"jsonrpc\":")
    )
    assert.strictEqual((yield* reasonOf(sendRequest(request(1))))._tag, "ExchangeEnded")
    assert.deepStrictEqual(frameErrors(), [{ _tag: "NotJson", text: "{\"jsonrpc\":" }])
  }))

it.live("[law 7] an event that is not JSON is reported, and its neighbours are delivered", () =>
  Effect.gen(function*() {
    const { frameErrors, messages, request: sendRequest } = yield* connected((received, reply) =>
      reply.stream().event(notification(1)).raw("data: {\"half\":\n\n").event(response(received)).end()
    )
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [notification(1), { jsonrpc: "2.0", id: 1, result: {} }])
    assert.deepStrictEqual(frameErrors(), [{ _tag: "NotJson", text: "{\"half\":" }])
  }))

it.live("[law 7] deeply nested arrays are delivered unchanged, and the next event is read", () =>
  Effect.gen(function*() {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
    const { messages, request: sendRequest } = yield* connected((received, reply) =>
      reply.stream().raw(`data: ${deep}\n\n`).event(response(received)).end()
    )
    yield* sendRequest(request(1))
    assert.lengthOf(messages(), 2)
    assert.deepStrictEqual(messages()[1], { jsonrpc: "2.0", id: 1, result: {} })
  }))

it.live("a response above maxMessageBytes is reported, and fails its request", () =>
  Effect.gen(function*() {
    const large = { text: "x".repeat(2_000) }
    let calls = 0
    const { frameErrors, messages, peer, request: sendRequest } = yield* connected((received, reply) => {
      calls++
      if (calls === 1) reply.json(response(received, large))
      else if (calls === 2) {
        // This body never ends.
        reply.raw(200, { "content-type": "application/json" }, "x".repeat(2_000), false)
      } else reply.stream().event(notification(1)).event(response(received, large)).event(notification(2)).end()
    }, { maxMessageBytes: 1_000 })
    for (let id = 1; id <= 3; id++) {
      assert.strictEqual((yield* reasonOf(sendRequest(request(id))))._tag, "ExchangeEnded")
    }
    const tooLarge = { _tag: "TooLarge", limitBytes: 1_000 } as const
    assert.deepStrictEqual(frameErrors(), [tooLarge, tooLarge, tooLarge])
    assert.deepStrictEqual(messages(), [notification(1), notification(2)])
    yield* until(() => peer.openResponses() === 0)
  }))

it.live("law 12: a response with more nodes than maxMessageNodes is not parsed, and fails its request", () =>
  Effect.gen(function*() {
    const wide = { list: Array.from({ length: 100 }, () => []) }
    let calls = 0
    const { frameErrors, messages, request: sendRequest } = yield* connected((received, reply) => {
      calls++
      if (calls === 1) reply.json(response(received, wide))
      else if (calls === 2) reply.stream().event(notification(1)).event(response(received, wide)).end()
      else reply.json(response(received))
    }, { maxMessageNodes: 50 })
    for (let id = 1; id <= 2; id++) {
      assert.strictEqual((yield* reasonOf(sendRequest(request(id))))._tag, "ExchangeEnded")
    }
    // The message and its four members, the result and its member, the list, and the 100 arrays in it.
    const tooComplex = { _tag: "TooComplex", nodes: 107, limitNodes: 50 } as const
    assert.deepStrictEqual(frameErrors(), [tooComplex, tooComplex])
    yield* sendRequest(request(3))
    assert.lengthOf(messages(), 2)
  }))

it.live("an interrupted request closes its connection, in any state", () =>
  Effect.gen(function*() {
    let calls = 0
    const { closeAll, messages, peer, request: sendRequest } = yield* connected((_, reply) => {
      calls++
      if (calls === 1) return
      if (calls === 2) reply.raw(200, { "content-type": "application/json" }, "{", false)
      else reply.stream().event(notification(1), "a")
    })
    for (let call = 1; call <= 3; call++) {
      const requesting = yield* forkNow(sendRequest(request(call)))
      yield* until(() => calls === call && (call < 3 || messages().length > 0))
      yield* Fiber.interrupt(requesting)
      yield* until(() => peer.openResponses() === 0)
    }
    // It is not resumed like a broken stream.
    assert.notInclude(peer.received.map(({ headers }) => headers["last-event-id"]), "a")
    yield* closeAll
    yield* allClosed(peer)
  }))
