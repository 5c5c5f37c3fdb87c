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
import {
  allClosed,
  connect,
  forkNow,
  profile,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import {
  type Handler,
  idOf,
  initializeResult,
  response,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"

const echo = (): Handler =>
  withHandshake((received, reply) => idOf(received) === undefined ? reply.status(202) : reply.json(response(received)))

it.live("[HTTP-02] [HTTP-04] [HTTP-05] each POST carries exactly one message", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    yield* client.handshake
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

it.live("[HTTP-03] each POST accepts JSON and SSE streams", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer, { headers: { accept: "text/html" } })
    yield* client.handshake
    yield* client.request(request(1))
    for (const { headers, method } of peer.received) {
      if (method === "POST") assert.strictEqual(headers.accept, "application/json, text/event-stream")
    }
  }))

it.live("[SHS-30] the header has the negotiated revision, not the one that the client requested", () =>
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

it.live("[SHS-24] [INIT-11] every request after the handshake has the session id and the revision", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    yield* client.handshake
    yield* client.request(request(1))
    yield* until(() => peer.kinds().includes("GET"))
    yield* client.closeAll
    assert.deepStrictEqual(
      peer.received.map(({ headers, kind }) => [kind, headers["mcp-session-id"], headers["mcp-protocol-version"]])
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

it.live("a server without session ids receives no session id and no DELETE", () =>
  Effect.gen(function*() {
    const others = echo()
    const peer = yield* serve((received, reply) =>
      received.kind === "initialize"
        ? reply.json(response(received, initializeResult()))
        : others(received, reply)
    )
    const client = yield* connect(peer)
    yield* client.handshake
    yield* client.request(request(1))
    yield* client.closeAll
    for (const { headers } of peer.received) assert.isUndefined(headers["mcp-session-id"])
    assert.notInclude(peer.kinds(), "DELETE")
  }))

it.live("notifications and responses are sent in order, each after the one before was accepted", () =>
  Effect.gen(function*() {
    let isAccepting = true
    const peer = yield* serve(withHandshake((_, reply) => {
      isAccepting = !isAccepting
      reply.status(isAccepting ? 200 : 204)
    }))
    const client = yield* connect(peer)
    yield* client.handshake
    for (let id = 0; id < 10; id++) yield* client.send({ jsonrpc: "2.0", id, result: {} })
    assert.deepStrictEqual(
      peer.received.filter(({ kind }) => kind === "response").map(idOf),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    )
  }))

it.live("a value that JSON cannot represent fails before anything is sent", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer)
    const reason = yield* reasonOf(client.send({ jsonrpc: "2.0", method: "x", params: { value: 1n } }))
    assert.strictEqual(reason._tag, "Unserializable")
    assert.lengthOf(peer.received, 0)
  }))

it.live("HTTP connections are reused, and none is left", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const client = yield* connect(peer, { standalone: false })
    yield* client.handshake
    for (let id = 1; id <= 20; id++) yield* client.request(request(id))
    assert.isAtMost(peer.sockets(), 2)
    yield* client.closeAll
    yield* allClosed(peer)
  }))

it.live("each connection has its own session", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const first = yield* connect(peer)
    const second = yield* connect(peer)
    yield* first.handshake
    yield* second.handshake
    yield* first.request(request(1))
    yield* second.request(request(1))
    assert.deepStrictEqual(
      peer.received.filter(({ kind }) => kind === "tools/call").map(({ headers }) => headers["mcp-session-id"]),
      ["s1", "s2"]
    )
  }))

it.live("messages that arrive before run are kept", () =>
  Effect.gen(function*() {
    const peer = yield* serve(echo())
    const transport = yield* StreamableHttpClient.make({ url: peer.url }).pipe(
      Effect.provide(NodeHttpClient.layerFetch)
    )
    const connection = yield* transport.connect
    yield* connection.request?.(request(0, "initialize")) ?? Effect.die("the connection has no streams for requests")
    const inbound: Array<Transport.Inbound> = []
    yield* forkNow(connection.run((one) => inbound.push(one)))
    assert.deepStrictEqual(inbound.map(({ frame }) => frame), [
      Result.succeed({ jsonrpc: "2.0", id: 0, result: initializeResult() })
    ])
  }))

it.live("[SHS-23] spans show no session id, also if the program traces all headers", () =>
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
      yield* client.handshake
      yield* client.request(request(1))
      yield* client.closeAll
    }).pipe(
      Effect.provideService(HttpClient.TracerHeaderFilter, () => true),
      Effect.withTracer(tracer)
    )
    assert.strictEqual(peer.received[2]?.headers["mcp-session-id"], "s1")
    const shown = inspect(traced, { depth: 20 })
    assert.include(shown, "mcp-session-id")
    assert.notMatch(shown, /\bs1\b/)
  }))
