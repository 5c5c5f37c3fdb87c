import { ClientSession, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { ClientAuthorization, HttpSseClient } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import {
  allClosed,
  exitOf,
  forkNow,
  notification,
  profile,
  reasonOf,
  request,
  until
} from "../../../support/httpClientConnection.ts"
import { type Handler, idOf, response, serve } from "../../../support/scriptedHttpServer.ts"
import { connect, messageEvent, respondOnStream, serveStream, transportTo } from "../../../support/scriptedSseServer.ts"

/** Returns the reason why connect fails. */
const rejectionOf = (peer: { readonly url: string }, options?: Partial<HttpSseClient.Options>) =>
  Effect.scoped(Effect.gen(function*() {
    const { transport } = yield* transportTo(peer, options)
    return yield* reasonOf(Effect.scoped(transport.connect))
  }))

const failure = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32602, message: "no" } })

describe.concurrent("an HTTP+SSE client delivers", () => {
  it.live("[SSE-04] the message events of the stream, in order, and no other events", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw(messageEvent(notification(1)))
        .raw(": a comment\n\n")
        .raw("event: weather\ndata: {\"rain\":true}\n\n")
        .raw("event: message\ndata:\n\n")
        .raw(`data: ${JSON.stringify(notification(2))}\n\n`)
        .raw(messageEvent([notification(3), response(peer.received[0] ?? assert.fail())]))
      yield* until(() => client.messages().length === 3)
      assert.deepStrictEqual(client.messages().slice(0, 2), [notification(1), notification(2)])
      assert.deepStrictEqual(client.frameErrors(), [])
    }))

  it.live("the messages that arrived before run", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, `${messageEvent(notification(0))}event: endpoint\ndata: /in\n\n`)
      const { scope, transport } = yield* transportTo(peer)
      const connection = yield* Scope.provide(transport.connect, scope)
      peer.streams[0]?.raw(messageEvent(notification(1)))
      yield* Effect.sleep("20 millis")
      const received: Array<Transport.Inbound> = []
      yield* forkNow(connection.run((inbound) => received.push(inbound)))
      yield* until(() => received.length === 2)
    }))

  it.live("[law 7] an error for each invalid message, and the next message", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer, { maxMessageBytes: 1000, maxMessageNodes: 100 })
      peer.streams[0]?.raw(`data: {"half":\n\n`)
        .raw(messageEvent(notification("x".repeat(2000))))
        .raw(`data: ${"[".repeat(101)}${"]".repeat(101)}\n\n`)
        .raw(messageEvent(notification(1)))
      yield* until(() => client.messages().length === 1)
      assert.deepStrictEqual(client.frameErrors(), [
        { _tag: "NotJson", text: "{\"half\":" },
        { _tag: "TooLarge", limitBytes: 1000 },
        { _tag: "TooComplex", nodes: 101, limitNodes: 100 }
      ])
      assert.isUndefined(exitOf(client.running))
    }))

  it.live("the number of bytes of each message", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw(messageEvent("four"))
      yield* until(() => client.inbound.length === 1)
      assert.strictEqual(client.inbound[0]?.bytes, 6)
    }))

  it.live("all messages before the end of the stream, and then ends or fails like the stream", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const ended = yield* connect(peer)
      peer.streams[0]?.raw(messageEvent(notification(1))).end()
      assert.deepStrictEqual(yield* Fiber.join(ended.running), Exit.succeed({ exit: undefined, writable: false }))
      assert.lengthOf(ended.messages(), 1)
      const broken = yield* connect(peer)
      peer.streams[1]?.raw(messageEvent(notification(1))).disconnect()
      const exit = yield* Fiber.join(broken.running)
      assert.strictEqual((yield* reasonOf(exit))._tag, "ReadFailed")
      assert.lengthOf(broken.messages(), 1)
    }))
})

