/**
 * An HTTP backend with its own routes and middleware, and an MCP server that is mounted beside them.
 *
 * ```sh
 * node packages/examples/src/backend.ts 3000
 * curl http://127.0.0.1:3000/health
 * curl http://127.0.0.1:3000/sessions
 * curl -H 'Authorization: Bearer ada' -N http://127.0.0.1:3000/sse
 * ```
 *
 * The endpoints are `/mcp` for Streamable HTTP, `/sse` for clients of 2024, and `/mcp/socket` for WebSocket. Each
 * requires a bearer token: `ada` or `bob`. A session belongs to the principal that opened it.
 */
import { McpServer } from "@effect-mcp/server"
import { EventStore, SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createServer } from "node:http"
import * as Tools from "./tools.ts"

// =====================================================================================================================
// The backend
// =====================================================================================================================

/** Middleware that adds a header to every response, those of the MCP server included. */
const signed = HttpRouter.middleware(
  (route) => Effect.map(route, (response) => HttpServerResponse.setHeader(response, "server", "backend")),
  { global: true }
)

// =====================================================================================================================
// The MCP server
// =====================================================================================================================

/** The sessions: at most 500. The host closes a session that is idle for ten minutes. */
const host = McpServer.host(Tools.layer, { ...Tools.options, sessions: { max: 500, idleTimeout: "10 minutes" } })

/** Accepts names as tokens. A real backend would look tokens up, or verify their signatures. */
const tokens = Authentication.layerBearer({
  realm: "calculator",
  verify: (token) => {
    const name = Redacted.value(token)
    return Effect.succeed(name === "ada" || name === "bob" ? { id: name } : undefined)
  }
})

const mcp = Layer.mergeAll(
  StreamableHttpServer.layer("/mcp"),
  HttpSseServer.layer(),
  WebSocketServer.layer("/mcp/socket")
).pipe(
  Layer.provide(tokens),
  // With this store, a client over Streamable HTTP can resume a broken stream.
  Layer.provide(EventStore.layerMemory())
)

/** A route that reports the health of the host. */
const health = HttpRouter.use((router) =>
  Effect.flatMap(
    SessionHost.SessionHost,
    (host) => router.add("GET", "/health", Effect.flatMap(host.health, (health) => HttpServerResponse.json(health)))
  )
)

/** A route that lists the sessions. A real backend would authenticate the clients of this route. */
const sessions = HttpRouter.use((router) =>
  Effect.flatMap(SessionHost.SessionHost, (host) =>
    router.add(
      "GET",
      "/sessions",
      Effect.flatMap(
        host.sessions,
        (sessions) =>
          HttpServerResponse.json(sessions.map(({ client, principal, revision }) => ({ principal, client, revision })))
      )
    ))
)

// =====================================================================================================================
// The whole backend
// =====================================================================================================================

/** Serves the backend on this port. On shutdown, the sessions end before the listener closes. */
export const layer = (port: number) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(HttpRouter.serve(Layer.mergeAll(mcp, health, sessions, signed), { disableLogger: true })),
    Layer.provideMerge(host),
    // Any sender that knows the session id of HTTP+SSE can act as the client, so traces must not show the id.
    Layer.provide(HttpSseServer.layerRedacted),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), {
      port,
      host: "127.0.0.1",
      // The largest WebSocket message that Node receives. The endpoint also has a limit of its own.
      websocket: { maxPayload: 8 * 1024 * 1024 }
    }))
  )

if (import.meta.main) NodeRuntime.runMain(Layer.launch(layer(Number(process.argv[2] ?? 3000))))
