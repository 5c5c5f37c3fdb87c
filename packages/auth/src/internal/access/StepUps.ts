/** The number of times that operations have caused something, such as an authorization (AUT-40). */
import { LeastRecentlyUsed } from "@effect-mcp/session/internal"

/** The most authorizations for one operation, the first sign-in included, without `login` between them. */
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

  /** Counts an occurrence. */
  add(operation: string, now: number): void {
    this.#counts.set(operation, { number: this.#of(operation, now) + 1, last: now }, 1)
  }

  /** Returns whether the operation may cause another one. */
  permits(operation: string, now: number): boolean {
    return this.#of(operation, now) < limit
  }

  #of(operation: string, now: number): number {
    const known = this.#counts.get(operation)
    return known === undefined || now - known.last > memoryMillis ? 0 : known.number
  }

  /** Forgets all counts, because a person has acted. */
  reset(): void {
    this.#counts = LeastRecentlyUsed.make<Count>({ size: maxOperations, weight: maxOperations })
  }
}
