/** Errors of a client and a server that do not come together. */
import { McpGroup, McpServer, McpTool } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, HttpSseServer, StdioClient } from "@effect-mcp/transport/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { request } from "node:http"
import { freePort } from "../../../../scripts/freePort.ts"
import {
  answerTo,
  type Cases,
  connect,
  connectTo,
  greeter,
  hostListening,
  info,
  inTurn,
  listening,
  messageOf
} from "./parts.ts"

const empty = SessionHost.layer({}, { info })

/** Connects to a program of Node that consists of this text. */
const toProgram = (text: string, options: Parameters<typeof connect>[1] = {}) =>
  messageOf(connect(StdioClient.layerNode({ command: process.execPath, args: ["-e", text] }), options))

/** One revision keeps the client from asking the server for its revisions first. */
const soon = { revisions: ["2025-11-25"], limits: { handshakeTimeout: "300 millis" } } as const

const post = (headers: Record<string, string>, body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
  body: JSON.stringify(body)
})

const ping = { jsonrpc: "2.0", id: 1, method: "ping" }

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: info }
}

/** `fetch` does not send another `Host`. */
const answerToHost = (url: string, host: string): Effect.Effect<string> =>
  Effect.callback((resume) => {
    const body = JSON.stringify(initialize)
    const sent = request(url, {
      method: "POST",
      headers: { host, "content-type": "application/json", accept: "application/json, text/event-stream" }
    }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk).on("end", () => {
        const answer: { readonly error?: { readonly message?: string } } = JSON.parse(text)
        resume(Effect.succeed(answer.error?.message ?? "the answer has no error"))
      })
    })
    sent.end(body)
  })

const Notes = McpGroup.make("notes", Tool.make("write").annotate(McpTool.Scopes, ["notes:write"]))

export const connectionCases: Cases = {
  "the handshake failed: the server did not respond to initialize within … ms; it sent a text that is no message: …":
    toProgram("console.log('Server started'); setTimeout(() => {}, 60000)", soon),
  "the handshake failed: could not connect to …: spawn … ENOENT": messageOf(
    connect(StdioClient.layerNode({ command: "mcp-server-that-is-not-installed" }))
  ),
  "the handshake failed: the peer exited with code …; last lines of stderr:…": toProgram(
    "console.error('DATABASE_URL is not set'); process.exit(1)"
  ),
  "the handshake failed: the server did not respond to initialize within … ms; set limits.handshakeTimeout …":
    toProgram("setTimeout(() => {}, 60000)", soon),
  "the handshake failed: the server did not respond to server/discover within … ms; set limits.handshakeTimeout …":
    toProgram("setTimeout(() => {}, 60000)", { limits: soon.limits }),
  "the handshake failed: the server chose revision …; this client supports …": Effect.flatMap(
    hostListening(SessionHost.layer({}, { info, revisions: ["2025-11-25"] })),
    (url) => messageOf(connectTo(url, { revisions: ["2024-11-05"] }))
  ),
  "the handshake failed: the server supports …; this client supports …; add …": Effect.flatMap(
    hostListening(SessionHost.layer({}, { info, revisions: ["2026-07-28"] })),
    (url) => messageOf(connectTo(url, { revisions: ["2025-11-25"] }))
  ),
  "the handshake failed: the server does not serve a revision without a handshake: …": Effect.flatMap(
    hostListening(SessionHost.layer({}, { info, revisions: ["2025-11-25"] })),
    (url) => messageOf(connectTo(url, { revisions: ["2026-07-28"] }))
  ),
  "the handshake failed: could not connect to …: connect ECONNREFUSED …": Effect.flatMap(
    freePort,
    (port) => messageOf(connectTo(`http://127.0.0.1:${port}/mcp`))
  ),
  "the handshake failed: the server at … rejected the message with status 404: …; check the path of the URL": Effect
    .flatMap(greeter, (url) => messageOf(connectTo(url.replace("/mcp", "/")))),
  "the handshake failed: the server at … rejected the message with status 405: …; check the path of the URL": Effect
    .flatMap(
      listening(HttpSseServer.layerNode({ port: 0 }).pipe(Layer.provide([empty, Authentication.anonymous]))),
      (url) => messageOf(connectTo(`${url}/sse`))
    ),
  "the handshake failed: the server at … requires authentication: …": Effect.flatMap(
    hostListening(
      empty,
      Authentication.layerBearer({
        verify: (token) => Effect.succeed(Redacted.value(token) === "secret" ? { id: "ada" } : undefined)
      })
    ),
    (url) => messageOf(connectTo(url))
  ),
  "tools/call: the peer replied with error -31012: Insufficient scope: …": Effect.gen(function*() {
    const url = yield* hostListening(
      McpServer.layerHost(Notes.toLayer((handlers) => handlers.tool("write", () => Effect.void)), { info }),
      Authentication.layer(() => Effect.succeed({ id: "ada", scopes: ["notes:read"] }))
    )
    const session = yield* connectTo(url)
    return yield* messageOf(session.callTool("write"))
  }),
  "Origin \"…\" is not allowed; add it to allowedOrigins": Effect.flatMap(
    greeter,
    (url) => answerTo(url, post({ origin: "https://app.example" }, initialize))
  ),
  "Host \"…\" is not allowed; add it to allowedHosts": Effect.flatMap(
    greeter,
    (url) => answerToHost(url, "mcp.example.com")
  ),
  "Accept must list application/json and text/event-stream": Effect.flatMap(
    greeter,
    (url) => answerTo(url, post({ accept: "application/json" }, initialize))
  ),
  "Content-Type must be application/json": Effect.flatMap(
    greeter,
    (url) => answerTo(url, post({ "content-type": "text/plain" }, initialize))
  ),
  "The header Mcp-Session-Id is missing": Effect.flatMap(greeter, (url) => answerTo(url, post({}, ping))),
  "There is no session with this id; send initialize to start one": Effect.flatMap(
    greeter,
    (url) => answerTo(url, post({ "mcp-session-id": "gone" }, ping))
  ),
  "the handshake failed: … no room for another session: the host has … (sessions.max), and none of them …": Effect.gen(
    function*() {
      const url = yield* hostListening(SessionHost.layer({}, { info, sessions: { max: 1 } }))
      yield* connectTo(url, { revisions: ["2025-11-25"] })
      return yield* messageOf(connectTo(url, { revisions: ["2025-11-25"] }))
    }
  ),
  "tools/call: the peer no longer knows this session: …": Effect.gen(function*() {
    const url = yield* inTurn([yield* greeter, yield* greeter])
    return yield* messageOf(
      Effect.flatMap(
        connectTo(url, { revisions: ["2025-11-25"] }),
        (session) => Effect.forever(session.callTool("greet"))
      )
    )
  })
}
