/** The status message of a task, which its progress sets. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { OwnedTasks } from "../runs/OwnedTasks.ts"
import type { TaskRuns } from "../runs/TaskRuns.ts"

/** The least time between two writes, in milliseconds. A handler may report progress thousands of times a second. */
const pauseMillis = 1_000

/** The most characters of a status message. */
const maxCharacters = 1_024

/** The status message of a task that runs in this process. */
export class StatusMessage {
  readonly #tasks: OwnedTasks
  readonly #id: string
  readonly #scope: Scope.Scope
  readonly #runs: Pick<TaskRuns, "owner">
  #latest: string | undefined
  #stored: string | undefined
  #isWriting = false

  constructor(tasks: OwnedTasks, id: string, scope: Scope.Scope, runs: Pick<TaskRuns, "owner">) {
    this.#runs = runs
    this.#tasks = tasks
    this.#id = id
    this.#scope = scope
  }

  /** Sets the message. It is stored at once, or after the pause since the last write; then only the latest one is. */
  set(text: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.#latest = Excerpt.of(text, maxCharacters)
      if (this.#isWriting) return Effect.void
      this.#isWriting = true
      return Effect.asVoid(Effect.forkIn(this.#write(), this.#scope, { startImmediately: true }))
    })
  }

  #write(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const message = this.#latest
      this.#latest = undefined
      if (message === undefined) {
        this.#isWriting = false
        return Effect.void
      }
      const stored = message === this.#stored
        ? Effect.void
        : Effect.tap(this.#tasks.setMessage(this.#id, this.#runs.owner, message), () =>
          Effect.sync(() => {
            this.#stored = message
          }))
      return Effect.ignoreCause(stored).pipe(
        Effect.andThen(Effect.sleep(pauseMillis)),
        Effect.andThen(this.#write())
      )
    })
  }
}
