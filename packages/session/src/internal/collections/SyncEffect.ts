/** An effect that can also run without a fiber. */

import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"

/**
 * An effect that needs no fiber. A caller that knows it can run it synchronously; for every other program it is an
 * effect like any other.
 */
export class SyncEffect<A, E> extends Effectable.Class<A, E> {
  readonly #thunk: () => Exit.Exit<A, E>

  constructor(thunk: () => Exit.Exit<A, E>) {
    super()
    this.#thunk = thunk
  }

  run(): Exit.Exit<A, E> {
    try {
      return this.#thunk()
    } catch (defect) {
      return Exit.die(defect)
    }
  }

  override asEffect(): Exit.Exit<A, E> {
    return this.run()
  }
}
