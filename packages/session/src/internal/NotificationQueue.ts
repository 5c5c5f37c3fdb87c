import type * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"

/**
 * The peer's notifications on their way to their handlers: one at a time, in order. A fiber runs only while there is one
 * to handle. When it is full the oldest makes room: the reader cannot wait for a handler that may itself wait for a
 * response which only the reader can bring.
 */
export interface NotificationQueue {
  /** `false` when an older one had to go. */
  readonly offer: (handling: Effect.Effect<void>) => boolean
  readonly stop: () => void
}

export const make = (options: {
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly capacity: number
}): NotificationQueue => {
  const waiting: Array<Effect.Effect<void>> = []
  let current: Fiber.Fiber<void> | undefined
  let pumping = false

  const pump = () => {
    if (pumping) return
    pumping = true
    while (current === undefined) {
      const next = waiting.shift()
      if (next === undefined) break
      const fiber = options.fork(next)
      if (fiber.pollUnsafe() !== undefined) continue
      current = fiber
      fiber.addObserver(() => {
        current = undefined
        pump()
      })
    }
    pumping = false
  }

  return {
    offer: (handling) => {
      const full = waiting.length >= options.capacity
      if (full) waiting.shift()
      waiting.push(handling)
      pump()
      return !full
    },
    stop: () => {
      waiting.length = 0
      current?.interruptUnsafe()
    }
  }
}
