import { ClientSession, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import {
  ClientAuthorization,
  HttpFallbackClient,
  HttpSseServer,
  StreamableHttpServer
} from "@effect-mcp/transport/node"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { allClosed, exitOf, forkNow, profile, reasonOf, request, until } from "../../../support/httpClientConnection.ts"
import {
  type EventReply,
  type Handler,
  idOf,
  response,
  serve,
  withHandshake
} from "../../../support/scriptedHttpServer.ts"
import { endpointEvent, messageEvent, type PostHandler, respondOnStream } from "../../../support/scriptedSseServer.ts"
import { serveWith, text, tools } from "../../../support/server.ts"

/** Serves HTTP+SSE. `reject` handles a POST to the path of the stream. */
const serveHttpSse = (reject: Handler, post: PostHandler = respondOnStream) => {
  const streams: Array<EventReply> = []
  return serve((received, reply) => {
    if (received.method === "GET") {
      streams.push(reply.stream().raw(endpointEvent(streams.length + 1)))
    } else if (received.path.startsWith("/in?")) post(received, reply, streams)
    else reject(received, reply)
  })
}

const notAllowed: Handler = (_, reply) => reply.raw(405, { allow: "GET" }, "Method Not Allowed")

const streamable = withHandshake((received, reply) => reply.json(response(received, { content: [] })))

const transportTo = Effect.fnUntraced(function*(
  peer: { readonly url: string },
  options?: Partial<HttpFallbackClient.Options>
) {
  const client = yield* Layer.build(NodeHttpClient.layerUndici)
  return yield* Effect.provideContext(
    HttpFallbackClient.make({ url: peer.url, standalone: false, ...options }),
    client
  )
})

/** Opens a session over a transport, with a handshake. */
const open = (transport: Transport.Transport["Service"]) =>
  Effect.provideService(
    ClientSession.make({ info: profile.info, revisions: ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] }),
    Transport.Transport,
    transport
  )

/** Opens several sessions at the same time. */
const openMany = (transport: Transport.Transport["Service"], count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.forkChild(open(transport), { startImmediately: true })
  )

/** Opens a connection before the transport is detected, and runs it. */
const connect = Effect.fnUntraced(function*(transport: Transport.Transport["Service"]) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const connection = yield* Scope.provide(transport.connect, scope)
  const inbound: Array<Transport.Inbound> = []
  const events: Array<Transport.TransportEvent> = []
  const running = yield* forkNow(Effect.exit(connection.run((one) => inbound.push(one), {
    abandon: () => {},
    report: (event) => events.push(event)
  })))
  const sendRequest = connection.request
  if (sendRequest === undefined) return yield* Effect.die("the connection has no streams for requests")
  return { connection, request: sendRequest, inbound, events, running, close: Scope.close(scope, Exit.void) }
})

/** Returns the kinds of the requests, with their paths. */
const requestsOf = ({ received }: { readonly received: ReadonlyArray<Parameters<Handler>[0]> }) =>
  received.map(({ path, kind }) => `${kind} ${path.replace(/\?.*/, "")}`)

const httpSseHandshake = ["initialize /in", "notifications/initialized /in"]

