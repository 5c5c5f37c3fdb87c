/**
 * The notebook as an MCP server, with every feature of a server and every request to a client.
 */
import type { CloseReason } from "@effect-mcp/protocol/CloseReason"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import type { Transport } from "@effect-mcp/session/Transport"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Account from "./account.ts"
import * as Changes from "./changes.ts"
import * as Completions from "./completions.ts"
import * as Media from "./media.ts"
import * as Notes from "./notes.ts"
import * as Notifier from "./notifier.ts"
import * as Prompts from "./prompts.ts"
import * as Resources from "./resources.ts"
import * as Roots from "./roots.ts"
import * as Subscriptions from "./subscriptions.ts"
import * as AccountTools from "./tools/account.ts"
import * as ClientRequestTools from "./tools/clientRequests.ts"
import * as LongRunningTools from "./tools/longRunning.ts"
import * as NoteTools from "./tools/notes.ts"
import * as SamplingTools from "./tools/sampling.ts"

const tools = Layer.mergeAll(
  NoteTools.layer,
  ClientRequestTools.layer,
  SamplingTools.layer,
  LongRunningTools.layer,
  AccountTools.layer
)

/**
 * The handlers of the notebook: groups of tools, and handlers of the other methods. The scope is that of the groups.
 * The notifier sends the notifications of the tools, so the groups know no sessions.
 */
export const handlers = Effect.map(
  McpServer.sessionlessHandlers(tools),
  (tools) =>
    ServerSession.handlers({
      ...tools,
      ...Resources.handlers,
      ...Prompts.handlers,
      ...Completions.handlers,
      "notifications/roots/list_changed": () => Changes.add({ _tag: "RootsChanged" })
    })
)

/** The description of the notebook. */
export const options: ServerSession.Options = {
  info: {
    name: "notebook",
    title: "Notebook",
    version: "0.1.0",
    description: "Notes to write, read, search and publish",
    websiteUrl: "https://example.com/notebook",
    icons: [Media.icon("goldenrod")]
  },
  instructions: "Notes are resources under note:///. Search before you write; ask the user before you erase.",
  // The library derives the features from the handlers, but not the notifications that this server sends.
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true }
  }
}

/** A new notebook. */
export const services = Layer.mergeAll(Account.layer, Notes.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Changes.layer, Roots.layer, Subscriptions.layer))
)

/** Serves one client until its session ends, over any transport. The options replace the default ones. */
export const serve = (
  overrides?: Partial<ServerSession.Options>
): Effect.Effect<CloseReason, TransportError | Account.SignInServerFailed, Transport> =>
  Effect.gen(function*() {
    const session = yield* ServerSession.make(yield* handlers, { ...options, ...overrides })
    yield* Effect.forkScoped(Notifier.run(session))
    return yield* session.closed
  }).pipe(Effect.scoped, Effect.provide(services))
