/**
 * The values of variables in a URI that a pattern has read.
 */
import { prefixOf } from "./Expansion.ts"
import { type Pattern, type Shaped } from "./Pattern.ts"
import { type Capture, run } from "./Reader.ts"
import { behaviours } from "./Syntax.ts"
import * as Tokens from "./Tokens.ts"

/** A value that a URI has: a text, a list, or a record. */
export type MatchedValue = string | ReadonlyArray<string> | { readonly [key: string]: string }

/** The values of a URI by name. An absent variable has none. */
export interface Matched {
  readonly [name: string]: MatchedValue
}

/** The greatest length of a URI, in characters after percent-encoding. */
export const maxUriLength = 8_192

/** The decoded captures of a variable. */
interface Decoded {
  readonly keys: ReadonlyArray<string>
  readonly values: ReadonlyArray<string>
}

/** Decodes the captures of each variable. `undefined` stands for octets that are not UTF-8. */
const decodeAll = (uri: string, captures: ReadonlyArray<Capture>): ReadonlyMap<number, Decoded> | undefined => {
  const decoded = new Map<number, { keys: Array<string>; values: Array<string> }>()
  for (const { end, slot, start } of captures) {
    const text = Tokens.decode(uri.slice(start, end))
    if (text === undefined) return undefined
    const known = decoded.get(slot.variable) ?? { keys: [], values: [] }
    decoded.set(slot.variable, known)
    known[slot.role === "Key" ? "keys" : "values"].push(text)
  }
  return decoded
}

const isSameOrder = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.every((key, index) => key === right[index])

/**
 * Returns a record, or `undefined` if a key repeats. An object sorts keys such as "2" and "1", so outside of a query,
 * where the order counts, it cannot hold them in another order.
 */
const recordOf = ({ keys, values }: Decoded, isQuery: boolean): { readonly [key: string]: string } | undefined => {
  const record = Object.fromEntries(keys.map((key, index) => [key, values[index] ?? ""]))
  const kept = Object.keys(record)
  return kept.length === keys.length && (isQuery || isSameOrder(kept, keys)) ? record : undefined
}

const isQuery = (operator: string): boolean => operator === "?" || operator === "&"

/** Returns the value of one occurrence of a variable, or `undefined` if its captures are not what expansion gives. */
const valueOf = ({ shape, variable }: Shaped, decoded: Decoded): MatchedValue | undefined => {
  switch (shape) {
    case "List":
      return decoded.values
    case "Record":
      return recordOf(decoded, isQuery(variable.operator))
    case "String": {
      const [value, ...others] = decoded.values
      // A query may have the pair of a variable twice.
      if (value === undefined || others.length > 0) return undefined
      return variable.prefix === undefined || prefixOf(value, variable.prefix, behaviours[""]) === value
        ? value
        : undefined
    }
  }
}

const isEqual = (left: MatchedValue, right: MatchedValue): boolean => {
  if (typeof left === "string" || typeof right === "string") return left === right
  const [one, other] = [Object.entries(left), Object.entries(right)]
  return one.length === other.length &&
    one.every(([key, value], index) => key === other[index]?.[0] && value === other[index]?.[1])
}

/** Two occurrences of a name agree if each is what expansion makes of the longer one. */
const isWhole = ({ variable }: Shaped): boolean => variable.prefix === undefined

/** Returns the value that all occurrences of a name have, or `undefined` if they differ. */
const agreed = (occurrences: ReadonlyArray<readonly [Shaped, MatchedValue]>): MatchedValue | undefined => {
  const [first] = occurrences
  if (first === undefined || occurrences.length === 1) return first?.[1]
  const longest =
    occurrences.reduce((best, other) =>
      !isWhole(best[0]) && (isWhole(other[0]) || (other[0].variable.prefix ?? 0) > (best[0].variable.prefix ?? 0))
        ? other
        : best
    )[1]
  const isPrefix = occurrences.every(([{ variable }, value]) =>
    isEqual(
      value,
      variable.prefix === undefined || typeof longest !== "string"
        ? longest
        : prefixOf(longest, variable.prefix, behaviours[""])
    )
  )
  return isPrefix ? longest : undefined
}

/** Returns the values of captures, or `undefined` if no values expand to them. */
const valuesOf = (
  uri: string,
  captures: ReadonlyArray<Capture>,
  shaped: ReadonlyArray<Shaped>
): Matched | undefined => {
  const decoded = decodeAll(uri, captures)
  if (decoded === undefined) return undefined
  const byName = new Map<string, Array<readonly [Shaped, MatchedValue]>>()
  const total = new Map<string, number>()
  for (const [index, entry] of shaped.entries()) {
    const { name } = entry.variable
    total.set(name, (total.get(name) ?? 0) + 1)
    const known = decoded.get(index)
    if (known === undefined) continue
    const value = valueOf(entry, known)
    if (value === undefined) return undefined
    const values = byName.get(name) ?? []
    byName.set(name, values)
    values.push([entry, value])
  }
  const matched: Array<readonly [string, MatchedValue]> = []
  for (const [name, occurrences] of byName) {
    const value = agreed(occurrences)
    // A variable is defined for all of its occurrences, or for none.
    if (value === undefined || occurrences.length !== total.get(name)) return undefined
    matched.push([name, value])
  }
  // Without a prototype's setter: a variable may have the name `__proto__`.
  return Object.fromEntries(matched)
}

/** Matches a URI. */
export const match = (pattern: Pattern, shaped: ReadonlyArray<Shaped>, uri: string): Matched | undefined => {
  if (uri.length > maxUriLength) return undefined
  const ascii = Tokens.toAscii(uri)
  if (ascii === undefined || ascii.length > maxUriLength) return undefined
  const { captures } = run(pattern, ascii)
  return captures === undefined ? undefined : valuesOf(ascii, captures, shaped)
}
