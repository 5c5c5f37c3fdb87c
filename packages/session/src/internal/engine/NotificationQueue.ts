import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as SlidingBuffer from "../collections/SlidingBuffer.ts"

/** What is to be done about one notification. */
export interface Handling {
  readonly method: string
  readonly handle: Effect.Effect<void>
}

/** What the queue needs of its session. */
export interface Handler {
  readonly bounds: SlidingBuffer.Bounds
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/**
 * The peer's notifications on their way to their handlers: one at a time, in order. A fiber runs only while there is one
 * to handle. When it is full the oldest makes room: the reader cannot wait for a handler that may itself wait for a
 * response which only the reader can bring.
 */
export class NotificationQueue {
  readonly #session: Handler
  #waiting: SlidingBuffer.SlidingBuffer<Handling> | undefined
  #waiters: Array<Deferred.Deferred<void>> | undefined
  #current: { readonly method: string; readonly fiber: Fiber.Fiber<void> } | undefined
  #pumping = false

  constructor(session: Handler) {
    this.#session = session
  }

  /** `false` when older ones had to go. */
  offer(notification: Handling, bytes: number): boolean {
    this.#waiting ??= SlidingBuffer.make(this.#session.bounds)
    const complete = this.#waiting.offer(notification, bytes)
    this.#pump()
    return complete
  }

  /** Does nothing run, nor wait? */
  get isIdle(): boolean {
    return this.#current === undefined && (this.#waiting?.size() ?? 0) === 0
  }

  /** Waits until all are handled. */
  get drained(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isIdle) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#waiters ??= []
      this.#waiters.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** Starts no more, and interrupts the handler that runs. */
  stop(): void {
    this.#waiting?.clear()
    this.#current?.fiber.interruptUnsafe()
  }

  /** The method whose handler still runs. */
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
