/** The process of an application under attack: it sends its address to its parent, and then its vitals. */
import { MemoryBudget, type SessionHost } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as v8 from "node:v8"
import { Bystander, report } from "../Vitals.ts"
import * as Bearer from "./Bearer.ts"

/** A quarter of the heap, as the documentation of the budget recommends. */
const budget = MemoryBudget.layer({ maxBytes: Math.floor(v8.getHeapStatistics().heap_size_limit / 4) })

const sendAddress = Layer.effectDiscard(
  Effect.map(HttpServer, ({ address }) => {
    process.send?.({ address: `http://127.0.0.1:${"port" in address ? address.port : 0}/mcp` })
  })
)

/** Serves a host over HTTP until the parent exits. */
export const run = <E>(host: Layer.Layer<SessionHost.SessionHost, E>): void => {
  report(new Bystander())
  // No other process stops this one after its parent has exited.
  process.on("disconnect", () => process.exit(0))
  Effect.runFork(Layer.launch(
    Layer.provide(sendAddress, StreamableHttpServer.layerNode({ port: 0 })).pipe(
      Layer.provide([host, Bearer.layer]),
      Layer.provide(budget)
    )
  ))
}
