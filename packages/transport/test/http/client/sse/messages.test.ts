import { ClientSession, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { HttpSseClient } from "@effect-mcp/transport"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import {
  beside,
  nothingLeft,
  notification,
  outcomeOf,
  profile,
  reasonOf,
  request,
  until
} from "../../../fixtures/httpConnection.ts"
import { type Handler, idOf, response, serve } from "../../../fixtures/httpPeer.ts"
import { answering, connect, message, serveStream, transportTo } from "../../../fixtures/ssePeer.ts"

/** Why a connection is not made. */
const refusalOf = (peer: { readonly url: string }, options?: Partial<HttpSseClient.Options>) =>
  Effect.scoped(Effect.gen(function*() {
    const { transport } = yield* transportTo(peer, options)
    return yield* reasonOf(Effect.scoped(transport.connect))
  }))

const failure = (id: unknown) => ({ jsonrpc: "2.0", id, error: { code: -32602, message: "no" } })

describe.concurrent("a client of HTTP+SSE hears", () => {
  it.live("[SSE-04] messages of the stream, in order, and nothing else", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw(message(notification(1)))
        .raw(": a comment\n\n")
        .raw("event: weather\ndata: {\"rain\":true}\n\n")
        .raw("event: message\ndata:\n\n")
        .raw(`data: ${JSON.stringify(notification(2))}\n\n`)
        .raw(message([notification(3), response(peer.received[0] ?? assert.fail())]))
      yield* until(() => client.messages().length === 3)
      assert.deepStrictEqual(client.messages().slice(0, 2), [notification(1), notification(2)])
      assert.deepStrictEqual(client.faults(), [])
    }))

  it.live("what came before anybody listened", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(undefined, `${message(notification(0))}event: endpoint\ndata: /in\n\n`)
      const { scope, transport } = yield* transportTo(peer)
      const connection = yield* Scope.provide(transport.connect, scope)
      peer.streams[0]?.raw(message(notification(1)))
      yield* Effect.sleep("20 millis")
      const heard: Array<Transport.Inbound> = []
      yield* beside(connection.run((inbound) => heard.push(inbound)))
      yield* until(() => heard.length === 2)
    }))

  it.live("[law 7] what cannot be read costs only itself", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer, { maxMessageBytes: 1000, maxMessageNodes: 100 })
      peer.streams[0]?.raw(`data: {"half":\n\n`)
        .raw(message(notification("x".repeat(2000))))
        .raw(`data: ${"[".repeat(101)}${"]".repeat(101)}\n\n`)
        .raw(message(notification(1)))
      yield* until(() => client.messages().length === 1)
      assert.deepStrictEqual(client.faults(), [
        { _tag: "NotJson", text: "{\"half\":" },
        { _tag: "TooLarge", limitBytes: 1000 },
        { _tag: "TooComplex", nodes: 101, limitNodes: 100 }
      ])
      assert.isUndefined(outcomeOf(client.running))
    }))

  it.live("how many bytes they came in", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      peer.streams[0]?.raw(message("four"))
      yield* until(() => client.inbound.length === 1)
      assert.strictEqual(client.inbound[0]?.bytes, 6)
    }))

  it.live("the end of the stream, which is the end of the session, in good order or not", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const ended = yield* connect(peer)
      peer.streams[0]?.raw(message(notification(1))).end()
      assert.deepStrictEqual(yield* Fiber.join(ended.running), Exit.succeed({ exit: undefined, writable: false }))
      assert.lengthOf(ended.messages(), 1)
      const broken = yield* connect(peer)
      peer.streams[1]?.raw(message(notification(1))).cut()
      const exit = yield* Fiber.join(broken.running)
      assert.strictEqual((yield* reasonOf(exit))._tag, "ReadFailed")
      assert.lengthOf(broken.messages(), 1)
    }))
})

