/**
 * A notebook: an MCP server over stdio with every feature of the revisions with a handshake, except tasks. Any client
 * can start it: the command is `node`, and the path of this file is its one argument. `host.ts` is a client that uses
 * all of it:
 *
 * ```sh
 * node packages/examples/src/host.ts
 * ```
 *
 * - Notes are resources, with pages, a template and subscriptions. Notes with blanks in braces are also prompts.
 * - Tools return text, images, audio, links and structured content. They report progress and can be cancelled.
 * - Tools send requests to the client: for its model (`summarize`, `research`), for its user (`erase`, `classify`,
 *   `sign-in`), and for the client itself (`roots`, `status`).
 * - The server completes arguments, sends log messages, and notifies the client when one of its lists changes.
 *
 * `notebook/` has one file for each feature.
 */
import * as McpServer from "@effect-mcp/server/node/McpServer"
import * as Notebook from "./notebook/server.ts"

McpServer.runMainStdio(Notebook.layer, Notebook.options)
