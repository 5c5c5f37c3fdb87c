/**
 * The method table, one entry for each schema in it.
 */
import { Methods, type Revision } from "@effect-mcp/protocol"
import type * as Schema from "effect/Schema"

/** The params or the result of a method. */
export interface Part {
  /** What it is called in the name of a test. */
  readonly label: string
  readonly method: keyof Methods.Requests | keyof Methods.Notifications
  readonly part: "params" | "result"
  readonly since: Revision.Revision
  readonly codec: Schema.Codec<unknown>
}

const partOf = (
  { name, params, since }: Methods.AnyRequest | Methods.AnyNotification
): Part => ({ label: `params of ${name}`, method: name, part: "params", since, codec: params })

export const requestParts: ReadonlyArray<Part> = Object.values<Methods.AnyRequest>({ ...Methods.requests }).flatMap(
  (row): ReadonlyArray<Part> => [
    partOf(row),
    { ...partOf(row), label: `result of ${row.name}`, part: "result", codec: row.result }
  ]
)

export const notificationParts: ReadonlyArray<Part> = Object.values<Methods.AnyNotification>({
  ...Methods.notifications
}).map(partOf)

export const parts: ReadonlyArray<Part> = [...requestParts, ...notificationParts]
