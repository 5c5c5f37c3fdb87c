/**
 * An HTTP backend with its own routes, middleware and users, and an MCP server that is mounted beside them.
 *
 * ```sh
 * node packages/examples/src/backend.ts 3000
 * curl http://127.0.0.1:3000/health
 * curl http://127.0.0.1:3000/sessions
 * curl -H 'Authorization: Bearer ada' http://127.0.0.1:3000/me
 * curl -H 'Authorization: Bearer ada' -N http://127.0.0.1:3000/sse
 * ```
 *
 * The endpoints are `/mcp` for Streamable HTTP, `/sse` for clients of 2024, and `/mcp/socket` for WebSocket. The
 * backend's middleware authenticates them by a bearer token, `ada` or `bob`, as it does its own routes. A session
 * belongs to the user who opened it.
 */
import { McpError, McpGroup, McpMiddleware, McpRequest, McpResource, McpServer } from "@effect-mcp/server"
import { EventStore, SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StreamableHttpServer, WebSocketServer } from "@effect-mcp/transport/node"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
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

/** The user of a request. */
class CurrentUser extends Context.Service<CurrentUser, { readonly name: string }>()("CurrentUser") {}

const unauthenticated = (challenge: string) =>
  HttpServerResponse.empty({ status: 401, headers: { "www-authenticate": `Bearer realm="backend"${challenge}` } })

/** Accepts names as tokens. A real backend would look tokens up, or verify their signatures. */
const users = HttpRouter.middleware<{ provides: CurrentUser }>()((route) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
    const [, name] = /^Bearer (\S+)$/i.exec(headers["authorization"] ?? "") ?? []
    if (name === undefined) return Effect.succeed(unauthenticated(""))
    if (name !== "ada" && name !== "bob") return Effect.succeed(unauthenticated(`, error="invalid_token"`))
    return Effect.provideService(route, CurrentUser, { name })
  })
)

const me = HttpRouter.add("GET", "/me", Effect.map(CurrentUser, ({ name }) => HttpServerResponse.text(name)))

// =====================================================================================================================
// The MCP server
// =====================================================================================================================

/** Provides the user of the backend to the handlers of a group. */
class Users extends McpMiddleware.Service<Users, { provides: CurrentUser }>()("Users") {}

const UsersLive = McpMiddleware.layer(
  Users,
  CurrentUser,
  Effect.flatMap(McpRequest.McpRequest, ({ principal }) =>
    principal === undefined
      ? Effect.fail(McpError.invalidRequest("Sign in first"))
      : Effect.succeed({ name: principal.id }))
)

const Profile = McpGroup.make(
  "profile",
  McpResource.make("me", { uri: "backend://me", description: "The name of the user", mimeType: "text/plain" })
).middleware(Users)

const ProfileLive = Profile.toLayer((handlers) => handlers.resource("me", Effect.map(CurrentUser, ({ name }) => name)))
  .pipe(Layer.provide(UsersLive))

/** The sessions: at most 500. The host closes a session that is idle for ten minutes. */
const host = McpServer.layerHost(Layer.merge(Tools.layer, ProfileLive), {
  info: { name: "backend", version: "0.1.0" },
  sessions: { max: 500, idleTimeout: "10 minutes" }
})

const mcp = Layer.mergeAll(
  StreamableHttpServer.layer(),
  HttpSseServer.layer(),
  WebSocketServer.layer({ path: "/mcp/socket" })
).pipe(
  Layer.provide(Authentication.fromService(CurrentUser, ({ name }) => ({ id: name }))),
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

const routes = Layer.mergeAll(Layer.provide(Layer.merge(mcp, me), users.layer), health, sessions, signed)

/** Serves the backend on this port. On shutdown, the sessions end before the listener closes. */
export const layer = (port: number) =>
  SessionHost.layerDrain.pipe(
    Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true })),
    Layer.provideMerge(host),
    // Any sender that knows the session id of HTTP+SSE can act as the client, so traces must not show the id.
    Layer.provide(HttpSseServer.layerRedactedSessionParameter),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), {
      port,
      host: "127.0.0.1",
      // The largest WebSocket message that Node receives. The endpoint also has a limit of its own.
      websocket: { maxPayload: 8 * 1024 * 1024 }
    }))
  )

if (import.meta.main) NodeRuntime.runMain(Layer.launch(layer(Number(process.argv[2] ?? 3000))))
