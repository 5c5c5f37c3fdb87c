/** Text of servers as a provider of a model accepts it. */

import { ExactJson } from "@effect-mcp/protocol"

/** Returns a text without half surrogate pairs: a provider could not read the JSON of a request with one. */
export const of = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")

/** A half of a pair as `JSON.stringify` escapes it. */
const escapedHalf = /(?<!\\)((?:\\\\)*)\\ud[89a-f][\da-f]{2}/g

/** Returns a JSON value whose texts have no half surrogate pairs. It must not be deeper than `JsonDepth.maxLevels`. */
export const within = (value: unknown): unknown =>
  ExactJson.parse(JSON.stringify(value).replaceAll(escapedHalf, "$1\ufffd"))
