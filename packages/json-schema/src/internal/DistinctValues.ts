/** Sets of JSON values, for `enum`, `const` and `uniqueItems`. */

import { CanonicalJson } from "@effect-mcp/protocol/internal"
import type { Steps } from "./Steps.ts"

const isStructure = (value: unknown): value is object => typeof value === "object" && value !== null

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
    if (isStructure(value)) this.#texts.add(CanonicalJson.textOf(value, steps))
    else this.#primitives.add(primitiveOf(value, steps))
  }

  has(value: unknown, steps: Steps): boolean {
    if (!isStructure(value)) return this.#primitives.has(primitiveOf(value, steps))
    return this.#texts.size > 0 && this.#texts.has(CanonicalJson.textOf(value, steps))
  }

  get size(): number {
    return this.#primitives.size + this.#texts.size
  }
}
