import { TransportError } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { inspect } from "node:util"
import { connect, nothingLeft, notification, reasonOf, request, until } from "../../../fixtures/httpConnection.ts"
import { type Handler, idOf, mcp, serve } from "../../../fixtures/httpPeer.ts"

const connected = Effect.fnUntraced(function*(rest: Handler) {
  const peer = yield* serve(mcp(rest))
  const client = yield* connect(peer)
  yield* client.shake
  return { peer, ...client }
})

const failure = (id: unknown, message = "no") => ({ jsonrpc: "2.0", id, error: { code: -32602, message } })

it.live("a refusal that is a JSON-RPC error is the response to its request, whether it names the id or none", () =>
  Effect.gen(function*() {
    const ids = [1, null, undefined]
    let calls = 0
    const { messages, request: ask } = yield* connected((_, reply) => reply.status(400, failure(ids[calls++])))
    for (let call = 0; call < 3; call++) yield* ask(request(1))
    assert.deepStrictEqual(messages(), [failure(1), failure(1), failure(1)])
  }))

it.live("a refusal with somebody else's id is none", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected((_, reply) => reply.status(400, failure(2, "it is about 2")))
    assert.deepStrictEqual(yield* reasonOf(ask(request(1))), {
      _tag: "Rejected",
      status: 400,
      problem: "it is about 2",
      retryAfterMillis: undefined
    })
    assert.lengthOf(messages(), 0)
  }))

it.live("another refusal carries its status, the beginning of what it says, and when to come back", () =>
  Effect.gen(function*() {
    const replies: Array<Parameters<Handler>[1]["raw"]> = []
    const { request: ask } = yield* connected((received, reply) => {
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
    assert.deepStrictEqual(yield* reasonOf(ask(request(1))), {
      _tag: "Rejected",
      status: 503,
      problem: "x".repeat(200),
      retryAfterMillis: 7_000
    })
    assert.deepStrictEqual(yield* reasonOf(ask(request(2))), {
      _tag: "Rejected",
      status: 429,
      problem: "{\"half\":",
      retryAfterMillis: 0
    })
    assert.deepStrictEqual(yield* reasonOf(ask(request(3))), {
      _tag: "Rejected",
      status: 403,
      problem: "it does not say why",
      retryAfterMillis: undefined
    })
  }))

it.live("[law 1] a server that failed, or a proxy that lost one, may have carried the request out", () =>
  Effect.gen(function*() {
    const { request: ask } = yield* connected((received, reply) => reply.raw(Number(idOf(received)), {}, "oh"))
    for (const status of [500, 502, 504, 520]) {
      const reason = yield* reasonOf(ask(request(status)))
      const cause = reason._tag === "ExchangeEnded" && reason.cause instanceof TransportError.TransportError
        ? reason.cause.reason
        : undefined
      assert.deepStrictEqual(cause, { _tag: "Rejected", status, problem: "oh", retryAfterMillis: undefined })
    }
    for (const status of [400, 429, 501, 503]) {
      assert.strictEqual((yield* reasonOf(ask(request(status))))._tag, "Rejected")
    }
  }))

it.live("a refusal whose body never ends, or is endless, is one all the same", () =>
  Effect.gen(function*() {
    const { leave, peer, request: ask } = yield* connected((received, reply) =>
      reply.raw(403, {}, idOf(received) === 1 ? "because" : "x".repeat(1_000_000), false)
    )
    const first = yield* reasonOf(ask(request(1)))
    assert.isTrue(first._tag === "Rejected" && first.problem === "because")
    const second = yield* reasonOf(ask(request(2)))
    assert.strictEqual(second._tag, "Rejected")
    yield* until(() => peer.open() === 0)
    yield* leave
    yield* nothingLeft(peer)
  }))

it.live("a notification or response that is refused fails alone", () =>
  Effect.gen(function*() {
    let calls = 0
    const { request: ask, send } = yield* connected((received, reply) => {
      if (received.what === "tools/call") return reply.json({ jsonrpc: "2.0", id: 1, result: {} })
      return calls++ === 0 ? reply.status(400, failure(undefined, "not that")) : reply.status(202)
    })
    assert.deepStrictEqual(yield* reasonOf(send(notification(1))), {
      _tag: "Rejected",
      status: 400,
      problem: "not that",
      retryAfterMillis: undefined
    })
    yield* send({ jsonrpc: "2.0", id: 1, result: {} })
    yield* ask(request(1))
  }))

it.live("a server that is not there is told apart from one that may have carried a request out", () =>
  Effect.gen(function*() {
    const url = yield* Effect.scoped(Effect.map(serve(() => {}), (peer) => peer.url))
    const peer = yield* serve(() => {})
    const client = yield* connect(peer, { url: `${url}?key=secret` })
    for (const sending of [client.request(request(0, "initialize")), client.send(notification(1))]) {
      const reason = yield* reasonOf(sending)
      // The query may hold what is nobody's business.
      assert.isTrue(reason._tag === "ConnectFailed" && reason.target === url)
    }
  }))

it.live("a redirect is not followed, so that neither id nor headers get anywhere else", () =>
  Effect.gen(function*() {
    const elsewhere = yield* serve((_, reply) => reply.json({}))
    for (const status of [301, 302, 303, 307, 308]) {
      const { request: ask, send } = yield* connected((_, reply) =>
        reply.raw(status, { location: elsewhere.url }, "moved")
      )
      const reason = yield* reasonOf(ask(request(1)))
      assert.isTrue(reason._tag === "Rejected" && reason.status === status && reason.problem.includes(elsewhere.url))
      assert.strictEqual((yield* reasonOf(send(notification(1))))._tag, "Rejected")
    }
    assert.lengthOf(elsewhere.received, 0)
  }))

it.live("a refusal of a request whose id is none is delivered as it came", () =>
  Effect.gen(function*() {
    const { messages, request: ask } = yield* connected((_, reply) => reply.status(400, failure(null)))
    yield* ask(request(1.5))
    assert.deepStrictEqual(messages(), [failure(null)])
  }))

it.live("a URL that is none is told when it is used", () =>
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

it.live("[SHS-23] what fails says nothing of the session id, nor of the program's secrets", () =>
  Effect.gen(function*() {
    const peer = yield* serve(
      mcp((received, reply) =>
        idOf(received) === 1
          ? reply.cut()
          : idOf(received) === 2
          ? reply.status(500)
          : reply.stream().event("", "a").cut()
      )
    )
    const client = yield* connect(peer, { headers: { authorization: "the secret" } })
    yield* client.shake
    for (const id of [1, 2, 3]) {
      const shown = inspect(yield* Effect.flip(client.request(request(id))), { depth: 20, showHidden: true })
      assert.notInclude(shown, "s1")
      assert.notInclude(shown, "the secret")
    }
  }))
