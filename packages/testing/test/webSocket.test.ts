/** The laws over WebSocket, client and server, on real sockets. */
import { SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import { Authentication, WebSocketClient, WebSocketServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Socket from "effect/socket/Socket"
import { eventually } from "./support/eventually.ts"
import * as TcpProxy from "./support/tcpProxy.ts"

/** The client's end, the host, and the proxy between them. */
type Served = TransportLaws.ClientEnd & {
  readonly host: SessionHost.SessionHostShape
  readonly proxy: TcpProxy.TcpProxy
}

const subject = (
  clientAt: (url: string) => Layer.Layer<Transport.Transport>
): TransportLaws.Subject<Served> => ({
  serve: Effect.gen(function*() {
    const host = SessionHost.layer(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: "2 seconds" }
    })
    const server = yield* Layer.build(
      WebSocketServer.layerNode({ port: 0 }).pipe(
        Layer.provideMerge(host),
        Layer.provide(Authentication.anonymous),
        // Some laws make handlers die. The log of them is not of interest here.
        Layer.provideMerge(Logger.layer([]))
      )
    )
    const { address } = Context.get(server, HttpServer)
    const proxy = yield* TcpProxy.make("port" in address ? address.port : 0)
    const client = yield* Layer.build(clientAt(`ws://127.0.0.1:${proxy.port}/mcp`))
    return { ...Context.get(client, Transport.Transport), host: Context.get(server, SessionHost.SessionHost), proxy }
  }),
  runs: 6,
  ended: ({ host }) => eventually(Effect.map(host.sessions, (sessions) => sessions.length === 0)),
  shutDown: ({ host }) => host.drain,
  faults: {
    stall: {
      begin: ({ proxy }) => Effect.sync(proxy.stall),
      end: ({ proxy }) => Effect.sync(proxy.recover)
    },
    cut: ({ proxy }) => Effect.sync(proxy.cut)
  }
})

TransportSuite.suite("WebSocket, on Node", subject((url) => WebSocketClient.layerNode({ url })))

TransportSuite.suite(
  "WebSocket, as in a browser",
  subject((url) => Layer.provide(WebSocketClient.layer({ url }), Socket.layerWebSocketConstructorGlobal))
)
