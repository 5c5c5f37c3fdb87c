/**
 * An MCP server with every feature of a server: a notebook. It serves over its standard input and output. Any client
 * can start it: the command is `node`, and the path of this file is its one argument.
 *
 * - Notes are resources, with pages, a template and subscriptions. Notes with blanks in braces are prompts, too.
 * - Its tools return text, images, audio, links and structured content. They report progress and can be cancelled.
 * - They send requests to the client: to its model (`summarize`, `research`), its user (`erase`, `classify`,
 *   `sign-in`), and the client itself (`places`, `status`).
 * - It completes arguments, sends log messages, and notifies the client when one of its lists changes.
 *
 * `host.ts` is a client that answers its requests. The parts are in `notebook/`, one file for each feature.
 */
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as Effect from "effect/Effect"
import * as Notebook from "./notebook/server.ts"

StdioServer.runMain(Effect.provide(Notebook.serve(), StdioServer.layerNode()))
