/** The subjects for HTTP+SSE, and for the client that falls back to it. */
import { HttpFallbackClient, HttpSseClient, HttpSseServer } from "@effect-mcp/transport/node"
import type { Subject } from "../Subject.ts"
import { chosenEndings } from "./chosenEndings.ts"
import * as HostedHttp from "./hostedHttp.ts"
import * as Http from "./http.ts"

const server: HostedHttp.Halves["server"] = (port) => HttpSseServer.layerNode({ port, ...Http.limits })

const urlOf = (port: number): string => `http://127.0.0.1:${port}/sse`

const endings = {
  ...chosenEndings,
  destroy: { client: "TransportFailed", server: "PeerEnded" },
  reset: { client: "TransportFailed", server: "PeerEnded" },
  "half-close": { client: "TransportFailed", server: "PeerEnded" },
  age: { client: "PeerEnded", server: "Expired", lifetime: "shortAge" },
  silence: { client: "PeerEnded", server: "HandshakeTimeout", lifetime: "shortIdle" },
  shutdown: { client: "PeerEnded", server: "Requested" }
} as const satisfies Subject["endings"]

export const httpSse: Subject = {
  name: "http-sse",
  weight: 15,
  concurrency: 6,
  start: HostedHttp.start({ server, client: (port) => HttpSseClient.layerNode({ url: urlOf(port) }) }),
  endings
}

const { silence: _, ...endingsOfFallback } = endings

/** The client that falls back. It connects with its first message, so the ending `silence` does not apply. */
export const httpFallback: Subject = {
  name: "http-fallback",
  weight: 5,
  concurrency: 6,
  start: HostedHttp.start({ server, client: (port) => HttpFallbackClient.layerNode({ url: urlOf(port) }) }),
  endings: endingsOfFallback
}
