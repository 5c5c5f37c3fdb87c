/**
 * A trial: a script, the calls of it that run at the same time, and the connection that carries them.
 */
import { Faults } from "@effect-mcp/testing"
import * as Schema from "effect/Schema"
import * as Script from "./Script.ts"

/** A trial. Its faults lose no message, because in both eras a lost message is a lost call. */
export const Trial = Schema.Struct({
  /** One stream for all messages, or one for each request of the client. */
  form: Schema.Literals(["OneStream", "StreamPerRequest"]),
  /** The order in which ready fibers continue. */
  interleaving: Schema.Literals(["Fair", "Random"]),
  faults: Faults.OrderKeeping,
  seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 })),
  /** The number of calls at the same time. */
  calls: Schema.Literals([1, 2]),
  /** Whether the client has a model to sample. */
  hasModel: Schema.Boolean,
  script: Script.Script
})

/** A trial. */
export type Trial = typeof Trial.Type
