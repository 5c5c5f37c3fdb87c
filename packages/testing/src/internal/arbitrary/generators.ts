/** Generators that choose among values, generators or places, and a cache for derived generators. */

import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

/** Generates one of these values. A failing one shrinks towards the first. */
export const oneOf = <A>(first: A, ...others: ReadonlyArray<A>): Arbitrary.Arbitrary<A> => {
  const values = [first, ...others]
  const indexes = [...values.keys()]
  const index = Arbitrary.schema(Schema.Literals(indexes), { shrink: (failing) => indexes.slice(0, failing) })
  return Arbitrary.map(index, (index) => values[index] ?? first)
}

/**
 * Generates values of one of these generators. A failing one shrinks towards the first. A generator that is listed
 * twice is chosen twice as often.
 */
export const choose = <A>(
  first: Arbitrary.Arbitrary<A>,
  ...others: ReadonlyArray<Arbitrary.Arbitrary<A>>
): Arbitrary.Arbitrary<A> =>
  others.length === 0 ? first : Arbitrary.flatMap(oneOf(first, ...others), (chosen) => chosen)

/** Generates a whole number from 0 to this maximum, inclusive. */
export const upTo = (maximum: number): Arbitrary.Arbitrary<number> =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

/** Generates a place in a list of unknown length, as a fraction of it. */
export const place: Arbitrary.Arbitrary<number> = Arbitrary.map(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9_999 }))),
  (tenThousandths) => tenThousandths / 10_000
)

/** Returns the element at this place. */
export const at = <A>(values: ReadonlyArray<A>, place: number): A | undefined =>
  values[Math.floor(place * values.length)]

/**
 * Returns a function that computes each result once. Deriving a generator from a schema takes a thousand times as long
 * as drawing a value from it.
 */
export const memoised = <Key extends string, A>(make: (key: Key) => A): (key: Key) => A => {
  const made = new Map<Key, A>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined) return known
    const fresh = make(key)
    made.set(key, fresh)
    return fresh
  }
}
