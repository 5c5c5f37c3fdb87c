import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Backlog from "./Backlog.ts"

/**
 * The peer's notifications on their way to their handlers: one at a time, in order. A fiber runs only while there is one
 * to handle. When it is full the oldest makes room: the reader cannot wait for a handler that may itself wait for a
 * response which only the reader can bring.
 */
export interface NotificationQueue {
  /** `false` when older ones had to go. */
  readonly offer: (notification: Handling, bytes: number) => boolean
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
  readonly bounds: Backlog.Bounds
}): NotificationQueue => {
  const waiting = Backlog.make<Handling>(options.bounds)
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
    offer: (notification, bytes) => {
      const complete = waiting.offer(notification, bytes)
      pump()
      return complete
    },
    drained: Effect.suspend(() => {
      if (current === undefined && waiting.size() === 0) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      waiters.push(waiter)
      return Deferred.await(waiter)
    }),
    stop: () => {
      waiting.clear()
      current?.fiber.interruptUnsafe()
    },
    unfinished: () => current?.method
  }
}
