/** Generated values as they arrive on the other side. */

import { isMembers } from "./jsonValues.ts"

/**
 * A name that is one escaped character, including half of a surrogate pair. In Node 24, after
 * `JSON.parse('{"q":0,"\\\\":1}')` every `JSON.parse('{"q":0,"\\u0007":1}')` returns `{ q: 0, "\\": 1 }`: the engine
 * confuses such names.
 */
const misread = /^["\\\u0000-\u001f\ud800-\udfff]$/

/**
 * Returns a generated value as it arrives on the other side: a copy with ordinary prototypes, without minus zero and
 * without names that the engine confuses. It recurses to the depth of the value, so use it for values that a schema has
 * generated.
 */
export const overTheWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(overTheWire)
  // `fromEntries` makes even `__proto__` an ordinary member.
  if (isMembers(value)) {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => misread.test(name) ? [] : [[name, overTheWire(inner)]])
    )
  }
  return value === 0 ? 0 : value
}
