/**
 * The calculator over Streamable HTTP: a session for each client, kept by a host, and streams that a client can come back to.
 */
import { SessionHost } from "@effect-mcp/session"
import { StreamableHttpServer } from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { formatAddress, HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Tools from "./tools.ts"

/** Says where it listens, on a line of its own. */
const announced = Layer.effectDiscard(
  Effect.flatMap(HttpServer, ({ address }) => Console.log(`listening at ${formatAddress(address)}/mcp`))
)

/** The server on this port of this machine, while the Layer is there. */
export const layer = (port: number) =>
  Layer.provideMerge(announced, StreamableHttpServer.layerNode({ port })).pipe(
    Layer.provide(SessionHost.layer(Tools.handlers, Tools.options))
  )

export const main = (text: string): void => {
  const port = Number(text)
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    console.error(`--http takes a port, not ${JSON.stringify(text)}`)
    process.exitCode = 2
    return
  }
  NodeRuntime.runMain(Layer.launch(layer(port)))
}
