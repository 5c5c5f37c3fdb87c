/**
 * What a simulated connection does to what it carries.
 */
import * as Schema from "effect/Schema"

/**
 * The faults of a connection. The first three keep the order of what is sent and lose nothing; under them all laws hold. The others
 * are lossy, and happen to about one message in ten.
 *
 * - `delay`: every piece takes up to so many milliseconds.
 * - `split`: messages come in pieces, cut anywhere, also within a character.
 * - `merge`: what would come within 20 milliseconds comes in one chunk.
 * - `duplicate`: a message comes twice. `drop`: it never comes. `truncate`: its end is missing.
 * - `reorder`: where there are streams, each has delays of its own, so that they overtake each other.
 *
 * @category schemas
 */
export const Faults = Schema.Struct({
  delay: Schema.Literals([0, 3, 40]),
  split: Schema.Boolean,
  merge: Schema.Boolean,
  duplicate: Schema.Boolean,
  drop: Schema.Boolean,
  truncate: Schema.Boolean,
  reorder: Schema.Boolean
})

const no = Schema.Literal(false)

/**
 * The faults that lose nothing and keep the order of what is sent.
 *
 * @category schemas
 */
export const OrderKeeping = Schema.Struct({
  delay: Faults.fields.delay,
  split: Schema.Boolean,
  merge: Schema.Boolean,
  duplicate: no,
  drop: no,
  truncate: no,
  reorder: no
})

/**
 * The faults of a connection, as they are set.
 *
 * @category models
 */
export type Faults = typeof Faults.Type

/**
 * A connection without faults.
 *
 * @category constants
 */
export const none: Faults = {
  delay: 0,
  split: false,
  merge: false,
  duplicate: false,
  drop: false,
  truncate: false,
  reorder: false
}

/**
 * May messages get lost, come twice, or overtake each other?
 *
 * @example
 * ```ts
 * import { Faults } from "@effect-mcp/testing"
 *
 * export const answers = [
 *   Faults.isLossy({ ...Faults.none, delay: 40, split: true }),
 *   Faults.isLossy({ ...Faults.none, drop: true })
 * ] // => [false, true]
 * ```
 *
 * @category guards
 */
export const isLossy = ({ drop, duplicate, reorder, truncate }: Faults): boolean =>
  drop || duplicate || reorder || truncate
