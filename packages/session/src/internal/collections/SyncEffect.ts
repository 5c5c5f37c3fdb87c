/** An effect that can also run without a fiber. */

import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"

/**
 * An effect that needs no fiber. Internal code calls `run` to run it synchronously. For other code it is an ordinary
 * effect.
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
