import type { Steps } from "./Steps.ts"

const isStructure = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

const textOf = (value: unknown, steps: Steps): string => {
  if (typeof value === "string") {
    steps.spend(8 + (value.length >> 1))
    return JSON.stringify(value)
  }
  if (!isStructure(value)) {
    steps.spend(8)
    // The text of -0 is that of 0, which is the same number in JSON.
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
    // Sorting compares each name about as often as the number of names has binary digits.
    steps.spend(8 * names.length * (32 - Math.clz32(names.length)))
    names.sort()
  }
  for (const name of names) text += `${textOf(name, steps)}:${textOf(value[name], steps)},`
  return `{${text}}`
}

const plainOf = (value: unknown, steps: Steps): unknown => {
  steps.spend(typeof value === "string" ? 8 + (value.length >> 3) : 8)
  return value
}

/**
 * Values of JSON without duplicates: two are the same if they are equal as JSON Schema means it, in whatever order
 * their members are. Looking for a value takes time in proportion to its own size, however many values there are;
 * `steps` pays for it.
 */
export class DistinctValues {
  readonly #plain = new Set<unknown>()
  readonly #texts = new Set<string>()

  add(value: unknown, steps: Steps): void {
    if (isStructure(value)) this.#texts.add(textOf(value, steps))
    else this.#plain.add(plainOf(value, steps))
  }

  has(value: unknown, steps: Steps): boolean {
    if (!isStructure(value)) return this.#plain.has(plainOf(value, steps))
    return this.#texts.size > 0 && this.#texts.has(textOf(value, steps))
  }

  get size(): number {
    return this.#plain.size + this.#texts.size
  }
}
