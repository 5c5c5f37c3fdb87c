import {
  Capabilities,
  type Elicitation,
  ElicitationContent,
  type MethodDefinition,
  MethodTable,
  type Profile,
  Revision,
  Sampling
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type * as RequestError from "../../RequestError.ts"
import { trust } from "../trust.ts"
import { validate } from "./validation.ts"

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

/** What the types of a question cannot say, such as that an address is one (ELI-10). */
const misfit = <Params>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, unknown>,
  params: Params
): RequestError.RequestErrorReason | undefined => {
  const checked = validate(row.params)(params)
  return Result.isSuccess(checked) ? undefined : { _tag: "InvalidParams", problem: checked.failure }
}

/** The revision that brought tools to sampling, pages to elicitation, and lists of choices to forms. */
const newer: Revision.Revision = "2025-11-25"

/** Older revisions have contexts, and no capability for them (SMP-09). */
const needsContext = (
  { includeContext }: Sampling.CreateMessageParams,
  peer: Profile.Profile | undefined
): boolean =>
  (includeContext === "thisServer" || includeContext === "allServers") &&
  Revision.isAtLeast(peer?.revision ?? newer, newer)

/** A peer that has tasks answers with one, which is no result here; one that has none may refuse it. */
const task = (params: object): RequestError.RequestErrorReason | undefined =>
  "task" in params && params.task !== undefined
    ? { _tag: "InvalidParams", problem: "task: requests that become tasks are not supported yet; leave `task` out" }
    : undefined

const createMessage: Rule<Sampling.CreateMessageParams> = (params, peer) => {
  const unfit = task(params) ?? misfit(MethodTable.requests["sampling/createMessage"], params)
  if (unfit !== undefined) return unfit
  const checked = Sampling.checkToolUse(params.messages)
  if (Result.isFailure(checked)) return { _tag: "InvalidParams", problem: checked.failure }
  const blocked = Sampling.usesTools(params) ? obstacle(peer, "sampling.tools", newer) : undefined
  return blocked ?? (needsContext(params, peer) ? obstacle(peer, "sampling.context", newer) : undefined)
}

const asksForSeveral = (params: Elicitation.ElicitParams): boolean =>
  params.mode !== "url" && Object.values(params.requestedSchema.properties).some((field) => field.type === "array")

const elicit: Rule<Elicitation.ElicitParams> = (params, peer) =>
  task(params) ??
    misfit(MethodTable.requests["elicitation/create"], params) ??
    (params.mode === "url"
      ? obstacle(peer, "elicitation.url", newer)
      : obstacle(
        peer,
        "elicitation.form",
        asksForSeveral(params) ? newer : MethodTable.requests["elicitation/create"].since
      ))

const rules: { readonly [Name in keyof MethodTable.Requests]?: Rule<MethodTable.ParamsOf<Name>> } = {
  "sampling/createMessage": createMessage,
  "elicitation/create": elicit,
  "tools/call": task
}

const byMethod = new Map(Object.entries(rules))

/** The rule of a method, if it has one. */
export const find = (method: string): Rule<object> | undefined =>
  // The params of a method are what its rule is about.
  trust(byMethod.get(method))

/** What speaks against a question of the peer beyond its schema, if anything does (ELI-05, SMP-03, SMP-04). */
export const refusalOf = (
  method: string,
  params: object,
  declared: (() => Capabilities.ClientCapabilities) | undefined
): string | undefined => {
  // The params of a method are what has just been checked against the schema of its row.
  if (method === "sampling/createMessage") {
    const checked = Sampling.checkToolUse(trust<Sampling.CreateMessageParams>(params).messages)
    return Result.isSuccess(checked) ? undefined : `Invalid params for ${method}: ${checked.failure}`
  }
  if (method !== "elicitation/create" || declared === undefined) return undefined
  const { mode = "form" } = trust<Elicitation.ElicitParams>(params)
  return Capabilities.declares(declared(), mode === "url" ? "elicitation.url" : "elicitation.form")
    ? undefined
    : `Elicitation by ${mode} is not supported`
}

/** What is wrong with the answer to a question beyond what the schema of answers says, if anything is (ELI-07). */
export const problemOf = (method: string, params: object, answer: unknown): string | undefined => {
  if (method === "sampling/createMessage") {
    // Both are what their schemas have let through, as below.
    const checked = Sampling.checkAnswer(trust(params), trust(answer))
    return Result.isSuccess(checked) ? undefined : checked.failure
  }
  if (method !== "elicitation/create") return undefined
  // The params are those that were sent, or checked as they came in; the answer has been checked, or is the handler's own.
  const { action, content = {} } = trust<Elicitation.ElicitResult>(answer)
  const question = trust<Elicitation.ElicitParams>(params)
  if (action !== "accept" || question.mode === "url") return undefined
  const checked = ElicitationContent.check(question.requestedSchema, content)
  return Result.isSuccess(checked) ? undefined : `the content does not fit the form: ${checked.failure}`
}

/** Answers of our own handlers with rules that no type can say (ROOT-03, CMP-02). Others would cost more than they are worth. */
const checkedAnswers: ReadonlySet<string> = new Set<keyof MethodTable.Requests>(["roots/list", "completion/complete"])

/** What is wrong with the answer of one of our own handlers, if anything is. */
export const misfitOf = (method: string, answer: unknown): string | undefined => {
  const row = checkedAnswers.has(method)
    ? MethodTable.findRequest(method, "client") ?? MethodTable.findRequest(method, "server")
    : undefined
  if (row === undefined) return undefined
  const checked = validate<unknown>(trust(row.result))(answer)
  return Result.isSuccess(checked) ? undefined : checked.failure
}

/** What JSON leaves out where it stands. */
const unsaid: ReadonlySet<string> = new Set(["undefined", "function", "symbol"])

/**
 * What is wrong with a notification beyond its schema, if anything is: what its receiver would not understand, and
 * drop.
 */
export const problemOfNotification = (method: string, params: object): string | undefined => {
  if (method !== "notifications/message") return undefined
  const kind = typeof ("data" in params ? params.data : undefined)
  return unsaid.has(kind) ? `data: expected a value that JSON can carry, got ${kind}; use null for no value` : undefined
}