describe.concurrent("what a client of HTTP+SSE sends", () => {
  it.live("goes one at a time, in order", () =>
    Effect.gen(function*() {
      const answers: Array<() => void> = []
      const peer = yield* serveStream((_, reply) => answers.push(() => reply.status(202)))
      const client = yield* connect(peer)
      const sending = yield* Effect.forEach([1, 2, 3], (id) => beside(client.send(request(id))))
      for (let count = 1; count <= 3; count++) {
        yield* until(() => answers.length === count)
        yield* Effect.sleep("5 millis")
        assert.lengthOf(answers, count)
        assert.isUndefined(outcomeOf(sending[count - 1] ?? assert.fail()))
        answers[count - 1]?.()
      }
      yield* Effect.forEach(sending, Fiber.join)
      assert.deepStrictEqual(peer.received.slice(1).map(idOf), [1, 2, 3])
    }))

  it.live("may be accepted with any status that accepts", () =>
    Effect.gen(function*() {
      const statuses = [200, 202, 204]
      const peer = yield* serveStream((_, reply) => reply.raw(statuses.shift() ?? 500, {}, ""))
      const client = yield* connect(peer)
      for (const id of [1, 2, 3]) yield* client.send(request(id))
    }))

  it.live("is refused for itself alone, and an error of JSON-RPC is the response", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply) => {
        switch (idOf(received)) {
          case 1:
            return reply.status(400, failure(1))
          case 2:
            return reply.raw(404, {}, "Session not found")
          case 3:
            return reply.raw(500, {}, "oh")
          case undefined:
            return reply.raw(429, { "retry-after": "7" }, "slowly")
          default:
            return reply.status(202)
        }
      })
      const client = yield* connect(peer)
      yield* client.send(request(1))
      assert.deepStrictEqual(client.messages(), [failure(1)])
      assert.deepStrictEqual(yield* reasonOf(client.send(request(2))), {
        _tag: "Rejected",
        status: 404,
        problem: "Session not found",
        retryAfterMillis: undefined
      })
      // It may have been carried out.
      assert.strictEqual((yield* reasonOf(client.send(request(3))))._tag, "ExchangeEnded")
      assert.deepStrictEqual(yield* reasonOf(client.send(notification(1))), {
        _tag: "Rejected",
        status: 429,
        problem: "slowly",
        retryAfterMillis: 7000
      })
      yield* client.send(request(4))
      assert.isUndefined(outcomeOf(client.running))
    }))

  it.live("may be lost on its way while the stream goes on, and ends with the session where that has ended", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply) => {
        if (idOf(received) === 2) peer.streams[0]?.cut()
        reply.cut()
      })
      const client = yield* connect(peer)
      assert.strictEqual((yield* reasonOf(client.send(request(1))))._tag, "ExchangeEnded")
      assert.isUndefined(outcomeOf(client.running))
      assert.strictEqual((yield* reasonOf(client.send(request(2))))._tag, "PeerEnded")
      yield* Fiber.join(client.running)
    }))

  it.live("is JSON, or fails alone", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream()
      const client = yield* connect(peer)
      const reason = yield* reasonOf(client.send({ jsonrpc: "2.0", method: "x", params: { big: 1n } }))
      assert.strictEqual(reason._tag, "Unserializable")
      yield* client.send(request(1))
    }))

  it.live("proves who asks, for the stream and for messages", () =>
    Effect.gen(function*() {
      let token = "one"
      const asked: Array<string | undefined> = []
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
        authorize: (challenge) =>
          Effect.sync(() => {
            asked.push(challenge)
            return { authorization: Redacted.make(`Bearer ${token}`) }
          })
      })
      yield* client.send(request(1))
      token = "two"
      yield* client.send(request(2))
      assert.deepStrictEqual(asked, ["Bearer", "Bearer"])
      assert.deepStrictEqual(peer.received.map(({ headers, what }) => [what, headers.authorization]), [
        ["GET", undefined],
        ["GET", "Bearer one"],
        ["tools/call", "Bearer one"],
        ["tools/call", "Bearer one"],
        ["tools/call", "Bearer two"]
      ])
      assert.isTrue(peer.received.every(({ headers }) => headers["x-example"] === "yes"))
      const stranger = yield* refusalOf(peer)
      assert.deepStrictEqual(stranger, { _tag: "Unauthenticated", challenge: "Bearer" })
    }))
})

