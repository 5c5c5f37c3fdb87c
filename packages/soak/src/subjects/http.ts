/** The shared part of subjects that listen on an HTTP port. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import type * as Scope from "effect/Scope"
import * as Relay from "../Relay.ts"
import type { Route } from "../Subject.ts"
import { type Unexpected, unexpected } from "../Unexpected.ts"

/** Limits with a short timeout for bodies. An idle server keeps a timer for a quarter of it, which delays samples. */
export const limits = { bodyTimeout: "10 seconds" } as const

/** Returns the port of a server. */
export const portOf = (context: Context.Context<HttpServer.HttpServer>): Effect.Effect<number, Unexpected> => {
  const { address } = Context.get(context, HttpServer.HttpServer)
  return "port" in address ? Effect.succeed(address.port) : Effect.fail(unexpected("the server has no port"))
}

/** Returns the port that a client connects to, and its relay if there is one. */
export const reach = (
  port: number,
  route: Route
): Effect.Effect<{ readonly port: number; readonly relay: Relay.Relay | undefined }, Error, Scope.Scope> =>
  route === "direct"
    ? Effect.succeed({ port, relay: undefined })
    : Effect.map(Relay.make({ host: "127.0.0.1", port }), (relay) => ({ port: relay.port, relay }))

/** Returns the faults that a relay can inject, if there is a relay. */
export const faultsOf = (relay: Relay.Relay | undefined) =>
  relay === undefined ? {} : { destroy: relay.destroy, reset: relay.reset, halfClose: relay.halfClose }
