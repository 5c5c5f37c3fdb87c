import { Transport, type TransportError } from "@effect-mcp/session"
import { HttpSseClient, StreamableHttpClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import {
  beside,
  nothingLeft,
  notification,
  profile,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import { serve } from "../../../fixtures/httpPeer.ts"
import { connect, message, serveStream, transportTo } from "../../../fixtures/ssePeer.ts"
import { still } from "../../../support/still.ts"

/** Why a connection is not made. */
const refusalOf = (peer: { readonly url: string }, options?: Partial<HttpSseClient.Options>) =>
  Effect.scoped(Effect.gen(function*() {
    const { transport } = yield* transportTo(peer, options)
    return yield* reasonOf(Effect.scoped(transport.connect))
  }))

/** The words of why it is not. */
const problemOf = (reason: TransportError.TransportErrorReason) =>
  reason._tag === "ConnectFailed" && reason.cause instanceof Error ? reason.cause.message : reason._tag

describe.concurrent("where a client of HTTP+SSE posts to", () => {
  const endpoints: ReadonlyArray<readonly [string, string]> = [
    ["/in?session=1", "/in?session=1"],
    ["in?session=1", "/in?session=1"],
    ["?session=1", "/mcp?session=1"],
    ["PEER/in?session=1", "/in?session=1"]
  ]
  for (const [said, path] of endpoints) {
    it.live(`[SSE-02] [SSE-03] ${said}: all messages go to ${path}`, () =>
      Effect.gen(function*() {
        const found = yield* serve((received, reply) => {
          if (received.method !== "GET") return reply.status(202)
          reply.stream().raw(`event: endpoint\ndata: ${said.replace("PEER", `http://${received.headers.host}`)}\n\n`)
        })
        const client = yield* connect(found)
        yield* client.send(request(0, "initialize"))
        client.connection.onHandshake?.(profile)
        yield* client.send(notification(1))
        yield* client.send(request(1))
        assert.deepStrictEqual(found.received.map(({ method, path }) => [method, path]), [
          ["GET", "/mcp"],
          ["POST", path],
          ["POST", path],
          ["POST", path]
        ])
        assert.deepStrictEqual(found.received.map(({ headers }) => headers["mcp-protocol-version"]), [
          undefined,
          undefined,
          "2025-11-25",
          "2025-11-25"
        ])
        assert.strictEqual(found.received[0]?.headers.accept, "text/event-stream")
        assert.strictEqual(found.received[1]?.headers["content-type"], "application/json")
        assert.deepStrictEqual(found.received[3]?.message, request(1))
        yield* client.leave
        yield* nothingLeft(found)
      }))
  }

  it.live("[SSE-03] a second endpoint changes nothing", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw("event: endpoint\ndata: /elsewhere\n\n").raw(message(notification(1)))
      yield* until(() => client.messages().length === 1)
      yield* client.send(request(1))
      assert.strictEqual(peer.received.at(-1)?.path, "/in?session=1")
    }))

  it.live("never another origin, where the program's own headers would go along", () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve((_, reply) => reply.status(202))
      const host = new URL(elsewhere.url).host
      for (const said of [`${elsewhere.url}/in`, `//${host}/in`, "https://127.0.0.1/in"]) {
        const peer = yield* serveStream(undefined, `event: endpoint\ndata: ${said}\n\n`)
        const reason = yield* refusalOf(peer, { headers: { authorization: "Bearer secret" } })
        assert.include(problemOf(reason), "another origin")
        yield* nothingLeft(peer)
      }
      assert.lengthOf(elsewhere.received, 0)
    }))

  it.live("nowhere, if the server does not say", () =>
    Effect.gen(function*() {
      const none = yield* serveStream(undefined, "event: endpoint\ndata: http://[\n\n")
      assert.include(problemOf(yield* refusalOf(none)), "is not a URL")
      const silent = yield* serveStream(undefined, message(notification(1)))
      assert.include(problemOf(yield* refusalOf(silent, { connectTimeout: "50 millis" })), "within 50 ms")
      const page = yield* serve((_, reply) => reply.raw(200, { "content-type": "text/html" }, "<p>Hello"))
      assert.include(problemOf(yield* refusalOf(page)), "text/html")
      const ending = yield* serve((_, reply) => reply.stream().raw(": hello\n\n").end())
      assert.include(problemOf(yield* refusalOf(ending)), "the stream ended before")
      const cutting = yield* serve((_, reply) => reply.stream().raw(": hello\n\n").cut())
      assert.include(problemOf(yield* refusalOf(cutting)), "the stream broke before")
      const waiting = yield* serve(() => {})
      assert.include(problemOf(yield* refusalOf(waiting, { connectTimeout: "50 millis" })), "within 50 ms")
      const gone = yield* Effect.scoped(serve(() => {}))
      assert.strictEqual((yield* refusalOf(gone))._tag, "ConnectFailed")
      assert.strictEqual((yield* refusalOf({ url: "nowhere" }))._tag, "ConnectFailed")
      for (const peer of [none, silent, page, ending, cutting, waiting]) yield* nothingLeft(peer)
    }))

  it.live("nowhere, if the stream is refused", () =>
    Effect.gen(function*() {
      const peer = yield* serve((_, reply) => reply.raw(404, {}, "no such page"))
      assert.deepStrictEqual(yield* refusalOf(peer), {
        _tag: "Rejected",
        status: 404,
        problem: "no such page",
        retryAfterMillis: undefined
      })
      const moved = yield* serve((_, reply) => reply.raw(307, { location: "https://example.com" }, ""))
      assert.strictEqual((yield* refusalOf(moved))._tag, "Rejected")
    }))

  it.live("nowhere but to the server, whatever scheme it names", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, "event: endpoint\ndata: javascript:alert(1)\n\n")
      assert.include(problemOf(yield* refusalOf(peer)), "is at javascript:; nothing is sent to another origin")
    }))

  for (const [name, layer] of [["undici", HttpSseClient.layerNode], ["fetch", HttpSseClient.layerFetch]] as const) {
    it.live(`without the credentials that a server puts into its URL (${name})`, () =>
      Effect.gen(function*() {
        const peer = yield* serve((received, reply) => {
          if (received.method !== "GET") return reply.status(202)
          reply.stream().raw(`event: endpoint\ndata: http://ada:secret@${received.headers.host}/in\n\n`)
        })
        yield* Effect.scoped(Effect.gen(function*() {
          const transport = yield* Transport.Transport
          const { send } = yield* transport.connect
          yield* send({ message: request(1), replyTo: undefined, last: false })
        })).pipe(Effect.provide(layer({ url: peer.url })))
        assert.strictEqual(peer.received.at(-1)?.path, "/in")
        assert.isUndefined(peer.received.at(-1)?.headers.authorization)
      }))
  }

  it.live("nowhere with credentials in the program's own URL, which are to be said in a header", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const url = peer.url.replace("//", "//ada:secret@")
      for (const layer of [HttpSseClient.layerNode, HttpSseClient.layerFetch, StreamableHttpClient.layerNode]) {
        const { connect: connecting } = Context.get(yield* Layer.build(layer({ url })), Transport.Transport)
        const error = yield* Effect.flip(Effect.scoped(connecting))
        assert.include(error.message, peer.url)
        assert.include(error.message, "send them in `headers`")
        assert.notInclude(error.message, "secret")
      }
      assert.lengthOf(peer.received, 0)
    }))

  it.live("and no error shows the session", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, "event: endpoint\ndata: http://[/in?session=secret\n\n")
      const problem = problemOf(yield* refusalOf(peer))
      assert.include(problem, "http://[/in")
      assert.notInclude(problem, "secret")
    }))

  it.live("[law 12] a server that says much and not that is read no further, until somebody listens", () =>
    Effect.gen(function*() {
      const words = message(notification("x".repeat(64 * 1024)))
      const times = 1000
      let said = () => 0
      const drowning = (first: string) =>
        serve((_, reply) => {
          said = reply.stream().raw(first).pour(words, times)
        })
      const silent = yield* drowning(": nothing\n\n")
      assert.include(problemOf(yield* refusalOf(silent, { connectTimeout: "300 millis" })), "within 300 ms")
      assert.isBelow(said(), times / 2)
      yield* nothingLeft(silent)

      const { scope, transport } = yield* transportTo(yield* drowning("event: endpoint\ndata: /in\n\n"))
      const connection = yield* Scope.provide(transport.connect, scope)
      yield* still(said)
      assert.isBelow(said(), times / 2)
      const heard: Array<Transport.Inbound> = []
      yield* beside(connection.run((inbound) => heard.push(inbound)))
      yield* until(() => heard.length === times)
    }))
})
