/** The listener of a server that runs on its own port on Node. */
import * as SessionHost from "@effect-mcp/session/SessionHost"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import { createServer, type Server } from "node:http"
import { Socket } from "node:net"
import type { ListenOptions } from "../../../HttpServerOptions.ts"
import * as SocketShutdown from "../../shared/SocketShutdown.ts"
import { ListenError } from "./ListenError.ts"

/** The time that clients have on shutdown to read the end of their responses. */
const flushMillis = 2000

/** Closes all connections soon after shutdown began: a client that reads nothing cannot keep the server open. */
const layerCloseConnections = (server: Server): Layer.Layer<never> =>
  Layer.effectDiscard(Effect.addFinalizer(() =>
    Effect.sync(() => {
      const timer = setTimeout(() => server.closeAllConnections(), flushMillis)
      server.once("close", () => clearTimeout(timer))
    })
  ))

/** The address to listen on, and the options of WebSockets if the server serves them. */
export interface Address extends ListenOptions {
  readonly websocket?: NodeHttpServer.Options["websocket"]
}

/** Listens on Node. `serve` gets the Layer that closes the connections of its clients on shutdown. */
export const listening = <A, R>(
  { hostname = "127.0.0.1", port, websocket }: Address,
  serve: (closeConnections: Layer.Layer<never>) => Layer.Layer<A, never, R>
) =>
  Layer.unwrap(Effect.sync(() => {
    const server = createServer()
    // `closeAllConnections` does not know these sockets: a client with a rejected upgrade could keep the server open.
    server.on("upgrade", (_, socket) => {
      if (socket instanceof Socket) SocketShutdown.destroyAfter(socket, flushMillis)
    })
    return Layer.provideMerge(
      serve(layerCloseConnections(server)),
      Layer.catch(
        NodeHttpServer.layerServer(() => server, { port, host: hostname, websocket }),
        ({ cause }): Layer.Layer<HttpServer, ServeError> =>
          Layer.effect(HttpServer, Effect.fail(new ListenError({ hostname, port }, cause)))
      )
    )
  }))

/** Serves these routes. On shutdown, `drain` ends before the server waits for its connections to close. */
export const serving = <R, RE>(
  routes: Layer.Layer<never, never, R>,
  closeConnections: Layer.Layer<never>,
  drain: Layer.Layer<never, never, RE>
) =>
  drain.pipe(
    Layer.provideMerge(closeConnections),
    Layer.provideMerge(HttpRouter.serve(routes, { disableLogger: true, disableListenLog: true }))
  )

/** Listens on Node and serves the routes of a host, whose sessions end first on shutdown. */
export const hosting = <R>(address: Address, routes: Layer.Layer<never, never, R>) =>
  listening(address, (closeConnections) => serving(routes, closeConnections, SessionHost.layerDrain))
