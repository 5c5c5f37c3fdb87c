/** The laws over Unix sockets, client and server, with faults on the way. */
import { SessionHost, Transport } from "@effect-mcp/session"
import { LawServer, type TransportLaws } from "@effect-mcp/testing/laws"
import { TransportSuite } from "@effect-mcp/testing/vitest"
import { JsonLines, SocketClient, SocketServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as path from "node:path"
import { eventually } from "./support/eventually.ts"
import * as TcpProxy from "./support/tcpProxy.ts"
import { temporaryDirectory } from "./support/temporaryDirectory.ts"

/** The client's end, the host, and the proxy between them. */
type Served = TransportLaws.ClientEnd & {
  readonly host: SessionHost.SessionHostShape
  readonly proxy: TcpProxy.TcpProxy
  /** The number of messages that the client has sent. */
  readonly sent: () => number
}

const counting = (client: Transport.Transport["Service"], count: () => void): Transport.Transport["Service"] => ({
  connect: Effect.map(client.connect, (connection) => ({
    ...connection,
    send: (outbound) => Effect.tap(connection.send(outbound), () => Effect.sync(count))
  }))
})

TransportSuite.suite<Served>("Unix sockets", {
  serve: Effect.gen(function*() {
    const directory = yield* temporaryDirectory
    const server = path.join(directory, "server")
    const between = path.join(directory, "between")
    const host = SessionHost.layer(LawServer.make(), {
      ...LawServer.options,
      limits: { gracefulTimeout: "2 seconds" }
    })
    const context = yield* Layer.build(
      SocketServer.layerUnix({ path: server }).pipe(
        Layer.provideMerge(host),
        // Some laws make handlers die. The log of them is not of interest here.
        Layer.provideMerge(Logger.layer([]))
      )
    )
    const proxy = yield* TcpProxy.make(server, between)
    const client = SocketClient.layerUnix({ path: between, closeTimeout: "500 millis" })
    let sent = 0
    return {
      ...counting(yield* Effect.provide(Transport.Transport, client), () => sent++),
      host: Context.get(context, SessionHost.SessionHost),
      proxy,
      sent: () => sent
    }
  }),
  ended: ({ host }) => eventually(Effect.map(host.sessions, (sessions) => sessions.length === 0)),
  shutDown: ({ host }) => host.drain,
  faults: {
    stall: {
      begin: ({ proxy }) => Effect.sync(proxy.stall),
      end: ({ proxy }) => Effect.sync(proxy.recover)
    },
    cut: ({ proxy }) => Effect.sync(proxy.cut),
    halfClose: ({ proxy, sent }) =>
      Effect.andThen(
        eventually(Effect.sync(() => proxy.lines() === sent())),
        Effect.sync(proxy.endToServer)
      ),
    injectToClient: ({ proxy }, bytes) => Effect.sync(() => proxy.writeToClient(bytes)),
    injectToServer: ({ proxy }, bytes) => Effect.sync(() => proxy.writeToServer(bytes)),
    maxMessageBytes: JsonLines.defaultMaxMessageBytes
  }
})
