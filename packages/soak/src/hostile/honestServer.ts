/** The honest server of the attacks on clients and gateways, in the parent process of the victims. */
import { Content } from "@effect-mcp/protocol"
import { SessionHost } from "@effect-mcp/session"
import { SocketServer } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

const host = SessionHost.layer(
  {
    "tools/list": () => Effect.succeed({ tools: [{ name: "echo", inputSchema: { type: "object" as const } }] }),
    "tools/call": () => Effect.succeed({ content: [Content.text("here")] })
  },
  { info: { name: "honest", version: "1.0.0" } }
)

/** Serves on a Unix socket until the scope closes. Returns the path of the socket. */
export const start = Effect.gen(function*() {
  const address = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "honest-")), "socket")
  yield* Layer.build(Layer.provide(SocketServer.layerUnix({ path: address }), host))
  return address
})
