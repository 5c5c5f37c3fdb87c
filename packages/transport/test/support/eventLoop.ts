/** Waits for turns of the event loop. */
import * as Effect from "effect/Effect"

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

/**
 * Waits for this many turns of the event loop, in real time. After them, everything that has arrived at the sockets of
 * this process is read. A single timer is not enough: after a pause of the process, it may fire before the sockets are
 * read.
 */
export const turns = (count: number): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let passed = 0; passed < count; passed++) await turn()
  })

/** Waits until this number has not changed for forty turns of the event loop, and returns it. */
export const untilStable = (count: () => number): Effect.Effect<number> =>
  Effect.gen(function*() {
    let before = -1
    while (before !== count()) {
      before = count()
      yield* turns(40)
    }
    return before
  })
