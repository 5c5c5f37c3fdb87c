/** The clients that a server has now, and the notifications that they get about its members. */

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Kind } from "./Entry.ts"
import type { LocalClients } from "./SharedChanges.ts"
import { type Client, Subscriptions } from "./Subscriptions.ts"
import { UpdatesElsewhere } from "./UpdatesElsewhere.ts"

/** The time in which changes of the lists are collected into one notification for each list. */
const quietTime = "50 millis"

/** The time that a client has to receive a notification. A slower one misses it, and delays no other client. */
const sendTime = "5 seconds"

const listChanges = (client: Client, kinds: ReadonlySet<Kind>): ReadonlyArray<Effect.Effect<void, unknown>> => [
  ...(kinds.has("tool") ? [client.toolListChanged] : []),
  ...(kinds.has("prompt") ? [client.promptListChanged] : []),
  ...(kinds.has("resource") || kinds.has("template") ? [client.resourceListChanged] : [])
]

/** The connected clients. */
export class ConnectedClients {
  readonly subscriptions: Subscriptions
  readonly #clients = new Set<Client>()
  readonly #scope: Scope.Scope
  /** The updates by other processes. `undefined` without a bus. */
  #elsewhere: UpdatesElsewhere | undefined
  /** The kinds of members whose lists have changed since the last notification. */
  #changed = new Set<Kind>()

  constructor(scope: Scope.Scope, maxSubscriptions: number) {
    this.#scope = scope
    this.subscriptions = new Subscriptions(maxSubscriptions)
  }

  add(client: Client): void {
    this.#clients.add(client)
  }

  remove(client: Client): void {
    this.#clients.delete(client)
    this.subscriptions.end(client)
    this.#elsewhere?.end(client)
  }

  /** Returns the functions that notify the clients of changes by other processes. */
  get fromElsewhere(): Effect.Effect<LocalClients> {
    return Effect.contextWith((context) => {
      const run = Effect.runSyncWith(context)
      const elsewhere = new UpdatesElsewhere({
        subscriptions: this.subscriptions,
        fork: (effect) => void run(Effect.forkIn(effect, this.#scope)),
        send: (client, uris) => this.#send([client], () => uris.map((uri) => client.resourceUpdated(uri)))
      })
      this.#elsewhere = elsewhere
      return Effect.succeed({
        listsChanged: (kinds) => run(this.listsChanged(kinds)),
        resourceUpdated: (uri) => elsewhere.updated(uri),
        everythingUpdated: () => elsewhere.everythingUpdated()
      })
    })
  }

  /** Notifies the clients soon that lists have changed: once for all changes of the quiet time (TOOL-02, PRM-02). */
  listsChanged(kinds: ReadonlySet<Kind>): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.#clients.size === 0) return Effect.void
      const isPending = this.#changed.size > 0
      for (const kind of kinds) this.#changed.add(kind)
      if (isPending || kinds.size === 0) return Effect.void
      return Effect.asVoid(Effect.forkIn(Effect.andThen(Effect.sleep(quietTime), this.#flush()), this.#scope))
    })
  }

  /** Notifies the clients that subscribed to a resource. */
  resourceUpdated(uri: string): Effect.Effect<void> {
    return Effect.suspend(() => this.#send(this.subscriptions.of(uri), (client) => [client.resourceUpdated(uri)]))
  }

  #flush(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const kinds = this.#changed
      this.#changed = new Set()
      return this.#send([...this.#clients], (client) => listChanges(client, kinds))
    })
  }

  #send(
    clients: ReadonlyArray<Client>,
    messages: (client: Client) => ReadonlyArray<Effect.Effect<void, unknown>>
  ): Effect.Effect<void> {
    return Effect.forEach(
      clients,
      (client) =>
        Effect.ignoreCause(
          Effect.timeoutOption(
            Effect.forEach(messages(client), (message) => Effect.ignore(message), { discard: true }),
            sendTime
          )
        ),
      { concurrency: "unbounded", discard: true }
    )
  }
}
