/** The dialer over any WebSocket, such as that of a browser. It does not learn why a WebSocket does not open. */
import * as TransportError from "@effect-mcp/session/TransportError"
import * as Effect from "effect/Effect"
import * as Socket from "effect/socket/Socket"
import * as BrowserBackpressure from "../BrowserBackpressure.ts"
import { subprotocol } from "../WebSocketSettings.ts"
import type { Dial } from "./WebSocketDialer.ts"

/** The server to dial, and the constructor of WebSockets. */
export interface Options {
  readonly url: URL
  /** The URL without its secrets, for errors. */
  readonly target: string
  readonly connectMillis: number
  readonly construct: Socket.WebSocketConstructor["Service"]
}

/** Creates the dialer. It sends no headers. */
export const make = ({ connectMillis, construct, target, url }: Options): Dial => () =>
  Effect.gen(function*() {
    let opened: Socket.WebSocketLike | undefined
    const acquire = Effect.acquireRelease(
      Effect.try({
        try: () => opened = construct(url.href, [subprotocol]),
        catch: (cause) => new Socket.SocketError({ reason: new Socket.SocketOpenError({ kind: "Unknown", cause }) })
      }),
      (webSocket) => Effect.sync(() => webSocket.close())
    )
    return {
      socket: yield* Socket.fromWebSocket(acquire, { openTimeout: connectMillis }),
      rejection: () => undefined,
      control: Effect.suspend(() => {
        if (opened !== undefined && "protocol" in opened && opened.protocol === subprotocol) {
          return Effect.succeed(BrowserBackpressure.make(opened))
        }
        const cause = new Error(`the server did not select the subprotocol ${subprotocol}`)
        return Effect.fail(TransportError.make({ _tag: "ConnectFailed", target, cause }))
      })
    }
  })
