/** Objects in JSON values, paths into them, and copies with a change at a path. */

/** An object by the names of its members. */
export type Members = { readonly [name: string]: unknown }

/** Returns whether a value is an object, neither null nor an array. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A place in a value: names of members, and indexes of elements. */
export type Path = ReadonlyArray<string | number>

const childOf = (value: unknown, step: string | number): unknown => {
  if (Array.isArray(value)) return typeof step === "number" ? value[step] : undefined
  return isMembers(value) && Object.hasOwn(value, step) ? value[step] : undefined
}

/** Returns the value at the end of a path of members; `undefined` if there is none. */
export const memberOf = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((object, name) => isMembers(object) ? childOf(object, name) : undefined, value)

/** Returns a copy with another value at a place. Missing objects on the path are created. */
export const put = (value: unknown, path: Path, replacement: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return replacement
  const child = put(childOf(value, step), rest, replacement)
  if (Array.isArray(value)) return value.map((element: unknown, index) => index === step ? child : element)
  // `fromEntries` makes even `__proto__` an ordinary member.
  return Object.fromEntries([
    ...Object.entries(isMembers(value) ? value : {}).filter(([name]) => name !== step),
    [step, child]
  ])
}

/** Returns a copy without the value at a place. */
export const remove = (value: unknown, path: Path): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return undefined
  if (rest.length > 0) return put(value, [step], remove(childOf(value, step), rest))
  return Array.isArray(value)
    ? value.filter((_, index) => index !== step)
    : Object.fromEntries(Object.entries(isMembers(value) ? value : {}).filter(([name]) => name !== step))
}

/** Returns every place in a value, the root first. It recurses to the depth of the value. */
export const places = (value: unknown, at: Path = []): ReadonlyArray<Path> => {
  if (Array.isArray(value)) return [at, ...value.flatMap((element, index) => places(element, [...at, index]))]
  if (!isMembers(value)) return [at]
  return [at, ...Object.entries(value).flatMap(([name, member]) => places(member, [...at, name]))]
}
