/** The changes of a server that its processes share by a bus. */

import type { ChangeBusShape } from "@effect-mcp/session/ChangeBus"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Kind } from "./Entry.ts"

/** The clients of this process. */
export interface LocalClients {
  readonly listsChanged: (kinds: ReadonlySet<Kind>) => void
  readonly resourceUpdated: (uri: string) => void
  readonly everythingUpdated: () => void
}

/** The effects that publish changes to the other processes. */
export interface SharedChanges {
  readonly publishLists: (kinds: ReadonlySet<Kind>) => Effect.Effect<void>
  readonly publishResource: (uri: string) => Effect.Effect<void>
}

/** The kinds of changes: of a list, whose key is a kind of members, and of a resource, whose key is its URI. */
const list = "list"
const resource = "resource"

const kinds: ReadonlyArray<Kind> = ["tool", "resource", "template", "prompt"]

/**
 * Notifies the clients of this process of the changes of the others, until the scope closes. A text of another process
 * reaches no client: it is compared with what the clients are subscribed to.
 */
export const make = (
  bus: ChangeBusShape,
  scope: string,
  clients: LocalClients
): Effect.Effect<SharedChanges, never, Scope.Scope> =>
  Effect.as(
    bus.subscribe({
      scope,
      onChange: ({ key, kind }) => {
        if (kind === resource) clients.resourceUpdated(key)
        if (kind === list) clients.listsChanged(new Set(kinds.filter((known) => known === key)))
      },
      onGap: () => {
        clients.listsChanged(new Set(kinds))
        clients.everythingUpdated()
      }
    }),
    {
      publishLists: (changed) =>
        Effect.forEach(changed, (key) => bus.publish({ scope, kind: list, key }), { discard: true }),
      publishResource: (uri) => bus.publish({ scope, kind: resource, key: uri })
    }
  )
