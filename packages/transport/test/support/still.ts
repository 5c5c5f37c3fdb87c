import * as Effect from "effect/Effect"

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5))

/**
 * Lets the event loop turn so many times, by the machine's own clock. What has arrived at the sockets of this process is read then,
 * also if the process did not run for a while: a single timer may fire before what came meanwhile is read.
 */
export const turns = (count: number): Effect.Effect<void> =>
  Effect.promise(async () => {
    for (let passed = 0; passed < count; passed++) await turn()
  })

/** Waits until this number has not changed for forty turns of the event loop. */
export const still = (count: () => number): Effect.Effect<number> =>
  Effect.gen(function*() {
    let before = -1
    while (before !== count()) {
      before = count()
      yield* turns(40)
    }
    return before
  })
