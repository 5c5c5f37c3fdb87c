/** The identity that a backend's own middleware provides: `Authentication.fromService`. */
import { RequestContext, SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { connect, exchange, initialize } from "../../support/httpClient.ts"
import { openSse } from "../../support/httpSse.ts"
import { serveWith, text, tools } from "../../support/server.ts"

class CurrentUser extends Context.Service<CurrentUser, { readonly name: string }>()("test/CurrentUser") {}

/** The middleware of a backend: it answers requests without a user with 401. */
const users =
  HttpRouter.middleware<{ provides: CurrentUser }>()((route) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
      const name = headers["x-user"]
      return name === undefined
        ? Effect.succeed(HttpServerResponse.empty({ status: 401 }))
        : Effect.provideService(route, CurrentUser, { name })
    })
  ).layer

const whoami = tools({
  whoami: Effect.map(RequestContext.RequestContext, ({ principal }) => text(principal?.id ?? "anonymous"))
})

const mcp = Layer.mergeAll(
  StreamableHttpServer.layer(),
  HttpSseServer.layer(),
  WebSocketServer.layer({ path: "/mcp/socket" })
).pipe(Layer.provide(Authentication.fromService(CurrentUser, ({ name }) => ({ id: name }))))

const served = (routes: typeof mcp) =>
  serveWith(
    SessionHost.layerDrain.pipe(
      Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true })),
      Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port: 0, host: "127.0.0.1" }))
    ),
    whoami
  )

describe.concurrent("an identity from a service of the route's middleware", () => {
  it.live("[HTTP-14] is the principal of the session and of its handlers", () =>
    Effect.gen(function*() {
      const server = yield* served(Layer.provide(mcp, users))
      const clients = {
        ada: yield* connect(server, { headers: { "x-user": "ada" } }),
        bob: yield* connect(server, { headers: { "x-user": "bob" } })
      }
      for (const [name, client] of Object.entries(clients)) {
        const response = yield* client.call(1, "whoami")
        yield* response.awaitEnd
        assert.deepStrictEqual(response.messages[0]?.result, { ...text(name) })
      }
      const stream = yield* openSse(server, { headers: { "x-user": "eve" } })
      assert.strictEqual(stream.stream.status, 200)
      const principals = (yield* server.host.sessions).map(({ principal }) => principal)
      assert.deepStrictEqual(principals, ["ada", "bob", "eve"])
    }))

  it.live("[HTTP-14] a request that the middleware rejects reaches no server", () =>
    Effect.gen(function*() {
      const server = yield* served(Layer.provide(mcp, users))
      for (const method of ["POST", "GET"]) {
        const response = yield* exchange(server, {
          method,
          ...(method === "POST" ? { body: initialize("2025-11-25") } : {})
        })
        assert.strictEqual(response.status, 401)
      }
      assert.deepStrictEqual(yield* server.host.sessions, [])
      assert.deepStrictEqual(server.logs, [])
    }))

  it.live("[HTTP-14] without the middleware every request is rejected with 500, and the log names the service", () =>
    Effect.gen(function*() {
      const server = yield* served(mcp)
      const response = yield* exchange(server, { body: initialize("2025-11-25"), headers: { "x-user": "ada" } })
      assert.strictEqual(response.status, 500)
      assert.deepStrictEqual(yield* server.host.sessions, [])
      assert.strictEqual(server.logs.length, 1)
      assert.include(server.logs[0], "no middleware of this route provides test/CurrentUser")
    }))
})
