/** The stream of notifications of one `subscriptions/listen`, in a revision without sessions. */

import { JsonRpc, type RequestId, Subscription, type TaskExtension } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { ListenerShape } from "../../Listener.ts"
import type { Principal } from "../../Principal.ts"

/** The method that opens a stream. */
export const method = "subscriptions/listen"

const { listMembers } = Subscription

/** The URIs or ids of a filter that a server serves, each once. `requested` are those that the client has asked for. */
const servedNames = (requested: ReadonlySet<string>, offered: Iterable<string> = []): ReadonlySet<string> => {
  const uris = new Set<string>()
  for (const uri of offered) if (requested.has(uri)) uris.add(uri)
  return uris
}

/** The part of a filter that a server serves. */
const served = (
  requested: Subscription.SubscriptionFilter,
  offered: Subscription.SubscriptionFilter,
  uris: ReadonlySet<string>,
  taskIds: ReadonlySet<string>
): Subscription.SubscriptionFilter => {
  const both = (member: (typeof listMembers)[Subscription.ListChange]) =>
    requested[member] === true && offered[member] === true ? { [member]: true } : undefined
  return {
    ...both("toolsListChanged"),
    ...both("promptsListChanged"),
    ...both("resourcesListChanged"),
    ...(uris.size === 0 ? undefined : { resourceSubscriptions: [...uris] }),
    ...(taskIds.size === 0 ? undefined : { taskIds: [...taskIds] })
  }
}

/**
 * One stream. What has changed is kept until it is sent, each thing once. A buffer of messages would have to drop some
 * for a slow client; this one is bounded by the filter.
 */
export class ListenStream<E> implements ListenerShape {
  readonly requested: Subscription.SubscriptionFilter
  /** The sender of the request. */
  readonly owner: Principal | undefined
  readonly #id: RequestId.RequestId
  readonly #send: (message: JsonRpc.Notification) => Effect.Effect<void, E>
  readonly #changes = new Set<Subscription.ListChange>()
  readonly #updated = new Set<string>()
  /** The last states of tasks, by their ids. */
  readonly #tasks = new Map<string, TaskExtension.DetailedTask>()
  readonly #arrived = Latch.makeUnsafe(false)
  #filter: Subscription.SubscriptionFilter
  #uris: ReadonlySet<string>
  #taskIds: ReadonlySet<string>
  #isEnded = false

  constructor(
    id: RequestId.RequestId,
    requested: Subscription.SubscriptionFilter,
    owner: Principal | undefined,
    send: (message: JsonRpc.Notification) => Effect.Effect<void, E>
  ) {
    this.#id = id
    this.owner = owner
    this.requested = requested
    this.#send = send
    this.#filter = requested
    this.#uris = new Set(requested.resourceSubscriptions)
    this.#taskIds = new Set(requested.taskIds)
  }

  readonly toolListChanged = this.#changed("notifications/tools/list_changed")
  readonly promptListChanged = this.#changed("notifications/prompts/list_changed")
  readonly resourceListChanged = this.#changed("notifications/resources/list_changed")

