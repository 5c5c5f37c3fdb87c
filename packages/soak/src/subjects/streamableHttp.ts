/** Streamable HTTP with sessions: as they are, and with stores of events and sessions behind them. */
import { EventStore, SessionHost, SessionStore } from "@effect-mcp/session"
import { StreamableHttpClient, StreamableHttpServer } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as CountingEventStore from "../CountingEventStore.ts"
import * as CountingSessionStore from "../CountingSessionStore.ts"
import * as Hosted from "../Hosted.ts"
import type { Counts, Server, Subject, Terms } from "../Subject.ts"
import * as Http from "./http.ts"
import { transportOf } from "./transportOf.ts"

/** What a server may stand on, and how full it is. */
interface Stores {
  readonly layer: Layer.Layer<never>
  readonly tables: () => Counts
}

const none: Effect.Effect<Stores> = Effect.succeed({ layer: Layer.empty, tables: () => ({}) })

const both: Effect.Effect<Stores, never, Scope.Scope> = Effect.gen(function*() {
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

const start =
  (stores: typeof none | typeof both, port = 0) => (terms: Terms): Effect.Effect<Server, unknown, Scope.Scope> =>
    Effect.gen(function*() {
      const { layer, tables } = yield* stores
      const context = yield* Layer.build(Layer.fresh(
        // A request that its client has left behind is not served for much longer.
        StreamableHttpServer.layerNode({ port, unattended: "500 millis", retry: "20 millis" }).pipe(
          Layer.provideMerge(Hosted.layer(terms)),
          Layer.provideMerge(layer)
        )
      ))
      const host = Context.get(context, SessionHost.SessionHost)
      const bound = yield* Http.portOf(context)
      return {
        dial: (client, way) =>
          Effect.gen(function*() {
            const { port, relay } = yield* Http.reach(bound, way)
            const transport = yield* transportOf(
              StreamableHttpClient.layerNode({
                url: `http://127.0.0.1:${port}/mcp`,
                // A session whose stream is read is not idle.
                standalone: terms !== "idle",
                reconnect: { initial: "20 millis", attempts: 3 }
              })
            )
            return { transport, farSide: Hosted.farSide(host, client), ...Http.faultsOf(relay) }
          }),
        tables: Effect.map(Hosted.tables(host), (counts) => ({ ...counts, ...tables() })),
        again: start(stores, bound)
      }
    })

// A client hears of the end of its session when it asks for something next.
const endings = {
  "client-close": { client: "Requested", server: "PeerEnded" },
  "server-close": { client: "Requested", server: "Requested" },
  leave: { client: "Requested", server: "PeerEnded" },
  // Whoever never heard of its session cannot end it.
  "cancel-handshake": { client: "Requested", server: "Expired", terms: "idle" },
  "cancel-call": { client: "Requested", server: "PeerEnded" },
  deadline: { client: "Requested", server: "PeerEnded" },
  destroy: { client: "Requested", server: "Expired", terms: "idle" },
  reset: { client: "Requested", server: "Expired", terms: "idle" },
  // The connection may be closed right when the client says on it that it goes.
  "half-close": { client: "Requested", server: ["PeerEnded", "Expired"], terms: "idle" },
  idle: { client: "Requested", server: "Expired", terms: "idle" },
  age: { client: "Requested", server: "Expired", terms: "ageing" },
  shutdown: { client: "Requested", server: "Requested" }
} as const satisfies Subject["endings"]

export const streamableHttp: Subject = {
  name: "http",
  weight: 20,
  concurrency: 96,
  start: start(none),
  endings,
  survives: true
}

export const streamableHttpStored: Subject = {
  name: "http-stored",
  weight: 15,
  concurrency: 96,
  start: start(both),
  endings,
  survives: true
}
