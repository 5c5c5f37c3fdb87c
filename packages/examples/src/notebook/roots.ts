/**
 * The roots of each client: the directories and files that this server may use. The key of a client is its profile, as
 * in `subscriptions.ts`.
 */
import type { ClientProfile } from "@effect-mcp/protocol/Profile"
import type { ListRootsResult, Root } from "@effect-mcp/protocol/Roots"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The last response of each client to `roots/list`. */
export class Roots extends Context.Service<Roots, WeakMap<ClientProfile, ReadonlyArray<Root>>>()(
  "@effect-mcp/examples/notebook/Roots"
) {}

export const layer: Layer.Layer<Roots> = Layer.sync(Roots, () => new WeakMap())

/** Returns the last response of this client, or `undefined` if there was none. */
export const cached = (client: ClientProfile): Effect.Effect<ReadonlyArray<Root> | undefined, never, Roots> =>
  Effect.map(Roots, (rootsByClient) => rootsByClient.get(client))

/** Requests the roots of a client, and stores them. */
export const request = <E, R>(
  client: ClientProfile,
  listRoots: Effect.Effect<ListRootsResult, E, R>
): Effect.Effect<ReadonlyArray<Root>, E, Roots | R> =>
  Effect.gen(function*() {
    const rootsByClient = yield* Roots
    const { roots } = yield* listRoots
    rootsByClient.set(client, roots)
    return roots
  })
