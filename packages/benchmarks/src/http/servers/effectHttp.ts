import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { report } from "./supervised.ts"

/** Serves on a free loopback port, and reports the port. */
export const layerHttpServer = Layer.effectDiscard(
  Effect.map(HttpServer.HttpServer, ({ address }) => {
    report("port" in address ? address.port : 0)
  })
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

/** Options without a log line for each request, because the other servers write none. */
export const quiet = { disableLogger: true, disableListenLog: true }
