/**
 * A change of the file of a host: one entry, below the field of the host.
 */
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import { isDeepStrictEqual } from "node:util"

/** An entry, and its place in a file. */
export interface Change {
  /** The field that has the entries of the host, such as `mcpServers`. */
  readonly field: string
  readonly name: string
  readonly entry: object
  /** Whether another entry of this name is replaced. */
  readonly replaces: boolean
}

/** The reason why a text is not changed. */
export interface Refusal {
  readonly problem: string
  /** Whether the text could be read, so that a person can change it by hand. */
  readonly isParsed: boolean
}

/** The refusal of a text in which the entry has no place that is certain. */
export const unexpected: Refusal = {
  problem: "its entries are written in a form that is changed by hand only",
  isParsed: true
}

type Value = { readonly [name: string]: unknown }

/** Returns whether a value is an object with names, and no list. */
export const isRecord = (value: unknown): value is Value => Predicate.isObject(value)

/** Returns a value without the prototypes of its parser. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

/** Returns whether two values have the same members. Values that are too deep to be compared differ. */
export const isSame = (one: unknown, other: unknown): boolean => {
  try {
    return isDeepStrictEqual(plain(one), plain(other))
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}

/** Returns whether a file has an entry of this name. */
export const isIn = (root: Value, { field, name }: Change): boolean => {
  const entries = Object.hasOwn(root, field) ? root[field] : undefined
  return isRecord(entries) && Object.hasOwn(entries, name)
}

/** Returns the value that a file has after a change, or why it must not be changed. */
export const check = (root: Value, { entry, field, name, replaces }: Change): Result.Result<Value, Refusal> => {
  const entries = Object.hasOwn(root, field) ? root[field] : {}
  if (!isRecord(entries)) return Result.fail({ problem: `its ${field} is not an object`, isParsed: true })
  const other = Object.hasOwn(entries, name) ? entries[name] : undefined
  return other === undefined || replaces || isSame(other, entry)
    ? Result.succeed({ ...root, [field]: { ...entries, [name]: entry } })
    : Result.fail({
      problem: `it has another server ${JSON.stringify(name)}; use --replace, or --name for another name`,
      isParsed: true
    })
}