describe.concurrent("a client that falls back", () => {
  it.live("[SSE-07] requests the stream of the same URL after a rejected POST, and for all later sessions", () =>
    Effect.gen(function*() {
      const peer = yield* serveHttpSse(notAllowed)
      const transport = yield* transportTo(peer)
      const first = yield* open(transport)
      assert.strictEqual(first.profile.revision, "2024-11-05")
      yield* first.callTool("x")
      const second = yield* open(transport)
      yield* second.callTool("x")
      yield* first.ping()
      assert.deepStrictEqual(requestsOf(peer), [
        "initialize /mcp",
        "GET /mcp",
        ...httpSseHandshake,
        "tools/call /in",
        "GET /mcp",
        ...httpSseHandshake,
        "tools/call /in",
        "ping /in"
      ])
      // Both transports send the negotiated revision.
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-protocol-version"], "2024-11-05")
    }))

  it.live("[SSE-07] uses Streamable HTTP for all sessions if the server supports it", () =>
    Effect.gen(function*() {
      const peer = yield* serve(streamable)
      const transport = yield* transportTo(peer)
      for (const session of [yield* open(transport), yield* open(transport)]) yield* session.callTool("x")
      assert.deepStrictEqual(peer.kinds(), [
        "initialize",
        "notifications/initialized",
        "initialize",
        "notifications/initialized",
        "tools/call",
        "tools/call"
      ])
      assert.deepStrictEqual(peer.received.at(-1)?.headers["mcp-session-id"], "s2")
    }))

  for (const status of [400, 404, 405, 406, 410, 415, 422, 501]) {
    it.live(`[SSE-07] falls back after ${status}, which may mean that POST is not supported`, () =>
      Effect.gen(function*() {
        const peer = yield* serveHttpSse((_, reply) => reply.raw(status, {}, "no"))
        yield* open(yield* transportTo(peer))
        yield* until(() => peer.received.length === 4)
        assert.deepStrictEqual(requestsOf(peer), ["initialize /mcp", "GET /mcp", ...httpSseHandshake])
      }))
  }

  for (const status of [307, 401, 403, 407, 408, 413, 429, 500, 502, 503]) {
    it.live(`[SSE-07] does not fall back after ${status}, and tries again with the next session`, () =>
      Effect.gen(function*() {
        let isRejecting = true
        const peer = yield* serve((received, reply) =>
          isRejecting ? reply.raw(status, { location: "https://example.com" }, "no") : streamable(received, reply)
        )
        const transport = yield* transportTo(peer)
        const error = yield* Effect.flip(open(transport))
        const expected = status === 401 ? "requires authentication" : String(status)
        assert.include(error.message, expected)
        assert.deepStrictEqual(requestsOf(peer), ["initialize /mcp"])
        isRejecting = false
        yield* (yield* open(transport)).ping()
      }))
  }

  for (const status of [400, 404, 405]) {
    it.live(`does not fall back after ${status} with a JSON-RPC error, which a server of Streamable HTTP sends`, () =>
      Effect.gen(function*() {
        const error = { code: -32602, message: "Unsupported protocol version" }
        const peer = yield* serveHttpSse((_, reply) => reply.status(status, { jsonrpc: "2.0", id: null, error }))
        const transport = yield* transportTo(peer)
        assert.include((yield* Effect.flip(open(transport))).message, "Unsupported protocol version")
        yield* Effect.flip(open(transport))
        assert.deepStrictEqual(requestsOf(peer), ["initialize /mcp", "initialize /mcp"])
      }))
  }

  const unusable: ReadonlyArray<readonly [string, Handler, Duration.Input?]> = [
    ["an error", (_, reply) => reply.raw(404, {}, "neither")],
    ["an HTML page", (_, reply) => reply.raw(200, { "content-type": "text/html" }, "<p>Hello")],
    ["a stream that names no endpoint for messages", (_, reply) => void reply.stream().raw(": hello\n\n"), "50 millis"],
    [
      "a stream that names an endpoint on another server",
      (_, reply) => void reply.stream().raw("event: endpoint\ndata: https://example.com/in\n\n")
    ]
  ]
  for (const [name, get, connectTimeout] of unusable) {
    it.live(`[SSE-07] fails with the first rejection if the GET is answered with ${name}`, () =>
      Effect.gen(function*() {
        const peer = yield* serve((received, reply) =>
          received.method === "GET" ? get(received, reply) : reply.raw(404, {}, "no such page")
        )
        const transport = yield* transportTo(peer, { connectTimeout })
        const client = yield* connect(transport)
        assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
          _tag: "Rejected",
          status: 404,
          problem: "no such page",
          retryAfterMillis: undefined,
          target: peer.url
        })
        yield* until(() => requestsOf(peer).length === 2)
        assert.deepStrictEqual(requestsOf(peer), ["initialize /mcp", "GET /mcp"])
        // The stream is closed, although the connection is open.
        yield* until(() => peer.openResponses() === 0)
      }))
  }

  it.live("[SSE-07] fails with Unauthenticated if the GET is answered with 401", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) =>
        received.method === "GET"
          ? reply.raw(401, { "www-authenticate": "Bearer" }, "")
          : reply.raw(405, { allow: "GET" }, "")
      )
      const client = yield* connect(yield* transportTo(peer))
      assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
        _tag: "Unauthenticated",
        challenge: "Bearer",
        target: peer.url
      })
    }))

  it.live("detects HTTP+SSE once for sessions that are opened at the same time", () =>
    Effect.gen(function*() {
      const rejections: Array<() => void> = []
      const peer = yield* serveHttpSse((_, reply) => rejections.push(() => reply.raw(405, {}, "")))
      const transport = yield* transportTo(peer)
      const sessions = yield* openMany(transport, 5)
      yield* until(() => rejections.length > 0)
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(requestsOf(peer), ["initialize /mcp"])
      rejections[0]?.()
      yield* Effect.forEach(sessions, Fiber.join)
      assert.strictEqual(requestsOf(peer).filter((request) => request === "GET /mcp").length, 5)
      assert.strictEqual(requestsOf(peer).filter((request) => request === "initialize /mcp").length, 1)
    }))

  it.live("detects Streamable HTTP once for sessions that are opened at the same time", () =>
    Effect.gen(function*() {
      const responses: Array<() => void> = []
      const peer = yield* serve((received, reply) => {
        if (received.kind === "initialize" && responses.length === 0) responses.push(() => streamable(received, reply))
        else streamable(received, reply)
      })
      const transport = yield* transportTo(peer)
      const sessions = yield* openMany(transport, 5)
      yield* until(() => responses.length === 1)
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(peer.kinds(), ["initialize"])
      responses[0]?.()
      yield* Effect.forEach(sessions, Fiber.join)
      assert.strictEqual(peer.kinds().filter((kind) => kind === "initialize").length, 5)
      assert.isFalse(peer.kinds().includes("GET"))
    }))

  it.live("another session detects the transport if the first one fails or is interrupted", () =>
    Effect.gen(function*() {
      let tries = 0
      const peer = yield* serveHttpSse((_, reply) => {
        tries++
        if (tries === 1) reply.disconnect()
        else if (tries > 2) reply.raw(405, {}, "")
      })
      const transport = yield* transportTo(peer)
      // The first request fails, the second is interrupted, and the third receives its response.
      const first = yield* connect(transport)
      const second = yield* connect(transport)
      const third = yield* connect(transport)
      const [failing, interrupted, waiting] = [
        yield* forkNow(reasonOf(first.request(request(0, "initialize")))),
        yield* forkNow(second.request(request(0, "initialize"))),
        yield* forkNow(third.request(request(0, "initialize")))
      ]
      assert.strictEqual((yield* Fiber.join(failing))._tag, "ExchangeEnded")
      yield* until(() => tries === 2)
      yield* Fiber.interrupt(interrupted)
      yield* Fiber.join(waiting)
      assert.lengthOf(third.inbound, 1)
      assert.strictEqual(tries, 3)
    }))

  it.live("is authorized once for both transports", () =>
    Effect.gen(function*() {
      let authorizations = 0
      const streams: Array<EventReply> = []
      const peer = yield* serve((received, reply) => {
        if (received.headers.authorization !== "Bearer good") return reply.raw(401, {}, "")
        if (received.method === "GET") return void streams.push(reply.stream().raw(endpointEvent(1)))
        return received.path.startsWith("/in?") ? respondOnStream(received, reply, streams) : reply.raw(404, {}, "")
      })
      const transport = yield* transportTo(peer, {
        headers: { Authorization: "Bearer stale" },
        authorization: ClientAuthorization.fromChallenge(() =>
          Effect.sync(() => {
            authorizations++
            return { authorization: "Bearer good" }
          })
        )
      })
      yield* (yield* open(transport)).ping()
      assert.strictEqual(authorizations, 1)
    }))

  it.live("a request over HTTP+SSE waits for its response, or for the end of the stream", () =>
    Effect.gen(function*() {
      const streams: Array<EventReply> = []
      const peer = yield* serveHttpSse(notAllowed, (received, reply, all) => {
        streams.push(...all)
        if (idOf(received) === 0) respondOnStream(received, reply, all)
        else reply.status(202)
      })
      const client = yield* connect(yield* transportTo(peer))
      yield* client.request(request(0, "initialize"))
      assert.lengthOf(client.inbound, 1)
      const waiting = yield* forkNow(client.request(request(1)))
      const interrupted = yield* forkNow(client.request(request(2)))
      const unanswered = yield* forkNow(reasonOf(client.request(request(3))))
      yield* until(() => peer.received.length === 6)
      // A request of the server with the same id is not a response.
      streams[0]?.raw(messageEvent({ jsonrpc: "2.0", id: 1, method: "ping" }))
      yield* until(() => client.inbound.length === 2)
      assert.isUndefined(exitOf(waiting))
      streams[0]?.raw(messageEvent([{ jsonrpc: "2.0", id: 1, result: {} }]))
      yield* Fiber.join(waiting)
      yield* Fiber.interrupt(interrupted)
      streams[0]?.end()
      // The server may have carried it out.
      assert.strictEqual((yield* Fiber.join(unanswered))._tag, "ExchangeEnded")
      assert.deepStrictEqual(yield* Fiber.join(client.running), Exit.succeed({ exit: undefined, writable: false }))
      assert.strictEqual((yield* reasonOf(client.request(request(4))))._tag, "PeerEnded")
    }))

  it.live("reports the events of Streamable HTTP streams", () =>
    Effect.gen(function*() {
      const peer = yield* serve(withHandshake((_, reply) => reply.stream().end()))
      const client = yield* connect(yield* transportTo(peer))
      yield* client.request(request(0, "initialize"))
      client.connection.onHandshake?.(profile)
      assert.strictEqual((yield* reasonOf(client.request(request(1))))._tag, "ExchangeEnded")
      assert.deepStrictEqual(client.events.map(({ _tag }) => _tag), ["StreamLost"])
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-protocol-version"], "2025-11-25")
      yield* client.close
      assert.strictEqual(peer.kinds().at(-1), "DELETE")
    }))

  it.live("[law 2] leaves no fiber and no connection, in whichever state it is closed", () =>
    Effect.gen(function*() {
      const fibers = FiberCount.make()
      // Each server with the number of requests after which the client waits; `undefined` if the session opens.
      const servers = [
        [yield* serveHttpSse(notAllowed), undefined],
        [yield* serve(streamable), undefined],
        [yield* serveHttpSse(() => {}), 1],
        [
          yield* serve((received, reply) => {
            if (received.method === "GET") reply.stream()
            else reply.raw(404, {}, "")
          }),
          2
        ],
        [yield* serveHttpSse(notAllowed, () => {}), 3]
      ] as const
      for (const [peer, expected] of servers) {
        yield* fibers.count(Effect.scoped(Effect.gen(function*() {
          const transport = yield* transportTo(peer)
          const session = yield* Effect.forkChild(open(transport), { startImmediately: true })
          if (expected === undefined) yield* Fiber.join(session)
          else yield* until(() => peer.received.length === expected)
          yield* Fiber.interrupt(session)
        })))
        yield* until(() => fibers.living() === 0)
        yield* allClosed(peer)
      }
    }))
})

