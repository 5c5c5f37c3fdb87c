/**
 * The notebook as an MCP server, with every feature of a server and every request to a client.
 */
import type { McpServer, Options } from "@effect-mcp/server/McpServer"
import * as Layer from "effect/Layer"
import * as Account from "./account.ts"
import * as Media from "./media.ts"
import * as Notes from "./notes.ts"
import * as Prompts from "./prompts.ts"
import * as Resources from "./resources.ts"
import * as Roots from "./roots.ts"
import * as AccountTools from "./tools/account.ts"
import * as ClientRequestTools from "./tools/clientRequests.ts"
import * as LongRunningTools from "./tools/longRunning.ts"
import * as NoteTools from "./tools/notes.ts"
import * as SamplingTools from "./tools/sampling.ts"

/** The groups of a new notebook. */
export const layer: Layer.Layer<never, Account.SignInServerFailed, McpServer> = Layer.mergeAll(
  NoteTools.layer,
  ClientRequestTools.layer,
  SamplingTools.layer,
  LongRunningTools.layer,
  AccountTools.layer,
  Resources.layer,
  Prompts.layer
).pipe(Layer.provide(Layer.merge(Account.layer, Notes.layer)))

/** The description of the notebook. */
export const options = {
  info: {
    name: "notebook",
    title: "Notebook",
    version: "0.1.0",
    description: "Notes to write, read, search and publish",
    websiteUrl: "https://example.com/notebook",
    icons: [Media.icon("goldenrod")]
  },
  instructions: "Notes are resources under note:///. Search before you write; ask the user before you erase.",
  pageSize: 3,
  handlers: Roots.handlers
} satisfies Options
