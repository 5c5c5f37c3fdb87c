/** What subjects have in common that listen on a port of HTTP. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpServer from "effect/http/HttpServer"
import type * as Scope from "effect/Scope"
import * as Relay from "../Relay.ts"
import type { Way } from "../Subject.ts"
import { type Unexpected, unexpected } from "../Unexpected.ts"

/** An idle server looks after bodies that might arrive for a quarter of this, which is to be over soon when no session is left. */
export const limits = { bodyTimeout: "10 seconds" } as const

/** The port that a server listens on. */
export const portOf = (context: Context.Context<HttpServer.HttpServer>): Effect.Effect<number, Unexpected> => {
  const { address } = Context.get(context, HttpServer.HttpServer)
  return "port" in address ? Effect.succeed(address.port) : Effect.fail(unexpected("the server has no port"))
}

/** Where the client goes to get to this port, and what it goes through. */
export const reach = (
  port: number,
  way: Way
): Effect.Effect<{ readonly port: number; readonly relay: Relay.Relay | undefined }, Error, Scope.Scope> =>
  way === "direct"
    ? Effect.succeed({ port, relay: undefined })
    : Effect.map(Relay.make({ host: "127.0.0.1", port }), (relay) => ({ port: relay.port, relay }))

/** What a relay can do to a line, if there is one. */
export const faultsOf = (relay: Relay.Relay | undefined) =>
  relay === undefined ? {} : { destroy: relay.destroy, reset: relay.reset, halfClose: relay.halfClose }
