/**
 * The gateway under attack: `node gatewayVictim.ts unix /path/of/socket`. It proxies an honest server on a Unix socket,
 * or a hostile one over stdio or HTTP: `node gatewayVictim.ts stdio 'progress without end' hostileServer.ts`.
 * Beside a hostile one, it has the tool `echo` itself.
 */
import { McpProxy } from "@effect-mcp/gateway"
import { McpGroup, McpMount, McpServer } from "@effect-mcp/server"
import type { Transport } from "@effect-mcp/session"
import { SocketClient, StdioClient, StreamableHttpClient } from "@effect-mcp/transport/node"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ApplicationProcess from "./applicationProcess.ts"

const [transport = "", address = "", hostile = ""] = process.argv.slice(2)

const info = { name: "victim", version: "1.0.0" }

const Own = McpGroup.make(
  "own",
  Tool.make("echo", { parameters: Schema.Struct({ bytes: Schema.Finite }), success: Schema.String })
)

const OwnLive = Own.toLayer((handlers) => handlers.tool("echo", ({ bytes }) => Effect.succeed("x".repeat(bytes))))

const proxied = (to: Layer.Layer<Transport.Transport>, options: Pick<McpProxy.Options, "revisions"> = {}) =>
  McpProxy.layer("remote", to, { info, ...options })

/** The members of a hostile server have a prefix, because they must not replace `echo`. */
const beside = (to: Layer.Layer<Transport.Transport>) => Layer.merge(OwnLive, McpMount.prefixed("remote", proxied(to)))

const groups = () => {
  switch (transport) {
    case "unix":
      // A server of this revision has a session for each client of the proxy.
      return proxied(SocketClient.layerUnix({ path: address }), { revisions: ["2025-11-25"] })
    case "stdio":
      return beside(StdioClient.layerNode({
        command: process.execPath,
        args: [hostile, "stdio", address]
      }))
    default:
      return beside(StreamableHttpClient.layerNode({ url: address }))
  }
}

ApplicationProcess.run(McpServer.layerHost(groups(), { info }))
