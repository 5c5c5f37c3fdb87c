/** WebSocket. */
import { WebSocketClient, WebSocketServer } from "@effect-mcp/transport"
import type { Subject } from "../Subject.ts"
import * as HostedHttp from "./hostedHttp.ts"

export const webSocket: Subject = {
  name: "websocket",
  weight: 20,
  concurrency: 6,
  start: HostedHttp.start({
    // Whoever looks after connections looks once more when there are none, and is not to be waited for that long.
    server: (port) => WebSocketServer.layerNode({ port, ping: "3 seconds" }),
    client: (port) => WebSocketClient.layerNode({ url: `ws://127.0.0.1:${port}/mcp` })
  }),
  endings: {
    "client-close": { client: "Requested", server: "PeerEnded" },
    "server-close": { client: "PeerEnded", server: "Requested" },
    leave: { client: "Requested", server: "PeerEnded" },
    "cancel-handshake": { client: "Requested", server: "PeerEnded" },
    "cancel-call": { client: "Requested", server: "PeerEnded" },
    deadline: { client: "Requested", server: "PeerEnded" },
    destroy: { client: "TransportFailed", server: "TransportFailed" },
    reset: { client: "TransportFailed", server: "TransportFailed" },
    "half-close": { client: "TransportFailed", server: "TransportFailed" },
    age: { client: "TransportFailed", server: "Expired", terms: "ageing" },
    silence: { client: "TransportFailed", server: "HandshakeTimeout", terms: "idle" },
    shutdown: { client: "PeerEnded", server: "Requested" }
  }
}
