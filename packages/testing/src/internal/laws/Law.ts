/** Constructors of laws and their topics, and properties of generated values. */

import { Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as assert from "node:assert/strict"
import type { Era, TransportLaw } from "../../laws/law/TransportLaw.ts"

/** A law without its topic. */
export type Unsorted = Omit<TransportLaw, "era" | "topic">

/** A law whose era is not part of it yet. */
export type Timeless = Omit<TransportLaw, "era">

type Body = Generator<Effect.Effect<unknown, unknown, Scope.Scope>, void, never>

/** Creates a law with the name of its test. It runs in a scope of its own. */
export const law = (name: string, body: () => Body): Unsorted => ({
  name,
  requirements: Array.from(name.matchAll(/\[([A-Z]+-\d+)\]/g), ([, id = ""]) => id),
  run: Effect.scoped(Effect.gen(body))
})

/** Returns the constructor of the laws of a store. Each law runs with a store of its own. */
export const lawOf =
  <Store>(make: Effect.Effect<Store, unknown, Scope.Scope>) => (name: string, body: (store: Store) => Body): Unsorted =>
    law(name, function*() {
      const store = yield* make
      yield* Effect.gen(() => body(store))
    })

/** Assigns a topic to laws. */
export const topic = (name: string, laws: ReadonlyArray<Unsorted>): ReadonlyArray<Timeless> =>
  laws.map((law) => ({ topic: name, ...law }))

/** Assigns an era to laws, and adds it to the names of those that have no handshake. */
export const inEra = (era: Era, laws: ReadonlyArray<Timeless>): ReadonlyArray<TransportLaw> => {
  const named = (text: string) => era === "modern" ? `${text} (${Revision.latest})` : text
  return laws.map((law) => ({ ...law, era, topic: named(law.topic), name: named(law.name) }))
}

/** Checks a property for generated values. A failure or an exception is reported with the simplest value. */
export const holdsFor = <A, E>(
  arbitrary: Arbitrary.Arbitrary<A>,
  body: (value: A) => Effect.Effect<void, E>,
  runs: number
): Effect.Effect<void> =>
  Effect.map(
    Arbitrary.checkEffect(
      arbitrary,
      (value) =>
        Effect.as(Effect.catchDefect(body(value), (thrown): Effect.Effect<void, unknown> => Effect.fail(thrown)), true),
      { runs, size: 40, maxShrinks: 300 }
    ),
    (outcome) => assert.strictEqual(outcome._tag, "Passed", Arbitrary.formatCheckFailure(outcome))
  )
