/**
 * The faults of a simulated connection.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"

/**
 * The faults of a connection. The first three keep the order of messages and lose none; all laws hold under them. Each
 * of the others affects about one message in ten.
 *
 * - `delay`: each piece takes up to this many milliseconds.
 * - `split`: messages arrive in pieces, cut anywhere, also within a character.
 * - `merge`: data of the same 20 milliseconds arrives in one chunk.
 * - `duplicate`: a message arrives twice. `drop`: it never arrives. `truncate`: its end is missing.
 * - `reorder`: each stream has its own delays, so that streams overtake each other.
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
 * The faults that lose nothing and keep the order of messages.
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
 * The settings of all faults.
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
 * Returns whether messages may get lost, arrive twice, or overtake each other.
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
