/** A trial: a script, the calls of it that run at the same time, and the connection that carries them. */
import { Faults } from "@effect-mcp/testing"
import { Setting } from "@effect-mcp/testing/internal"
import * as Schema from "effect/Schema"
import * as Script from "./Script.ts"

/** A trial. Its faults lose no message, because in both eras a lost message is a lost call. */
export const Trial = Schema.Struct({
  ...Setting.fields,
  faults: Faults.OrderKeeping,
  /** The number of calls at the same time. */
  calls: Schema.Literals([1, 2]),
  /** Whether the client has a model to sample. */
  hasModel: Schema.Boolean,
  script: Script.Script
})

/** A trial. */
export type Trial = typeof Trial.Type
