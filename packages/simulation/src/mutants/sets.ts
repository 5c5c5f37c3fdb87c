/** The sets of mutants, and the simulation that finds those of each set. */

import type { Search } from "@effect-mcp/testing/internal"
import type * as Effect from "effect/Effect"
import * as credentials from "./credentials.ts"
import * as eras from "./eras.ts"
import type { Mutant } from "./Mutant.ts"
import * as processes from "./processes.ts"
import * as table from "./table.ts"

/** The simulation of a set. Its inputs are conversations, trials or scripts. */
interface Simulation {
  readonly run: (options: Search.Options) => Effect.Effect<Search.Found<unknown> | undefined>
  /** Returns the laws that do not hold in a stored input. */
  readonly replay: (input: unknown) => ReadonlyArray<Search.Violation> | Promise<ReadonlyArray<Search.Violation>>
  /** Returns the number of commands or steps of a stored input. */
  readonly lengthOf: (input: unknown) => number
}

/** A set of mutants. Its simulation is loaded after a mutant is applied. */
interface MutantSet {
  readonly mutants: ReadonlyArray<Mutant>
  readonly load: () => Promise<Simulation>
}

/** The mutants of sessions and framing. */
export const sessions: MutantSet = { mutants: table.mutants, load: () => import("../conversations/Search.ts") }

const sets: ReadonlyArray<MutantSet> = [
  sessions,
  { mutants: eras.mutants, load: () => import("../eras/Search.ts") },
  { mutants: credentials.mutants, load: () => import("../credentials/Search.ts") },
  { mutants: processes.mutants, load: () => import("../processes/Search.ts") }
]

/** The mutants of all sets. */
export const mutants: ReadonlyArray<Mutant> = sets.flatMap((set) => set.mutants)

/** Returns the mutant of this name, and its set. */
export const named = (name: string | undefined) => {
  for (const { load, mutants } of sets) {
    const mutant = mutants.find((one) => one.name === name)
    if (mutant !== undefined) return { mutant, load }
  }
  throw new Error(`no mutant is named "${name}"`)
}
