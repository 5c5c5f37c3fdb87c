/** One server of a group: its client, and its lists as the group has them. */

import type { Prompt, Resource, Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as GroupList from "../../GroupList.ts"
import type { ListName, McpClientShape } from "../../McpClient.ts"
import type { ServerStatus } from "../../ServerStatus.ts"
import { BoundedList } from "../lists/BoundedList.ts"
import { listNames } from "../lists/ListChanges.ts"
import type { SupervisedClient } from "../supervision/SupervisedClient.ts"

/** The lists of a server. */
interface MemberLists {
  readonly tools: BoundedList<Tool.Tool>
  readonly prompts: BoundedList<Prompt.Prompt>
  readonly resources: BoundedList<Resource.Resource>
  readonly resourceTemplates: BoundedList<Resource.ResourceTemplate>
}

/** A server of a group. */
export interface Member {
  readonly name: string
  readonly client: McpClientShape
  readonly callTool: SupervisedClient["callTool"]
  readonly ready: SupervisedClient["ready"]
  readonly toolChanges: SupervisedClient["toolChanges"]
  readonly lists: MemberLists
}

/** The parts of a group that a member uses. */
export interface MemberDependencies {
  readonly listWaitMillis: number
  readonly changed: (server: string, list: ListName) => void
  readonly statusChanged: (server: string, status: ServerStatus) => void
}

/** Creates a member, and reports the changes of its client until the scope closes. */
export const make = Effect.fnUntraced(function*(
  name: string,
  { callTool, client, ready, toolChanges }: SupervisedClient,
  { changed, listWaitMillis, statusChanged }: MemberDependencies
): Effect.fn.Return<Member, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const listOf = <A>(list: BoundedListOf<A>, changes: ListName) =>
    new BoundedList<A>({
      status: client.status,
      list,
      withinMillis: listWaitMillis,
      scope,
      late: Effect.logWarning(
        `${changes} of the group lack the server ${JSON.stringify(name)}, which has not answered within ` +
          `${listWaitMillis} ms; set listWaitTimeout to wait longer, or wait until settled`
      ),
      arrived: () => changed(name, changes)
    })
  const lists: MemberLists = {
    tools: listOf(client.tools, "tools"),
    prompts: listOf(client.prompts, "prompts"),
    resources: listOf(client.resources, "resources"),
    resourceTemplates: listOf(client.resourceTemplates, "resources")
  }
  const listChanged = (list: ListName): void => {
    lists[list].changed()
    if (list === "resources") lists.resourceTemplates.changed()
    changed(name, list)
  }
  yield* Effect.forkScoped(
    Stream.runForEach(client.changes, (list) => Effect.sync(() => listChanged(list))),
    { startImmediately: true }
  )
  yield* Effect.forkScoped(
    Stream.runForEach(client.statuses, (status) =>
      Effect.sync(() => {
        if (status._tag === "Ready") { for (const list of Object.values(lists)) list.expect() }
        statusChanged(name, status)
        // The lists of the group lose a server that goes down, and get one that is there again.
        if (status._tag === "Ready" || status._tag === "Down") listNames.forEach(listChanged)
      })),
    { startImmediately: true }
  )
  return { name, client, callTool, ready, toolChanges, lists }
})

type BoundedListOf<A> = ConstructorParameters<typeof BoundedList<A>>[0]["list"]

/** Returns the lists of a member that the group was asked for, and that it returned without those of this server. */
export const omissionsOf = ({ lists }: Member): ReadonlyArray<GroupList.Omission> =>
  (["tools", "prompts", "resources", "resourceTemplates"] as const).flatMap((
    list
  ): ReadonlyArray<GroupList.Omission> => {
    const reason = lists[list].absence
    return reason === undefined ? [] : [{ list, reason }]
  })
