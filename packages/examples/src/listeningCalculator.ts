/**
 * The calculator for any number of clients: one host keeps a session for each, over all transports.
 */
import { EventStore, SessionHost } from "@effect-mcp/session"
import {
  Authentication,
  HttpSseServer,
  StreamableHttpServer,
  UnixSocketServer,
  WebSocketServer
} from "@effect-mcp/transport"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import { pathToFileURL } from "node:url"
import * as Tools from "./tools.ts"

/** The addresses by transport: a port of this machine (0 for any free port), or a path. */
export interface Places {
  readonly http?: number | undefined
  readonly sse?: number | undefined
  readonly ws?: number | undefined
  readonly unix?: string | undefined
}

/** A function that gets each address. */
type Announce = (url: string) => Effect.Effect<void>

/** Announces the URL for a port. */
const announced = <E, R>(server: Layer.Layer<HttpServer, E, R>, announce: Announce, url: (port: number) => string) =>
  Layer.effectDiscard(
    Effect.flatMap(HttpServer, ({ address }) => announce(url("port" in address ? address.port : 0)))
  ).pipe(Layer.provide(server))

/** The server at these addresses, for as long as the Layer lives. `announce` gets each address. */
export const layer = ({ http, sse, unix, ws }: Places, announce: Announce) =>
  Layer.mergeAll(
    http === undefined
      ? Layer.empty
      : announced(StreamableHttpServer.layerNode({ port: http }), announce, (port) => `http://127.0.0.1:${port}/mcp`),
    sse === undefined
      ? Layer.empty
      : announced(HttpSseServer.layerNode({ port: sse }), announce, (port) => `http://127.0.0.1:${port}/sse`),
    ws === undefined
      ? Layer.empty
      : announced(WebSocketServer.layerNode({ port: ws }), announce, (port) => `ws://127.0.0.1:${port}/mcp`),
    unix === undefined
      ? Layer.empty
      : Layer.tap(UnixSocketServer.layerNode({ path: unix }), () => announce(`unix:${pathToFileURL(unix).pathname}`))
  ).pipe(
    Layer.provide(SessionHost.layer(Tools.handlers, Tools.options)),
    // Only programs of this machine can connect, and all of them are accepted.
    Layer.provide(Authentication.anonymous),
    // With this store, clients over Streamable HTTP can resume lost streams.
    Layer.provide(EventStore.layerMemory())
  )

/** Returns the port of an option, or fails with an error message. */
const portIn = (name: string, text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  const port = text === "" ? Number.NaN : Number(text)
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  throw new RangeError(`--${name} takes a port, not ${JSON.stringify(text)}`)
}

/** Serves at the addresses of these options. */
export const main = ({ http, sse, unix, ws }: { readonly [name in keyof Places]: string | undefined }): void => {
  try {
    const places = { http: portIn("http", http), sse: portIn("sse", sse), ws: portIn("ws", ws), unix }
    NodeRuntime.runMain(Layer.launch(layer(places, (url) => Console.log(`listening at ${url}`))))
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    console.error(error.message)
    process.exitCode = 2
  }
}
