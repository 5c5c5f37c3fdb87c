/** An HTTP server that accepts the tokens of an OAuth issuer, with scopes by tool, written with Effect MCP. */
import { ResourceServer } from "@effect-mcp/auth"
import { McpGroup, McpRequest, McpServer, McpTool } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { createServer } from "node:http"

const port = Number(process.env["PORT"] ?? 3461)

const auth = ResourceServer.layer({
  resource: `http://127.0.0.1:${port}/mcp`,
  issuers: [process.env["ISSUER"] ?? "http://localhost:4000"],
  scopes: ["notes:read", "notes:write"],
  initialScopes: ["notes:read"]
})

const Notes = McpGroup.make(
  "notes",
  Tool.make("read", {
    description: "Returns your notes",
    success: Schema.Struct({ notes: Schema.Array(Schema.String) })
  }).annotate(McpTool.Scopes, ["notes:read"]),
  Tool.make("write", {
    description: "Adds a note to yours",
    parameters: Schema.Struct({ text: Schema.NonEmptyString })
  }).annotate(McpTool.Scopes, ["notes:write"])
)

const notes = new Map<string, ReadonlyArray<string>>()
const owner = Effect.map(McpRequest.McpRequest, ({ principal }) => principal?.id ?? "")

const NotesLive = Notes.toLayer((handlers) =>
  handlers
    .tool("read", () => Effect.map(owner, (id) => ({ notes: notes.get(id) ?? [] })))
    .tool("write", ({ text }) => Effect.map(owner, (id) => void notes.set(id, [...notes.get(id) ?? [], text])))
)

SessionHost.layerDrain.pipe(
  Layer.provide(HttpRouter.serve(Layer.merge(StreamableHttpServer.layer(), ResourceServer.routes))),
  Layer.provide(McpServer.layerHost(NotesLive, { info: { name: "notes", version: "1.0.0" } })),
  Layer.provide(auth),
  Layer.provide(NodeHttpServer.layerServer(() => createServer(), { port, host: "127.0.0.1" })),
  Layer.launch,
  NodeRuntime.runMain
)
