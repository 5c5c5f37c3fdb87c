/** What subjects have in common that serve a host on a port of HTTP. */
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
import type { Counts, Server, Terms } from "../Subject.ts"
import * as Http from "./http.ts"
import { transportOf } from "./transportOf.ts"

/** What a server may stand on, and how full it is. */
export interface Stores {
  readonly layer: Layer.Layer<never>
  readonly tables: () => Counts
}

const noStores: Effect.Effect<Stores> = Effect.succeed({ layer: Layer.empty, tables: () => ({}) })

/** Both halves of a transport. */
export interface Halves {
  /** The server, on this port. */
  readonly server: (
    port: number
  ) => Layer.Layer<HttpServer, ServeError, Authentication.Authentication | SessionHost.SessionHost>
  /** The client of a server on this port, whose session is to come to this end. */
  readonly client: (port: number, ending: EndingName) => Layer.Layer<Transport.Transport>
  readonly stores?: Effect.Effect<Stores, never, Scope.Scope>
}

/** Starts a server on this port, or on any that is free. */
export const start = (halves: Halves, port = 0) => (terms: Terms): Effect.Effect<Server, unknown, Scope.Scope> =>
  Effect.gen(function*() {
    const { layer, tables } = yield* halves.stores ?? noStores
    const context = yield* Layer.build(Layer.fresh(
      halves.server(port).pipe(
        Layer.provideMerge(Hosted.layer(terms)),
        Layer.provide(Authentication.anonymous),
        Layer.provideMerge(layer)
      )
    ))
    const host = Context.get(context, SessionHost.SessionHost)
    const bound = yield* Http.portOf(context)
    return {
      dial: (client, way, ending) =>
        Effect.gen(function*() {
          const { port, relay } = yield* Http.reach(bound, way)
          const transport = yield* transportOf(halves.client(port, ending))
          return { transport, farSide: Hosted.farSide(host, client), ...Http.faultsOf(relay) }
        }),
      tables: Effect.map(Hosted.tables(host), (counts) => ({ ...counts, ...tables() })),
      again: start(halves, bound)
    }
  })
