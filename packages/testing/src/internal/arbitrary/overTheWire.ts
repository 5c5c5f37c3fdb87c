import { isMembers } from "./members.ts"

/**
 * A name that is a single character written with a backslash, as half of a surrogate pair is, too. In Node 24, `JSON.parse('{"q":0,"\\\\":1}')` makes every later
 * `JSON.parse('{"q":0,"\\u0007":1}')` come to `{ q: 0, "\\": 1 }`: the engine takes one such name for another.
 */
// oxlint-disable-next-line no-control-regex -- These characters are what it is about.
const misread = /^["\\\u0000-\u001f\ud800-\udfff]$/

/**
 * A drawn value as it arrives on the other side: a copy with ordinary prototypes, and without minus zero or names that an engine
 * misreads. It recurs as deep as the value goes, so it is for what a schema has generated.
 */
export const overTheWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(overTheWire)
  // `fromEntries` makes even `__proto__` a member like any other.
  if (isMembers(value)) {
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => misread.test(name) ? [] : [[name, overTheWire(inner)]])
    )
  }
  return value === 0 ? 0 : value
}
