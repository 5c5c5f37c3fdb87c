import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TransportLaw } from "../../laws/TransportLaw.ts"

/** A law without its topic. */
export type Unsorted = Omit<TransportLaw, "topic">

/** A law in the words of its test; it has a scope of its own. */
export const law = (name: string, run: Effect.Effect<void, unknown, Scope.Scope>): Unsorted => ({
  name,
  requirements: Array.from(name.matchAll(/\[([A-Z]+-\d+)\]/g), ([, id = ""]) => id),
  run: Effect.scoped(run)
})

/** Puts laws under one topic. */
export const topic = (name: string, laws: ReadonlyArray<Unsorted>): ReadonlyArray<TransportLaw> =>
  laws.map((law) => ({ topic: name, ...law }))
