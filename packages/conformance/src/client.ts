/**
 * The client that the conformance suite tests: `node src/client.ts http://localhost:3000/mcp`. The suite passes the
 * scenario and the revision in the environment.
 */
import * as Revision from "@effect-mcp/protocol/Revision"
import * as StreamableHttpClient from "@effect-mcp/transport/node/StreamableHttpClient"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Authorization from "./client/authorization.ts"
import * as Scenarios from "./client/scenarios.ts"
import * as Session from "./client/session.ts"

const url = process.argv.at(-1) ?? ""
const {
  MCP_CONFORMANCE_CONTEXT: context = "{}",
  MCP_CONFORMANCE_PROTOCOL_VERSION: requested = Revision.latestLegacy,
  MCP_CONFORMANCE_SCENARIO: scenario = ""
} = process.env

const revision = Revision.supported.find((revision) => revision === requested)

if (revision === undefined) {
  throw new Error(`MCP_CONFORMANCE_PROTOCOL_VERSION must be one of ${Revision.supported.join(", ")}: ${requested}`)
}

const authorization = Authorization.of(scenario, context, url)

NodeRuntime.runMain(
  Effect.provide(
    Scenarios.named(scenario, context),
    Session.layer(revision, authorization.extensions).pipe(
      Layer.provide(StreamableHttpClient.layerNode({ url })),
      Layer.provide(authorization.layer)
    )
  )
)
