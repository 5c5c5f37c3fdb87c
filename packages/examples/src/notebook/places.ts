/**
 * Where the client lets this server work: its roots, as it named them last.
 */
import type * as Roots from "@effect-mcp/protocol/Roots"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"

/** The roots, once they have been asked for. */
export class Places extends Context.Service<Places, Ref.Ref<Option.Option<ReadonlyArray<Roots.Root>>>>()(
  "@effect-mcp/examples/notebook/Places"
) {}

export const layer: Layer.Layer<Places> = Layer.effect(Places, Ref.make(Option.none<ReadonlyArray<Roots.Root>>()))

/** Asks the client, and keeps what it says. */
export const ask = <E, R>(
  listRoots: Effect.Effect<Roots.ListRootsResult, E, R>
): Effect.Effect<ReadonlyArray<Roots.Root>, E, Places | R> =>
  Effect.gen(function*() {
    const places = yield* Places
    const { roots } = yield* listRoots
    yield* Ref.set(places, Option.some(roots))
    return roots
  })
