/**
 * The calculator for any number of clients: one host keeps the sessions of all transports. `calculator.ts` runs it.
 */
import { McpServer } from "@effect-mcp/server"
import { EventStore } from "@effect-mcp/session"
import {
  Authentication,
  HttpSseServer,
  SocketServer,
  StreamableHttpServer,
  WebSocketServer
} from "@effect-mcp/transport/node"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { pathToFileURL } from "node:url"
import * as Tools from "./tools.ts"

/** The addresses by transport: a port of this machine (0 for any free port), or a path. */
export interface Addresses {
  readonly http?: number | undefined
  readonly sse?: number | undefined
  readonly ws?: number | undefined
  readonly unix?: string | undefined
}

type OnListening = (url: string) => Effect.Effect<void>

/** Passes the URL to `onListening` after the server has its port. */
const withUrl = <E, R>(
  server: Layer.Layer<HttpServer, E, R>,
  onListening: OnListening,
  url: (port: number) => string
) =>
  Layer.effectDiscard(
    Effect.flatMap(HttpServer, ({ address }) => onListening(url("port" in address ? address.port : 0)))
  ).pipe(Layer.provide(server))

/** Serves at these addresses, and passes the URL of each to `onListening`. */
export const layer = ({ http, sse, unix, ws }: Addresses, onListening: OnListening) =>
  Layer.mergeAll(
    http === undefined
      ? Layer.empty
      : withUrl(StreamableHttpServer.layerNode({ port: http }), onListening, (port) => `http://127.0.0.1:${port}/mcp`),
    sse === undefined
      ? Layer.empty
      : withUrl(HttpSseServer.layerNode({ port: sse }), onListening, (port) => `http://127.0.0.1:${port}/sse`),
    ws === undefined
      ? Layer.empty
      : withUrl(WebSocketServer.layerNode({ port: ws }), onListening, (port) => `ws://127.0.0.1:${port}/mcp`),
    unix === undefined
      ? Layer.empty
      : Layer.tap(SocketServer.layerUnix({ path: unix }), () => onListening(`unix:${pathToFileURL(unix).pathname}`))
  ).pipe(
    Layer.provide(McpServer.layerHost(Tools.layer, Tools.options)),
    // Only programs of this machine can connect. The server accepts all of them.
    Layer.provide(Authentication.anonymous),
    // With this store, a client over Streamable HTTP can resume a broken stream.
    Layer.provide(EventStore.layerMemory())
  )

/** Returns the port that an option names. Throws if it names none. */
const portIn = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const port = text === "" ? Number.NaN : Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new RangeError(`--${name}: expected a port between 0 and 65535, but got ${JSON.stringify(text)}`)
}

/** Serves at the addresses that these options name, and prints each URL. */
export const main = ({ http, sse, unix, ws }: { readonly [name in keyof Addresses]: string | undefined }): void => {
  try {
    const addresses = { http: portIn("http", http), sse: portIn("sse", sse), ws: portIn("ws", ws), unix }
    NodeRuntime.runMain(Layer.launch(layer(addresses, (url) => Console.log(`listening at ${url}`))))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    console.error(error.message)
    process.exitCode = 2
  }
}
