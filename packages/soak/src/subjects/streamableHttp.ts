/** The subjects for Streamable HTTP with sessions, with and without event and session stores. */
import { EventStore, SessionStore } from "@effect-mcp/session"
import { StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport/node"
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
    tables: () => ({ streams: events.open(), stored: sessions.stored() })
  }
})

const halves: HostedHttp.Halves = {
  // A short timeout for detached requests ends their handlers soon.
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
      // An open standalone stream would keep the session from being idle.
      standalone: ending !== "idle",
      // A long timeout, so that no session is left on a busy machine because its DELETE came too late.
      closeTimeout: "20 seconds",
      reconnect: { initialInterval: "20 millis", maxAttempts: 3 }
    })
}

// A client learns of the end of its session with its next request.
const endings = {
  "client-close": { client: "Requested", server: "PeerEnded" },
  "server-close": { client: "Requested", server: "Requested" },
  "scope-close": { client: "Requested", server: "PeerEnded" },
  "cancel-handshake": { client: "Requested", server: "PeerEnded" },
  "cancel-call": { client: "Requested", server: "PeerEnded" },
  timeout: { client: "Requested", server: "PeerEnded" },
  destroy: { client: "Requested", server: "Expired", lifetime: "shortIdle" },
  reset: { client: "Requested", server: "Expired", lifetime: "shortIdle" },
  "half-close": { client: "Requested", server: "PeerEnded" },
  idle: { client: "Requested", server: "Expired", lifetime: "shortIdle" },
  age: { client: "Requested", server: "Expired", lifetime: "shortAge" },
  shutdown: { client: "Requested", server: "Requested" }
} as const satisfies Subject["endings"]

export const streamableHttp: Subject = {
  name: "http",
  weight: 20,
  concurrency: 6,
  start: HostedHttp.start(halves),
  endings,
  survivesRestart: true
}

export const streamableHttpStored: Subject = {
  name: "http-stored",
  weight: 15,
  concurrency: 6,
  start: HostedHttp.start({ ...halves, stores }),
  endings,
  survivesRestart: true
}