describe.concurrent("a message of an HTTP+SSE client", () => {
  it.live("is sent after the POST before it was answered", () =>
    Effect.gen(function*() {
      const responses: Array<() => void> = []
      const peer = yield* serveStream((_, reply) => responses.push(() => reply.status(202)))
      const client = yield* connect(peer)
      const sending = yield* Effect.forEach([1, 2, 3], (id) => forkNow(client.send(request(id))))
      for (let count = 1; count <= 3; count++) {
        yield* until(() => responses.length === count)
        yield* Effect.sleep("5 millis")
        assert.lengthOf(responses, count)
        assert.isUndefined(exitOf(sending[count - 1] ?? assert.fail()))
        responses[count - 1]?.()
      }
      yield* Effect.forEach(sending, Fiber.join)
      assert.deepStrictEqual(peer.received.slice(1).map(idOf), [1, 2, 3])
    }))

  it.live("is accepted with any success status", () =>
    Effect.gen(function*() {
      const statuses = [200, 202, 204]
      const peer = yield* serveStream((_, reply) => reply.raw(statuses.shift() ?? 500, {}, ""))
      const client = yield* connect(peer)
      for (const id of [1, 2, 3]) yield* client.send(request(id))
    }))

  it.live("that is rejected fails by itself, and a JSON-RPC error is its response", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply) => {
        switch (idOf(received)) {
          case 1:
            return reply.status(400, failure(1))
          case 2:
            return reply.raw(404, {}, "Session not found")
          case 3:
            return reply.raw(500, {}, "error")
          case undefined:
            return reply.raw(429, { "retry-after": "7" }, "too many")
          default:
            return reply.status(202)
        }
      })
      const client = yield* connect(peer)
      yield* client.send(request(1))
      assert.deepStrictEqual(client.messages(), [failure(1)])
      const target = peer.url.replace(/mcp$/, "in")
      assert.deepStrictEqual(yield* reasonOf(client.send(request(2))), {
        _tag: "Rejected",
        status: 404,
        problem: "Session not found",
        retryAfterMillis: undefined,
        target
      })
      // The server may have carried it out.
      assert.strictEqual((yield* reasonOf(client.send(request(3))))._tag, "ExchangeEnded")
      assert.deepStrictEqual(yield* reasonOf(client.send(notification(1))), {
        _tag: "Rejected",
        status: 429,
        problem: "too many",
        retryAfterMillis: 7000,
        target
      })
      yield* client.send(request(4))
      assert.isUndefined(exitOf(client.running))
    }))

  it.live("that is lost fails with ExchangeEnded, even if the stream has ended, too", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply) => {
        if (idOf(received) === 2) peer.streams[0]?.disconnect()
        reply.disconnect()
      })
      const client = yield* connect(peer)
      assert.strictEqual((yield* reasonOf(client.send(request(1))))._tag, "ExchangeEnded")
      assert.isUndefined(exitOf(client.running))
      assert.strictEqual((yield* reasonOf(client.send(request(2))))._tag, "ExchangeEnded")
      yield* Fiber.join(client.running)
    }))

  it.live("that JSON cannot represent fails by itself", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      const reason = yield* reasonOf(client.send({ jsonrpc: "2.0", method: "x", params: { big: 1n } }))
      assert.strictEqual(reason._tag, "Unserializable")
      yield* client.send(request(1))
    }))

  it.live("and the stream carry the headers of an authorization", () =>
    Effect.gen(function*() {
      let token = "one"
      const schemes: Array<string> = []
      const guarded: Handler = (received, reply) => {
        if (received.headers.authorization !== `Bearer ${token}`) {
          return reply.raw(401, { "www-authenticate": "Bearer" }, "")
        }
        if (received.method === "GET") reply.stream().raw("event: endpoint\ndata: /in\n\n")
        else reply.status(202)
      }
      const peer = yield* serve(guarded)
      const client = yield* connect(peer, {
        headers: { "x-example": "yes" },
        authorization: ClientAuthorization.fromChallenge((challenges) =>
          Effect.sync(() => {
            schemes.push(...challenges.map(({ scheme }) => scheme))
            return { authorization: Redacted.make(`Bearer ${token}`) }
          })
        )
      })
      yield* client.send(request(1))
      token = "two"
      yield* client.send(request(2))
      assert.deepStrictEqual(schemes, ["Bearer", "Bearer"])
      assert.deepStrictEqual(peer.received.map(({ headers, kind }) => [kind, headers.authorization]), [
        ["GET", undefined],
        ["GET", "Bearer one"],
        ["tools/call", "Bearer one"],
        ["tools/call", "Bearer one"],
        ["tools/call", "Bearer two"]
      ])
      assert.isTrue(peer.received.every(({ headers }) => headers["x-example"] === "yes"))
      const unauthenticated = yield* rejectionOf(peer)
      assert.deepStrictEqual(unauthenticated, { _tag: "Unauthenticated", challenge: "Bearer", target: peer.url })
    }))
})

