/** Canonical texts of JSON values, and comparison by them, for `enum`, `const` and `uniqueItems`. */

import type { Steps } from "./Steps.ts"

const isStructure = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** Returns the canonical text of a value: members in order, without white space. */
const textOf = (value: unknown, steps: Steps): string => {
  if (typeof value === "string") {
    steps.spend(8 + (value.length >> 1))
    return JSON.stringify(value)
  }
  if (!isStructure(value)) {
    steps.spend(8)
    // `String` writes -0 as 0, which is the same number in JSON.
    return String(value)
  }
  steps.spend(32)
  let text = ""
  if (Array.isArray(value)) {
    for (const item of value) text += `${textOf(item, steps)},`
    return `[${text}]`
  }
  const names = Object.keys(value)
  if (names.length > 1) {
    // A sort compares each of n names about log2(n) times.
    steps.spend(8 * names.length * (32 - Math.clz32(names.length)))
    names.sort()
  }
  for (const name of names) text += `${textOf(name, steps)}:${textOf(value[name], steps)},`
  return `{${text}}`
}

const unbounded: Steps = { spend: () => {}, refill: () => {} }

/** Returns the text of a value: equal values have the same text, whatever the order of their members. */
export const canonicalText = (value: unknown): string => textOf(value, unbounded)

const primitiveOf = (value: unknown, steps: Steps): unknown => {
  steps.spend(typeof value === "string" ? 8 + (value.length >> 3) : 8)
  return value
}

/**
 * A set of JSON values. Two values are equal as JSON Schema defines it, whatever the order of their members. A lookup
 * takes time proportional to the size of the value, whatever the size of the set, and spends its steps from `steps`.
 */
export class DistinctValues {
  readonly #primitives = new Set<unknown>()
  readonly #texts = new Set<string>()

  add(value: unknown, steps: Steps): void {
    if (isStructure(value)) this.#texts.add(textOf(value, steps))
    else this.#primitives.add(primitiveOf(value, steps))
  }

  has(value: unknown, steps: Steps): boolean {
    if (!isStructure(value)) return this.#primitives.has(primitiveOf(value, steps))
    return this.#texts.size > 0 && this.#texts.has(textOf(value, steps))
  }

  get size(): number {
    return this.#primitives.size + this.#texts.size
  }
}
