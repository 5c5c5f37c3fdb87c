/** The subscriptions of a proxy at its server: one for each resource, as long as a client is subscribed to it. */

import type { McpError } from "@effect-mcp/protocol"
import type { ClientSession } from "@effect-mcp/session"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import * as RemoteErrors from "./RemoteErrors.ts"

interface Subscription {
  readonly uri: string
  /** The subscriptions of clients that use it, or wait for it. */
  users: number
  /** The server may send updates: it was sent the request, whether it has replied or not. */
  isRequested: boolean
  isConfirmed: boolean
  /** Orders the requests, so that an old end cannot overtake a new beginning. */
  readonly lock: Semaphore.Semaphore
}

/** The time that the server has to end a subscription. */
const endTime = "10 seconds"

/** Counts the subscriptions of clients. */
export class RemoteSubscriptions {
  readonly #server: string
  readonly #session: () => ClientSession.ClientSessionShape
  readonly #byUri = new Map<string, Subscription>()

  constructor(server: string, session: () => ClientSession.ClientSessionShape) {
    this.#server = server
    this.#session = session
  }

  /** Returns whether a client is subscribed to the resource through this proxy. */
  has(uri: string): boolean {
    return this.#byUri.get(uri)?.isRequested === true
  }

  /** Subscribes until the scope closes. */
  acquire(uri: string): Effect.Effect<void, McpError.McpError, Scope.Scope> {
    return Effect.flatMap(
      Effect.acquireRelease(
        Effect.sync(() => this.#enter(uri)),
        (subscription) => this.#leave(subscription)
      ),
      (subscription) => subscription.lock.withPermits(1)(this.#begin(subscription))
    )
  }

  /** Ends all subscriptions at the server. */
  readonly end: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.#byUri.values()], (subscription) => this.#unsubscribe(subscription), {
      concurrency: "unbounded",
      discard: true
    })
  )

  /** Subscribes again in a new session. Returns the resources of which the server sends updates. */
  readonly renew: Effect.Effect<ReadonlyArray<string>> = Effect.suspend(() =>
    Effect.map(
      Effect.forEach(
        [...this.#byUri.values()],
        (subscription) =>
          subscription.lock.withPermits(1)(Effect.suspend(() => {
            subscription.isConfirmed = false
            if (subscription.users === 0) return Effect.succeed([])
            return Effect.match(this.#begin(subscription), {
              onSuccess: () => [subscription.uri],
              onFailure: () => []
            })
          })),
        { concurrency: 16 }
      ),
      (each) => each.flat()
    )
  )

  #enter(uri: string): Subscription {
    const existing = this.#byUri.get(uri)
    const subscription = existing ??
      { uri, users: 0, isRequested: false, isConfirmed: false, lock: Semaphore.makeUnsafe(1) }
    subscription.users++
    this.#byUri.set(uri, subscription)
    return subscription
  }

  #begin(subscription: Subscription): Effect.Effect<void, McpError.McpError> {
    return Effect.suspend(() => {
      if (subscription.isConfirmed) return Effect.void
      subscription.isRequested = true
      return this.#session().subscribeResource(subscription.uri).pipe(
        Effect.andThen(Effect.sync(() => {
          subscription.isConfirmed = true
        })),
        Effect.catch((error) => {
          // After any other error, the server may have subscribed.
          if (error.reason._tag === "ErrorResponse") subscription.isRequested = false
          return RemoteErrors.failing(this.#server)(error)
        })
      )
    })
  }

  #leave(subscription: Subscription): Effect.Effect<void> {
    return subscription.lock.withPermits(1)(Effect.suspend(() => {
      if (--subscription.users > 0) return Effect.void
      return Effect.andThen(
        this.#unsubscribe(subscription),
        Effect.sync(() => {
          // A client may have subscribed meanwhile. It waits for the lock.
          if (subscription.users === 0) this.#byUri.delete(subscription.uri)
        })
      )
    }))
  }

  #unsubscribe(subscription: Subscription): Effect.Effect<void> {
    if (!subscription.isRequested) return Effect.void
    subscription.isRequested = false
    subscription.isConfirmed = false
    return Effect.ignore(this.#session().unsubscribeResource(subscription.uri, { timeout: endTime }))
  }
}
