/** The seal of a server in memory. Its one client is in the same process, so a generated secret is enough. */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as RequestStateSeal from "../../RequestStateSeal.ts"

/** Provides a seal with a generated secret to what makes a server, unless the program provides a seal. */
export const provide = <A, E, R>(server: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    Effect.context<R>(),
    (context) =>
      Context.getOrUndefined(context, RequestStateSeal.RequestStateSeal) === undefined
        ? Effect.provide(server, RequestStateSeal.layerEphemeral)
        : server
  )
