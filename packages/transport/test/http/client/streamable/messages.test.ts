import { JsonRpc } from "@effect-mcp/protocol"
import type { Transport } from "@effect-mcp/session"
import { StreamableHttpClient } from "@effect-mcp/transport"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Result from "effect/Result"
import * as Tracer from "effect/Tracer"
import { inspect } from "node:util"
import { beside, connect, nothingLeft, profile, reasonOf, request, until } from "../../../fixtures/httpConnection.ts"
import { type Handler, idOf, initializeResult, mcp, response, serve } from "../../../fixtures/httpPeer.ts"

const echo = (): Handler =>
  mcp((received, reply) => idOf(received) === undefined ? reply.status(202) : reply.json(response(received)))

it.live("[HTTP-02] [HTTP-04] each message is a POST of its own with one message in it", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    yield* client.shake
    yield* Effect.all([client.request(request(1)), client.request(request(2)), client.request(request("1"))], {
      concurrency: "unbounded"
    })
    yield* client.send(JsonRpc.notification("notifications/cancelled", { requestId: 9 }))
    yield* client.send({ jsonrpc: "2.0", id: 5, result: {} })
    assert.deepStrictEqual(client.messages().toSorted(), [
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: 2, result: {} },
      { jsonrpc: "2.0", id: "1", result: {} }
    ])
    const posts = peer.received.filter(({ method }) => method === "POST")
    assert.lengthOf(posts, 7)
    for (const post of posts) {
      assert.strictEqual(post.path, "/mcp")
      assert.strictEqual(post.headers["content-type"], "application/json")
      assert.isTrue(typeof post.message === "object" && post.message !== null && !Array.isArray(post.message))
    }
  }))

it.live("[HTTP-03] each POST accepts JSON and streams of events", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer, { headers: { accept: "text/html" } })
    yield* client.shake
    yield* client.request(request(1))
    for (const { headers, method } of peer.received) {
      if (method === "POST") assert.strictEqual(headers.accept, "application/json, text/event-stream")
    }
  }))

it.live("[SHS-30] the revision in the header is the one that was agreed on, though another was offered", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    yield* client.request(request(0, "initialize"))
    client.connection.onHandshake?.({ ...profile, revision: "2025-06-18" })
    yield* client.send(JsonRpc.notification("notifications/initialized"))
    yield* client.request(request(1))
    const posts = peer.received.filter(({ method }) => method === "POST")
    assert.deepStrictEqual(posts.map(({ headers }) => headers["mcp-protocol-version"]), [
      undefined,
      "2025-06-18",
      "2025-06-18"
    ])
  }))

it.live("[SHS-24] [INIT-11] what comes after the handshake carries the session id and the revision", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    yield* client.shake
    yield* client.request(request(1))
    yield* until(() => peer.asked().includes("GET"))
    yield* client.leave
    assert.deepStrictEqual(
      peer.received.map(({ headers, what }) => [what, headers["mcp-session-id"], headers["mcp-protocol-version"]])
        .toSorted(),
      [
        ["DELETE", "s1", "2025-11-25"],
        ["GET", "s1", "2025-11-25"],
        ["initialize", undefined, undefined],
        ["notifications/initialized", "s1", "2025-11-25"],
        ["tools/call", "s1", "2025-11-25"]
      ]
    )
  }))

it.live("a server that gives no session id gets none, and no DELETE", () =>
  Effect.gen(function*() {
    const others = echo()
    const peer = yield* serve((received, reply) =>
      received.what === "initialize"
        ? reply.json(response(received, initializeResult()))
        : others(received, reply)
    )
    const client = yield* connect(peer)
    yield* client.shake
    yield* client.request(request(1))
    yield* client.leave
    for (const { headers } of peer.received) assert.isUndefined(headers["mcp-session-id"])
    assert.notInclude(peer.asked(), "DELETE")
  }))

it.live("notifications and responses go out in order, each when the one before was accepted", () =>
  Effect.gen(function*() {
    let isAccepting = true
    const peer = yield* serve(mcp((_, reply) => {
      isAccepting = !isAccepting
      reply.status(isAccepting ? 200 : 204)
    }))
    const client = yield* connect(peer)
    yield* client.shake
    for (let id = 0; id < 10; id++) yield* client.send({ jsonrpc: "2.0", id, result: {} })
    assert.deepStrictEqual(
      peer.received.filter(({ what }) => what === "response").map(idOf),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    )
  }))

it.live("what is no JSON is refused before anything is sent", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    const reason = yield* reasonOf(client.send({ jsonrpc: "2.0", method: "x", params: { value: 1n } }))
    assert.strictEqual(reason._tag, "Unserializable")
    assert.lengthOf(peer.received, 0)
  }))

it.live("connections are used again, and none is left", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer, { standalone: false })
    yield* client.shake
    for (let id = 1; id <= 20; id++) yield* client.request(request(id))
    assert.isAtMost(peer.sockets(), 2)
    yield* client.leave
    yield* nothingLeft(peer)
  }))

it.live("each connection is a session of its own", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const first = yield* connect(peer)
    const second = yield* connect(peer)
    yield* first.shake
    yield* second.shake
    yield* first.request(request(1))
    yield* second.request(request(1))
    assert.deepStrictEqual(
      peer.received.filter(({ what }) => what === "tools/call").map(({ headers }) => headers["mcp-session-id"]),
      ["s1", "s2"]
    )
  }))

it.live("what comes before anybody listens is kept", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const transport = yield* StreamableHttpClient.make({ url: peer.url }).pipe(
      Effect.provide(NodeHttpClient.layerFetch)
    )
    const connection = yield* transport.connect
    yield* connection.request?.(request(0, "initialize")) ?? Effect.die("requests have streams of their own")
    const inbound: Array<Transport.Inbound> = []
    yield* beside(connection.run((one) => inbound.push(one)))
    assert.deepStrictEqual(inbound.map(({ frame }) => frame), [
      Result.succeed({ jsonrpc: "2.0", id: 0, result: initializeResult() })
    ])
  }))

it.live("[SHS-23] a program that has its headers traced does not have the session id traced", () =>
  Effect.gen(function*() {
    const traced: Array<unknown> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        traced.push(span.attributes)
        return span
      }
    })
    const peer = yield* serve(echo())
    yield* Effect.gen(function*() {
      const client = yield* connect(peer, { standalone: false })
      yield* client.shake
      yield* client.request(request(1))
      yield* client.leave
    }).pipe(
      Effect.provideService(HttpClient.TracerHeaderFilter, () => true),
      Effect.withTracer(tracer)
    )
    assert.strictEqual(peer.received[2]?.headers["mcp-session-id"], "s1")
    const shown = inspect(traced, { depth: 20 })
    assert.include(shown, "mcp-session-id")
    assert.notMatch(shown, /\bs1\b/)
  }))
