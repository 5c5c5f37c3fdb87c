/** Streamable HTTP with sessions: as they are, and with stores of events and sessions behind them. */
import { EventStore, SessionStore } from "@effect-mcp/session"
import { StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as CountingEventStore from "../CountingEventStore.ts"
import * as CountingSessionStore from "../CountingSessionStore.ts"
import type { Subject } from "../Subject.ts"
import * as HostedHttp from "./hostedHttp.ts"
import * as Http from "./http.ts"

const stores: Effect.Effect<HostedHttp.Stores, never, Scope.Scope> = Effect.gen(function*() {
  const events = yield* CountingEventStore.make
  const sessions = yield* CountingSessionStore.make
  return {
    layer: Layer.succeedContext(
      Context.make(EventStore.EventStore, events.service).pipe(
        Context.add(SessionStore.SessionStore, sessions.service)
      )
    ),
    tables: () => ({ streams: events.open(), remembered: sessions.remembered() })
  }
})

const halves: HostedHttp.Halves = {
  // A request that its client has left behind is not served for much longer.
  server: (port) =>
    StreamableHttpServer.layerNode({
      port,
      ...Http.limits,
      detachedRequestTimeout: "500 millis",
      retryInterval: "20 millis"
    }),
  client: (port, ending) =>
    StreamableHttpClient.layerNode({
      url: `http://127.0.0.1:${port}/mcp`,
      // A session whose stream is read is not idle.
      standalone: ending !== "idle",
      // However busy the machine is, no session is left because its end came too late.
      closeTimeout: "20 seconds",
      reconnect: { initialInterval: "20 millis", maxAttempts: 3 }
    })
}

// A client hears of the end of its session when it asks for something next.
const endings = {
  "client-close": { client: "Requested", server: "PeerEnded" },
  "server-close": { client: "Requested", server: "Requested" },
  leave: { client: "Requested", server: "PeerEnded" },
  "cancel-handshake": { client: "Requested", server: "PeerEnded" },
  "cancel-call": { client: "Requested", server: "PeerEnded" },
  deadline: { client: "Requested", server: "PeerEnded" },
  destroy: { client: "Requested", server: "Expired", terms: "idle" },
  reset: { client: "Requested", server: "Expired", terms: "idle" },
  "half-close": { client: "Requested", server: "PeerEnded" },
  idle: { client: "Requested", server: "Expired", terms: "idle" },
  age: { client: "Requested", server: "Expired", terms: "ageing" },
  shutdown: { client: "Requested", server: "Requested" }
} as const satisfies Subject["endings"]

export const streamableHttp: Subject = {
  name: "http",
  weight: 20,
  concurrency: 6,
  start: HostedHttp.start(halves),
  endings,
  survives: true
}

export const streamableHttpStored: Subject = {
  name: "http-stored",
  weight: 15,
  concurrency: 6,
  start: HostedHttp.start({ ...halves, stores }),
  endings,
  survives: true
}
