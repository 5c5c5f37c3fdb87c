import { Capabilities, type Elicitation, Methods, type Profile, Revision, Sampling } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as RequestError from "../RequestError.ts"
import type { Sender, SendOptions } from "./Sender.ts"

/**
 * What a server asks of its client, and what must be true of the client and of the question before it is sent.
 */
export interface Asking {
  readonly createMessage: <R = never>(
    params: Sampling.CreateMessageParams,
    options?: SendOptions<R>
  ) => Effect.Effect<Sampling.CreateMessageResult, RequestError.RequestError, R>
  readonly elicit: <R = never>(
    params: Elicitation.ElicitParams,
    options?: SendOptions<R>
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError.RequestError, R>
}

/** The revision that brought tools to sampling, pages to elicitation, and lists of choices to forms. */
const newer: Revision.Revision = "2025-11-25"

const includesContext = ({ includeContext }: Sampling.CreateMessageParams): boolean =>
  includeContext === "thisServer" || includeContext === "allServers"

const asksForSeveral = (params: Elicitation.ElicitParams): boolean =>
  params.mode !== "url" && Object.values(params.requestedSchema.properties).some((field) => field.type === "array")

export const make = (sender: Sender, profile: () => Profile.ClientProfile | undefined): Asking => {
  const { requests } = Methods

  /** What stands against a question that needs this part of a capability, and may exist only in newer revisions. */
  const obstacle = (
    needed: Capabilities.Path | undefined,
    since: Revision.Revision
  ): RequestError.RequestErrorReason | undefined => {
    const client = profile()
    if (client === undefined) return undefined
    if (!Revision.isAtLeast(client.revision, since)) {
      return { _tag: "NotInRevision", revision: client.revision, since }
    }
    return needed === undefined || Capabilities.declares(client.capabilities, needed)
      ? undefined
      : { _tag: "MissingCapability", capability: needed }
  }

  /** Older revisions have contexts, and no capability for them (SMP-09). */
  const knowsContext = () => Revision.isAtLeast(profile()?.revision ?? newer, newer)

  const refuse = (method: string, reason: RequestError.RequestErrorReason) =>
    Effect.fail(RequestError.make(method, reason))

  return {
    createMessage: (params, options) =>
      Effect.suspend(() => {
        const row = requests["sampling/createMessage"]
        const checked = Sampling.checkToolUse(params.messages)
        if (Result.isFailure(checked)) return refuse(row.name, { _tag: "InvalidParams", problem: checked.failure })
        const usesTools = Sampling.usesTools(params)
        const blocked = obstacle(usesTools ? "sampling.tools" : undefined, usesTools ? newer : row.since) ??
          obstacle(includesContext(params) && knowsContext() ? "sampling.context" : undefined, row.since)
        return blocked === undefined ? sender.request(row, params, options) : refuse(row.name, blocked)
      }),
    elicit: (params, options) =>
      Effect.suspend(() => {
        const row = requests["elicitation/create"]
        const blocked = params.mode === "url"
          ? obstacle("elicitation.url", newer)
          : obstacle("elicitation.form", asksForSeveral(params) ? newer : row.since)
        return blocked === undefined ? sender.request(row, params, options) : refuse(row.name, blocked)
      })
  }
}
