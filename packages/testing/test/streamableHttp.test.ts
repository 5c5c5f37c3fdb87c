/** The laws over Streamable HTTP, client and server, on real sockets. */
import { EventStore, SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import { Authentication, StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { eventually } from "./support/eventually.ts"
import * as TcpProxy from "./support/tcpProxy.ts"

/** The client's end, the host, and the proxy between them. */
type Served = TransportLaws.ClientEnd & {
  readonly host: SessionHost.SessionHostShape
  readonly proxy: TcpProxy.TcpProxy
}

const subject = (
  options: StreamableHttpServer.Options,
  store: Layer.Layer<never> | Layer.Layer<EventStore.EventStore> = Layer.empty
): TransportLaws.Subject<Served> => ({
  serve: Effect.gen(function*() {
    const host = SessionHost.layer(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: "2 seconds" }
    })
    const server = yield* Layer.build(
      StreamableHttpServer.layerNode({ ...options, port: 0 }).pipe(
        Layer.provideMerge(host),
        Layer.provideMerge(store),
        Layer.provide(Authentication.anonymous),
        // Some laws make handlers die. The log of them is not of interest here.
        Layer.provideMerge(Logger.layer([]))
      )
    )
    const { address } = Context.get(server, HttpServer)
    const proxy = yield* TcpProxy.make("port" in address ? address.port : 0)
    const client = yield* Layer.build(
      StreamableHttpClient.layerNode({
        url: `http://127.0.0.1:${proxy.port}/mcp`,
        reconnect: { initialInterval: "10 millis" }
      })
    )
    return { ...Context.get(client, Transport.Transport), host: Context.get(server, SessionHost.SessionHost), proxy }
  }),
  form: "StreamPerRequest",
  sessionFirst: true,
  runs: 6,
  ended: ({ host }) => eventually(Effect.map(host.sessions, (sessions) => sessions.length === 0)),
  shutDown: ({ host }) => host.drain,
  faults: {
    stall: {
      begin: ({ proxy }) => Effect.sync(proxy.stall),
      end: ({ proxy }) => Effect.sync(proxy.recover)
    }
  }
})

TransportSuite.suite("Streamable HTTP, answered as it comes", subject({}))
TransportSuite.suite("Streamable HTTP, answered with streams", subject({ responseMode: "stream" }))
TransportSuite.suite("Streamable HTTP, with streams that can be taken up again", subject({}, EventStore.layerMemory()))
