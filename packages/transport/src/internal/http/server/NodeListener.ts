import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { createServer, type Server } from "node:http"
import { Socket } from "node:net"
import * as SocketShutdown from "../../shared/SocketShutdown.ts"

/** How long clients have to take the last that is said to them. */
const lastWordsMillis = 2000

/** Whoever takes nothing does not keep the server from going. */
const layerCut = (server: Server): Layer.Layer<never> =>
  Layer.effectDiscard(Effect.addFinalizer(() =>
    Effect.sync(() => {
      const timer = setTimeout(() => server.closeAllConnections(), lastWordsMillis)
      server.once("close", () => clearTimeout(timer))
    })
  ))

/** Where to listen. */
export interface Address {
  /** The port; 0 for any that is free. */
  readonly port: number
  /** The address. Default: this machine only (HTTP-13). */
  readonly host?: string | undefined
  /** What WebSockets are told, where there are any. */
  readonly websocket?: NodeHttpServer.Options["websocket"]
}

/** Listens on Node, for what is given the means to cut off its clients when it goes. */
export const listening = <A, R>(
  { host, port, websocket }: Address,
  serving: (cut: Layer.Layer<never>) => Layer.Layer<A, never, R>
) =>
  Layer.unwrap(Effect.sync(() => {
    const server = createServer()
    // The server keeps no such connection in mind: who was refused the upgrade, and stays, would keep it from going.
    server.on("upgrade", (_, socket) => {
      if (socket instanceof Socket) SocketShutdown.letGoWithin(socket, lastWordsMillis)
    })
    return Layer.provideMerge(
      serving(layerCut(server)),
      NodeHttpServer.layerServer(() => server, { port, host: host ?? "127.0.0.1", websocket })
    )
  }))

/** Serves these routes. What is built last goes first: `ending` has ended before the server waits for its connections to. */
export const serving = <R, RE>(
  routes: Layer.Layer<never, never, R>,
  cut: Layer.Layer<never>,
  ending: Layer.Layer<never, never, RE>
) =>
  ending.pipe(
    Layer.provideMerge(cut),
    Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }))
  )
