/**
 * Notes over Streamable HTTP, protected by the access tokens of an OAuth issuer. A person has their own notes.
 *
 * ```sh
 * node packages/examples/src/identityProvider.ts --port 4000
 * node packages/examples/src/protectedNotes.ts --port 3000 --issuer http://localhost:4000
 * node packages/examples/src/signIn.ts http://127.0.0.1:3000/mcp
 * ```
 *
 * A client that signs in requests the scope `notes:read`. The tool `write` needs `notes:write`, and the server lets the
 * client request that when it calls the tool.
 */
import { ResourceServer } from "@effect-mcp/auth"
import { McpError } from "@effect-mcp/protocol"
import { McpGroup, McpMiddleware, McpRequest, McpResource, McpServer, McpTool } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import { createServer } from "node:http"
import { parseArgs } from "node:util"

// =====================================================================================================================
// The notes
// =====================================================================================================================

/** The person of a request. */
class Person extends Context.Service<Person, { readonly id: string }>()("Person") {}

class Persons extends McpMiddleware.Service<Persons, { provides: Person }>()("Persons") {}

const PersonsLive = McpMiddleware.layer(
  Persons,
  Person,
  Effect.flatMap(
    McpRequest.McpRequest,
    ({ principal }) =>
      principal === undefined ? Effect.fail(McpError.invalidRequest("Sign in first")) : Effect.succeed(principal)
  )
)

const Own = Schema.Struct({ uri: Schema.String, notes: Schema.Array(Schema.String) })

const OwnNotes = McpResource.template("notes", {
  uri: "notes://{person}",
  description: "The notes of a person",
  mimeType: "text/plain",
  scopes: ["notes:read"]
})

const Notes = McpGroup.make(
  "notes",
  Tool.make("read", { description: "Returns your notes.", success: Own })
    .annotate(McpTool.Scopes, ["notes:read"]).annotate(Tool.Readonly, true),
  Tool.make("write", {
    description: "Adds a note to yours.",
    parameters: Schema.Struct({ text: Schema.NonEmptyString.check(Schema.isMaxLength(10_000)) })
  }).annotate(McpTool.Scopes, ["notes:write"]).annotate(Tool.Destructive, false),
  Tool.make("watch", { description: "Waits for your next note, and returns your notes then.", success: Own })
    .annotate(McpTool.Scopes, ["notes:read"]).annotate(Tool.Readonly, true),
  OwnNotes
).middleware(Persons)

/** The most notes of a person. An older one makes room for a newer one. */
const maxNotes = 100

const NotesLive = Notes.toLayer(Effect.fnUntraced(function*(handlers) {
  const server = yield* McpServer.McpServer
  const all = yield* SubscriptionRef.make<Readonly<Record<string, ReadonlyArray<string>>>>({})
  const uriOf = (person: string) => OwnNotes.uriTemplate.expand({ person })
  const own = (person: string) =>
    Effect.map(SubscriptionRef.get(all), (notes) => ({ uri: uriOf(person), notes: notes[person] ?? [] }))
  return handlers
    .tool("read", () => Effect.flatMap(Person, ({ id }) => own(id)))
    .tool(
      "write",
      Effect.fnUntraced(function*({ text }) {
        const { id } = yield* Person
        yield* SubscriptionRef.update(all, (notes) => ({ ...notes, [id]: [...notes[id] ?? [], text].slice(-maxNotes) }))
        yield* server.resourceUpdated(uriOf(id))
      })
    )
    .tool(
      "watch",
      Effect.fnUntraced(function*() {
        const { id } = yield* Person
        const before = (yield* SubscriptionRef.get(all))[id]
        yield* Stream.runHead(Stream.filter(SubscriptionRef.changes(all), (notes) => notes[id] !== before))
        return yield* own(id)
      })
    )
    .template(
      "notes",
      Effect.fnUntraced(function*({ person }, uri) {
        const { id } = yield* Person
        // The notes of others do not exist for this person.
        return person === id ? (yield* own(id)).notes.join("\n") : yield* McpError.resourceNotFound(uri)
      }),
      {
        complete: { person: () => Effect.map(Person, ({ id }) => [id]) },
        subscribable: ({ person }) => Effect.map(Person, ({ id }) => person === id)
      }
    )
}))

// =====================================================================================================================
// The server
// =====================================================================================================================

/** The scopes of the server. */
export const scopes = ["notes:read", "notes:write"]

/**
 * Serves the notes at a port of this machine, for people who sign in at an issuer. A client requests the initial scopes
 * when it signs in.
 */
export const layer = (
  port: number,
  issuer: ResourceServer.Options["issuers"][number],
  initialScopes: ReadonlyArray<string> = ["notes:read"]
) => {
  const auth = ResourceServer.layer({
    resource: `http://127.0.0.1:${port}/mcp`,
    issuers: [issuer],
    scopes,
    initialScopes
  })
  const routes = Layer.merge(StreamableHttpServer.layer(), ResourceServer.routes)
  return SessionHost.layerDrain.pipe(
    Layer.provide(HttpRouter.serve(routes, { disableListenLog: true, disableLogger: true })),
    Layer.provide(McpServer.layerHost(NotesLive, { info: { name: "protected-notes", version: "0.1.0" } })),
    Layer.provide([auth, PersonsLive]),
    Layer.provideMerge(NodeHttpServer.layerServer(() => createServer(), { port, host: "127.0.0.1" }))
  )
}

if (import.meta.main) {
  const { values: { issuer, port } } = parseArgs({
    options: { issuer: { type: "string", default: "http://localhost:4000" }, port: { type: "string", default: "3000" } }
  })
  const listening = Console.log(`listening at http://127.0.0.1:${port}/mcp`)
  NodeRuntime.runMain(Layer.launch(Layer.tap(layer(Number(port), issuer), () => listening)))
}
