/** Texts for plain data. They do not depend on the order of members, and different values have different texts. */

/** The deepest nesting of a value that has a text. */
const maxDepth = 128

/** A value without a text. */
class Unsuitable extends Error {}

const listOf = (values: Iterable<unknown>, depth: number): ReadonlyArray<string> =>
  Array.from(values, (value) => textOf(value, depth))

const prototypes: ReadonlySet<unknown> = new Set([
  null,
  Object.prototype,
  Array.prototype,
  Map.prototype,
  Set.prototype,
  Date.prototype
])

/** Private fields of a class are invisible, so its instances could differ and have the same text. */
const isPlain = (value: object): boolean =>
  prototypes.has(Object.getPrototypeOf(value)) && Object.getOwnPropertySymbols(value).length === 0

const ofObject = (value: object, depth: number): string => {
  if (depth > maxDepth) throw new Unsuitable("nested too deeply")
  if (!isPlain(value)) throw new Unsuitable("an instance of a class")
  if (Array.isArray(value)) return `[${listOf(value, depth).join()}]`
  if (value instanceof Map) {
    return `Map{${Array.from(value, (entry) => listOf(entry, depth).join(":")).toSorted().join()}}`
  }
  if (value instanceof Set) return `Set{${listOf(value, depth).toSorted().join()}}`
  if (value instanceof Date) return `Date(${value.getTime()})`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${textOf(member, depth)}`)
  return `{${members.toSorted().join()}}`
}

const textOf = (value: unknown, depth: number): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "bigint":
      return `${value}n`
    case "number":
      return Object.is(value, -0) ? "-0" : String(value)
    case "boolean":
    case "undefined":
      return String(value)
    case "object":
      return value === null ? "null" : ofObject(value, depth + 1)
    case "function":
    case "symbol":
      throw new Unsuitable(`a ${typeof value}`)
  }
}

/**
 * Returns the text of JSON, and of `Map`, `Set`, `Date`, `bigint` and `undefined`. Returns `undefined` for other
 * values, such as instances of classes, and for a value that is nested too deeply.
 */
export const of = (value: unknown): string | undefined => {
  try {
    return textOf(value, 0)
  } catch {
    return undefined
  }
}
