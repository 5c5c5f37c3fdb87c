/** The steps of a run, which are stored for another run before the handler receives their results. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type * as StoredTask from "../../StoredTask.ts"
import type { OwnedTasks } from "../runs/OwnedTasks.ts"

/** The task of the run. */
export interface StoredStepsDependencies {
  readonly tasks: Pick<OwnedTasks, "change">
  readonly id: string
  /** Whether this process may change the task. */
  readonly isOurs: (task: StoredTask.StoredTask) => boolean
  /** Waits until the run is interrupted, because another process runs the task, or it has ended. */
  readonly gone: Effect.Effect<never>
}

/** Stores a step. Dies if it does not fit, and waits while the store fails. */
export const persist = (
  { gone, id, isOurs, tasks }: StoredStepsDependencies,
  step: StoredTask.TaskStep
): Effect.Effect<void> => {
  const stored = tasks.change(id, (task) => isOurs(task) ? { steps: [...task.steps, step] } : undefined)
  return Effect.flatMap(
    // The handler may be uninterruptible here, and nothing else ends the wait when the process stops.
    Effect.orDie(Effect.interruptible(Effect.retry(stored, Schedule.spaced("1 second")))),
    ({ _tag }) => {
      switch (_tag) {
        case "Changed":
          return Effect.void
        case "TooLarge":
          return Effect.die(
            new Error(
              `the result of once(${JSON.stringify(step.key)}) does not fit into the bytes that all tasks of a ` +
                "principal may have together: return less, or raise `maxBytes` of the tasks"
            )
          )
        default:
          return gone
      }
    }
  )
}
