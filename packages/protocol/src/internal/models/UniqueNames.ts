/** Names that each occur once. */

/** Gives a name to each part of a schema. */
export class UniqueNames {
  readonly #given: Set<string>
  /** The next number for each wished name. Without it, many equal ones would take a search for each. */
  readonly #next = new Map<string, number>()

  constructor(used: Iterable<string> = []) {
    this.#given = new Set(used)
  }

  /** Returns the wished name with characters that providers accept, and with a number if it is in use. */
  make(wished: string): string {
    const readable = wished.replace(/[^\w.-]+/g, "_").slice(0, 48)
    let number = this.#next.get(readable) ?? 1
    let name = readable
    while (name === "" || name === "__proto__" || this.#given.has(name)) name = `${readable}_${++number}`
    this.#next.set(readable, number)
    this.#given.add(name)
    return name
  }
}
