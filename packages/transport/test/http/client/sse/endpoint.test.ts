import { Transport, type TransportError } from "@effect-mcp/session"
import { HttpSseClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { untilStable } from "../../../support/eventLoop.ts"
import {
  allClosed,
  forkNow,
  notification,
  profile,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import { serve } from "../../../support/scriptedHttpServer.ts"
import { connect, messageEvent, serveStream, transportTo } from "../../../support/scriptedSseServer.ts"

/** Returns the reason why connect fails. */
const rejectionOf = (peer: { readonly url: string }, options?: Partial<HttpSseClient.Options>) =>
  Effect.scoped(Effect.gen(function*() {
    const { transport } = yield* transportTo(peer, options)
    return yield* reasonOf(Effect.scoped(transport.connect))
  }))

/** Returns the message of a failed connect. */
const problemOf = (reason: TransportError.TransportErrorReason) =>
  reason._tag === "ConnectFailed" && reason.cause instanceof Error ? reason.cause.message : reason._tag

describe.concurrent("the endpoint for messages of an HTTP+SSE client", () => {
  const endpoints: ReadonlyArray<readonly [string, string]> = [
    ["/in?session=1", "/in?session=1"],
    ["in?session=1", "/in?session=1"],
    ["?session=1", "/mcp?session=1"],
    ["PEER/in?session=1", "/in?session=1"]
  ]
  for (const [reference, path] of endpoints) {
    it.live(`[SSE-02] [SSE-03] that is named as ${reference} is ${path}`, () =>
      Effect.gen(function*() {
        const peer = yield* serve((received, reply) => {
          if (received.method !== "GET") return reply.status(202)
          reply.stream().raw(
            `event: endpoint\ndata: ${reference.replace("PEER", `http://${received.headers.host}`)}\n\n`
          )
        })
        const client = yield* connect(peer)
        yield* client.send(request(0, "initialize"))
        client.connection.onHandshake?.(profile)
        yield* client.send(notification(1))
        yield* client.send(request(1))
        assert.deepStrictEqual(peer.received.map(({ method, path }) => [method, path]), [
          ["GET", "/mcp"],
          ["POST", path],
          ["POST", path],
          ["POST", path]
        ])
        assert.deepStrictEqual(peer.received.map(({ headers }) => headers["mcp-protocol-version"]), [
          undefined,
          undefined,
          "2025-11-25",
          "2025-11-25"
        ])
        assert.strictEqual(peer.received[0]?.headers.accept, "text/event-stream")
        assert.strictEqual(peer.received[1]?.headers["content-type"], "application/json")
        assert.deepStrictEqual(peer.received[3]?.message, request(1))
        yield* client.closeAll
        yield* allClosed(peer)
      }))
  }

  it.live("[SSE-03] is not changed by a second endpoint event", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw("event: endpoint\ndata: /elsewhere\n\n").raw(messageEvent(notification(1)))
      yield* until(() => client.messages().length === 1)
      yield* client.send(request(1))
      assert.strictEqual(peer.received.at(-1)?.path, "/in?session=1")
    }))

  it.live("is never on another origin, which would receive the program's headers", () =>
    Effect.gen(function*() {
      const elsewhere = yield* serve((_, reply) => reply.status(202))
      const host = new URL(elsewhere.url).host
      for (const reference of [`${elsewhere.url}/in`, `//${host}/in`, "https://127.0.0.1/in"]) {
        const peer = yield* serveStream(undefined, `event: endpoint\ndata: ${reference}\n\n`)
        const reason = yield* rejectionOf(peer, { headers: { authorization: "Bearer secret" } })
        assert.include(problemOf(reason), "another origin")
        yield* allClosed(peer)
      }
      assert.lengthOf(elsewhere.received, 0)
    }))

  it.live("must be a URL on a stream that opens in time", () =>
    Effect.gen(function*() {
      const none = yield* serveStream(undefined, "event: endpoint\ndata: http://[\n\n")
      assert.include(problemOf(yield* rejectionOf(none)), "is not a URL")
      const silent = yield* serveStream(undefined, messageEvent(notification(1)))
      assert.include(problemOf(yield* rejectionOf(silent, { connectTimeout: "50 millis" })), "within 50 ms")
      const page = yield* serve((_, reply) => reply.raw(200, { "content-type": "text/html" }, "<p>Hello"))
      assert.include(problemOf(yield* rejectionOf(page)), "text/html")
      const ending = yield* serve((_, reply) => reply.stream().raw(": hello\n\n").end())
      assert.include(problemOf(yield* rejectionOf(ending)), "the stream ended before")
      const breaking = yield* serve((_, reply) => reply.stream().raw(": hello\n\n").disconnect())
      assert.include(problemOf(yield* rejectionOf(breaking)), "the stream broke before")
      const waiting = yield* serve(() => {})
      assert.include(problemOf(yield* rejectionOf(waiting, { connectTimeout: "50 millis" })), "within 50 ms")
      const stopped = yield* Effect.scoped(serve(() => {}))
      assert.strictEqual((yield* rejectionOf(stopped))._tag, "ConnectFailed")
      assert.strictEqual((yield* rejectionOf({ url: "nowhere" }))._tag, "ConnectFailed")
      for (const peer of [none, silent, page, ending, breaking, waiting]) yield* allClosed(peer)
    }))

  it.live("is unknown if the stream is rejected", () =>
    Effect.gen(function*() {
      const peer = yield* serve((_, reply) => reply.raw(404, {}, "no such page"))
      assert.deepStrictEqual(yield* rejectionOf(peer), {
        _tag: "Rejected",
        status: 404,
        problem: "no such page",
        retryAfterMillis: undefined,
        target: peer.url
      })
      const moved = yield* serve((_, reply) => reply.raw(307, { location: "https://example.com" }, ""))
      assert.strictEqual((yield* rejectionOf(moved))._tag, "Rejected")
    }))

  it.live("has the scheme of the server", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, "event: endpoint\ndata: javascript:alert(1)\n\n")
      assert.include(problemOf(yield* rejectionOf(peer)), "is at javascript:; nothing is sent to another origin")
    }))

  for (const [name, layer] of [["undici", HttpSseClient.layerNode], ["fetch", HttpSseClient.layerFetch]] as const) {
    it.live(`receives no credentials from the URL that the server names (${name})`, () =>
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

  it.live("is not requested if the program's URL has credentials", () =>
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

  it.live("is shown in errors without its session id", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, "event: endpoint\ndata: http://[/in?session=secret\n\n")
      const problem = problemOf(yield* rejectionOf(peer))
      assert.include(problem, "http://[/in")
      assert.notInclude(problem, "secret")
    }))

  it.live("[law 12] is read within a bounded part of the stream, until the session runs the connection", () =>
    Effect.gen(function*() {
      const event = messageEvent(notification("x".repeat(64 * 1024)))
      const times = 1000
      let written = () => 0
      const serveMany = (first: string) =>
        serve((_, reply) => {
          written = reply.stream().raw(first).writeRepeatedly(event, times)
        })
      const silent = yield* serveMany(": nothing\n\n")
      assert.include(problemOf(yield* rejectionOf(silent, { connectTimeout: "300 millis" })), "within 300 ms")
      assert.isBelow(written(), times / 2)
      yield* allClosed(silent)

      const { scope, transport } = yield* transportTo(yield* serveMany("event: endpoint\ndata: /in\n\n"))
      const connection = yield* Scope.provide(transport.connect, scope)
      yield* untilStable(written)
      assert.isBelow(written(), times / 2)
      const received: Array<Transport.Inbound> = []
      yield* forkNow(connection.run((inbound) => received.push(inbound)))
      yield* until(() => received.length === times)
    }))
})
