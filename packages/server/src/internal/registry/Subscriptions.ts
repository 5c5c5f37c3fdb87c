/** The subscriptions of clients to resources: who is notified of an update (RES-03, RES-04). */

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

/** A client that receives notifications: a client, or a stream of notifications of a client without one. */
export interface Client {
  readonly toolListChanged: Effect.Effect<void, unknown>
  readonly promptListChanged: Effect.Effect<void, unknown>
  readonly resourceListChanged: Effect.Effect<void, unknown>
  readonly resourceUpdated: (uri: string) => Effect.Effect<void, unknown>
}

/** The most characters that the URIs of one client have together. Clients choose them, for example by templates. */
const maxCharacters = 65_536

/** The subscriptions of one client, by URI. The scope of each closes when it ends. */
interface Subscribed {
  readonly scopes: Map<string, Scope.Closeable>
  characters: number
}

/** Subscriptions in both directions, so that neither an update nor the end of a client searches all of them. */
export class Subscriptions {
  readonly #byUri = new Map<string, Set<Client>>()
  readonly #byClient = new Map<Client, Subscribed>()
  /** The clients that have ended. A request that they have sent may still be served. */
  readonly #ended = new WeakSet<Client>()
  /** The number of resources that one client can subscribe to. */
  readonly limit: number

  constructor(limit: number) {
    this.limit = limit
  }

  /**
   * Subscribes a client. Returns the reason if the client may have no further subscription. If `prepare` fails, the
   * client is not subscribed. Updates that arrive while it runs are sent, so that none is lost.
   */
  add<E>(
    client: Client,
    uri: string,
    prepare: Effect.Effect<void, E, Scope.Scope>
  ): Effect.Effect<string | undefined, E> {
    return Effect.suspend(() => {
      if (this.#ended.has(client)) return Effect.succeed(undefined)
      const subscribed = this.#byClient.get(client) ?? { scopes: new Map<string, Scope.Closeable>(), characters: 0 }
      const { scopes } = subscribed
      if (scopes.has(uri)) return Effect.succeed(undefined)
      const full = this.#fullness(subscribed, uri)
      if (full !== undefined) return Effect.succeed(full)
      const scope = Scope.makeUnsafe()
      scopes.set(uri, scope)
      subscribed.characters += uri.length
      this.#byClient.set(client, subscribed)
      this.#byUri.set(uri, (this.#byUri.get(uri) ?? new Set()).add(client))
      return Effect.as(
        Effect.onExit(
          Scope.provide(prepare, scope),
          (exit) => Exit.isSuccess(exit) || scopes.get(uri) !== scope ? Effect.void : this.remove(client, uri)
        ),
        undefined
      )
    })
  }

  remove(client: Client, uri: string): Effect.Effect<void> {
    return Effect.suspend(() => {
      const subscribed = this.#byClient.get(client)
      const scope = subscribed?.scopes.get(uri)
      if (subscribed === undefined || scope === undefined) return Effect.void
      subscribed.scopes.delete(uri)
      subscribed.characters -= uri.length
      if (subscribed.scopes.size === 0) this.#byClient.delete(client)
      this.#forget(client, uri)
      return Scope.close(scope, Exit.void)
    })
  }

  /** Removes all subscriptions of a client that has ended. */
  end(client: Client): void {
    this.#ended.add(client)
    const subscribed = this.#byClient.get(client)
    this.#byClient.delete(client)
    for (const [uri, scope] of subscribed?.scopes ?? []) {
      this.#forget(client, uri)
      Effect.runFork(Scope.close(scope, Exit.void))
    }
    // A subscription that is being prepared finds that it has ended.
    subscribed?.scopes.clear()
  }

  /** Returns the clients that are subscribed to a resource. */
  of(uri: string): ReadonlyArray<Client> {
    return [...this.#byUri.get(uri) ?? []]
  }

  /** Returns the clients that are subscribed to some resource. */
  clients(): Iterable<Client> {
    return this.#byClient.keys()
  }

  /** Returns the resources that a client is subscribed to. */
  urisOf(client: Client): Iterable<string> {
    return this.#byClient.get(client)?.scopes.keys() ?? []
  }

  /** Returns whether a client is subscribed to a resource. */
  has(client: Client, uri: string): boolean {
    return this.#byClient.get(client)?.scopes.has(uri) === true
  }

  /** Returns why a client may not subscribe to a further resource. */
  #fullness({ characters, scopes }: Subscribed, uri: string): string | undefined {
    if (scopes.size >= this.limit) {
      return `the session has ${this.limit} subscriptions already; unsubscribe from some first`
    }
    if (characters + uri.length > maxCharacters) {
      return `the URIs of the session's subscriptions may have ${maxCharacters} characters together; ` +
        "unsubscribe from some first"
    }
    return undefined
  }

  #forget(client: Client, uri: string): void {
    const clients = this.#byUri.get(uri)
    clients?.delete(client)
    if (clients?.size === 0) this.#byUri.delete(uri)
  }
}
