/** A bounded set of names, for labels of metrics. */

/**
 * A set of the first names that it got. A peer can invent any number of names, and a registry of metrics keeps each
 * label for the lifetime of the process.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  readonly #size: number
  readonly #longest: number

  constructor(bounds: { readonly size: number; readonly longest: number }) {
    this.#size = bounds.size
    this.#longest = bounds.longest
  }

  /** Adds a name if there is room. Returns whether the set has it. */
  add(name: string): boolean {
    if (this.#names.has(name)) return true
    if (this.#names.size >= this.#size || name.length > this.#longest) return false
    this.#names.add(name)
    return true
  }

  has(name: string): boolean {
    return this.#names.has(name)
  }
}
