import { ClientSession, Transport } from "@effect-mcp/session"
import { FiberCount } from "@effect-mcp/testing"
import { HttpFallbackClient, HttpSseServer, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { beside, nothingLeft, outcomeOf, profile, reasonOf, request, until } from "../../../fixtures/httpConnection.ts"
import { type EventReply, type Handler, idOf, mcp, response, serve } from "../../../fixtures/httpPeer.ts"
import { answering, endpoint, message, type Post } from "../../../fixtures/ssePeer.ts"
import { serveWith, text, tools } from "../../../support/server.ts"

/** A server of HTTP+SSE: what is POSTed to the path of the stream is refused so. */
const older = (refuse: Handler, post: Post = answering) => {
  const streams: Array<EventReply> = []
  return serve((received, reply) => {
    if (received.method === "GET") {
      streams.push(reply.stream().raw(endpoint(streams.length + 1)))
    } else if (received.path.startsWith("/in?")) post(received, reply, streams)
    else refuse(received, reply)
  })
}

const notAllowed: Handler = (_, reply) => reply.raw(405, { allow: "GET" }, "Method Not Allowed")

const newer = mcp((received, reply) => reply.json(response(received, { content: [] })))

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

/** A whole session over this transport. */
const open = (transport: Transport.Transport["Service"]) =>
  Effect.provideService(ClientSession.make({ info: profile.info }), Transport.Transport, transport)

/** Many at once. */
const opening = (transport: Transport.Transport["Service"], count: number) =>
  Effect.forEach(
    Array.from({ length: count }),
    () => Effect.forkChild(open(transport), { startImmediately: true })
  )

/** A connection that is being read, of which nobody knows yet what it is. */
const connect = Effect.fnUntraced(function*(transport: Transport.Transport["Service"]) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const connection = yield* Scope.provide(transport.connect, scope)
  const inbound: Array<Transport.Inbound> = []
  const events: Array<Transport.TransportEvent> = []
  const running = yield* beside(Effect.exit(connection.run((one) => inbound.push(one), {
    abandon: () => {},
    report: (event) => events.push(event)
  })))
  const opened = connection.request
  if (opened === undefined) return yield* Effect.die("requests have streams of their own")
  return { connection, request: opened, inbound, events, running, leave: Scope.close(scope, Exit.void) }
})

/** What a server was asked, with its way. */
const waysOf = ({ received }: { readonly received: ReadonlyArray<Parameters<Handler>[0]> }) =>
  received.map(({ path, what }) => `${what} ${path.replace(/\?.*/, "")}`)

const overOlder = ["initialize /in", "notifications/initialized /in"]

