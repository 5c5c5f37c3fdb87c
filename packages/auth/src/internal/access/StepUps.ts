/** The authorizations with more scopes that operations have caused (AUT-40). */
import { LeastRecentlyUsed } from "@effect-mcp/session/internal"

/** The most authorizations for one operation, without a person's act between them. */
export const limit = 3

/** The operations that are remembered. */
const maxOperations = 256

/** The time after which an operation may cause as many again: permissions change. */
const memoryMillis = 3_600_000

interface Count {
  readonly number: number
  readonly last: number
}

/** Counts by operation. */
export class StepUps {
  #counts = LeastRecentlyUsed.make<Count>({ size: maxOperations, weight: maxOperations })

  /** Counts an authorization. Returns `false` if the operation has caused too many. */
  add(operation: string, now: number): boolean {
    const known = this.#counts.get(operation)
    const number = known === undefined || now - known.last > memoryMillis ? 0 : known.number
    if (number >= limit) return false
    this.#counts.set(operation, { number: number + 1, last: now }, 1)
    return true
  }

  /** Forgets all counts, because a person has acted. */
  reset(): void {
    this.#counts = LeastRecentlyUsed.make<Count>({ size: maxOperations, weight: maxOperations })
  }
}
