/** The registered members of one kind: by key, and as a sorted list. */

import type { Entry } from "./Entry.ts"

/** A table of members whose order does not depend on the order of registration (TOOL-12). */
export class Members<E extends Entry> {
  readonly keyOf: (entry: E) => string
  readonly #byKey = new Map<string, E>()
  readonly #byName = new Map<string, E>()
  /** The sorted list, until the next change. */
  #sorted: ReadonlyArray<E> | undefined

  constructor(keyOf: (entry: E) => string) {
    this.keyOf = keyOf
  }

  get(key: string): E | undefined {
    return this.#byKey.get(key)
  }

  /** Returns the member with this name, which is the key of some kinds, and not of others. */
  named(name: string): E | undefined {
    return this.#byName.get(name)
  }

  add(entry: E): void {
    this.#byKey.set(this.keyOf(entry), entry)
    this.#byName.set(entry.name, entry)
    this.#sorted = undefined
  }

  remove(entry: E): void {
    this.#byKey.delete(this.keyOf(entry))
    this.#byName.delete(entry.name)
    this.#sorted = undefined
  }

  get size(): number {
    return this.#byKey.size
  }

  /** All members, sorted by their keys. */
  get sorted(): ReadonlyArray<E> {
    return this.#sorted ??= [...this.#byKey.entries()].toSorted(([a], [b]) => a < b ? -1 : 1).map(([, entry]) => entry)
  }
}
