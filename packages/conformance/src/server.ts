/**
 * The server that the conformance suite tests: `node src/server.ts --port 3000` serves at `/mcp` on localhost, and
 * prints the URL. Without a port it uses a free one. `--newest 2025-06-18` sets the newest supported revision.
 */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as McpServer from "@effect-mcp/server/McpServer"
import * as EventStore from "@effect-mcp/session/EventStore"
import * as Authentication from "@effect-mcp/transport/Authentication"
import * as StreamableHttpServer from "@effect-mcp/transport/node/StreamableHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { parseArgs } from "node:util"
import { groups, info } from "./groups.ts"
import * as Revisions from "./revisions.ts"

const { values } = parseArgs({
  options: { port: { type: "string", default: "0" }, newest: { type: "string", default: Revision.latest } }
})

const { newest } = values
if (!Revision.isLegacy(newest) && !Revision.isModern(newest)) {
  throw new Error(`--newest: expected one of ${Revision.supported.join(", ")}, but got ${newest}`)
}

// The suite requires the host name localhost.
const announce = HttpServer.addressFormattedWith((address) =>
  Effect.sync(() => console.log(`http://localhost:${new URL(address).port}/mcp`))
)

const server = Layer.effectDiscard(announce).pipe(
  Layer.provide(StreamableHttpServer.layerNode({ port: Number(values.port) })),
  Layer.provide(Authentication.anonymous),
  // With this store, a client can resume a broken stream.
  Layer.provide(EventStore.layerMemory()),
  Layer.provide(McpServer.layerHost(groups, { info, revisions: Revisions.upTo(newest) }))
)

NodeRuntime.runMain(Layer.launch(server))
