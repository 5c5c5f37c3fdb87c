/** Canonical texts of JSON values, and comparison by them, for `enum`, `const` and `uniqueItems`. */

import type { Steps } from "./Steps.ts"

const isStructure = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textOfScalar = (value: unknown, steps: Steps): string => {
  if (typeof value === "string") {
    steps.spend(8 + (value.length >> 1))
    return JSON.stringify(value)
  }
  steps.spend(8)
  // `String` writes -0 as 0, which is the same number in JSON.
  return String(value)
}

/** An array or an object whose beginning is written. */
interface Open {
  readonly parts: { readonly [key: string | number]: unknown }
  readonly size: number
  /** The names of the members in order; `undefined` for an array. */
  readonly names: ReadonlyArray<string> | undefined
  next: number
}

const opened = (value: Readonly<Record<string, unknown>>, steps: Steps): Open => {
  steps.spend(32)
  if (Array.isArray(value)) return { parts: value, size: value.length, names: undefined, next: 0 }
  const names = Object.keys(value)
  if (names.length > 1) {
    // A sort compares each of n names about log2(n) times.
    steps.spend(8 * names.length * (32 - Math.clz32(names.length)))
    names.sort()
  }
  return { parts: value, size: names.length, names, next: 0 }
}

/** The greatest number of arrays and objects in one value. A value of a program may contain itself. */
const maxStructures = 1_000_000

/**
 * Returns the canonical text of a value: members in order, without white space. It does not recurse, because peers
 * decide how deeply a value is nested.
 */
const textOf = (value: unknown, steps: Steps): string => {
  const open: Array<Open> = []
  let text = ""
  let structures = 0
  const write = (part: unknown): void => {
    if (!isStructure(part)) {
      text += textOfScalar(part, steps)
      return
    }
    if (++structures > maxStructures) throw new RangeError(`a value has more than ${maxStructures} arrays and objects`)
    const inner = opened(part, steps)
    text += inner.names === undefined ? "[" : "{"
    open.push(inner)
  }
  write(value)
  for (let inner = open.at(-1); inner !== undefined; inner = open.at(-1)) {
    // A separator follows each part, so that the part that has just ended needs to know nothing of the next.
    if (inner.next > 0) text += ","
    const index = inner.next++
    if (index === inner.size) {
      text += inner.names === undefined ? "]" : "}"
      open.pop()
      continue
    }
    const name = inner.names?.[index]
    if (name !== undefined) text += `${textOfScalar(name, steps)}:`
    write(inner.parts[name ?? index])
  }
  return text
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
