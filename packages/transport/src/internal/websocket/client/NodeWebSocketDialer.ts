import * as TransportError from "@effect-mcp/session/TransportError"
import { WebSocket } from "@effect/platform-node/NodeWS"
import * as Effect from "effect/Effect"
import * as Socket from "effect/socket/Socket"
import * as Stream from "effect/Stream"
import type { IncomingMessage } from "node:http"
import type * as Net from "node:net"
import type { Answer } from "../../http/client/HttpCall.ts"
import * as SocketShutdown from "../../shared/SocketShutdown.ts"
import { receivableBytes } from "../receivableBytes.ts"
import { subprotocol } from "../subprotocol.ts"
import * as TcpBackpressure from "../TcpBackpressure.ts"
import type { Dial } from "./WebSocketDialer.ts"

/** Where to, and what is received at all. */
export interface Options {
  readonly url: URL
  readonly target: string
  readonly connectMillis: number
  readonly closeMillis: number
  readonly maxPayloadBytes: number
}

/** How much of a refusal is read, and for how long: it need never end. */
const refusalBytes = 64 * 1024
const refusalMillis = 1000

/** Reads what a refusal says, as far as it comes in good time. */
const readRefusal = (response: IncomingMessage, then: (answer: Answer) => void): void => {
  const chunks: Array<Uint8Array> = []
  let length = 0
  let isDone = false
  const done = () => {
    if (isDone) return
    isDone = true
    clearTimeout(timer)
    then({
      status: response.statusCode ?? 0,
      header: (name) => response.headersDistinct[name]?.join(", "),
      chunks: Stream.fromIterable(chunks),
      isCompressed: false
    })
  }
  const timer = setTimeout(done, refusalMillis)
  response.on("data", (chunk: Uint8Array) => {
    length += chunk.length
    if (length > refusalBytes) done()
    else chunks.push(chunk)
  }).on("error", done).on("end", done).on("close", done)
}

/** Over `ws`: with headers of one's own, and with the TCP socket in reach. */
export const make = (options: Options): Dial => (headers) =>
  Effect.gen(function*() {
    const { closeMillis, connectMillis, maxPayloadBytes, target, url } = options
    let refused: Answer | undefined
    let opened: { readonly webSocket: WebSocket; readonly tcp: Net.Socket } | undefined

    const begin = (): WebSocket => {
      const webSocket = new WebSocket(url, [subprotocol], {
        headers,
        maxPayload: receivableBytes(maxPayloadBytes),
        perMessageDeflate: false
      })
      // Whoever opens it listens; one that is given up may still have something to say.
      webSocket.on("error", () => {})
      webSocket.once("upgrade", (response) => {
        // Both close frames have been sent by then, or the server's side has ended. `ws` alone would wait for half a minute.
        SocketShutdown.letGoWithin(response.socket, closeMillis)
        opened = { webSocket, tcp: response.socket }
      })
      webSocket.once("unexpected-response", (_request, response) =>
        readRefusal(response, (answer) => {
          refused = answer
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
      refused: () => refused,
      wire: Effect.suspend(() => {
        if (opened === undefined) {
          const cause = new Error("the WebSocket is not open")
          return Effect.fail(TransportError.make({ _tag: "ConnectFailed", target, cause }))
        }
        const { tcp, webSocket } = opened
        return Effect.succeed(TcpBackpressure.make(tcp, () => webSocket.ping()))
      })
    }
  })
