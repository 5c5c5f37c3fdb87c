/**
 * An MCP server that does everything a server can: a notebook. It speaks over its standard input and output, run by Node as
 * it stands; any client can start it, with the command `node` and the path of this file as its one argument.
 *
 * - Notes are resources, with pages, a template and subscriptions; those with blanks in braces are prompts as well.
 * - Its tools answer in words, pictures, sounds, links and structures; report progress; stop when they are cancelled.
 * - They ask back: the client's model (`summarize`, `research`), its user (`erase`, `classify`, `sign-in`), the client itself
 *   (`places`, `status`).
 * - It completes arguments, sends log messages, and says when one of its lists has changed.
 *
 * `sessions.ts` is a client that answers what it asks. The parts stand in `notebook/`, one file for each kind of thing.
 */
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as Effect from "effect/Effect"
import * as Notebook from "./notebook/server.ts"

StdioServer.runMain(Effect.provide(Notebook.serve(), StdioServer.layerNode()))
