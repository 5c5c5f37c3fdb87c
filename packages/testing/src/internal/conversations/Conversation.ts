/**
 * A conversation that can be simulated: what is done in it, over what kind of connection, and the seed of all that is left to chance.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { Faults, OrderKeeping } from "../../Faults.ts"
import { Command } from "./Command.ts"

/**
 * A conversation of up to two sessions in one program.
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
 */
export type Conversation = typeof Conversation.Type

/**
 * How many commands a conversation has at most.
 */
export const length = 24

/**
 * Conversations of up to 24 commands, as a property is given them. One that fails shrinks to few commands and no faults, if it
 * can.
 */
export const arbitrary: Arbitrary.Arbitrary<Conversation> = Arbitrary.all({
  form: Arbitrary.schema(Conversation.fields.form),
  interleaving: Arbitrary.schema(Conversation.fields.interleaving),
  // More is promised where nothing gets lost, so that is drawn more often.
  faults: Arbitrary.schema(Schema.Union([OrderKeeping, Faults])),
  seed: Arbitrary.schema(Conversation.fields.seed),
  commands: Arbitrary.array(Arbitrary.schema(Command), { minLength: 1, maxLength: length })
})
