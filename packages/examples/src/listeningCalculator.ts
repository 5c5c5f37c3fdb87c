/**
 * The calculator over Streamable HTTP: a session for each client, kept by a host, and streams that a client can come back to.
 */
import { EventStore, SessionHost } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { formatAddress, HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Tools from "./tools.ts"

/** The server on this port of this machine, while the Layer is there; `announce` is told where. */
export const layer = (port: number, announce: (url: string) => Effect.Effect<void>) =>
  Layer.effectDiscard(Effect.flatMap(HttpServer, ({ address }) => announce(`${formatAddress(address)}/mcp`))).pipe(
    Layer.provideMerge(StreamableHttpServer.layerNode({ port })),
    Layer.provide(SessionHost.layer(Tools.handlers, Tools.options)),
    // A client that loses its connection comes back for what it has missed.
    Layer.provide(EventStore.layerMemory())
  )

export const main = (text: string): void => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    console.error(`--http takes a port, not ${JSON.stringify(text)}`)
    process.exitCode = 2
    return
  }
  NodeRuntime.runMain(Layer.launch(layer(port, (url) => Console.log(`listening at ${url}`))))
}
