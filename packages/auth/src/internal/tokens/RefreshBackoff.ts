/**
 * The time between attempts to refresh tokens that fail.
 */
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import type { OAuthError } from "../../OAuthError.ts"

/** The delay after the first failure, in milliseconds. It doubles with each. */
const first = 1000

const longest = 60_000

/** The longest delay that a server can demand. */
const longestDemand = 300_000

const demandOf = ({ reason }: OAuthError): number =>
  reason._tag === "Unavailable" ? Math.min(reason.retryAfterMillis ?? 0, longestDemand) : 0

/** The failures since the last success. */
export class RefreshBackoff {
  #count = 0
  #last: { readonly error: OAuthError; readonly retryAt: number } | undefined = undefined

  /** Returns the last error, if it is too early for another attempt. */
  errorAt(now: number): OAuthError | undefined {
    // After the clock was set back, the next attempt is not years away.
    const last = this.#last
    return last !== undefined && now < last.retryAt && last.retryAt - now <= longestDemand ? last.error : undefined
  }

  /** Remembers a failure. Returns the milliseconds until the next attempt: a random part, so that processes differ. */
  failed(error: OAuthError, now: number): Effect.Effect<number> {
    return Effect.map(Random.next, (random) => {
      const delay = Math.min(longest, first * 2 ** this.#count++) * (0.5 + random / 2)
      const retryIn = Math.round(Math.max(delay, demandOf(error)))
      this.#last = { error, retryAt: now + retryIn }
      return retryIn
    })
  }

  reset(): void {
    this.#count = 0
    this.#last = undefined
  }
}
