/** The notifications that the program of a client wants from its server, and the subscriptions that wait for them. */

import type { Profile, Subscription } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import type * as Exit from "effect/Exit"
import type * as RequestError from "../../RequestError.ts"
import * as ListenFilter from "./ListenFilter.ts"

/** A subscription that waits until the server serves it. */
export type Waiter = Deferred.Deferred<void, RequestError.RequestError>

/** The followers and subscriptions of the program, whether a stream serves them or not. */
export class WantedNotifications {
  readonly #server: Profile.ServerProfile
  /** The number of followers of each kind of change. */
  readonly #followers = new Map<Subscription.ListChange, number>()
  /** The resources that the program has subscribed to, including those whose subscription still waits. */
  readonly #uris = new Set<string>()
  /** The subscriptions that wait, by their resources. */
  readonly #waiting = new Map<string, Set<Waiter>>()
  /** The lists that were requested after a loss, before their changes were served. They may have changed in between. */
  readonly #listed = new Set<Subscription.ListChange>()

  constructor(server: Profile.ServerProfile) {
    this.#server = server
  }

  /** The filter of a stream: what the program wants and the server offers. */
  get filter(): ListenFilter.ListenFilter {
    const { prompts, resources, tools } = this.#server.capabilities
    const offers: { readonly [Change in Subscription.ListChange]: boolean | undefined } = {
      "notifications/tools/list_changed": tools?.listChanged,
      "notifications/prompts/list_changed": prompts?.listChanged,
      "notifications/resources/list_changed": resources?.listChanged
    }
    return {
      changes: new Set(
        ListenFilter.listChanges.filter((change) => this.#followers.has(change) && offers[change] === true)
      ),
      uris: new Set(this.#uris)
    }
  }

  // ===================================================================================================================
  // Changes of lists
  // ===================================================================================================================

  /** Adds a follower of changes of a list. */
  follow(change: Subscription.ListChange): void {
    this.#followers.set(change, (this.#followers.get(change) ?? 0) + 1)
  }

  /** Removes a follower of changes of a list. */
  unfollow(change: Subscription.ListChange): void {
    const left = (this.#followers.get(change) ?? 0) - 1
    if (left > 0) this.#followers.set(change, left)
    else this.#followers.delete(change)
  }

  /** Returns whether the program follows changes of this list. */
  isFollowed(change: Subscription.ListChange): boolean {
    return this.#followers.has(change)
  }

  /** Stores that a list is requested although the server does not serve its changes. */
  list(change: Subscription.ListChange): void {
    this.#listed.add(change)
  }

  /** Returns whether a list was requested before the server served its changes, and forgets it. */
  wasListed(change: Subscription.ListChange): boolean {
    return this.#listed.delete(change)
  }

  // ===================================================================================================================
  // Resources
  // ===================================================================================================================

  /** Adds a resource that the program subscribes to. */
  add(uri: string): void {
    this.#uris.add(uri)
  }

  /** Removes a resource. Its waiting subscriptions are not settled. */
  remove(uri: string): void {
    this.#uris.delete(uri)
  }

  /** Returns whether the program has subscribed to a resource. */
  has(uri: string): boolean {
    return this.#uris.has(uri)
  }

  /** Returns a new subscription that waits for a resource. */
  wait(uri: string): Waiter {
    const waiter: Waiter = Deferred.makeUnsafe()
    this.#waiting.set(uri, (this.#waiting.get(uri) ?? new Set()).add(waiter))
    return waiter
  }

  /** Removes a subscription that waits no longer. Returns whether it was the last one of its resource. */
  leave(uri: string, waiter: Waiter): boolean {
    const waiters = this.#waiting.get(uri)
    waiters?.delete(waiter)
    if (waiters?.size === 0) this.#waiting.delete(uri)
    return !this.#waiting.has(uri)
  }

  /** Completes the waiting subscriptions of a resource. Each then leaves by itself. */
  settle(uri: string, exit: Exit.Exit<void, RequestError.RequestError>): void {
    for (const waiter of this.#waiting.get(uri) ?? []) Deferred.doneUnsafe(waiter, exit)
  }

  /** Completes all waiting subscriptions. */
  settleAll(exit: Exit.Exit<void, RequestError.RequestError>): void {
    for (const uri of this.#waiting.keys()) this.settle(uri, exit)
  }
}
