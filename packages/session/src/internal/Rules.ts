import { Capabilities, type Elicitation, type Methods, type Profile, Revision, Sampling } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type * as RequestError from "../RequestError.ts"
import { trust } from "./trust.ts"

/**
 * What must be true of a question, and of the peer it is put to, beyond what the row of its method says. Before anything is
 * known of the peer only the question is looked at.
 */
export type Rule<Params> = (
  params: Params,
  peer: Profile.Profile | undefined
) => RequestError.RequestErrorReason | undefined

/** What stands against a question that needs this part of a capability, and may exist only in newer revisions. */
const obstacle = (
  peer: Profile.Profile | undefined,
  needed: Capabilities.Path | undefined,
  since: Revision.Revision
): RequestError.RequestErrorReason | undefined => {
  if (peer === undefined) return undefined
  if (!Revision.isAtLeast(peer.revision, since)) {
    return { _tag: "NotInRevision", revision: peer.revision, since }
  }
  return needed === undefined || Capabilities.declares(peer.capabilities, needed)
    ? undefined
    : { _tag: "MissingCapability", capability: needed }
}

/** The revision that brought tools to sampling, pages to elicitation, and lists of choices to forms. */
const newer: Revision.Revision = "2025-11-25"

/** What every revision has that has the method. */
const oldest: Revision.Revision = "2024-11-05"

/** Older revisions have contexts, and no capability for them (SMP-09). */
const needsContext = (
  { includeContext }: Sampling.CreateMessageParams,
  peer: Profile.Profile | undefined
): boolean =>
  (includeContext === "thisServer" || includeContext === "allServers") &&
  Revision.isAtLeast(peer?.revision ?? newer, newer)

const createMessage: Rule<Sampling.CreateMessageParams> = (params, peer) => {
  const checked = Sampling.checkToolUse(params.messages)
  if (Result.isFailure(checked)) return { _tag: "InvalidParams", problem: checked.failure }
  const blocked = Sampling.usesTools(params) ? obstacle(peer, "sampling.tools", newer) : undefined
  return blocked ?? (needsContext(params, peer) ? obstacle(peer, "sampling.context", oldest) : undefined)
}

const asksForSeveral = (params: Elicitation.ElicitParams): boolean =>
  params.mode !== "url" && Object.values(params.requestedSchema.properties).some((field) => field.type === "array")

const elicit: Rule<Elicitation.ElicitParams> = (params, peer) =>
  params.mode === "url"
    ? obstacle(peer, "elicitation.url", newer)
    : obstacle(peer, "elicitation.form", asksForSeveral(params) ? newer : oldest)

const rules: { readonly [Name in keyof Methods.Requests]?: Rule<Methods.ParamsOf<Name>> } = {
  "sampling/createMessage": createMessage,
  "elicitation/create": elicit
}

const byMethod = new Map(Object.entries(rules))

/** The rule of a method, if it has one. */
export const find = (method: string): Rule<object> | undefined =>
  // The params of a method are what its rule is about.
  trust(byMethod.get(method))
