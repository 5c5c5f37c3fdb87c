/**
 * An HTTP backend that was there before, with routes and middleware of its own, and an MCP server mounted beside them.
 *
 * ```sh
 * node packages/examples/src/backend.ts 3000
 * curl http://127.0.0.1:3000/health
 * curl http://127.0.0.1:3000/sessions
 * curl -H 'Authorization: Bearer ada' -N http://127.0.0.1:3000/sse
 * ```
 *
 * The endpoint is `/mcp`, for clients of 2024 `/sse`, and over WebSocket `/mcp/socket`; each wants a bearer token, which is the name
 * `ada`, or `bob`. Their sessions are nobody else's.
 */
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
// What was there before
// =====================================================================================================================

/** Every response of the backend says what served it, those of the MCP server included. */
const signed = HttpRouter.middleware(
  (route) => Effect.map(route, (response) => HttpServerResponse.setHeader(response, "server", "backend")),
  { global: true }
)

// =====================================================================================================================
// The MCP server
// =====================================================================================================================

/** The sessions: as many as a small backend wants to have, and none that is left alone for ten minutes. */
const host = SessionHost.layer(Tools.handlers, { ...Tools.options, sessions: { max: 500, idle: "10 minutes" } })

/** Tokens that are names. A real backend would look them up, or check who has signed them. */
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
  // Clients that lose their connection come back for what they have missed.
  Layer.provide(EventStore.layerMemory())
)

/** The backend's own routes can see the host, too. */
const health = HttpRouter.use((router) =>
  Effect.flatMap(
    SessionHost.SessionHost,
    (host) => router.add("GET", "/health", Effect.flatMap(host.health, (health) => HttpServerResponse.json(health)))
  )
)

/** Whose sessions there are, and in which revision. Anybody may ask; a real backend would look at who does. */
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
// All of it
// =====================================================================================================================

/** The backend on this port. When it goes, the sessions end before it stops to listen. */
export const layer = (port: number) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(HttpRouter.serve(Layer.mergeAll(mcp, health, sessions, signed), { disableLogger: true })),
    Layer.provideMerge(host),
    // Who knows the id of a session over HTTP+SSE could post to it, so nothing that traces requests may show it.
    Layer.provide(HttpSseServer.layerRedacted),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), {
      port,
      host: "127.0.0.1",
      // No message over WebSocket is longer, whatever its endpoint would still read.
      websocket: { maxPayload: 8 * 1024 * 1024 }
    }))
  )

if (import.meta.main) NodeRuntime.runMain(Layer.launch(layer(Number(process.argv[2] ?? 3000))))
