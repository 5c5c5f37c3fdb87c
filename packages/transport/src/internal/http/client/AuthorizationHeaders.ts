import * as Effect from "effect/Effect"
import type { Redacted } from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import { plainHeaders } from "./plainHeaders.ts"

type HeaderValues = Readonly<Record<string, string | Redacted<string>>>

/** Asks the program for headers that prove who asks, with what the server says about how. */
export type Authorize = (challenge: string | undefined) => Effect.Effect<HeaderValues | undefined>

/** What proves to one server who asks. However many calls learn at the same time that it is wanted, the program is asked once. */
export class AuthorizationHeaders {
  readonly #authorize: Authorize | undefined
  readonly #authorizing = Semaphore.makeUnsafe(1)
  #headers: Readonly<Record<string, string>> = {}
  #count = 0

  constructor(authorize: Authorize | undefined) {
    this.#authorize = authorize
  }

  /** What is sent to prove it. */
  get headers(): Readonly<Record<string, string>> {
    return this.#headers
  }

  /** How many there have been, so that a call can say which one it was made with. */
  get count(): number {
    return this.#count
  }

  /** Gets a new proof, unless there is a newer one than the call was made with. Whether there is one. */
  renew(challenge: string | undefined, since: number): Effect.Effect<boolean> {
    const authorize = this.#authorize
    if (authorize === undefined) return Effect.succeed(false)
    return Effect.suspend((): Effect.Effect<boolean> => {
      if (this.#count !== since) return Effect.succeed(true)
      return Effect.map(authorize(challenge), (values) => {
        if (values === undefined) return false
        this.#headers = plainHeaders(values)
        this.#count++
        return true
      })
    }).pipe(this.#authorizing.withPermits(1))
  }
}
