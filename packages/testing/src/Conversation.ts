/**
 * A conversation that can be simulated: what is done in it, over what kind of connection, and the seed of all that is left to chance.
 *
 * @since 0.1.0
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { Command } from "./Command.ts"
import { Faults, OrderKeeping } from "./Faults.ts"

/**
 * A conversation of up to two sessions in one program.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Conversation = Schema.Struct({
  /** One stream for everything, or one for each request of the client. */
  form: Schema.Literals(["OneStream", "StreamPerRequest"]),
  /** In which order fibers go on that are ready. */
  interleaving: Schema.Literals(["Fair", "Random"]),
  faults: Faults,
  seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 })),
  commands: Schema.Array(Command)
})

/**
 * A conversation.
 *
 * @category models
 * @since 0.1.0
 */
export type Conversation = typeof Conversation.Type

/**
 * How many commands a conversation has at most.
 *
 * @category constants
 * @since 0.1.0
 */
export const length = 24

/**
 * Conversations of up to 24 commands, as a property is given them. One that fails shrinks to few commands and no faults, if it
 * can.
 *
 * @example
 * ```ts
 * import { Conversation } from "@effect-mcp/testing"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * const longest = Arbitrary.sampleEffect(Conversation.arbitrary, { count: 50, seed: 1 }).pipe(
 *   Effect.map((drawn) => Math.max(...drawn.map(({ commands }) => commands.length)))
 * )
 * export const isBounded = Effect.map(longest, (length) => length <= 24) // => true
 * ```
 *
 * @category arbitraries
 * @since 0.1.0
 */
export const arbitrary: Arbitrary.Arbitrary<Conversation> = Arbitrary.all({
  form: Arbitrary.schema(Conversation.fields.form),
  interleaving: Arbitrary.schema(Conversation.fields.interleaving),
  // More is promised where nothing gets lost, so that is drawn more often.
  faults: Arbitrary.schema(Schema.Union([OrderKeeping, Faults])),
  seed: Arbitrary.schema(Conversation.fields.seed),
  commands: Arbitrary.array(Arbitrary.schema(Command), { minLength: 1, maxLength: length })
})
