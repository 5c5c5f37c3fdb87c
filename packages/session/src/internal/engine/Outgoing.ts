/** What goes out to a peer: whether it may, and in the words of the peer's revision. */

import { Capabilities, JsonRpc, type Profile, Revision, RevisionProjection } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { RequestErrorReason } from "../../RequestError.ts"
import * as SemanticChecks from "./SemanticChecks.ts"

/** What either side has declared. */
export type Declared = Capabilities.ClientCapabilities | Capabilities.ServerCapabilities

/** What of a row says whether its message may go out. */
export interface Gate {
  readonly name: string
  readonly since: Revision.Revision
  readonly capability: Capabilities.Path | undefined
}

/** What stands against sending this to this peer, if anything does. Before anything is known of the peer, nothing does. */
export const obstacle = (
  row: Gate,
  peer: Profile.Profile | undefined,
  capabilities: (peer: Profile.Profile) => Declared
): RequestErrorReason | undefined => {
  if (peer === undefined) return undefined
  if (!Revision.isAtLeast(peer.revision, row.since)) {
    return { _tag: "NotInRevision", revision: peer.revision, since: row.since }
  }
  const { capability } = row
  return capability === undefined || !Capabilities.isKnownTo(capability, peer.revision) ||
      Capabilities.declares(capabilities(peer), capability)
    ? undefined
    : { _tag: "MissingCapability", capability }
}

/** What is sent is what the params were when they were given. */
export const copy = (params: object): JsonRpc.Params => ({ ...params })

/** The params in the form of this peer's revision. */
export const fitting = (
  method: string,
  params: JsonRpc.Params,
  peer: Profile.Profile | undefined,
  projection: RevisionProjection.Projection | undefined
): JsonRpc.Params =>
  peer === undefined ? params : RevisionProjection.downgrade(method, "params", peer.revision, params, projection)

const isEmpty = (params: JsonRpc.Params): boolean => {
  for (const _ in params) return false
  return true
}

/** The params as they go out: with the metadata of this call, and left out where nothing is in them. */
export const params = (
  params: JsonRpc.Params,
  meta: object | undefined,
  progressToken: number | string | undefined
): JsonRpc.Params | undefined => {
  if (meta === undefined && progressToken === undefined && !("_meta" in params)) {
    return isEmpty(params) ? undefined : params
  }
  const { _meta: own, ...given }: JsonRpc.Params = { ...params }
  // A token that came from elsewhere, as in what a proxy passes on, could be that of another request of ours (PRG-02).
  const { progressToken: _, ...rest }: JsonRpc.Params = { ...(typeof own === "object" ? own : undefined), ...meta }
  if (progressToken !== undefined) return { ...given, _meta: { ...rest, progressToken } }
  if (own !== undefined || meta !== undefined) return { ...given, _meta: rest }
  return Object.keys(given).length === 0 ? undefined : given
}

/** The capabilities that are declared by a flag; the others are objects. */
const flags: ReadonlySet<string> = new Set(["listChanged", "subscribe"])

/** The option of a session that declares a capability. */
const optionFor = (capability: string): string => {
  const [whole = capability, part] = capability.split(".")
  const value = part === undefined ? "{}" : `{ ${part}: ${flags.has(part) ? "true" : "{}"} }`
  return `capabilities: { ${whole}: ${value} }`
}

/** What a notification lacks has to be declared by the side that sends it. */
const undeclared = (reason: RequestErrorReason): RequestErrorReason =>
  reason._tag === "MissingCapability"
    ? { _tag: "UndeclaredCapability", capability: reason.capability, option: optionFor(reason.capability) }
    : reason

/** A notification as it goes out, or the reason why this side, with what it has declared, cannot send it. */
export const notification = (
  row: Gate,
  given: object,
  peer: Profile.Profile | undefined,
  own: { readonly declared: Declared; readonly projection: RevisionProjection.Projection | undefined }
): Result.Result<JsonRpc.Notification, RequestErrorReason> => {
  const blocked = obstacle(row, peer, () => own.declared)
  if (blocked !== undefined) return Result.fail(undeclared(blocked))
  const problem = SemanticChecks.problemOfNotification(row.name, given)
  if (problem !== undefined) return Result.fail({ _tag: "InvalidParams", problem })
  const fit = fitting(row.name, copy(given), peer, own.projection)
  return Result.succeed(JsonRpc.notification(row.name, params(fit, undefined, undefined)))
}
