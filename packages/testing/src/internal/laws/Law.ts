/** Constructors of laws and their topics. */

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { TransportLaw } from "../../laws/TransportLaw.ts"

/** A law without its topic. */
export type Unsorted = Omit<TransportLaw, "topic">

/** Creates a law with the name of its test. It runs in a scope of its own. */
export const law = (name: string, run: Effect.Effect<void, unknown, Scope.Scope>): Unsorted => ({
  name,
  requirements: Array.from(name.matchAll(/\[([A-Z]+-\d+)\]/g), ([, id = ""]) => id),
  run: Effect.scoped(run)
})

/** Assigns a topic to laws. */
export const topic = (name: string, laws: ReadonlyArray<Unsorted>): ReadonlyArray<TransportLaw> =>
  laws.map((law) => ({ topic: name, ...law }))
