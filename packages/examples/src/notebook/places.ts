/**
 * Where each client lets this server work: its roots, as it named them last. A client is known by its profile, as in
 * `subscriptions.ts`.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import type * as Roots from "@effect-mcp/protocol/Roots"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The roots of the clients that have been asked for them. */
export class Places extends Context.Service<Places, WeakMap<ClientProfile, ReadonlyArray<Roots.Root>>>()(
  "@effect-mcp/examples/notebook/Places"
) {}

export const layer: Layer.Layer<Places> = Layer.sync(Places, () => new WeakMap())

/** The last answer of this client, if it was ever asked. */
export const known = (client: ClientProfile): Effect.Effect<ReadonlyArray<Roots.Root> | undefined, never, Places> =>
  Effect.map(Places, (places) => places.get(client))

/** Asks a client, and keeps what it says. */
export const ask = <E, R>(
  client: ClientProfile,
  listRoots: Effect.Effect<Roots.ListRootsResult, E, R>
): Effect.Effect<ReadonlyArray<Roots.Root>, E, Places | R> =>
  Effect.gen(function*() {
    const places = yield* Places
    const { roots } = yield* listRoots
    places.set(client, roots)
    return roots
  })
