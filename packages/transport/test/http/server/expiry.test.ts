/** The ends of streams and connections when the identity of their client expires, and of all of a principal. */
import { CloseReason, Revision } from "@effect-mcp/protocol"
import { ClientSession, type Principal, RequestContext } from "@effect-mcp/session"
import { HttpSseServer, StreamableHttpClient, WebSocketClient, WebSocketServer } from "@effect-mcp/transport/node"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { connect, exchange, initialize, send } from "../../support/httpClient.ts"
import { connectSse } from "../../support/httpSse.ts"
import { MapEventStore } from "../../support/mapEventStore.ts"
import * as Modern from "../../support/modernRequest.ts"
import { until } from "../../support/process.ts"
import { info, serve, type Served, serveWith, text, tools } from "../../support/server.ts"
import { serveStateless } from "../../support/statelessServer.ts"

const http = { keepAliveInterval: "100 millis" } as const

/** Accepts the user of the header `x-user`, for the milliseconds of `x-lifetime` from now on. */
const authentication = {
  identify: ({ headers }: { readonly headers: Readonly<Record<string, string | undefined>> }) =>
    Effect.sync((): Principal.Principal => ({
      id: headers["x-user"] ?? "ada",
      ...(headers["x-lifetime"] === undefined ? {} : { expiresAt: Date.now() + Number(headers["x-lifetime"]) })
    }))
}

const slow = tools({
  slow: Effect.gen(function*() {
    yield* RequestContext.progress({ progress: 1 })
    yield* Effect.sleep("1500 millis")
    return text("done")
  })
})

const listening = {
  ...slow,
  "subscriptions/listen": () => Effect.succeed({ notifications: { toolsListChanged: true } })
} as const

const lifetime = (millis: number) => ({ "x-lifetime": String(millis) })

const listen = () => {
  const { body, headers } = Modern.post("subscriptions/listen", { notifications: { toolsListChanged: true } })
  return { body, headers: { ...headers } }
}

const millisOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const from = Date.now()
    return Effect.map(effect, () => Date.now() - from)
  })

const reasonsOf = ({ events }: Served) => events.flatMap((event) => event._tag === "Closed" ? [event.reason] : [])

describe.concurrent("the expiry of an identity", () => {
  it.live("[AUT-55] ends the standalone stream, which the client resumes with a new token without a loss", () =>
    Effect.gen(function*() {
      const server = yield* serve(slow, {
        authentication,
        http,
        store: new MapEventStore().service,
        session: { capabilities: { tools: { listChanged: true } } }
      })
      const client = yield* connect(server, { revision: "2025-11-25" })
      const get = (headers: Readonly<Record<string, string>>) =>
        send(server, {
          method: "GET",
          headers: {
            accept: "text/event-stream",
            "mcp-session-id": client.id,
            "mcp-protocol-version": "2025-11-25",
            ...headers
          }
        })
      const stream = yield* get(lifetime(300))
      yield* stream.awaitHeaders
      const took = yield* millisOf(stream.awaitEnd)
      assert.isBelow(took, 3_000)
      assert.isAbove(took, 100)
      // The session goes on, and what it sends meanwhile waits.
      const [hosted] = yield* server.host.sessions
      yield* server.host.find(hosted?.id ?? "")?.session.toolListChanged ?? Effect.die(new Error("no session"))
      const last = stream.events.findLast(({ id }) => id !== undefined)?.id ?? ""
      const resumed = yield* get({ "last-event-id": last })
      yield* until(() => resumed.messages.length > 0 || resumed.isClosed)
      assert.deepInclude(resumed.messages[0], { method: "notifications/tools/list_changed" })
      yield* Effect.sleep("400 millis")
      assert.isFalse(resumed.ended)
      // An expired token opens none.
      const late = yield* get(lifetime(-1))
      yield* late.awaitHeaders
      assert.strictEqual(late.status, 401)
    }))

  it.live("does not cut the stream of a call that runs", () =>
    Effect.gen(function*() {
      const server = yield* serve(slow, { authentication, http, store: new MapEventStore().service })
      const client = yield* connect(server, { revision: "2025-11-25" })
      const body = {
        jsonrpc: "2.0",
        id: 1,
        method: "tools/call",
        params: { name: "slow", _meta: { progressToken: 1 } }
      }
      const response = yield* client.exchange({ body, headers: lifetime(200) })
      assert.deepInclude(response.messages.at(-1), { id: 1 })
      assert.isDefined(response.messages.at(-1)?.result)
      const modern = Modern.post("tools/call", { name: "slow" }, { meta: { progressToken: 1 } })
      const other = yield* exchange(server, { ...modern, headers: { ...modern.headers, ...lifetime(200) } })
      assert.isDefined(other.messages.at(-1)?.result)
    }))

  it.live("[AUT-55] ends streams of notifications of 2026-07-28 with their results, with and without a host", () =>
    Effect.gen(function*() {
      const host = yield* serve(listening, { authentication, http })
      const stateless = yield* serveStateless(listening, { authentication, http })
      for (const server of [host, stateless]) {
        const request = listen()
        const longer = yield* send(server, { ...request, headers: { ...request.headers, ...lifetime(60_000) } })
        const shorter = yield* send(server, { ...request, headers: { ...request.headers, ...lifetime(300) } })
        const forever = yield* send(server, request)
        const took = yield* millisOf(shorter.awaitEnd)
        assert.isBelow(took, 3_000)
        assert.isAbove(took, 100)
        assert.strictEqual(shorter.messages[0]?.method, "notifications/subscriptions/acknowledged")
        assert.isDefined(shorter.messages.at(-1)?.result)
        assert.isFalse(longer.ended || forever.ended)
      }
    }))

  it.live("ends the session of HTTP+SSE with its stream", () =>
    Effect.gen(function*() {
      const server = yield* serveWith(HttpSseServer.layerNode({ port: 0, ...http }), slow, { authentication })
      const client = yield* connectSse(server, { headers: lifetime(300) })
      yield* client.stream.awaitEnd
      yield* until(() => reasonsOf(server).length > 0)
      assert.deepInclude(reasonsOf(server)[0], { _tag: "Expired", of: "identity" })
      assert.strictEqual((yield* client.post(initialize("2024-11-05"), { headers: lifetime(1_000) })).status, 404)
    }))

  it.live("[AUT-51] closes a WebSocket with a code of its own", () =>
    Effect.gen(function*() {
      const server = yield* serveWith(WebSocketServer.layerNode({ port: 0 }), slow, { authentication })
      const url = `ws://127.0.0.1:${server.port}/mcp`
      const open = (headers: Readonly<Record<string, string>>) =>
        Effect.map(
          Layer.build(Layer.provide(
            ClientSession.layer({ info, revisions: Revision.legacy }),
            WebSocketClient.layerNode({ url, headers })
          )),
          Context.get(ClientSession.ClientSession)
        )
      const client = yield* open(lifetime(1_000))
      const other = yield* open({})
      const reason = yield* client.closed
      assert.include(CloseReason.describe(reason), "4002")
      yield* until(() => reasonsOf(server).length > 0)
      assert.deepInclude(reasonsOf(server)[0], { _tag: "Expired", of: "identity" })
      yield* other.ping()
    }))
})

