/** Ids that stores may confuse, for laws of stores. */

import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

/** Returns an id that no store has seen, so that data of other laws in a database cannot interfere. */
export const newId = Effect.map(Random.nextInt, (number) => `law-${number.toString(36)}`)

/** Ids that some stores may confuse, or look up in the wrong place. */
export const likeIds = Effect.map(newId, (id) => [
  id,
  id.toUpperCase(),
  `${id}-`,
  `${id}%`,
  `${id}_`,
  `${id.slice(0, -1)}_`,
  `${id}:${id}`,
  `*${id}`,
  `'${id}"`,
  `../${id}`,
  `${id}?#{}[]\\^~|`,
  id.repeat(20)
])

/** Ids with a meaning in other contexts. */
export const oddIds = ["__proto__", "constructor", "toString", "*", "%", "..", "' or 1=1 --", "0", "undefined"]
