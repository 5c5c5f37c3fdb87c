/** The values of variables in a URI. */

import type { Group, Pattern, Slot } from "./Pattern.ts"
import * as PercentEncoding from "./PercentEncoding.ts"

/** A value that a URI has: a text, or a list. */
export type MatchedValue = string | ReadonlyArray<string>

/** The values of a URI by name. An absent variable has none. */
export interface Matched {
  readonly [name: string]: MatchedValue
}

/** A URI in its normal form. Many templates match it, and it is normalized once. */
export interface NormalizedUri {
  readonly normalized: string
}

/** The greatest length of a URI, in characters after percent-encoding. */
const maxLength = 8_192

/** Returns the normal form of a URI, or `undefined` if the text is no URI or too long. */
export const normalize = (uri: string): NormalizedUri | undefined => {
  // Encoding takes longer than counting.
  if (uri.length > maxLength || PercentEncoding.leastLength(uri) > maxLength) return undefined
  const normalized = PercentEncoding.normalized(uri)
  return normalized === undefined || normalized.length > maxLength ? undefined : { normalized }
}

const decodeAll = (texts: ReadonlyArray<string>): Array<string> | undefined => {
  const decoded = texts.flatMap((text) => PercentEncoding.decode(text) ?? [])
  return decoded.length === texts.length ? decoded : undefined
}

/** The values that were found so far. */
class Found {
  readonly #values = new Map<string, string | Array<string>>()

  /** Keeps the values in the text of a group. Returns whether the template can have them. */
  keep({ _tag, slots }: Group, text: string): boolean {
    switch (_tag) {
      case "Value":
        return slots.every((slot) => this.#add(slot, slot.shape === "List" ? text.split(",") : text))
      case "Segments":
        return text === "" || slots.every((slot) => this.#add(slot, text.slice(1).split("/")))
      case "Pairs":
        return text === "" || text.split("&").every((pair) => {
          const end = pair.indexOf("=")
          // The expansion of an empty value has a `=` as well.
          const slot = end < 0 ? undefined : slots.find(({ key }) => key === pair.slice(0, end))
          const value = pair.slice(end + 1)
          return slot !== undefined &&
            this.#add(slot, slot.explode ? [value] : slot.shape === "List" ? value.split(",") : value)
        })
    }
  }

  #add({ explode, name }: Slot, text: string | ReadonlyArray<string>): boolean {
    const value = typeof text === "string" ? PercentEncoding.decode(text) : decodeAll(text)
    const known = this.#values.get(name)
    if (known === undefined && value !== undefined) this.#values.set(name, value)
    // The pair of another variable occurs once.
    else if (explode && Array.isArray(known) && Array.isArray(value)) known.push(...value)
    else return false
    return true
  }

  /** Returns the values in this order. */
  in(names: ReadonlyArray<string>): Matched {
    // Without a prototype's setter: a variable may have the name `__proto__`.
    return Object.fromEntries(names.flatMap((name) => {
      const value = this.#values.get(name)
      return value === undefined ? [] : [[name, value] as const]
    }))
  }
}

/** Matches a URI. */
export const match = (
  { expression, groups, maxUriLength, names, prefix }: Pattern,
  { normalized }: NormalizedUri
): Matched | undefined => {
  // Most URIs differ from most templates in their first characters.
  if (!normalized.startsWith(prefix) || normalized.length > maxUriLength) return undefined
  const texts = expression.exec(normalized)
  const found = new Found()
  return texts !== null && groups.every((group, index) => {
      const text = texts[index + 1]
      return text === undefined || found.keep(group, text)
    })
    ? found.in(names)
    : undefined
}
