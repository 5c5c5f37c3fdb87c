/** The backend with an MCP server beside its own routes (`backend.ts`). */
import { Revision } from "@effect-mcp/protocol"
import { ClientSession, SessionHost } from "@effect-mcp/session"
import {
  type HttpClientOptions,
  HttpSseClient,
  StreamableHttpClient,
  WebSocketClient
} from "@effect-mcp/transport/node"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Backend from "../src/backend.ts"

const base = Effect.map(HttpServer, ({ address }) => `http://127.0.0.1:${"port" in address ? address.port : 0}`)

const get = (path: string, headers: Record<string, string> = {}) =>
  Effect.flatMap(base, (url) => Effect.promise(() => fetch(`${url}${path}`, { headers })))

/** The list of sessions that the backend returns. */
const sessions = Effect.flatMap(get("/sessions"), (response) => Effect.promise(() => response.json()))

/** The paths of the endpoints, by the kind of their sessions in the host. */
const paths = { "streamable-http": "/mcp", "http-sse": "/sse", websocket: "/mcp/socket" }

/** The transports, by the same kinds. */
const transports = {
  "streamable-http": (base: string, headers: HttpClientOptions.HeaderValues) =>
    StreamableHttpClient.layerNode({ url: base + paths["streamable-http"], headers }),
  "http-sse": (base: string, headers: HttpClientOptions.HeaderValues) =>
    HttpSseClient.layerNode({ url: base + paths["http-sse"], headers }),
  websocket: (base: string, headers: HttpClientOptions.HeaderValues) =>
    WebSocketClient.layerNode({ url: base.replace("http:", "ws:") + paths.websocket, headers })
}

/** Opens a session with this name as bearer token, until the scope closes. */
const connect = Effect.fnUntraced(function*(name: string, kind: keyof typeof transports = "streamable-http") {
  const transport = transports[kind](yield* base, { authorization: Redacted.make(`Bearer ${name}`) })
  const session = ClientSession.layer({
    info: { name: `${name}'s client`, version: "1.0.0" },
    revisions: Revision.legacy
  })
  return Context.get(yield* Layer.build(Layer.provide(session, transport)), ClientSession.ClientSession)
})

layer(Layer.fresh(Backend.layer(0)), { excludeTestServices: true })("a backend with an MCP server in it", (it) => {
  it.effect("serves its own routes, and its middleware covers the MCP endpoint", () =>
    Effect.gen(function*() {
      const health = yield* get("/health")
      assert.strictEqual(health.headers.get("server"), "backend")
      assert.deepStrictEqual(yield* Effect.promise(() => health.json()), {
        accepting: true,
        ready: true,
        draining: false,
        sessions: 0,
        handshaking: 0,
        limit: 500
      })
      const endpoint = yield* get("/mcp")
      assert.strictEqual(endpoint.headers.get("server"), "backend")
    }))

  it.effect("[HTTP-14] accepts a valid token, and rejects other requests with 401 and a challenge", () =>
    Effect.gen(function*() {
      const rejected = yield* get("/mcp", { accept: "text/event-stream" })
      assert.deepStrictEqual([rejected.status, rejected.headers.get("www-authenticate")], [
        401,
        "Bearer realm=\"backend\""
      ])
      const error = yield* Effect.flip(Effect.scoped(connect("mallory")))
      assert.include(error.message, "error=\"invalid_token\"")
      const session = yield* connect("ada")
      const sum = yield* session.callTool("add", { a: 15, b: 27 })
      assert.deepStrictEqual(sum.content, [{ type: "text", text: "42" }])
    }))

  it.effect("[SSE-09] one host has the sessions of all three endpoints, and each endpoint requires a token", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.SessionHost
      for (const kind of ["streamable-http", "http-sse", "websocket"] as const) {
        yield* Effect.gen(function*() {
          const session = yield* connect("ada", kind)
          const sum = yield* session.callTool("add", { a: 15, b: 27 })
          assert.deepStrictEqual(sum.content, [{ type: "text", text: "42" }])
          const [hosted, ...others] = yield* host.sessions
          assert.deepStrictEqual([hosted?.kind, hosted?.principal, others], [kind, "ada", []])
        }).pipe(Effect.scoped)
        const error = yield* Effect.flip(Effect.scoped(connect("mallory", kind)))
        const url = `${(yield* base).replace("http:", kind === "websocket" ? "ws:" : "http:")}${paths[kind]}`
        assert.include(
          error.message,
          `the server at ${url} requires authentication: Bearer realm="backend", error="invalid_token"`,
          kind
        )
        // The time until the host notices the end depends on the transport.
        yield* Effect.repeat(Effect.sleep("5 millis"), {
          while: () => Effect.map(host.sessions, (sessions) => sessions.length > 0)
        })
      }
    }))

  it.effect("the routes and the handlers have the user of the same middleware", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* get("/me")).status, 401)
      for (const name of ["ada", "bob"]) {
        const response = yield* get("/me", { authorization: `Bearer ${name}` })
        assert.strictEqual(yield* Effect.promise(() => response.text()), name)
        const { contents } = yield* Effect.flatMap(connect(name), (session) => session.readResource("backend://me"))
        assert.deepStrictEqual(contents, [{ uri: "backend://me", mimeType: "text/plain", text: name }])
      }
    }))

  it.effect("a session of one user is unknown to another", () =>
    Effect.gen(function*() {
      const host = yield* SessionHost.SessionHost
      yield* connect("ada")
      const [hosted] = yield* host.sessions
      assert(hosted !== undefined)
      const url = yield* base
      const ping = (name: string) =>
        Effect.promise(() =>
          fetch(`${url}/mcp`, {
            method: "POST",
            headers: {
              "authorization": `Bearer ${name}`,
              "mcp-session-id": hosted.id,
              "mcp-protocol-version": "2025-11-25",
              "content-type": "application/json",
              "accept": "application/json, text/event-stream"
            },
            body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "ping" })
          }).then((response) => response.status)
        )
      assert.deepStrictEqual([yield* ping("ada"), yield* ping("bob")], [200, 404])
    }))

  it.effect("lists the sessions with their principals, and each session ends with its client", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        yield* connect("ada")
        yield* connect("bob")
        const listed = yield* sessions
        assert.deepStrictEqual(listed, [
          { principal: "ada", client: { name: "ada's client", version: "1.0.0" }, revision: "2025-11-25" },
          { principal: "bob", client: { name: "bob's client", version: "1.0.0" }, revision: "2025-11-25" }
        ])
      }))
      assert.deepStrictEqual(yield* sessions, [])
    }))
})