describe.concurrent("a client that falls back", () => {
  it.live("[SSE-07] to the stream of the same URL, where the first POST is refused, and for all later sessions", () =>
    Effect.gen(function*() {
      const peer = yield* older(notAllowed)
      const transport = yield* transportTo(peer)
      const first = yield* open(transport)
      assert.strictEqual(first.profile.revision, "2024-11-05")
      yield* first.callTool("x")
      const second = yield* open(transport)
      yield* second.callTool("x")
      yield* first.ping()
      assert.deepStrictEqual(waysOf(peer), [
        "initialize /mcp",
        "GET /mcp",
        ...overOlder,
        "tools/call /in",
        "GET /mcp",
        ...overOlder,
        "tools/call /in",
        "ping /in"
      ])
      // What was agreed on is said over either.
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-protocol-version"], "2024-11-05")
    }))

  it.live("[SSE-07] not where the server knows Streamable HTTP, and not later either", () =>
    Effect.gen(function*() {
      const peer = yield* serve(newer)
      const transport = yield* transportTo(peer)
      for (const session of [yield* open(transport), yield* open(transport)]) yield* session.callTool("x")
      assert.deepStrictEqual(peer.asked(), [
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
    it.live(`[SSE-07] after ${status}, which may mean that nothing is POSTed there`, () =>
      Effect.gen(function*() {
        const peer = yield* older((_, reply) => reply.raw(status, {}, "no"))
        yield* open(yield* transportTo(peer))
        yield* until(() => peer.received.length === 4)
        assert.deepStrictEqual(waysOf(peer), ["initialize /mcp", "GET /mcp", ...overOlder])
      }))
  }

  for (const status of [307, 401, 403, 407, 408, 413, 429, 500, 502, 503]) {
    it.live(`[SSE-07] not after ${status}, which means something else, and asks again next time`, () =>
      Effect.gen(function*() {
        let isRefused = true
        const peer = yield* serve((received, reply) =>
          isRefused ? reply.raw(status, { location: "https://example.com" }, "no") : newer(received, reply)
        )
        const transport = yield* transportTo(peer)
        const error = yield* Effect.flip(open(transport))
        const expected = status === 401 ? "who asks" : String(status)
        assert.include(error.message, expected)
        assert.deepStrictEqual(waysOf(peer), ["initialize /mcp"])
        isRefused = false
        yield* (yield* open(transport)).ping()
      }))
  }

  for (const status of [400, 404, 405]) {
    it.live(`not after ${status} with an error of JSON-RPC, which is the answer of a newer server`, () =>
      Effect.gen(function*() {
        const error = { code: -32602, message: "Unsupported protocol version" }
        const peer = yield* older((_, reply) => reply.status(status, { jsonrpc: "2.0", id: null, error }))
        const transport = yield* transportTo(peer)
        assert.include((yield* Effect.flip(open(transport))).message, "Unsupported protocol version")
        yield* Effect.flip(open(transport))
        assert.deepStrictEqual(waysOf(peer), ["initialize /mcp", "initialize /mcp"])
      }))
  }

  const nothingThere: ReadonlyArray<readonly [string, Handler, Duration.Input?]> = [
    ["a refusal", (_, reply) => reply.raw(404, {}, "neither")],
    ["a page", (_, reply) => reply.raw(200, { "content-type": "text/html" }, "<p>Hello")],
    ["a stream that does not say where to POST to", (_, reply) => void reply.stream().raw(": hello\n\n"), "50 millis"],
    [
      "a stream that says to POST to another server",
      (_, reply) => void reply.stream().raw("event: endpoint\ndata: https://example.com/in\n\n")
    ]
  ]
  for (const [name, get, connectTimeout] of nothingThere) {
    it.live(`[SSE-07] reports the first refusal, where behind it there is nothing but ${name}`, () =>
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
          retryAfterMillis: undefined
        })
        yield* until(() => waysOf(peer).length === 2)
        assert.deepStrictEqual(waysOf(peer), ["initialize /mcp", "GET /mcp"])
        // The session of the stream is over, though that of the connection is not.
        yield* until(() => peer.open() === 0)
      }))
  }

  it.live("[SSE-07] not if an older server wants to know who asks: that is reported", () =>
    Effect.gen(function*() {
      const peer = yield* serve((received, reply) =>
        received.method === "GET"
          ? reply.raw(401, { "www-authenticate": "Bearer" }, "")
          : reply.raw(405, { allow: "GET" }, "")
      )
      const client = yield* connect(yield* transportTo(peer))
      assert.deepStrictEqual(yield* reasonOf(client.request(request(0, "initialize"))), {
        _tag: "Unauthenticated",
        challenge: "Bearer"
      })
    }))

  it.live("finds out once for sessions that are opened at once, from an older server", () =>
    Effect.gen(function*() {
      const refusals: Array<() => void> = []
      const peer = yield* older((_, reply) => refusals.push(() => reply.raw(405, {}, "")))
      const transport = yield* transportTo(peer)
      const sessions = yield* opening(transport, 5)
      yield* until(() => refusals.length > 0)
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(waysOf(peer), ["initialize /mcp"])
      refusals[0]?.()
      yield* Effect.forEach(sessions, Fiber.join)
      assert.strictEqual(waysOf(peer).filter((way) => way === "GET /mcp").length, 5)
      assert.strictEqual(waysOf(peer).filter((way) => way === "initialize /mcp").length, 1)
    }))

  it.live("finds out once for sessions that are opened at once, from a newer server", () =>
    Effect.gen(function*() {
      const answers: Array<() => void> = []
      const peer = yield* serve((received, reply) => {
        if (received.what === "initialize" && answers.length === 0) answers.push(() => newer(received, reply))
        else newer(received, reply)
      })
      const transport = yield* transportTo(peer)
      const sessions = yield* opening(transport, 5)
      yield* until(() => answers.length === 1)
      yield* Effect.sleep("20 millis")
      assert.deepStrictEqual(peer.asked(), ["initialize"])
      answers[0]?.()
      yield* Effect.forEach(sessions, Fiber.join)
      assert.strictEqual(peer.asked().filter((what) => what === "initialize").length, 5)
      assert.isFalse(peer.asked().includes("GET"))
    }))

  it.live("has others find out, where who began to does not", () =>
    Effect.gen(function*() {
      let tries = 0
      const peer = yield* older((_, reply) => {
        tries++
        if (tries === 1) reply.cut()
        else if (tries > 2) reply.raw(405, {}, "")
      })
      const transport = yield* transportTo(peer)
      // The first is cut, the second is given up, the third has its answer.
      const first = yield* connect(transport)
      const second = yield* connect(transport)
      const third = yield* connect(transport)
      const [failing, leaving, asking] = [
        yield* beside(reasonOf(first.request(request(0, "initialize")))),
        yield* beside(second.request(request(0, "initialize"))),
        yield* beside(third.request(request(0, "initialize")))
      ]
      assert.strictEqual((yield* Fiber.join(failing))._tag, "ExchangeEnded")
      yield* until(() => tries === 2)
      yield* Fiber.interrupt(leaving)
      yield* Fiber.join(asking)
      assert.lengthOf(third.inbound, 1)
      assert.strictEqual(tries, 3)
    }))

  it.live("asks who asks once, whichever way it goes", () =>
    Effect.gen(function*() {
      let asked = 0
      const streams: Array<EventReply> = []
      const peer = yield* serve((received, reply) => {
        if (received.headers.authorization !== "Bearer good") return reply.raw(401, {}, "")
        if (received.method === "GET") return void streams.push(reply.stream().raw(endpoint(1)))
        return received.path.startsWith("/in?") ? answering(received, reply, streams) : reply.raw(404, {}, "")
      })
      const transport = yield* transportTo(peer, {
        headers: { Authorization: "Bearer stale" },
        authorize: () =>
          Effect.sync(() => {
            asked++
            return { authorization: "Bearer good" }
          })
      })
      yield* (yield* open(transport)).ping()
      assert.strictEqual(asked, 1)
    }))

  it.live("a request waits for its response where there is one stream for everything, or for the end", () =>
    Effect.gen(function*() {
      const streams: Array<EventReply> = []
      const peer = yield* older(notAllowed, (received, reply, all) => {
        streams.push(...all)
        if (idOf(received) === 0) answering(received, reply, all)
        else reply.status(202)
      })
      const client = yield* connect(yield* transportTo(peer))
      yield* client.request(request(0, "initialize"))
      assert.lengthOf(client.inbound, 1)
      const asking = yield* beside(client.request(request(1)))
      const dropping = yield* beside(client.request(request(2)))
      const losing = yield* beside(reasonOf(client.request(request(3))))
      yield* until(() => peer.received.length === 6)
      // A question of the server's with the same id is no response.
      streams[0]?.raw(message({ jsonrpc: "2.0", id: 1, method: "ping" }))
      yield* until(() => client.inbound.length === 2)
      assert.isUndefined(outcomeOf(asking))
      streams[0]?.raw(message([{ jsonrpc: "2.0", id: 1, result: {} }]))
      yield* Fiber.join(asking)
      yield* Fiber.interrupt(dropping)
      streams[0]?.end()
      assert.strictEqual((yield* Fiber.join(losing))._tag, "PeerEnded")
      assert.deepStrictEqual(yield* Fiber.join(client.running), Exit.succeed({ exit: undefined, writable: false }))
      assert.strictEqual((yield* reasonOf(client.request(request(4))))._tag, "PeerEnded")
    }))

  it.live("reports what happens to streams, where they are of Streamable HTTP", () =>
    Effect.gen(function*() {
      const peer = yield* serve(mcp((_, reply) => reply.stream().end()))
      const client = yield* connect(yield* transportTo(peer))
      yield* client.request(request(0, "initialize"))
      client.connection.onHandshake?.(profile)
      assert.strictEqual((yield* reasonOf(client.request(request(1))))._tag, "ExchangeEnded")
      assert.deepStrictEqual(client.events.map(({ _tag }) => _tag), ["StreamLost"])
      assert.strictEqual(peer.received.at(-1)?.headers["mcp-protocol-version"], "2025-11-25")
      yield* client.leave
      assert.strictEqual(peer.asked().at(-1), "DELETE")
    }))

  it.live("[law 2] leaves nothing, whichever way it goes and wherever it is", () =>
    Effect.gen(function*() {
      const census = FiberCount.make()
      // With how many requests it stays where it is; or it comes to its end.
      const places = [
        [yield* older(notAllowed), undefined],
        [yield* serve(newer), undefined],
        [yield* older(() => {}), 1],
        [
          yield* serve((received, reply) => {
            if (received.method === "GET") reply.stream()
            else reply.raw(404, {}, "")
          }),
          2
        ],
        [yield* older(notAllowed, () => {}), 3]
      ] as const
      for (const [peer, expected] of places) {
        yield* census.count(Effect.scoped(Effect.gen(function*() {
          const transport = yield* transportTo(peer)
          const session = yield* Effect.forkChild(open(transport), { startImmediately: true })
          if (expected === undefined) yield* Fiber.join(session)
          else yield* until(() => peer.received.length === expected)
          yield* Fiber.interrupt(session)
        })))
        yield* until(() => census.living() === 0)
        yield* nothingLeft(peer)
      }
    }))
})

describe.concurrent("one client before servers of either age", () => {
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
