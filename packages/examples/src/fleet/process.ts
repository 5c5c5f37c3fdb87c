/**
 * One process of the fleet: an MCP server over Streamable HTTP. `fleet.ts` starts it. A session that is idle for
 * `--idle` seconds ends. An ended stream is kept for `--kept` seconds. The file `--charges` has a line for each charge.
 *
 * ```sh
 * node packages/examples/src/fleet/process.ts --port 3001
 * ```
 */
import { McpServer } from "@effect-mcp/server"
import { RequestStateSeal } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { parseArgs } from "node:util"
import * as Stores from "./stores.ts"
import * as Tools from "./tools.ts"

/** The tokens, which are also the names of their owners. */
const users = new Set(["ada", "bob"])

const tokens = Authentication.layerBearer({
  realm: "fleet",
  verify: (token) => {
    const id = Redacted.value(token)
    return Effect.succeed(users.has(id) ? { id } : undefined)
  }
})

/** The secret that the processes of the fleet share. A process that is started alone has one of its own. */
const secret = process.env["FLEET_SECRET"]
const seal = secret === undefined
  ? RequestStateSeal.layerEphemeral
  : RequestStateSeal.layer({ secrets: [Redacted.make(secret)] })

const layer = (port: number, stores: Stores.Options, tools: Tools.Options, idleSeconds: number) =>
  StreamableHttpServer.layerNode({ port }).pipe(
    Layer.tap((context) => {
      const { address } = Context.get(context, HttpServer)
      return Console.log(`listening at port ${"port" in address ? address.port : ""}`)
    }),
    Layer.provide(McpServer.layerHost(Tools.layer(tools), {
      info: { name: "fleet", version: "0.1.0" },
      sessions: { idleTimeout: Duration.seconds(idleSeconds) }
    })),
    Layer.provide([tokens, seal]),
    Layer.provide(Stores.layer(stores))
  )

// The processes of a fleet that was killed end as well.
process.once("disconnect", () => process.kill(process.pid, "SIGTERM"))

const { values: { address, charges, database, idle, kept, port, runner, store } } = parseArgs({
  options: {
    port: { type: "string", default: "0" },
    address: { type: "string" },
    store: { type: "string", default: "memory" },
    runner: { type: "string" },
    idle: { type: "string", default: "1800" },
    charges: { type: "string" },
    kept: { type: "string" },
    database: { type: "string", default: ":memory:" }
  }
})
const named = Stores.names.find((name) => name === store)
if (named === undefined) {
  console.error(`--store: expected one of ${Stores.names.join(", ")}, but got "${store}"`)
  process.exitCode = 2
} else {
  const stores = {
    address,
    database,
    store: named,
    runner: runner === undefined ? undefined : Number(runner),
    kept: kept === undefined ? undefined : Number(kept)
  }
  NodeRuntime.runMain(Layer.launch(layer(Number(port), stores, { charges }, Number(idle))))
}
