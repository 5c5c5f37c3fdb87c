/** The program's middleware around the requests of this side. */

import type { Profile } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Tracer from "effect/Tracer"
import type * as Middleware from "../../Middleware.ts"
import { Baggage } from "../../Tracing.ts"
import { trust } from "../trust.ts"
import type { RequestLayer } from "./Layers.ts"

/** Puts the middleware around the sending of requests, with the services that the session was made with. */
export const layer = (
  middleware: Middleware.OutboundMiddleware<unknown>,
  context: Context.Context<never>,
  peer: () => Profile.Profile | undefined
): RequestLayer => {
  let services: Context.Context<never> | undefined
  /** Provides the services of the session. Those of the caller win. */
  const provided = <A, E, R>(effect: Effect.Effect<A, E, unknown>): Effect.Effect<A, E, R> => {
    // A caller without a span starts a new trace, and does not continue the trace or the baggage of the session's
    // start.
    const own = services ??= Context.omit(Tracer.ParentSpan, Baggage)(context)
    // The session has the services of the middleware, and the caller has those of its request.
    return trust(Effect.updateContext(effect, (caller) => Context.merge(own, caller)))
  }

  return (send) => (row, params, options) =>
    // A request is an effect: nothing happens before it runs, and all of it happens each time that it runs.
    provided(Effect.suspend(() =>
      middleware(
        { method: row.name, params, profile: peer(), onOpen: undefined },
        (sent) => send(row, sent.params, { ...options, onOpen: sent.onOpen })
      )
    ))
}
