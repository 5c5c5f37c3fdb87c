/** The laws over HTTP+SSE, client and server, on real sockets, and with the client that falls back to it. */
import { SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import {
  Authentication,
  HttpFallbackClient,
  HttpSseClient,
  HttpSseServer,
  StreamableHttpServer
} from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { eventually } from "./support/eventually.ts"
import * as TcpProxy from "./support/tcpProxy.ts"

/** The client's end, the host, and the proxy between them. */
type Served = TransportLaws.ClientEnd & {
  readonly host: SessionHost.SessionHostShape
  readonly proxy: TcpProxy.TcpProxy
}

const serving = (
  listening: Layer.Layer<HttpServer, ServeError, Authentication.Authentication | SessionHost.SessionHost>,
  client: (url: string) => Layer.Layer<Transport.Transport>
) =>
  Effect.gen(function*() {
    const host = SessionHost.layer(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: "2 seconds" }
    })
    const server = yield* Layer.build(
      listening.pipe(
        Layer.provideMerge(host),
        Layer.provide(Authentication.anonymous),
        // Some laws make handlers die. The log of them is not of interest here.
        Layer.provideMerge(Logger.layer([]))
      )
    )
    const { address } = Context.get(server, HttpServer)
    const proxy = yield* TcpProxy.make("port" in address ? address.port : 0)
    const made = yield* Layer.build(client(`http://127.0.0.1:${proxy.port}`))
    return { ...Context.get(made, Transport.Transport), host: Context.get(server, SessionHost.SessionHost), proxy }
  })

const stall: TransportLaws.SubjectFaults<Served> = {
  stall: {
    begin: ({ proxy }) => Effect.sync(proxy.stall),
    end: ({ proxy }) => Effect.sync(proxy.recover)
  }
}

const subject: Omit<TransportLaws.Subject<Served>, "serve"> = {
  runs: 6,
  ended: ({ host }) => eventually(Effect.map(host.sessions, (sessions) => sessions.length === 0)),
  shutDown: ({ host }) => host.drain,
  faults: stall
}

const older = HttpSseServer.layerNode({ port: 0 })

TransportSuite.suite("HTTP+SSE", {
  ...subject,
  handshakeOnly: true,
  faults: { ...stall, cut: ({ proxy }) => Effect.sync(proxy.cut) },
  serve: serving(older, (url) => HttpSseClient.layerNode({ url: `${url}/sse` }))
})

// Before the first message there is no connection that could break.
TransportSuite.suite("HTTP+SSE, to which a client falls back", {
  ...subject,
  handshakeOnly: true,
  form: "StreamPerRequest",
  serve: serving(older, (url) => HttpFallbackClient.layerNode({ url: `${url}/sse` }))
})

TransportSuite.suite("Streamable HTTP, with a client that would fall back", {
  ...subject,
  form: "StreamPerRequest",
  sessionFirst: true,
  serve: serving(
    StreamableHttpServer.layerNode({ port: 0 }),
    (url) => HttpFallbackClient.layerNode({ url: `${url}/mcp`, reconnect: { initialInterval: "10 millis" } })
  )
})
