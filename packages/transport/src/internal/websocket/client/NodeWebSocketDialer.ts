/** The dialer over `ws`. It sends headers, and controls the TCP socket, if the runtime shows it. */
import * as TransportError from "@effect-mcp/session/TransportError"
import { WebSocket } from "@effect/platform-node/NodeWS"
import * as Effect from "effect/Effect"
import * as Socket from "effect/socket/Socket"
import * as Stream from "effect/Stream"
import type { IncomingMessage } from "node:http"
import type * as Net from "node:net"
import type { HttpResponse } from "../../http/client/HttpCall.ts"
import * as SocketShutdown from "../../shared/SocketShutdown.ts"
import * as BrowserBackpressure from "../BrowserBackpressure.ts"
import * as TcpBackpressure from "../TcpBackpressure.ts"
import { subprotocol } from "../WebSocketSettings.ts"
import type { Dial } from "./WebSocketDialer.ts"

/** The server to dial, and the bounds of the connection. */
export interface Options {
  readonly url: URL
  /** The URL without its secrets, for errors. */
  readonly target: string
  readonly connectMillis: number
  readonly closeMillis: number
  readonly maxPayloadBytes: number
}

/** The bounds of an error response, whose body may never end. */
const maxErrorBytes = 64 * 1024
const errorMillis = 1000

/** Reads an error response, or the part of it within the bounds. */
const readError = (url: URL, response: IncomingMessage, then: (response: HttpResponse) => void): void => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  let isDone = false
  const done = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    then({
      url,
      status: response.statusCode ?? 0,
      header: (name) => response.headersDistinct[name]?.join(", "),
      chunks: Stream.fromIterable(chunks),
      isCompressed: false
    })
  }
  const timer = setTimeout(done, errorMillis)
  response.on("data", (chunk: Uint8Array) => {
    length += chunk.length
    if (length > maxErrorBytes) done()
    else chunks.push(chunk)
  }).on("error", done).on("end", done).on("close", done)
}

/** Creates the dialer. */
export const make = (options: Options): Dial => (headers) =>
  Effect.gen(function*() {
    const { closeMillis, connectMillis, maxPayloadBytes, target, url } = options
    let rejection: HttpResponse | undefined
    let opened: { readonly webSocket: WebSocket; readonly tcp: Net.Socket | null } | undefined

    const begin = (): WebSocket => {
      const webSocket = new WebSocket(url, [subprotocol], {
        headers,
        maxPayload: maxPayloadBytes,
        perMessageDeflate: false
      })
      // The socket of Effect listens only while it opens the WebSocket. A later error without a listener ends the
      // process.
      webSocket.on("error", () => {})
      webSocket.once("upgrade", (response) => {
        // Bun does not show the socket of a WebSocket.
        const tcp: Net.Socket | null = response.socket
        // Both close frames were sent by then, or the server has ended its side. `ws` alone would wait for 30 seconds.
        if (tcp !== null) SocketShutdown.destroyAfter(tcp, closeMillis)
        opened = { webSocket, tcp }
      })
      webSocket.once("unexpected-response", (_request, response) =>
        readError(url, response, (read) => {
          rejection = read
          webSocket.terminate()
        }))
      return webSocket
    }

    const acquire = Effect.acquireRelease(
      Effect.try({
        try: begin,
        catch: (cause) => new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })
      }),
      (webSocket) =>
        Effect.sync(() => {
          if (webSocket.readyState === WebSocket.CONNECTING) webSocket.terminate()
          else webSocket.close()
        })
    )

    return {
      socket: yield* Socket.fromWebSocket(acquire, { openTimeout: connectMillis }),
      rejection: () => rejection,
      control: Effect.suspend(() => {
        if (opened === undefined) {
          const cause = new Error("the WebSocket is not open")
          return Effect.fail(TransportError.make({ _tag: "ConnectFailed", target, cause }))
        }
        const { tcp, webSocket } = opened
        return Effect.succeed(
          tcp === null
            ? { ...BrowserBackpressure.make(webSocket), destroy: () => webSocket.terminate() }
            : TcpBackpressure.make(tcp, () => webSocket.ping())
        )
      })
    }
  })
