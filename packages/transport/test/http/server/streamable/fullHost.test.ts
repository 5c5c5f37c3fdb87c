import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { connect, exchange, initialize, type ReceivedResponse } from "../../../support/httpClient.ts"
import { serve, serveWith, type Settings, text, tools } from "../../../support/server.ts"

const handlers = tools({ now: Effect.succeed(text("now")) })

const body = initialize("2025-11-25")

const ping = { jsonrpc: "2.0", id: 1, method: "ping" }

const idOf = (response: ReceivedResponse) => String(response.headers["mcp-session-id"])

/** Runs a server behind a proxy that forwards the addresses of its clients. */
const serveBehindProxy = (settings: Settings) =>
  serveWith(
    Layer.provideMerge(
      HttpRouter.serve(StreamableHttpServer.layer(), {
        disableLogger: true,
        disableListenLog: true,
        middleware: HttpMiddleware.xForwardedHeaders({ trustedProxies: () => true })
      }),
      NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" })
    ),
    handlers,
    settings
  )

const from = (address: string) => ({ body, headers: { "x-forwarded-for": address } })

describe.concurrent("a full host over Streamable HTTP", () => {
  it.live("[SHS-26] evicts a session for a client of another address, and the evicted client receives 404", () =>
    Effect.gen(function*() {
      const server = yield* serveBehindProxy({ session: { sessions: { max: 20 } } })
      const began = performance.now()
      const hostile = yield* Effect.forEach(Array.from({ length: 20 }), () => exchange(server, from("203.0.113.7")))
      assert.deepStrictEqual(new Set(hostile.map(({ status }) => status)), new Set([200]))
      const rejected = yield* exchange(server, from("203.0.113.7"))
      assert.strictEqual(rejected.status, 503)
      // The first session is kept for 3 s from its last use. Of these, no more can have passed than the test has taken.
      const passed = (performance.now() - began) / 1000
      const retryAfter = Number(rejected.headers["retry-after"])
      assert.isAtLeast(retryAfter, Math.max(Math.ceil(3 - passed), 1))
      assert.isAtMost(retryAfter, 3)
      for (const [index, address] of ["198.51.100.1", "2001:db8::1"].entries()) {
        const honest = yield* exchange(server, from(address))
        assert.strictEqual(honest.status, 200)
        const [evicted, next] = yield* Effect.forEach([index, index + 1], (number) => {
          const victim = hostile[number]
          return exchange(server, {
            body: ping,
            headers: { "mcp-session-id": victim && idOf(victim), "mcp-protocol-version": "2025-11-25" }
          })
        })
        assert.deepStrictEqual([evicted?.status, next?.status], [404, 200])
      }
      assert.deepStrictEqual(
        server.events.flatMap((event) => event._tag === "Closed" ? [event.reason._tag] : []),
        ["Evicted", "Evicted"]
      )
    }))

  it.live("evicts the oldest unused session of the same address after 3 seconds", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, { session: { sessions: { max: 4 } } })
      const clients = yield* Effect.forEach(Array.from({ length: 4 }), () => connect(server))
      const rejected = yield* exchange(server, { body })
      assert.deepStrictEqual([rejected.status, rejected.headers["retry-after"]], [503, "3"])
      yield* Effect.sleep("3 seconds")
      const newcomer = yield* connect(server)
      assert.strictEqual((yield* newcomer.ping()).status, 200)
      const statuses = yield* Effect.forEach(clients, (client) => Effect.map(client.ping(), ({ status }) => status))
      assert.deepStrictEqual(statuses, [404, 200, 200, 200])
    }))

  it.live("counts all addresses of an IPv6 network as one client", () =>
    Effect.gen(function*() {
      const server = yield* serveBehindProxy({ session: { sessions: { max: 20 } } })
      for (let count = 1; count <= 20; count++) yield* exchange(server, from(`2001:db8:1:2:${count}::1`))
      assert.strictEqual((yield* exchange(server, from("2001:db8:1:2::ffff"))).status, 503)
      assert.strictEqual((yield* exchange(server, from("2001:db8:1:3::1"))).status, 200)
    }))

  it.live("answers 429 with Retry-After to a principal that has too many sessions", () =>
    Effect.gen(function*() {
      const server = yield* serve(handlers, {
        authentication: { identify: ({ headers }) => Effect.succeed({ id: headers["x-user"] ?? "unknown" }) },
        session: { sessions: { maxPerPrincipal: 1 } }
      })
      const headers = { "x-user": "ada" }
      yield* connect(server, { headers })
      const response = yield* exchange(server, { body, headers })
      assert.strictEqual(response.status, 429)
      assert.match(response.messages[0]?.error?.message ?? "", /of this principal: it has 1/)
      assert.strictEqual(response.headers["retry-after"], "3")
      assert.strictEqual((yield* exchange(server, { body, headers: { "x-user": "bob" } })).status, 200)
    }))
})
