/** The queue of notifications for their handlers. */

import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as SlidingBuffer from "../collections/SlidingBuffer.ts"

/** A notification, and the program that handles it. */
export interface NotificationHandling {
  readonly method: string
  readonly handle: Effect.Effect<void>
}

/** The session of the queue. */
export interface NotificationQueueDependencies {
  readonly bounds: SlidingBuffer.Bounds
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/**
 * The queue of the peer's notifications, which are handled one at a time, in order. A fiber runs only while a
 * notification is handled. A full queue drops the oldest: the read loop cannot wait for a handler, because the handler
 * may wait for a response that the read loop delivers.
 */
export class NotificationQueue {
  readonly #session: NotificationQueueDependencies
  #waiting: SlidingBuffer.SlidingBuffer<NotificationHandling> | undefined
  #waiters: Array<Deferred.Deferred<void>> | undefined
  #current: { readonly method: string; readonly fiber: Fiber.Fiber<void> } | undefined
  #pumping = false

  constructor(session: NotificationQueueDependencies) {
    this.#session = session
  }

  /** Adds a notification. Returns `false` if older ones were dropped. */
  offer(notification: NotificationHandling, bytes: number): boolean {
    this.#waiting ??= SlidingBuffer.make(this.#session.bounds)
    const complete = this.#waiting.offer(notification, bytes)
    this.#pump()
    return complete
  }

  /** Returns whether no notification waits or is handled. */
  get isIdle(): boolean {
    return this.#current === undefined && (this.#waiting?.size() ?? 0) === 0
  }

  /** Waits until all notifications are handled. */
  get drained(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isIdle) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#waiters ??= []
      this.#waiters.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** Drops the waiting notifications, and interrupts the handler that runs. */
  stop(): void {
    this.#waiting?.clear()
    this.#current?.fiber.interruptUnsafe()
  }

  /** Returns the method whose handler still runs. */
  unfinished(): string | undefined {
    return this.#current?.method
  }

  #pump(): void {
    if (this.#pumping) return
    this.#pumping = true
    while (this.#current === undefined) {
      const next = this.#waiting?.shift()
      if (next === undefined) break
      const fiber = this.#session.fork(next.item.handle)
      if (fiber.pollUnsafe() !== undefined) {
        this.#waiting?.release(next)
        continue
      }
      this.#current = { method: next.item.method, fiber }
      fiber.addObserver(() => {
        this.#waiting?.release(next)
        this.#current = undefined
        this.#pump()
      })
    }
    this.#pumping = false
    if (this.#current !== undefined || this.#waiters === undefined) return
    for (const waiter of this.#waiters.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
  }
}
