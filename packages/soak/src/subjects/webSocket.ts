/** The subject for WebSocket. */
import { WebSocketClient, WebSocketServer } from "@effect-mcp/transport/node"
import type { Subject } from "../Subject.ts"
import { chosenEndings } from "./chosenEndings.ts"
import * as HostedHttp from "./hostedHttp.ts"

export const webSocket: Subject = {
  name: "websocket",
  weight: 20,
  concurrency: 6,
  start: HostedHttp.start({
    // The timer for pings fires once more after the last connection. A short interval shortens the wait of samples.
    server: (port) => WebSocketServer.layerNode({ port, keepAliveInterval: "3 seconds" }),
    client: (port) => WebSocketClient.layerNode({ url: `ws://127.0.0.1:${port}/mcp` })
  }),
  endings: {
    ...chosenEndings,
    destroy: { client: "TransportFailed", server: "TransportFailed" },
    reset: { client: "TransportFailed", server: "TransportFailed" },
    "half-close": { client: "TransportFailed", server: "TransportFailed" },
    age: { client: "TransportFailed", server: "Expired", lifetime: "shortAge" },
    silence: { client: "TransportFailed", server: "HandshakeTimeout", lifetime: "shortIdle" },
    shutdown: { client: "PeerEnded", server: "Requested" }
  }
}