describe.concurrent("closePrincipal", () => {
  it.live("[AUT-55] ends the sessions and the streams of one principal, and none of another", () =>
    Effect.gen(function*() {
      const server = yield* serve(listening, { authentication, http, session: { revisions: Revision.supported } })
      const user = (id: string) => ({ headers: { "x-user": id } })
      const ada = yield* connect(server, user("ada"))
      const bob = yield* connect(server, user("bob"))
      const streams = yield* Effect.forEach(["ada", "bob"], (id) => {
        const request = listen()
        return send(server, { ...request, headers: { ...request.headers, "x-user": id } })
      })
      const [adas, bobs] = streams
      yield* until(() => streams.every(({ messages }) => messages.length > 0))
      yield* server.host.closePrincipal("ada")
      yield* adas?.awaitEnd ?? Effect.void
      assert.isDefined(adas?.messages.at(-1)?.result)
      const ping = { body: { jsonrpc: "2.0", id: 1, method: "ping" } }
      assert.strictEqual((yield* ada.exchange(ping)).status, 404)
      assert.strictEqual((yield* bob.exchange(ping)).status, 200)
      assert.isFalse(bobs?.ended)
      assert.deepStrictEqual(reasonsOf(server), [{ _tag: "Requested" }])
      yield* server.host.closePrincipal("stranger")
    }))
})

describe("the client of this library", () => {
  it.live("listens again after the stream of its old token has ended, and misses no change", () =>
    Effect.gen(function*() {
      let listens = 0
      const counted = {
        ...listening,
        "subscriptions/listen": () => {
          listens++
          return listening["subscriptions/listen"]()
        }
      }
      const server = yield* serve(counted, { authentication, http, session: { revisions: Revision.supported } })
      let changes = 0
      yield* Layer.build(Layer.provide(
        ClientSession.layer({
          info,
          revisions: Revision.modern,
          handlers: { "notifications/tools/list_changed": () => Effect.sync(() => void changes++) }
        }),
        // Each request has a token that lives from then on.
        StreamableHttpClient.layerNode({ url: `http://127.0.0.1:${server.port}/mcp`, headers: lifetime(500) })
      ))
      yield* until(() => listens >= 2 && changes >= 1)
    }))
})
