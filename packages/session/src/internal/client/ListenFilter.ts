/** The filter of a stream of notifications: what a client asks for, and the part that the server serves. */

import { Subscription } from "@effect-mcp/protocol"

type ListChange = Subscription.ListChange

/** The kinds of changes, and the URIs, that a stream notifies of. */
export interface ListenFilter {
  readonly changes: ReadonlySet<ListChange>
  readonly uris: ReadonlySet<string>
}

export const empty: ListenFilter = { changes: new Set(), uris: new Set() }

const { listMembers } = Subscription

export const listChanges: ReadonlyArray<ListChange> = [
  "notifications/tools/list_changed",
  "notifications/prompts/list_changed",
  "notifications/resources/list_changed"
]

/** The requests whose results a change makes stale, each with that change. */
export const changeOf: ReadonlyMap<string, ListChange> = new Map([
  ["tools/list", "notifications/tools/list_changed"],
  ["prompts/list", "notifications/prompts/list_changed"],
  ["resources/list", "notifications/resources/list_changed"],
  ["resources/templates/list", "notifications/resources/list_changed"]
])

export const isListChange = (method: string): method is ListChange => listChanges.some((change) => change === method)

export const isEmpty = ({ changes, uris }: ListenFilter): boolean => changes.size === 0 && uris.size === 0

const isSubset = <A>(part: ReadonlySet<A>, whole: ReadonlySet<A>): boolean => {
  for (const item of part) if (!whole.has(item)) return false
  return true
}

/** Returns whether one filter asks for nothing that another does not ask for. */
export const isWithin = (part: ListenFilter, whole: ListenFilter): boolean =>
  isSubset(part.changes, whole.changes) && isSubset(part.uris, whole.uris)

export const isEqual = (one: ListenFilter, other: ListenFilter): boolean => isWithin(one, other) && isWithin(other, one)

const both = <A>(one: ReadonlySet<A>, other: ReadonlySet<A>): ReadonlySet<A> =>
  new Set([...one].filter((item) => other.has(item)))

export const intersection = (one: ListenFilter, other: ListenFilter): ListenFilter => ({
  changes: both(one.changes, other.changes),
  uris: both(one.uris, other.uris)
})

/** Returns the filter in the form of `subscriptions/listen`. */
export const encode = ({ changes, uris }: ListenFilter): Subscription.SubscriptionFilter => ({
  ...Object.fromEntries([...changes].map((change) => [listMembers[change], true])),
  ...(uris.size === 0 ? undefined : { resourceSubscriptions: [...uris] })
})

/** Reads the filter of an acknowledgement. */
export const decode = (filter: Subscription.SubscriptionFilter): ListenFilter => ({
  changes: new Set(listChanges.filter((change) => filter[listMembers[change]] === true)),
  uris: new Set(filter.resourceSubscriptions)
})
