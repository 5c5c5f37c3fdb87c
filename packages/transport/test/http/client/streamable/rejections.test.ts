import { TransportError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inspect } from "node:util"
import { allClosed, connect, notification, reasonOf, request, until } from "../../../support/httpClientConnection.ts"
import { type Handler, idOf, serve, withHandshake } from "../../../support/scriptedHttpServer.ts"

const connected = Effect.fnUntraced(function*(rest: Handler) {
  const peer = yield* serve(withHandshake(rest))
  const client = yield* connect(peer)
  yield* client.handshake
  return { peer, ...client }
})

const failure = (id: unknown, message = "no") => ({ jsonrpc: "2.0", id, error: { code: -32602, message } })

it.live("a JSON-RPC error in an error response is the response to its request, with the request's id or none", () =>
  Effect.gen(function*() {
    const ids = [1, null, undefined]
    let calls = 0
    const { messages, request: sendRequest } = yield* connected((_, reply) => reply.status(400, failure(ids[calls++])))
    for (let call = 0; call < 3; call++) yield* sendRequest(request(1))
    assert.deepStrictEqual(messages(), [failure(1), failure(1), failure(1)])
  }))

it.live("a JSON-RPC error in an error response keeps the digits of large integers", () =>
  Effect.gen(function*() {
    const text = `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no","data":1915883588174806058}}`
    const { messages, request: sendRequest } = yield* connected((_, reply) => reply.raw(400, {}, text))
    yield* sendRequest(request(1))
    assert.deepStrictEqual(messages().map((message) => JSON.stringify(message)), [text])
  }))

it.live("a JSON-RPC error with another id fails the request with Rejected", () =>
  Effect.gen(function*() {
    const { messages, peer, request: sendRequest } = yield* connected((_, reply) =>
      reply.status(400, failure(2, "for request 2"))
    )
    assert.deepStrictEqual(yield* reasonOf(sendRequest(request(1))), {
      _tag: "Rejected",
      status: 400,
      problem: "for request 2",
      retryAfterMillis: undefined,
      target: peer.url
    })
    assert.lengthOf(messages(), 0)
  }))

it.live("any other error response fails with its status, the beginning of its body, and its Retry-After", () =>
  Effect.gen(function*() {
    const replies: Array<Parameters<Handler>[1]["raw"]> = []
    const { peer, request: sendRequest } = yield* connected((received, reply) => {
      replies.push(reply.raw)
      switch (idOf(received)) {
        case 1:
          return reply.raw(503, { "retry-after": "7" }, "x".repeat(1_000))
        case 2:
          return reply.raw(429, { "retry-after": new Date(0).toUTCString() }, "{\"half\":")
        default:
          return reply.raw(403, { "retry-after": "soon" }, "")
      }
    })
    assert.deepStrictEqual(yield* reasonOf(sendRequest(request(1))), {
      _tag: "Rejected",
      status: 503,
      problem: `${"x".repeat(199)}…`,
      retryAfterMillis: 7_000,
      target: peer.url
    })
    assert.deepStrictEqual(yield* reasonOf(sendRequest(request(2))), {
      _tag: "Rejected",
      status: 429,
      problem: "{\"half\":",
      retryAfterMillis: 0,
      target: peer.url
    })
    assert.deepStrictEqual(yield* reasonOf(sendRequest(request(3))), {
      _tag: "Rejected",
      status: 403,
      problem: "no reason given",
      retryAfterMillis: undefined,
      target: peer.url
    })
  }))

it.live("[law 1] a request may have been carried out after a 5xx of the server or a proxy", () =>
  Effect.gen(function*() {
    const { peer, request: sendRequest } = yield* connected((received, reply) =>
      reply.raw(Number(idOf(received)), {}, "error")
    )
    for (const status of [500, 502, 504, 520]) {
      const reason = yield* reasonOf(sendRequest(request(status)))
      const cause = reason._tag === "ExchangeEnded" && reason.cause instanceof TransportError.TransportError
        ? reason.cause.reason
        : undefined
      assert.deepStrictEqual(cause, {
        _tag: "Rejected",
        status,
        problem: "error",
        retryAfterMillis: undefined,
        target: peer.url
      })
    }
    for (const status of [400, 429, 501, 503]) {
      assert.strictEqual((yield* reasonOf(sendRequest(request(status))))._tag, "Rejected")
    }
  }))

