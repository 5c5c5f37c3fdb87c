/** The names of one kind of members of a group, and whose they are. */

import * as PublicNames from "./PublicNames.ts"

interface Given extends PublicNames.Origin {
  readonly proposed: string
  readonly public: string
}

/**
 * The names that a group has given. A name belongs to one tool of one server for as long as the server lists the tool,
 * so that no other server can take a name over. The table is as large as the present lists.
 */
export class NameTable {
  readonly #rules: PublicNames.NameRules
  readonly #owners = new Map<string, PublicNames.Origin>()
  readonly #given = new Map<string, ReadonlyMap<string, Given>>()

  constructor(rules: PublicNames.NameRules) {
    this.#rules = rules
  }

  /**
   * Sets the names of a server, in the order of its list. `propose` returns the wished name, or `undefined` for what
   * the group leaves out. Returns the names that were given, by the original ones.
   */
  assign(
    server: string,
    names: ReadonlyArray<string>,
    propose: (name: string, index: number) => string | undefined
  ): ReadonlyMap<string, string> {
    const before = this.#given.get(server)
    const proposals = new Map<string, string>()
    const decided = new Set<string>()
    names.forEach((name, index) => {
      // A server may list a name twice. The first definition counts, also if it is left out.
      if (decided.has(name)) return
      decided.add(name)
      const proposed = propose(name, index)
      if (proposed !== undefined) proposals.set(name, proposed)
    })
    for (const given of before?.values() ?? []) {
      if (!proposals.has(given.name)) this.#owners.delete(given.public)
    }
    const given = new Map<string, Given>()
    for (const [name, proposed] of proposals) {
      const kept = before?.get(name)
      if (kept?.proposed === proposed) {
        given.set(name, kept)
        continue
      }
      if (kept !== undefined) this.#owners.delete(kept.public)
      const free = this.#free({ server, name }, proposed)
      if (free === undefined) continue
      given.set(name, { server, name, proposed, public: free })
      this.#owners.set(free, { server, name })
    }
    this.#given.set(server, given)
    return new Map(Array.from(given.values(), (one) => [one.name, one.public]))
  }

  /** Removes the names of a server. */
  remove(server: string): void {
    for (const given of this.#given.get(server)?.values() ?? []) this.#owners.delete(given.public)
    this.#given.delete(server)
  }

  /** Returns the origin of a name. */
  find(name: string): PublicNames.Origin | undefined {
    return this.#owners.get(name)
  }

  /** Returns a name that belongs to no other origin. */
  #free(origin: PublicNames.Origin, proposed: string): string | undefined {
    return PublicNames.candidates(origin, proposed, this.#rules).find((candidate) => {
      const owner = this.#owners.get(candidate)
      return owner === undefined || PublicNames.isSame(owner, origin)
    })
  }
}
