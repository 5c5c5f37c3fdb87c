/**
 * The server of the soak over stdio: `node src/child.ts`. It writes its process id and the close reason of its session
 * to standard error. Its tool `crash` ends the process with an error.
 */
import * as McpError from "@effect-mcp/protocol/McpError"
import * as ServerSession from "@effect-mcp/session/ServerSession"
import { LawServer } from "@effect-mcp/testing/laws"
import * as StdioServer from "@effect-mcp/transport/node/StdioServer"
import * as Effect from "effect/Effect"
import { crashStatus } from "./crashStatus.ts"

process.stderr.write(`pid ${process.pid}\n`)

const handlers = LawServer.make()
const callTool = handlers["tools/call"] ?? (() => Effect.fail(McpError.internalError))

StdioServer.runMain(
  ServerSession.serve({
    ...handlers,
    "tools/call": (params) => params.name === "crash" ? Effect.sync(() => process.exit(crashStatus)) : callTool(params)
  }, {
    ...LawServer.options,
    limits: { gracefulTimeout: "200 millis" },
    observe: (event) => {
      if (event._tag === "Closed") process.stderr.write(`closed ${event.reason._tag}\n`)
    }
  }).pipe(Effect.provide(StdioServer.layerNode()))
)
