/** The errors with which the requests of one handler's context have failed. */

import * as Effect from "effect/Effect"
import type { RequestError } from "../../RequestError.ts"

export class OwnErrors {
  readonly #errors = new WeakSet<RequestError>()

  /** Returns a request whose error counts as one of this context. */
  of<A, R>(request: Effect.Effect<A, RequestError, R>): Effect.Effect<A, RequestError, R> {
    return Effect.tapError(request, (error) => Effect.sync(() => this.#errors.add(error)))
  }

  has(error: RequestError): boolean {
    return this.#errors.has(error)
  }
}