describe.concurrent("closing an HTTP+SSE client", () => {
  it.live("[law 2] closes the stream and the messages in flight, and leaves no fiber and no connection", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      const peer = yield* serveStream(() => {})
      yield* fibers.count(Effect.scoped(Effect.gen(function*() {
        const client = yield* connect(peer)
        const sending = yield* forkNow(reasonOf(client.send(request(1))))
        const waiting = yield* forkNow(reasonOf(client.send(request(2))))
        yield* until(() => peer.received.length === 2)
        yield* client.close
        assert.strictEqual((yield* Fiber.join(sending))._tag, "PeerEnded")
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "PeerEnded")
        assert.strictEqual((yield* reasonOf(client.send(request(3))))._tag, "PeerEnded")
        yield* until(() => peer.openResponses() === 0)
        yield* client.closeAll
        yield* Fiber.interrupt(client.running)
      })))
      yield* until(() => fibers.living() === 0)
      yield* allClosed(peer)
      assert.lengthOf(peer.received, 2)
    }))

  it.live("[law 2] before it is connected leaves no fiber and no connection", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      const peers = [yield* serve(() => {}), yield* serveStream(undefined, ": nothing\n\n")]
      for (const peer of peers) {
        yield* fibers.count(Effect.scoped(Effect.gen(function*() {
          const { scope, transport } = yield* transportTo(peer)
          const connecting = yield* forkNow(Effect.scoped(transport.connect))
          yield* until(() => peer.received.length === 1)
          yield* Fiber.interrupt(connecting)
          yield* until(() => peer.openResponses() === 0)
          yield* Scope.close(scope, Exit.void)
        })))
        yield* until(() => fibers.living() === 0)
        yield* allClosed(peer)
      }
    }))
})

describe.concurrent("a session over HTTP+SSE", () => {
  const layers: ReadonlyArray<[string, (options: HttpSseClient.Options) => Layer.Layer<Transport.Transport>]> = [
    ["layerNode", HttpSseClient.layerNode],
    ["layerFetch", HttpSseClient.layerFetch],
    ["a client of fetch", (options) => Layer.provide(HttpSseClient.layer(options), FetchHttpClient.layer)]
  ]
  for (const [name, layer] of layers) {
    it.live(`performs the handshake, calls a tool, and leaves no connection (${name})`, () =>
      Effect.gen(function*() {
        const peer = yield* serveStream(respondOnStream)
        yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          assert.strictEqual(session.profile.revision, "2024-11-05")
          yield* session.callTool("x")
          yield* session.ping()
        }).pipe(
          Effect.provide(Layer.provide(ClientSession.layer({ info: profile.info }), layer({ url: peer.url })))
        )
        assert.deepStrictEqual(peer.kinds(), ["GET", "initialize", "notifications/initialized", "tools/call", "ping"])
        yield* until(() => peer.openResponses() === 0)
      }))

    it.live(`follows no redirect to another origin (${name})`, () =>
      Effect.gen(function*() {
        const elsewhere = yield* serveStream()
        const peer = yield* serveStream((_, reply) => reply.raw(307, { location: elsewhere.url }, ""))
        yield* Effect.scoped(Effect.gen(function*() {
          const transport = yield* Transport.Transport
          const { send } = yield* transport.connect
          const reason = yield* reasonOf(send({ message: request(1), replyTo: undefined, last: false }))
          assert.isTrue(reason._tag === "Rejected" && reason.status === 307)
        })).pipe(Effect.provide(layer({ url: peer.url })))
        assert.lengthOf(elsewhere.received, 0)
      }))
  }

  it.live("cancels an interrupted call with a notification", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply, streams) =>
        received.kind === "tools/call" ? reply.status(202) : respondOnStream(received, reply, streams)
      )
      const { transport } = yield* transportTo(peer)
      const session = yield* Effect.provideService(
        ClientSession.make({ info: profile.info }),
        Transport.Transport,
        transport
      )
      const calling = yield* forkNow(session.callTool("x"))
      yield* until(() => peer.kinds().includes("tools/call"))
      yield* Effect.sleep("20 millis")
      yield* Fiber.interrupt(calling)
      yield* until(() => peer.kinds().includes("notifications/cancelled"))
    }))

  it.live("ends with PeerEnded if the stream ends, and with TransportFailed if it breaks", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(respondOnStream)
      const { transport } = yield* transportTo(peer)
      const open = Effect.provideService(ClientSession.make({ info: profile.info }), Transport.Transport, transport)
      const ending = yield* open
      peer.streams[0]?.end()
      assert.deepStrictEqual(yield* ending.closed, { _tag: "PeerEnded", exit: undefined })
      const breaking = yield* open
      peer.streams[1]?.disconnect()
      assert.strictEqual((yield* breaking.closed)._tag, "TransportFailed")
    }))
})
