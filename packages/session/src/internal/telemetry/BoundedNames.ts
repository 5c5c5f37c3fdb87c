/**
 * The first names that a bounded set was given. A peer can invent any number of names, and what counts by names keeps
 * each of them for the life of the process.
 */
export class BoundedNames {
  readonly #names = new Set<string>()
  readonly #size: number
  readonly #longest: number

  constructor(bounds: { readonly size: number; readonly longest: number }) {
    this.#size = bounds.size
    this.#longest = bounds.longest
  }

  /** Returns whether the set has this name, after it was added if there was room for it. */
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
