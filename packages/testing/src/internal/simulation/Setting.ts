/** The setting of a simulation: all that decides its course besides its programs and its steps. */

import * as Schema from "effect/Schema"
import { Faults } from "../../Faults.ts"
import { oneOf, upTo } from "../arbitrary/generators.ts"

/** The members of a setting. */
export const fields = {
  /** One stream for all messages, or one for each request of the client. */
  form: Schema.Literals(["OneStream", "StreamPerRequest"]),
  /** The order in which ready fibers continue. */
  interleaving: Schema.Literals(["Fair", "Random"]),
  faults: Faults,
  /** The seed of all random decisions. */
  seed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999 }))
}

const Setting = Schema.Struct(fields)

/** A setting. */
export type Setting = typeof Setting.Type

/** The generators of its members besides faults. A failing setting shrinks to one stream and a fair interleaving. */
export const arbitraries = {
  form: oneOf<Setting["form"]>("OneStream", "StreamPerRequest"),
  interleaving: oneOf<Setting["interleaving"]>("Fair", "Random"),
  seed: upTo(999_999)
}
