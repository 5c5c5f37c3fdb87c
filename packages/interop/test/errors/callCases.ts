/** Errors of calls, with servers over HTTP and stdio. */
import { McpClient, McpServersConfig, McpTarget } from "@effect-mcp/client/node"
import { AjvValidator } from "@effect-mcp/json-schema"
import { McpGroup, McpResource, McpServer, SessionState } from "@effect-mcp/server"
import { ClientSession, RequestContext, RequestStateSeal, SessionHost } from "@effect-mcp/session"
import { Authentication, StatelessHttpServer, StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { fileURLToPath } from "node:url"
import { joinedProgram } from "../../../../scripts/joinedProgram.ts"
import * as Parts from "./parts.ts"
import { work, WorkLive } from "./work.ts"

const { connect, connectTo, hostListening, info, listening, messageOf } = Parts

type Session = ClientSession.ClientSessionShape

const visits = SessionState.make("visits", () => 0)

/** Fails with the text of a result with `isError`. */
const textOfError = (result: { readonly content: ReadonlyArray<unknown>; readonly isError?: boolean }) =>
  Effect.fail(new Error(result.content.map((part) => Reflect.get(Object(part), "text")).join()))

/** Calls a tool of a server at this URL, and returns the text of the error. */
const calledAt = (
  server: Effect.Effect<string, unknown, Scope.Scope>,
  name: string,
  input = {},
  options: Parts.Options = {}
): Parts.Case =>
  Effect.gen(function*() {
    const session = yield* connectTo(yield* server, options)
    return yield* messageOf(Effect.flatMap(session.callTool(name, input), textOfError))
  })

const schemas: Readonly<Record<string, object>> = {
  weather: { type: "object", properties: { temperature: { type: "number" } } },
  remote: { type: "object", $ref: "https://example.com/schema.json" }
}

/** A server by its methods, whose tools have output schemas that they do not keep. */
const careless = hostListening(SessionHost.layer({
  "tools/list": () =>
    Effect.succeed({
      tools: Object.entries(schemas).map(([name, outputSchema]) => ({
        name,
        inputSchema: { type: "object" as const },
        outputSchema: { ...outputSchema, type: "object" as const }
      }))
    }),
  "tools/call": () => Effect.succeed({ content: [], structuredContent: { temperature: "hot" } })
}, { info }))

/** Calls a tool after its output schema is known. */
const checked = (name: string): Parts.Case =>
  Effect.gen(function*() {
    const session = yield* connectTo(yield* careless, { validator: AjvValidator.make() })
    yield* session.listTools()
    return yield* messageOf(session.callTool(name))
  })

/** Uses a session with the server of `work`, and returns the message of its error. */
const over = (call: (session: Session) => Effect.Effect<unknown, unknown>): Parts.Case =>
  Effect.gen(function*() {
    return yield* messageOf(call(yield* connectTo(yield* work)))
  })

/** A server without sessions, whose tool returns the message with which a handler fails. */
const stateless = (handler: Effect.Effect<unknown, unknown, RequestContext.RequestContext>) =>
  listening(
    StatelessHttpServer.layerNode({
      "tools/call": () =>
        Effect.map(messageOf(handler), (text) => ({ content: [{ type: "text" as const, text }], isError: true }))
    }, { info, port: 0 }).pipe(Layer.provide(Authentication.anonymous))
  ).pipe(Effect.map((url) => `${url}/mcp`))

const Motto = McpGroup.make("motto", McpResource.make("motto", { uri: "app://motto" }))

const methodsResource: Parts.Case = Effect.gen(function*() {
  const live = Motto.toLayer((handlers) => handlers.resource("motto", Effect.succeed("Festina lente")))
  const session = yield* connectTo(yield* hostListening(McpServer.layerHost(live, { info })))
  return yield* messageOf(session.readResource("app://moto"))
})

const textOf = ({ message }: Error): string => message

const Visits = McpGroup.make("visits", Tool.make("visit", { success: Schema.Int, failure: Schema.String }))
const VisitsLive = Visits.toLayer((handlers) => handlers.tool("visit", () => Effect.mapError(visits.get, textOf)))

export const callCases: Parts.Cases = {
  "tools/call: timed out after … ms; set timeout or totalTimeout to allow more": over((session) =>
    session.callTool("wait", {}, { timeout: "100 millis" })
  ),
  "tools/call: the response was lost, and the peer may have carried out the request: …": Effect.gen(function*() {
    const target = yield* work
    const { server, url } = yield* Parts.proxyTo(() => target)
    const session = yield* connectTo(url)
    yield* Effect.forkScoped(Effect.andThen(
      Effect.sleep("300 millis"),
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
    ))
    return yield* messageOf(session.callTool("wait"))
  }),
  "tools/call: the response was lost, and the peer may have carried out the request: … The client is destroyed": Effect
    .gen(function*() {
      const url = yield* work
      const session = yield* Effect.provide(ClientSession.make({ info }), StreamableHttpClient.layerNode({ url }))
      return yield* messageOf(session.callTool("count", { to: 3 }))
    }),
  "tools/call: the session has ended, and the peer may have carried out the request: …": Effect.gen(function*() {
    const program = yield* Effect.promise(() =>
      joinedProgram(fileURLToPath(new URL("stdioServer.ts", import.meta.url)))
    )
    const session = yield* connect(StdioClient.layerNode({ command: process.execPath, args: [program] }))
    return yield* messageOf(session.callTool("crash"))
  }),
  "tools/call: the peer replied with error -32601: Method not found: …": calledAt(
    hostListening(SessionHost.layer({ "tools/list": () => Effect.succeed({ tools: [] }) }, { info })),
    "greet"
  ),
  "tools/call: the peer replied with error -32602: Unknown tool: …": over((session) => session.callTool("weather")),
  "resources/read: the peer replied with error -32602: Resource not found: …": methodsResource,
  "tools/call: the peer replied with error -32603: Internal error": over((session) => session.callTool("fail")),
  "tools/call: the peer replied with error -31010: Overloaded: …": over((session) =>
    Effect.forEach([1, 2], () => session.callTool("wait"), { concurrency: 2 })
  ),
  "Invalid arguments for the tool \"…\": …": calledAt(work, "count", { to: "three" }),
  "tools/call: the peer replied with error -32600: The body is larger than … bytes (maxMessageBytes)": calledAt(
    hostListening(McpServer.layerHost(WorkLive, { info })),
    "count",
    { to: "3".repeat(5_000_000) }
  ),
  "tools/call: the result is invalid: the structured content of the tool \"…\" does not fit its output schema: …":
    checked("weather"),
  "tools/call: the tool \"…\" was not called because of its output schema: unsupported schema: …": checked("remote"),
  "prompts/list: the peer has not declared the capability \"…\", which this message needs": over((session) =>
    session.request("prompts/list", {})
  ),
  "tools/call: the peer replied with error -32021: tools/call needs a capability that the client has not declared: …":
    calledAt(work, "ask"),
  "the user declined: …": calledAt(work, "ask", {}, {
    handlers: { "elicitation/create": () => Effect.succeed({ action: "decline" }) }
  }),
  "elicitation/create: a server without sessions cannot send requests; serve the client in a session instead": calledAt(
    stateless(RequestContext.elicit({ message: "Name?", requestedSchema: { type: "object", properties: {} } })),
    "ask",
    {},
    { revisions: ["2025-11-25"] }
  ),
  "the group \"options\" cannot be registered: the state \"…\" needs sessions, and revision … has none; …": messageOf(
    Layer.build(
      McpServer.layerHost(Layer.merge(VisitsLive, SessionState.layer(visits)), { info, revisions: ["2026-07-28"] })
    )
  ),
  "the state \"…\" needs a session, and this request has none: provide SessionState.layer to the server": calledAt(
    hostListening(McpServer.layerHost(VisitsLive, { info })),
    "visit"
  ),
  "… Invalid or expired requestState: send the request again without requestState and inputResponses": Effect.gen(
    function*() {
      const withSecret = (secret: string) =>
        Layer.provide(
          McpServer.layerHost(WorkLive, { info }),
          RequestStateSeal.layer({ secrets: [Redacted.make(secret.repeat(32))] })
        )
      const url = yield* Parts.inTurn([yield* hostListening(withSecret("a")), yield* hostListening(withSecret("b"))])
      const session = yield* connectTo(url, {
        handlers: { "elicitation/create": () => Effect.succeed({ action: "accept", content: { name: "Ada" } }) }
      })
      return yield* messageOf(session.callTool("ask"))
    }
  ),
  "the server \"…\" is not available: …; the call waited … ms; …": Effect.gen(function*() {
    const client = yield* McpClient.make(McpTarget.command("mcp-server-that-is-not-installed"), { info, name: "files" })
    return yield* messageOf(client.callTool("read"))
  }),
  "the configuration of servers is invalid: …": messageOf(
    McpServersConfig.decode({ mcpServers: { files: { comand: "npx" } } })
  )
}