describe.concurrent("a client that falls back opens sessions with a server of", () => {
  const handlers = tools({ now: Effect.succeed(text("now")) })

  const servers: ReadonlyArray<readonly [string, ReturnType<typeof HttpSseServer.layerNode>, string, string]> = [
    ["HTTP+SSE", HttpSseServer.layerNode({ port: 0 }), "/sse", "http-sse"],
    [
      "HTTP+SSE at one path",
      HttpSseServer.layerNode({ port: 0, paths: { stream: "/mcp", messages: "/mcp" } }),
      "/mcp",
      "http-sse"
    ],
    ["Streamable HTTP", StreamableHttpServer.layerNode({ port: 0 }), "/mcp", "streamable-http"]
  ]
  const clients = { layerNode: HttpFallbackClient.layerNode, layerFetch: HttpFallbackClient.layerFetch }

  for (const [name, listener, path, kind] of servers) {
    for (const [made, layer] of Object.entries(clients)) {
      it.live(`[SSE-07] ${name}, with ${made}`, () =>
        Effect.gen(function*() {
          const server = yield* serveWith(Layer.fresh(listener), handlers)
          const transport = Context.get(
            yield* Layer.build(layer({ url: `http://127.0.0.1:${server.port}${path}` })),
            Transport.Transport
          )
          yield* Effect.scoped(Effect.gen(function*() {
            for (const session of [yield* open(transport), yield* open(transport)]) {
              assert.strictEqual(session.profile.revision, "2025-11-25")
              assert.deepStrictEqual(yield* session.callTool("now"), text("now"))
            }
            const sessions = yield* server.host.sessions
            assert.deepStrictEqual(sessions.map((session) => session.kind), [kind, kind])
          }))
          yield* Effect.repeat(server.host.health, { until: ({ sessions }) => sessions === 0 })
          assert.deepStrictEqual(server.logs, [])
        }))
    }
  }
})