  readonly resourceUpdated = (uri: string): Effect.Effect<void> =>
    Effect.sync(() => {
      if (this.#isEnded || !this.#uris.has(uri)) return
      this.#updated.add(uri)
      Latch.openUnsafe(this.#arrived)
    })

  readonly taskChanged = (task: TaskExtension.DetailedTask): Effect.Effect<void> =>
    Effect.sync(() => {
      if (this.#isEnded || !this.#taskIds.has(task.taskId)) return
      this.#tasks.set(task.taskId, task)
      Latch.openUnsafe(this.#arrived)
    })

  /** Ends the stream gracefully: what has changed until now is sent, and then the result (SUB-07). */
  end(): void {
    this.#isEnded = true
    Latch.openUnsafe(this.#arrived)
  }

  /**
   * Acknowledges the filter that the handler serves, and then sends what changes, until the stream ends (SUB-02). The
   * handler may have stored the listener before: changes since then follow the acknowledgement.
   */
  serve<E1, R>(handling: Effect.Effect<unknown, E1, R>): Effect.Effect<unknown, E | E1, R> {
    return Effect.flatMap(handling, (result) => {
      const offered = offeredIn(result)
      // A filter may have hundreds of thousands of URIs, and each set of them takes long to make.
      this.#uris = servedNames(this.#uris, offered.resourceSubscriptions)
      this.#taskIds = servedNames(this.#taskIds, offered.taskIds)
      this.#filter = served(this.requested, offered, this.#uris, this.#taskIds)
      // The client asked for these, and does not get them.
      for (const uri of this.#updated) if (!this.#uris.has(uri)) this.#updated.delete(uri)
      for (const id of this.#tasks.keys()) if (!this.#taskIds.has(id)) this.#tasks.delete(id)
      for (const change of this.#changes) if (this.#filter[listMembers[change]] !== true) this.#changes.delete(change)
      const acknowledged = this.#notification("notifications/subscriptions/acknowledged", {
        notifications: this.#filter
      })
      return Effect.andThen(
        this.#send(acknowledged),
        Effect.as(this.#deliver(), { _meta: Subscription.meta(this.#id) })
      )
    })
  }

  #changed(name: Subscription.ListChange): Effect.Effect<void> {
    return Effect.sync(() => {
      if (this.#isEnded || this.#filter[listMembers[name]] !== true) return
      this.#changes.add(name)
      Latch.openUnsafe(this.#arrived)
    })
  }

  /** Sends what has changed, whenever something has. */
  #deliver(): Effect.Effect<void, E> {
    return Effect.suspend(() => {
      Latch.closeUnsafe(this.#arrived)
      const changes = [...this.#changes]
      const updated = [...this.#updated]
      const tasks = [...this.#tasks.values()]
      this.#changes.clear()
      this.#updated.clear()
      this.#tasks.clear()
      const isEnded = this.#isEnded
      // Each is made when it is sent. All of them at once, for every stream, would block the process.
      const sent = Effect.andThen(
        Effect.forEach(changes, (name) => this.#send(this.#notification(name, {})), { discard: true }),
        Effect.forEach(
          updated,
          (uri) => this.#send(this.#notification("notifications/resources/updated", { uri })),
          { discard: true }
        )
      ).pipe(
        Effect.andThen(
          Effect.forEach(tasks, (task) => this.#send(this.#notification("notifications/tasks", { ...task })), {
            discard: true
          })
        )
      )
      return Effect.flatMap(
        sent,
        () => isEnded ? Effect.void : Effect.andThen(Latch.await(this.#arrived), this.#deliver())
      )
    })
  }

  /** Returns a notification with the id of the stream (SUB-05). */
  #notification(name: string, params: JsonRpc.Params): JsonRpc.Notification {
    return JsonRpc.notification(name, { ...params, _meta: Subscription.meta(this.#id) })
  }
}

/** Returns the filter in the result of a handler, whose type states it. */
const offeredIn = (result: unknown): Subscription.SubscriptionFilter =>
  typeof result === "object" && result !== null && "notifications" in result && isFilter(result.notifications)
    ? result.notifications
    : {}

const isFilter = (value: unknown): value is Subscription.SubscriptionFilter =>
  typeof value === "object" && value !== null

/** The open streams of a server or of a session. */
export interface Listeners {
  /** `undefined` after they have been ended. */
  listeners: Set<Pick<ListenStream<unknown>, "end" | "owner">> | undefined
  /** Called with the owner of a stream that has been added. Absent if the streams end with their connection. */
  readonly listenerAdded?: ((owner: Principal | undefined) => void) | undefined
  /** Called after a stream has ended. */
  readonly listenerEnded?: (() => void) | undefined
}

/** Ends all streams gracefully, and later ones at once (SUB-07). */
export const endAll = (open: Listeners): void => {
  const { listeners = [] } = open
  open.listeners = undefined
  for (const listener of listeners) listener.end()
}

/** Ends the streams of some owners gracefully. Their clients may open new ones. */
export const endSome = (
  { listeners = new Set() }: Listeners,
  which: (owner: Principal | undefined) => boolean
): void => {
  for (const listener of listeners) if (which(listener.owner)) listener.end()
}

/** Returns the ids of the principals that have streams. */
export const ownersOf = ({ listeners = new Set() }: Listeners): ReadonlyArray<string> =>
  Array.from(listeners).flatMap(({ owner }) => owner === undefined ? [] : [owner.id])

/** Returns the time at which the next identity of an owner expires, in milliseconds since the epoch, or `Infinity`. */
export const nextExpiry = ({ listeners = new Set() }: Listeners, now: number): number => {
  let next = Number.POSITIVE_INFINITY
  for (const { owner } of listeners) {
    const expiresAt = owner?.expiresAt ?? Number.POSITIVE_INFINITY
    if (expiresAt > now && expiresAt < next) next = expiresAt
  }
  return next
}
