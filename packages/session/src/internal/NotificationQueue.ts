import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/**
 * The peer's notifications on their way to their handlers: one at a time, in order. A fiber runs only while there is one
 * to handle. When it is full the oldest makes room: the reader cannot wait for a handler that may itself wait for a
 * response which only the reader can bring.
 */
export interface NotificationQueue {
  /** `false` when an older one had to go. */
  readonly offer: (notification: Handling) => boolean
  /** Waits until all are handled. */
  readonly drained: Effect.Effect<void>
  /** Starts no more, and interrupts the handler that runs. */
  readonly stop: () => void
  /** The method whose handler still runs. */
  readonly unfinished: () => string | undefined
}

/** What is to be done about one notification. */
export interface Handling {
  readonly method: string
  readonly handle: Effect.Effect<void>
}

export const make = (options: {
  readonly fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly capacity: number
}): NotificationQueue => {
  const waiting: Array<Handling> = []
  const waiters: Array<Deferred.Deferred<void>> = []
  let current: { readonly method: string; readonly fiber: Fiber.Fiber<void> } | undefined
  let pumping = false

  const pump = () => {
    if (pumping) return
    pumping = true
    while (current === undefined) {
      const next = waiting.shift()
      if (next === undefined) break
      const fiber = options.fork(next.handle)
      if (fiber.pollUnsafe() !== undefined) continue
      current = { method: next.method, fiber }
      fiber.addObserver(() => {
        current = undefined
        pump()
      })
    }
    pumping = false
    if (current === undefined) { for (const waiter of waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void) }
  }

  return {
    offer: (notification) => {
      const full = waiting.length >= options.capacity
      if (full) waiting.shift()
      waiting.push(notification)
      pump()
      return !full
    },
    drained: Effect.suspend(() => {
      if (current === undefined && waiting.length === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      waiters.push(waiter)
      return Deferred.await(waiter)
    }),
    stop: () => {
      waiting.length = 0
      current?.fiber.interruptUnsafe()
    },
    unfinished: () => current?.method
  }
}
