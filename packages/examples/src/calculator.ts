/**
 * An MCP server, run by Node as it stands: it speaks over its standard input and output, or listens for any number of clients, over
 * Streamable HTTP with `--http PORT`, HTTP+SSE with `--sse PORT`, WebSocket with `--ws PORT` or a Unix socket with `--unix PATH`, or over
 * all of them at once; the port 0 is any that is free, and it says where it listens. Any client can start it, with
 * the command `node` and the path of this file as its one argument. Or be the client yourself, with three lines:
 *
 * ```sh
 * printf '%s\n' \
 *   '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}' \
 *   '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' \
 *   '{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"add","arguments":{"a":15,"b":27}}}' \
 *   | node packages/examples/src/calculator.ts
 * ```
 *
 * It answers all three and exits, since its input has ended. (A client that stays says `notifications/initialized`
 * behind the first; here, the second counts as saying so.) The tools stand in `tools.ts`.
 *
 * The modules are imported one by one, because a client waits for what a server loads before it speaks.
 */
import * as ServerSession from "@effect-mcp/session/ServerSession"
import * as StdioServer from "@effect-mcp/transport/StdioServer"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import * as Tools from "./tools.ts"

/** What the options say; what they cannot say is told in a line. */
const said = () => {
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

const places = said()

if (Object.keys(places).length === 0) {
  ServerSession.serve(Tools.handlers, Tools.options).pipe(
    Effect.provide(StdioServer.layerNode()),
    StdioServer.runMain
  )
} else {
  const { main } = await import("./listeningCalculator.ts")
  main(places)
}
