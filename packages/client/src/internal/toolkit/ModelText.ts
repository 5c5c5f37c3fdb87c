/** Text of servers as a provider of a model accepts it: it could not read a request with half a surrogate pair. */

import { ExactJson } from "@effect-mcp/protocol"

/** A half of a pair as `JSON.stringify` escapes it. */
const escapedHalf = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g

/** Returns a JSON value whose texts have no half surrogate pairs. It must not be deeper than `JsonDepth.maxLevels`. */
export const within = (value: unknown): unknown =>
  ExactJson.parse(JSON.stringify(value).replaceAll(escapedHalf, "$1\ufffd"))
