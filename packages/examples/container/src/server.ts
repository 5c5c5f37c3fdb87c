/** A server over HTTP for a container: probes beside the endpoint, and a shutdown that finishes calls. */
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { SessionHost } from "@effect-mcp/session"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Tool from "effect/ai/Tool"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { createHash, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"

const Reports = McpGroup.make(
  "reports",
  Tool.make("report", {
    description: "Writes a report, a page in each tenth of a second",
    parameters: Schema.Struct({ pages: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 100 })) }),
    success: Schema.String
  })
)

const ReportsLive = Reports.toLayer((handlers) =>
  handlers.tool(
    "report",
    Effect.fnUntraced(function*({ pages }) {
      for (let page = 1; page <= pages; page++) {
        yield* McpRequest.progress({ progress: page, total: pages })
        yield* Effect.sleep("100 millis")
      }
      return `${pages} pages`
    })
  )
)

const host = McpServer.layerHost(ReportsLive, {
  info: { name: "reports", version: "1.0.0" },
  // The time that calls have to finish after SIGTERM. The orchestrator has to wait longer than this.
  limits: { gracefulTimeout: "20 seconds" }
})

const digest = (token: Redacted.Redacted<string>) => createHash("sha256").update(Redacted.value(token)).digest()

// Without a token, the program ends before it listens.
const tokens = Layer.unwrap(Effect.map(Config.Redacted("TOKEN"), (expected) =>
  Authentication.layerBearer({
    // The time of the comparison shows nothing of the token.
    verify: (token) => Effect.succeed(timingSafeEqual(digest(token), digest(expected)) ? { id: "ada" } : undefined)
  })))

const probes = HttpRouter.use(Effect.fnUntraced(function*(router) {
  const { health } = yield* SessionHost.SessionHost
  yield* router.add("GET", "/livez", HttpServerResponse.text("alive"))
  yield* router.add(
    "GET",
    "/readyz",
    Effect.map(
      health,
      ({ ready, sessions }) => HttpServerResponse.text(`${sessions} sessions`, { status: ready ? 200 : 503 })
    )
  )
}))

const routes = Layer.merge(Layer.provide(StreamableHttpServer.layer(), tokens), probes)

// It closes from the top: the sessions end while the routes still serve, and then the listener closes.
const server = SessionHost.layerDrain.pipe(
  Layer.provide(HttpRouter.serve(routes, { disableLogger: true })),
  Layer.provide(NodeHttpServer.layerServer(() => createServer(), {
    port: Number(process.env["PORT"] ?? 3000),
    host: "0.0.0.0",
    // The time that connections have to close afterwards.
    gracefulShutdownTimeout: "2 seconds"
  })),
  Layer.provide(host)
)

NodeRuntime.runMain(Layer.launch(server), {
  // SIGTERM is the ordinary end of a container.
  teardown: (exit, onExit) => onExit(Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause) ? 1 : 0)
})
