/** The updates of resources by other processes, which wait for the clients that subscribed to them. */

import * as Effect from "effect/Effect"
import type { Client, Subscriptions } from "./Subscriptions.ts"

/** The clients that are notified. */
export interface UpdatesElsewhereDependencies {
  readonly subscriptions: Subscriptions
  /** Starts a fiber that ends with the server. */
  readonly fork: (effect: Effect.Effect<void>) => void
  /** Sends a client updates of resources, as those of this process. */
  readonly send: (client: Client, uris: ReadonlyArray<string>) => Effect.Effect<void>
}

/**
 * The time in which updates are collected. Each process reports a change that all of them see, such as that of a file.
 */
const quietTime = "20 millis"

/**
 * The resources that wait, by client, each once. One fiber sends to a client, as long as something waits for it, so
 * that a slow client takes no more memory than its subscriptions, and delays no other.
 */
export class UpdatesElsewhere {
  readonly #server: UpdatesElsewhereDependencies
  readonly #waiting = new Map<Client, Set<string>>()

  constructor(server: UpdatesElsewhereDependencies) {
    this.#server = server
  }

  /** Notifies the clients that subscribed to a resource. */
  updated(uri: string): void {
    for (const client of this.#server.subscriptions.of(uri)) this.#add(client, [uri])
  }

  /** Notifies all clients of everything that they subscribed to. */
  everythingUpdated(): void {
    for (const client of this.#server.subscriptions.clients()) {
      this.#add(client, this.#server.subscriptions.urisOf(client))
    }
  }

  /** Discards what waits for a client that has ended. */
  end(client: Client): void {
    this.#waiting.delete(client)
  }

  #add(client: Client, uris: Iterable<string>): void {
    const known = this.#waiting.get(client)
    const waiting = known ?? new Set()
    // The client may have ended its subscriptions to some meanwhile, and subscribed to others.
    if (waiting.size >= this.#server.subscriptions.limit) this.#prune(client, waiting)
    for (const uri of uris) waiting.add(uri)
    if (known !== undefined) return
    this.#waiting.set(client, waiting)
    this.#server.fork(Effect.andThen(Effect.sleep(quietTime), this.#deliver(client)))
  }

  #prune(client: Client, waiting: Set<string>): void {
    for (const uri of waiting) if (!this.#server.subscriptions.has(client, uri)) waiting.delete(uri)
  }

  #deliver(client: Client): Effect.Effect<void> {
    return Effect.suspend(() => {
      const waiting = this.#waiting.get(client)
      if (waiting === undefined) return Effect.void
      this.#prune(client, waiting)
      if (waiting.size === 0) {
        this.#waiting.delete(client)
        return Effect.void
      }
      const uris = [...waiting]
      waiting.clear()
      return Effect.andThen(this.#server.send(client, uris), Effect.suspend(() => this.#deliver(client)))
    })
  }
}
