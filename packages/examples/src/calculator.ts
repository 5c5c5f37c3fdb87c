/**
 * A calculator: an MCP server over its standard input and output. With options it listens for any number of clients
 * instead: over Streamable HTTP with `--http PORT`, HTTP+SSE with `--sse PORT`, WebSocket with `--ws PORT`, a Unix
 * socket with `--unix PATH`, or all of them at once. Port 0 is any free port. The server prints each URL.
 *
 * Any client can start it: the command is `node`, and the path of this file is its one argument. To act as the client
 * in a shell, send three lines:
 *
 * ```sh
 * printf '%s\n' \
 *   '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}' \
 *   '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' \
 *   '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":15,"b":27}}}' \
 *   | node packages/examples/src/calculator.ts
 * ```
 *
 * The server answers all three and exits, because its input has ended. (A client that follows the specification sends
 * `notifications/initialized` after the first response. Here the second request has the same effect.) The tools are in
 * `tools.ts`.
 *
 * The modules are imported one by one, because a client waits until the server has loaded its modules.
 */
import * as McpServer from "@effect-mcp/server/node/McpServer"
import { parseArgs } from "node:util"
import * as Tools from "./tools.ts"

/** Returns the options. Exits with an error message if they are invalid. */
const readOptions = () => {
  try {
    return parseArgs({
      options: { http: { type: "string" }, sse: { type: "string" }, ws: { type: "string" }, unix: { type: "string" } }
    }).values
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    console.error(error.message)
    process.exit(2)
  }
}

const options = readOptions()

if (Object.keys(options).length === 0) {
  McpServer.runMainStdio(Tools.layer, Tools.options)
} else {
  const { main } = await import("./listeningCalculator.ts")
  main(options)
}
