import { isMembers } from "./members.ts"

/** Where something stands in a value: the names of members, and numbers for the places in lists. */
export type Path = ReadonlyArray<string | number>

const childOf = (value: unknown, step: string | number): unknown => {
  if (Array.isArray(value)) return typeof step === "number" ? value[step] : undefined
  return isMembers(value) && Object.hasOwn(value, step) ? value[step] : undefined
}

/** A copy in which something else stands in one place. What leads there and is missing is made. */
export const put = (value: unknown, path: Path, replacement: unknown): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return replacement
  const child = put(childOf(value, step), rest, replacement)
  if (Array.isArray(value)) return value.map((element: unknown, index) => index === step ? child : element)
  // `fromEntries` makes even `__proto__` a member like any other.
  return Object.fromEntries([
    ...Object.entries(isMembers(value) ? value : {}).filter(([name]) => name !== step),
    [step, child]
  ])
}

/** A copy without what stands in one place. */
export const remove = (value: unknown, path: Path): unknown => {
  const [step, ...rest] = path
  if (step === undefined) return undefined
  if (rest.length > 0) return put(value, [step], remove(childOf(value, step), rest))
  return Array.isArray(value)
    ? value.filter((_, index) => index !== step)
    : Object.fromEntries(Object.entries(isMembers(value) ? value : {}).filter(([name]) => name !== step))
}

/** Every place in a value, the whole of it first. It recurs as deep as the value goes. */
export const places = (value: unknown, at: Path = []): ReadonlyArray<Path> => {
  if (Array.isArray(value)) return [at, ...value.flatMap((element, index) => places(element, [...at, index]))]
  if (!isMembers(value)) return [at]
  return [at, ...Object.entries(value).flatMap(([name, member]) => places(member, [...at, name]))]
}
