import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http"
import * as Layer from "effect/Layer"
import { createServer } from "node:http"
import { report } from "./supervised.ts"

/** Serves on a port of the loopback interface, whichever is free, and says which. */
export const layerHttpServer = Layer.effectDiscard(
  Effect.map(HttpServer.HttpServer, ({ address }) => {
    report("port" in address ? address.port : 0)
  })
).pipe(
  Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

/** Without a word about each request, which no other server here says either. */
export const quiet = { disableLogger: true, disableListenLog: true }
