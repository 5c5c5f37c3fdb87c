/** The shared part of subjects that serve a session host over HTTP. */
import { SessionHost, type Transport } from "@effect-mcp/session"
import { Authentication } from "@effect-mcp/transport"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpServer } from "effect/http/HttpServer"
import type { ServeError } from "effect/http/HttpServerError"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { EndingName } from "../EndingName.ts"
import * as Hosted from "../Hosted.ts"
import type { Counts, Lifetime, Server } from "../Subject.ts"
import * as Http from "./http.ts"
import { transportOf } from "./transportOf.ts"

/** The stores of a server, with the sizes of their tables. */
export interface Stores {
  readonly layer: Layer.Layer<never>
  readonly tables: () => Counts
}

const noStores: Effect.Effect<Stores> = Effect.succeed({ layer: Layer.empty, tables: () => ({}) })

/** The client and the server of a transport. */
export interface Halves {
  /** Creates the server on a port. */
  readonly server: (
    port: number
  ) => Layer.Layer<HttpServer, ServeError, Authentication.Authentication | SessionHost.SessionHost>
  /** Creates a client of the server on a port, whose session will end in this way. */
  readonly client: (port: number, ending: EndingName) => Layer.Layer<Transport.Transport>
  readonly stores?: Effect.Effect<Stores, never, Scope.Scope>
}

/** Starts a server on a port, or on a free port. */
export const start = (halves: Halves, port = 0) => (lifetime: Lifetime): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const { layer, tables } = yield* halves.stores ?? noStores
    const context = yield* Layer.build(Layer.fresh(
      halves.server(port).pipe(
        Layer.provideMerge(Hosted.layer(lifetime)),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(layer)
      )
    ))
    const host = Context.get(context, SessionHost.SessionHost)
    const bound = yield* Http.portOf(context)
    return {
      dial: (client, route, ending) =>
        Effect.gen(function*() {
          const { port, relay } = yield* Http.reach(bound, route)
          const transport = yield* transportOf(halves.client(port, ending))
          return { transport, serverSide: Hosted.serverSide(host, client), ...Http.faultsOf(relay) }
        }),
      tables: Effect.map(Hosted.tables(host), (counts) => ({ ...counts, ...tables() })),
      restart: start(halves, bound)
    }
  })
