/**
 * The schemas of the method table.
 */
import { MethodTable, Revision } from "@effect-mcp/protocol"
import type * as Schema from "effect/Schema"

/** The requests of revisions with a handshake. */
export type RequestName = Exclude<keyof MethodTable.Requests, "server/discover" | "subscriptions/listen">

/** The notifications of revisions with a handshake. */
export type NotificationName = Exclude<
  keyof MethodTable.Notifications,
  "notifications/subscriptions/acknowledged"
>

/** The params or the result of a method of a revision with a handshake. */
export interface Part {
  /** The label in test names. */
  readonly label: string
  readonly method: keyof MethodTable.Requests | keyof MethodTable.Notifications
  readonly part: "params" | "result"
  readonly since: Revision.Revision
  readonly codec: Schema.Codec<unknown>
}

const partOf = (
  { name, params, since }: MethodTable.AnyRequest | MethodTable.AnyNotification
): Part => ({ label: `params of ${name}`, method: name, part: "params", since, codec: params })

const isLegacy = ({ since }: { readonly since: Revision.Revision }): boolean => Revision.isLegacy(since)

export const requestParts: ReadonlyArray<Part> = Object.values<MethodTable.AnyRequest>({ ...MethodTable.requests })
  .filter(isLegacy).flatMap(
    (row): ReadonlyArray<Part> => [
      partOf(row),
      { ...partOf(row), label: `result of ${row.name}`, part: "result", codec: row.result }
    ]
  )

export const notificationParts: ReadonlyArray<Part> = Object.values<MethodTable.AnyNotification>({
  ...MethodTable.notifications
}).filter(isLegacy).map(partOf)

export const parts: ReadonlyArray<Part> = [...requestParts, ...notificationParts]
