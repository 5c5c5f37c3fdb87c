/**
 * The definition of one method: a row of the method table, or a method of an extension.
 *
 * @stability unstable
 */
import type * as Schema from "effect/Schema"
import type { Path } from "./Capabilities.ts"
import { isAtLeast, type Revision } from "./Revision.ts"

/**
 * The two sides of a session.
 *
 * @category models
 */
export type Role = "client" | "server"

/**
 * The sender of a method.
 *
 * @category models
 */
export type Sender = Role | "either"

/**
 * Returns the other side.
 *
 * @example
 * ```ts
 * import { MethodDefinition } from "@effect-mcp/protocol"
 *
 * export const peer = MethodDefinition.peerOf("client") // => "server"
 * ```
 *
 * @category lookups
 */
export const peerOf = (role: Role): Role => role === "client" ? "server" : "client"

/**
 * The members that requests and notifications share.
 *
 * @category models
 */
export interface MethodDefinition<out Name extends string, out From extends Sender, Params> {
  readonly name: Name
  /** The sender. */
  readonly from: From
  /** The schema of the params. Absent params count as `{}`. */
  readonly params: Schema.Codec<Params>
  /** The capability that the method requires: of the receiver for a request, of the sender for a notification. */
  readonly capability: Path | undefined
  /** The first revision with this method. */
  readonly since: Revision
  /** The last revision with this method. `undefined` if the newest one has it. */
  readonly until: Revision | undefined
}

/**
 * The definition of a request.
 *
 * @category models
 */
export interface RequestMethod<out Name extends string, out From extends Sender, Params, Result>
  extends MethodDefinition<Name, From, Params>
{
  readonly kind: "request"
  readonly result: Schema.Codec<Result>
}

/**
 * The definition of a notification.
 *
 * @category models
 */
export interface NotificationMethod<out Name extends string, out From extends Sender, Params>
  extends MethodDefinition<Name, From, Params>
{
  readonly kind: "notification"
}

/**
 * The members with a default: no capability, and all revisions.
 *
 * @category models
 */
export interface Defaults {
  readonly capability?: Path
  readonly since?: Revision
  readonly until?: Revision
}

/**
 * Creates the definition of a request.
 *
 * @example
 * ```ts
 * import { Meta, MethodDefinition } from "@effect-mcp/protocol"
 *
 * export const echo = MethodDefinition.request("acme/echo", {
 *   from: "client",
 *   params: Meta.RequestParams,
 *   result: Meta.EmptyResult
 * })
 * ```
 *
 * @category constructors
 */
export const request = <const Name extends string, From extends Sender, Params, Result>(
  name: Name,
  row: Defaults & {
    readonly from: From
    readonly params: Schema.Codec<Params>
    readonly result: Schema.Codec<Result>
  }
): RequestMethod<Name, From, Params, Result> => ({
  kind: "request",
  name,
  from: row.from,
  params: row.params,
  result: row.result,
  capability: row.capability,
  since: row.since ?? "2024-11-05",
  until: row.until
})

/**
 * Creates the definition of a notification.
 *
 * @example
 * ```ts
 * import { Meta, MethodDefinition } from "@effect-mcp/protocol"
 *
 * export const reindexed = MethodDefinition.notification("acme/reindexed", {
 *   from: "server",
 *   params: Meta.NotificationParams,
 *   since: "2025-06-18"
 * })
 * ```
 *
 * @category constructors
 */
export const notification = <const Name extends string, From extends Sender, Params>(
  name: Name,
  row: Defaults & { readonly from: From; readonly params: Schema.Codec<Params> }
): NotificationMethod<Name, From, Params> => ({
  kind: "notification",
  name,
  from: row.from,
  params: row.params,
  capability: row.capability,
  since: row.since ?? "2024-11-05",
  until: row.until
})

/**
 * Tests whether a revision has a method.
 *
 * @example
 * ```ts
 * import { MethodDefinition, MethodTable } from "@effect-mcp/protocol"
 *
 * const { initialize } = MethodTable.requests
 *
 * export const answers = [
 *   MethodDefinition.isIn(initialize, "2025-11-25"),
 *   MethodDefinition.isIn(initialize, "2026-07-28")
 * ] // => [true, false]
 * ```
 *
 * @category guards
 */
export const isIn = (
  { since, until }: { readonly since: Revision; readonly until: Revision | undefined },
  revision: Revision
): boolean => isAtLeast(revision, since) && (until === undefined || isAtLeast(until, revision))