describe.concurrent("a client of HTTP+SSE that leaves", () => {
  it.live("[law 2] gives up the stream and what is in flight, and nothing is left", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const peer = yield* serveStream(() => {})
      yield* census.count(Effect.scoped(Effect.gen(function*() {
        const client = yield* connect(peer)
        const sending = yield* beside(reasonOf(client.send(request(1))))
        const waiting = yield* beside(reasonOf(client.send(request(2))))
        yield* until(() => peer.received.length === 2)
        yield* client.close
        assert.strictEqual((yield* Fiber.join(sending))._tag, "PeerEnded")
        assert.strictEqual((yield* Fiber.join(waiting))._tag, "PeerEnded")
        assert.strictEqual((yield* reasonOf(client.send(request(3))))._tag, "PeerEnded")
        yield* until(() => peer.open() === 0)
        yield* client.leave
        yield* Fiber.interrupt(client.running)
      })))
      yield* until(() => census.living() === 0)
      yield* nothingLeft(peer)
      assert.lengthOf(peer.received, 2)
    }))

  it.live("[law 2] before it is connected likewise", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      const peers = [yield* serve(() => {}), yield* serveStream(undefined, ": nothing\n\n")]
      for (const peer of peers) {
        yield* census.count(Effect.scoped(Effect.gen(function*() {
          const { scope, transport } = yield* transportTo(peer)
          const connecting = yield* beside(Effect.scoped(transport.connect))
          yield* until(() => peer.received.length === 1)
          yield* Fiber.interrupt(connecting)
          yield* until(() => peer.open() === 0)
          yield* Scope.close(scope, Exit.void)
        })))
        yield* until(() => census.living() === 0)
        yield* nothingLeft(peer)
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
    it.live(`shakes hands, calls, and leaves nothing (${name})`, () =>
      Effect.gen(function*() {
        const peer = yield* serveStream(answering)
        yield* Effect.gen(function*() {
          const session = yield* ClientSession.ClientSession
          assert.strictEqual(session.profile.revision, "2024-11-05")
          yield* session.callTool("x")
          yield* session.ping()
        }).pipe(
          Effect.provide(Layer.provide(ClientSession.layer({ info: profile.info }), layer({ url: peer.url })))
        )
        assert.deepStrictEqual(peer.asked(), ["GET", "initialize", "notifications/initialized", "tools/call", "ping"])
        yield* until(() => peer.open() === 0)
      }))

    it.live(`follows no redirect (${name})`, () =>
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

  it.live("a call that is given up is cancelled by a message", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream((received, reply, streams) =>
        received.what === "tools/call" ? reply.status(202) : answering(received, reply, streams)
      )
      const { transport } = yield* transportTo(peer)
      const session = yield* Effect.provideService(
        ClientSession.make({ info: profile.info }),
        Transport.Transport,
        transport
      )
      const calling = yield* beside(session.callTool("x"))
      yield* until(() => peer.asked().includes("tools/call"))
      yield* Effect.sleep("20 millis")
      yield* Fiber.interrupt(calling)
      yield* until(() => peer.asked().includes("notifications/cancelled"))
    }))

  it.live("ends with its reason when the server has gone", () =>
    Effect.gen(function*() {
      const peer = yield* serveStream(answering)
      const { transport } = yield* transportTo(peer)
      const open = Effect.provideService(ClientSession.make({ info: profile.info }), Transport.Transport, transport)
      const ending = yield* open
      peer.streams[0]?.end()
      assert.deepStrictEqual(yield* ending.closed, { _tag: "PeerEnded", exit: undefined })
      const breaking = yield* open
      peer.streams[1]?.cut()
      assert.strictEqual((yield* breaking.closed)._tag, "TransportFailed")
    }))
})
