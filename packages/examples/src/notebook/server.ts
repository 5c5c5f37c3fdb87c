/**
 * The notebook as an MCP server, with every feature of a server and every request to a client.
 */
import type { CloseReason } from "@effect-mcp/protocol/CloseReason"
import type { RequestContext } from "@effect-mcp/session/RequestContext"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import type { Transport } from "@effect-mcp/session/Transport"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Tool from "../tool.ts"
import * as Account from "./account.ts"
import * as Completions from "./completions.ts"
import * as Media from "./media.ts"
import * as Messenger from "./messenger.ts"
import * as News from "./news.ts"
import * as Notes from "./notes.ts"
import * as Places from "./places.ts"
import * as Prompts from "./prompts.ts"
import * as Resources from "./resources.ts"
import * as Subscriptions from "./subscriptions.ts"
import * as Asking from "./tools/asking.ts"
import * as Publishing from "./tools/publishing.ts"
import * as Thinking from "./tools/thinking.ts"
import * as Waiting from "./tools/waiting.ts"
import * as Writing from "./tools/writing.ts"

const tools: ReadonlyArray<Tool.Tool<RequestContext | Account.Account | Notes.Notes | Places.Places>> = [
  ...Writing.tools,
  ...Asking.tools,
  ...Thinking.tools,
  ...Waiting.tools,
  ...Publishing.tools
]

/** The handlers of the notebook. */
export const handlers = ServerSession.handlers({
  ...Tool.handlers(tools),
  ...Resources.handlers,
  ...Prompts.handlers,
  ...Completions.handlers,
  "notifications/roots/list_changed": () => News.add({ _tag: "PlacesChanged" })
})

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
  // Capabilities that the handlers do not show: the notifications that this server sends.
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true }
  }
}

/** A new notebook for one client. */
export const services = Layer.mergeAll(Account.layer, Notes.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(News.layer, Places.layer, Subscriptions.layer))
)

/** Serves one client until its session ends, over any transport. */
export const serve = (
  more?: Partial<ServerSession.Options>
): Effect.Effect<CloseReason, TransportError | Account.NoPage, Transport> =>
  Effect.gen(function*() {
    const session = yield* ServerSession.make(handlers, { ...options, ...more })
    yield* Effect.forkScoped(Messenger.run(session))
    return yield* session.closed
  }).pipe(Effect.scoped, Effect.provide(services))
