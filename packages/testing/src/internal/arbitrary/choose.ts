import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"

/** Draws one of these values; a failing one shrinks towards the first. */
export const oneOf = <A>(first: A, ...others: ReadonlyArray<A>): Arbitrary.Arbitrary<A> => {
  const values = [first, ...others]
  const indexes = [...values.keys()]
  const index = Arbitrary.schema(Schema.Literals(indexes), { shrink: (failing) => indexes.slice(0, failing) })
  return Arbitrary.map(index, (index) => values[index] ?? first)
}

/**
 * Draws from one of these arbitraries; what fails shrinks towards the first. One that stands there twice is drawn twice as
 * often.
 */
export const choose = <A>(
  first: Arbitrary.Arbitrary<A>,
  ...others: ReadonlyArray<Arbitrary.Arbitrary<A>>
): Arbitrary.Arbitrary<A> =>
  others.length === 0 ? first : Arbitrary.flatMap(oneOf(first, ...others), (chosen) => chosen)

/** A whole number from 0 up to this one. */
export const upTo = (maximum: number): Arbitrary.Arbitrary<number> =>
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum })))

/** A place in a list whose length is known only later, as how far in it lies. */
export const place: Arbitrary.Arbitrary<number> = Arbitrary.map(
  Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 9_999 }))),
  (tenThousandths) => tenThousandths / 10_000
)

/** What stands at this place. */
export const at = <A>(values: ReadonlyArray<A>, place: number): A | undefined =>
  values[Math.floor(place * values.length)]
