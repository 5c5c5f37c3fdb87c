/** The checks of outgoing messages, and their form for the peer's revision. */

import {
  Capabilities,
  type CloseReason,
  type Handshake,
  JsonRpc,
  type Meta,
  type Profile,
  RequestMetadata,
  Revision,
  RevisionProjection,
  Task
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type { RequestErrorReason } from "../../RequestError.ts"
import * as SemanticChecks from "./SemanticChecks.ts"

/** The capabilities that either side declares. */
export type Declared = Capabilities.ClientCapabilities | Capabilities.ServerCapabilities

/** The handshake of a session, or of a frame without one. */
export interface Handshaking {
  state(): { readonly _tag: string } | { readonly _tag: string; readonly reason: CloseReason.CloseReason }
  /** Applies an event to the handshake machine, and moves to the next state. */
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<unknown, Tag>
}

export const sendPing: Handshake.EventOf<"SendPing"> = { _tag: "SendPing" }
export const sendRequest: Handshake.EventOf<"SendRequest"> = { _tag: "SendRequest" }
const sendNotification: Handshake.EventOf<"SendNotification"> = { _tag: "SendNotification" }

/** The reason why a message of a session cannot be sent to a peer without a handshake. */
export const notInModernRevision: RequestErrorReason = {
  _tag: "NotInRevision",
  revision: Revision.latest,
  since: Revision.legacy[0],
  until: Revision.latestLegacy
}

/** Returns the reason why a message cannot be sent in this state. */
export const notAllowed = (state: ReturnType<Handshaking["state"]>): RequestErrorReason => {
  if ("reason" in state) return { _tag: "Closed", reason: state.reason, isSent: false }
  if (state._tag === "Modern") return notInModernRevision
  return state._tag === "Stateless"
    ? { _tag: "StatelessModeNotSupported" }
    : { _tag: "WrongState", state: state._tag }
}

/** Returns whether a message cannot be sent because of a mistake of the program. */
export const isMistake = ({ _tag }: RequestErrorReason): boolean =>
  _tag === "UndeclaredCapability" || _tag === "InvalidParams"

/** The action of the handshake machine for a request of this side, or the reason why it cannot be sent. */
export type RequestAdmission = "Send" | "Hold" | RequestErrorReason

/** Applies the event of a request to the handshake machine. */
export const admitRequest = (
  session: Handshaking,
  event: Handshake.EventOf<"SendRequest" | "SendPing">
): RequestAdmission => {
  const state = session.state()
  const outcome = session.apply(event)
  return outcome._tag === "LocalViolation" ? notAllowed(state) : outcome.action
}

/** Applies the event of a notification to the handshake machine. */
export const admitNotification = (session: Handshaking): "Send" | RequestErrorReason => {
  const state = session.state()
  const outcome = session.apply(sendNotification)
  return outcome._tag === "LocalViolation" ? notAllowed(state) : outcome.action
}

/** Returns whether an admitted request waits until the peer is ready. */
export const isHeld = (action: Exclude<RequestAdmission, object>): boolean => {
  switch (action) {
    case "Send":
      return false
    case "Hold":
      return true
  }
}

/** The requirements of a method: its revision and its capability. */
export interface MethodRequirements {
  readonly name: string
  readonly since: Revision.Revision
  readonly until: Revision.Revision | undefined
  readonly capability: Capabilities.Path | undefined
}

/** Returns why a message of this method cannot be sent to this peer. Before the handshake no peer is known. */
export const validateCapability = (
  row: MethodRequirements,
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

/** Returns whether the result of a request is the task that it becomes, which no notification cancels (CAN-03). */
export const returnsTask = (row: { readonly result: unknown }): boolean => Object.is(row.result, Task.CreateTaskResult)

/**
 * Returns why a message of this method cannot be sent to this peer, also if its revision no longer has the method. A
 * question of a revision without a handshake is no message, so its method may be one of older revisions.
 */
export const validateMessage = (
  row: MethodRequirements,
  peer: Profile.Profile | undefined,
  capabilities: (peer: Profile.Profile) => Declared
): RequestErrorReason | undefined =>
  peer !== undefined && row.until !== undefined && !Revision.isAtLeast(row.until, peer.revision)
    ? { _tag: "NotInRevision", revision: peer.revision, since: row.since, until: row.until }
    : validateCapability(row, peer, capabilities)

/**
 * Returns why a request cannot be sent to this peer. Checks of the method run first, because their errors are more
 * precise.
 */
export const validateRequest = (
  row: MethodRequirements,
  params: object,
  peer: Profile.Profile | undefined
): RequestErrorReason | undefined =>
  SemanticChecks.checkOf(row.name)?.(params, peer) ?? validateMessage(row, peer, ({ capabilities }) => capabilities)

/** Copies params, so that later changes to the original are not sent. */
export const copy = (params: object): JsonRpc.Params => ({ ...params })

/** Returns the params in the form of the peer's revision. */
export const project = (
  method: string,
  params: JsonRpc.Params,
  peer: Profile.Profile | undefined,
  projection: RevisionProjection.Projection | undefined
): JsonRpc.Params =>
  peer === undefined ? params : RevisionProjection.project(method, "params", peer.revision, params, projection)

const isEmpty = (params: JsonRpc.Params): boolean => {
  for (const _ in params) return false
  return true
}

const { clientCapabilities, clientInfo, logLevel, protocolVersion } = RequestMetadata.keys

/** The keys of the metadata that a session alone writes. */
const reserved: ReadonlyArray<string> = [clientCapabilities, clientInfo, logLevel, protocolVersion]

/**
 * Returns `_meta` without those keys. A proxy may forward the metadata of its own client, which in a session with a
 * handshake would turn the request into one without a handshake.
 */
const withoutReserved = (meta: JsonRpc.Params): JsonRpc.Params =>
  reserved.some((key) => key in meta)
    ? Object.fromEntries(Object.entries(meta).filter(([key]) => !reserved.includes(key)))
    : meta

/**
 * Returns the params as they are sent: with the `_meta` of this call, with the metadata of a revision without a
 * handshake, and `undefined` if they are empty.
 */
export const params = (
  params: JsonRpc.Params,
  meta: object | undefined,
  progressToken: number | string | undefined,
  metadata?: Meta.Meta
): JsonRpc.Params | undefined => {
  if (meta === undefined && progressToken === undefined && metadata === undefined && !("_meta" in params)) {
    return isEmpty(params) ? undefined : params
  }
  const { _meta: own, ...given }: JsonRpc.Params = { ...params }
  // A token in the given params, such as one that a proxy forwards, could be that of another request (PRG-02).
  const { progressToken: _, ...unchecked }: JsonRpc.Params = { ...(typeof own === "object" ? own : undefined), ...meta }
  const rest = withoutReserved(unchecked)
  if (metadata !== undefined || progressToken !== undefined) {
    return {
      ...given,
      _meta: { ...rest, ...(progressToken === undefined ? undefined : { progressToken }), ...metadata }
    }
  }
  if (own !== undefined || meta !== undefined) return { ...given, _meta: rest }
  return Object.keys(given).length === 0 ? undefined : given
}

/** The capabilities that are declared by a flag. The others are declared by an object. */
const flags: ReadonlySet<string> = new Set(["listChanged", "subscribe"])

/** Returns the option that declares a capability. */
const optionFor = (capability: string): string => {
  const [whole = capability, part] = capability.split(".")
  const value = part === undefined ? "{}" : `{ ${part}: ${flags.has(part) ? "true" : "{}"} }`
  return `capabilities: { ${whole}: ${value} }`
}

/** Adds the option that declares a missing capability, because the sender of a notification declares it. */
const undeclared = (reason: RequestErrorReason): RequestErrorReason =>
  reason._tag === "MissingCapability"
    ? { _tag: "UndeclaredCapability", capability: reason.capability, option: optionFor(reason.capability) }
    : reason

/** Returns a notification in the form of the peer's revision, or the reason why this side cannot send it. */
export const notification = (
  row: MethodRequirements,
  given: object,
  peer: Profile.Profile | undefined,
  own: { readonly declared: Declared; readonly projection: RevisionProjection.Projection | undefined }
): Result.Result<JsonRpc.Notification, RequestErrorReason> => {
  const blocked = validateMessage(row, peer, () => own.declared)
  if (blocked !== undefined) return Result.fail(undeclared(blocked))
  const problem = SemanticChecks.validateNotification(row.name, given)
  if (problem !== undefined) return Result.fail({ _tag: "InvalidParams", problem })
  const projected = project(row.name, copy(given), peer, own.projection)
  return Result.succeed(JsonRpc.notification(row.name, params(projected, undefined, undefined)))
}