it.live("an error response whose body never ends fails the request", () =>
  Effect.gen(function*() {
    const { closeAll, peer, request: sendRequest } = yield* connected((received, reply) =>
      reply.raw(403, {}, idOf(received) === 1 ? "because" : "x".repeat(1_000_000), false)
    )
    const first = yield* reasonOf(sendRequest(request(1)))
    assert.isTrue(first._tag === "Rejected" && first.problem === "because")
    const second = yield* reasonOf(sendRequest(request(2)))
    assert.strictEqual(second._tag, "Rejected")
    yield* until(() => peer.openResponses() === 0)
    yield* closeAll
    yield* allClosed(peer)
  }))

it.live("a rejected notification or response fails by itself", () =>
  Effect.gen(function*() {
    let calls = 0
    const { peer, request: sendRequest, send } = yield* connected((received, reply) => {
      if (received.kind === "tools/call") return reply.json({ jsonrpc: "2.0", id: 1, result: {} })
      return calls++ === 0 ? reply.status(400, failure(undefined, "not that")) : reply.status(202)
    })
    assert.deepStrictEqual(yield* reasonOf(send(notification(1))), {
      _tag: "Rejected",
      status: 400,
      problem: "not that",
      retryAfterMillis: undefined,
      target: peer.url
    })
    yield* send({ jsonrpc: "2.0", id: 1, result: {} })
    yield* sendRequest(request(1))
  }))

it.live("a request to a stopped server fails with ConnectFailed", () =>
  Effect.gen(function*() {
    const url = yield* Effect.scoped(Effect.map(serve(() => {}), (peer) => peer.url))
    const peer = yield* serve(() => {})
    const client = yield* connect(peer, { url: `${url}?key=secret` })
    for (const sending of [client.request(request(0, "initialize")), client.send(notification(1))]) {
      const reason = yield* reasonOf(sending)
      // The query may contain secrets.
      assert.isTrue(reason._tag === "ConnectFailed" && reason.target === url)
    }
  }))

it.live("a redirect to another origin is not followed, which would receive the session id and the headers", () =>
  Effect.gen(function*() {
    const elsewhere = yield* serve((_, reply) => reply.json({}))
    for (const status of [301, 302, 303, 307, 308]) {
      const { request: sendRequest, send } = yield* connected((_, reply) =>
        reply.raw(status, { location: elsewhere.url }, "moved")
      )
      const reason = yield* reasonOf(sendRequest(request(1)))
      assert.isTrue(reason._tag === "Rejected" && reason.status === status && reason.problem.includes(elsewhere.url))
      assert.strictEqual((yield* reasonOf(send(notification(1))))._tag, "Rejected")
    }
    assert.lengthOf(elsewhere.received, 0)
  }))

it.live("the rejection of a request with an invalid id is delivered unchanged", () =>
  Effect.gen(function*() {
    const { messages, request: sendRequest } = yield* connected((_, reply) => reply.status(400, failure(null)))
    yield* sendRequest(request(1.5))
    assert.deepStrictEqual(messages(), [failure(null)])
  }))

it.live("an invalid URL fails connect, and the error shows no secrets", () =>
  Effect.gen(function*() {
    const peer = yield* serve(() => {})
    const reason = yield* reasonOf(Effect.scoped(connect(peer, { url: "example.com/mcp" })))
    assert.isTrue(reason._tag === "ConnectFailed" && reason.target === "example.com/mcp")
    const secret = yield* reasonOf(
      Effect.scoped(connect(peer, { url: "https://user:secret@example.com:port/mcp?token=secret" }))
    )
    assert.isTrue(secret._tag === "ConnectFailed" && secret.target === "https://example.com:port/mcp")
    assert.notInclude(inspect(secret), "secret")
  }))

it.live("[SHS-23] errors show neither the session id nor the program's headers", () =>
  Effect.gen(function*() {
    const peer = yield* serve(
      withHandshake((received, reply) =>
        idOf(received) === 1
          ? reply.disconnect()
          : idOf(received) === 2
          ? reply.status(500)
          : reply.stream().event("", "a").disconnect()
      )
    )
    const client = yield* connect(peer, { headers: { authorization: "the secret" } })
    yield* client.handshake
    for (const id of [1, 2, 3]) {
      const shown = inspect(yield* Effect.flip(client.request(request(id))), { depth: 20, showHidden: true })
      assert.notInclude(shown, "s1")
      assert.notInclude(shown, "the secret")
    }
  }))
