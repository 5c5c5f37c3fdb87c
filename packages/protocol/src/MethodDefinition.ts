/**
 * What is known of one MCP method: the kind of row the method table is made of.
 *
 * @since 0.1.0
 */
import type * as Schema from "effect/Schema"
import type { Path } from "./Capabilities.ts"
import type { Revision } from "./Revision.ts"

/**
 * The two sides of a session.
 *
 * @category models
 * @since 0.1.0
 */
export type Role = "client" | "server"

/**
 * Who may send a method.
 *
 * @category models
 * @since 0.1.0
 */
export type Sender = Role | "either"

/**
 * The other side.
 *
 * @example
 * ```ts
 * import { MethodDefinition } from "@effect-mcp/protocol"
 *
 * export const asked = MethodDefinition.peerOf("client") // => "server"
 * ```
 *
 * @category lookups
 * @since 0.1.0
 */
export const peerOf = (role: Role): Role => role === "client" ? "server" : "client"

/**
 * What every row says, whatever its kind.
 *
 * @category models
 * @since 0.1.0
 */
export interface MethodDefinition<out Name extends string, out From extends Sender, Params> {
  readonly name: Name
  /** Who sends it. */
  readonly from: From
  /** The schema of its params; absent params count as `{}`. */
  readonly params: Schema.Codec<Params>
  /** The capability without which it may not be sent: the receiver's for a request, the sender's for a notification. */
  readonly capability: Path | undefined
  /** The first revision that has it. */
  readonly since: Revision
}

/**
 * A method that is answered.
 *
 * @category models
 * @since 0.1.0
 */
export interface RequestMethod<out Name extends string, out From extends Sender, Params, Result>
  extends MethodDefinition<Name, From, Params>
{
  readonly kind: "request"
  readonly result: Schema.Codec<Result>
}

/**
 * A method that is not.
 *
 * @category models
 * @since 0.1.0
 */
export interface NotificationMethod<out Name extends string, out From extends Sender, Params>
  extends MethodDefinition<Name, From, Params>
{
  readonly kind: "notification"
}

/**
 * What may be left unsaid in a row: no capability is needed, and the oldest revision has it.
 *
 * @category models
 * @since 0.1.0
 */
export interface Defaults {
  readonly capability?: Path
  readonly since?: Revision
}

/**
 * A row for a method that is answered.
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
 * @since 0.1.0
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
  since: row.since ?? "2024-11-05"
})

/**
 * A row for a method that is not answered.
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
 * @since 0.1.0
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
  since: row.since ?? "2024-11-05"
})
