import { isMembers } from "./members.ts"

/**
 * A drawn value as it arrives on the other side: a copy with ordinary prototypes, and without minus zero. It recurs as deep as
 * the value goes, so it is for what a schema has generated.
 */
export const overTheWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(overTheWire)
  // `fromEntries` makes even `__proto__` a member like any other.
  if (isMembers(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, overTheWire(inner)]))
  }
  return value === 0 ? 0 : value
}
