/** The rules for messages that no schema can state. */

import {
  Capabilities,
  type Elicitation,
  ElicitationContent,
  type MethodDefinition,
  MethodTable,
  type Profile,
  Revision,
  Sampling,
  type Task
} from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import type * as RequestError from "../../RequestError.ts"
import { trust } from "../trust.ts"
import { validate } from "./validation.ts"

/**
 * A check of a request and its receiver, beyond the schema of its row. Before the handshake only the request is
 * checked.
 */
export type SemanticCheck<Params> = (
  params: Params,
  peer: Profile.Profile | undefined
) => RequestError.RequestErrorReason | undefined

/** Returns the reason if the peer has not declared this capability, or if its revision is older. */
const validateCapability = (
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

/** Returns the problem of params that have the right type, and break a rule of their schema, such as a URL (ELI-10). */
const validateParams = <Params>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, unknown>,
  params: Params
): RequestError.RequestErrorReason | undefined => {
  const checked = validate(row.params)(params)
  return Result.isSuccess(checked) ? undefined : { _tag: "InvalidParams", problem: checked.failure }
}

/** The revision that added tools to sampling, URLs to elicitation, and multiple choice to forms. */
const extended: Revision.Revision = "2025-11-25"

/**
 * Returns whether params need the capability for contexts. Older revisions have contexts without a capability (SMP-09).
 */
const needsContext = (
  { includeContext }: Sampling.CreateMessageParams,
  peer: Profile.Profile | undefined
): boolean =>
  (includeContext === "thisServer" || includeContext === "allServers") &&
  Revision.isAtLeast(peer?.revision ?? extended, extended)

/** Returns why a client cannot be asked a question as a task (TSK-02). */
const validateTask = (
  { task }: { readonly task?: Task.TaskMetadata },
  peer: Profile.Profile | undefined,
  requests: NonNullable<Capabilities.ClientTasks["requests"]>,
  capability: string
): RequestError.RequestErrorReason | undefined => {
  if (task === undefined || peer === undefined) return undefined
  if (peer.revision !== extended) {
    return { _tag: "NotInRevision", revision: peer.revision, since: extended, until: extended }
  }
  // The peer of a server is a client.
  const { tasks } = trust<Capabilities.ClientCapabilities>(peer.capabilities)
  return Capabilities.coversTasks(tasks, { requests }) ? undefined : { _tag: "MissingCapability", capability }
}

const createMessage: SemanticCheck<Sampling.CreateMessageParams> = (params, peer) => {
  const invalid = validateParams(MethodTable.requests["sampling/createMessage"], params)
  if (invalid !== undefined) return invalid
  const checked = Sampling.checkToolUse(params.messages)
  if (Result.isFailure(checked)) return { _tag: "InvalidParams", problem: checked.failure }
  const blocked = Sampling.usesTools(params) ? validateCapability(peer, "sampling.tools", extended) : undefined
  return blocked ??
    (needsContext(params, peer) ? validateCapability(peer, "sampling.context", extended) : undefined) ??
    validateTask(params, peer, { sampling: { createMessage: {} } }, "tasks.requests.sampling.createMessage")
}

const hasMultipleChoice = (params: Elicitation.ElicitParams): boolean =>
  params.mode !== "url" && Object.values(params.requestedSchema.properties).some((field) => field.type === "array")

const elicit: SemanticCheck<Elicitation.ElicitParams> = (params, peer) =>
  validateParams(MethodTable.requests["elicitation/create"], params) ??
    (params.mode === "url"
      ? validateCapability(peer, "elicitation.url", extended)
      : validateCapability(
        peer,
        "elicitation.form",
        hasMultipleChoice(params) ? extended : MethodTable.requests["elicitation/create"].since
      )) ??
    validateTask(params, peer, { elicitation: { create: {} } }, "tasks.requests.elicitation.create")

const checks: { readonly [Name in keyof MethodTable.Requests]?: SemanticCheck<MethodTable.ParamsOf<Name>> } = {
  "sampling/createMessage": createMessage,
  "elicitation/create": elicit
}

const byMethod = new Map(Object.entries(checks))

/** The requests that may become tasks. */
const taskMethods: ReadonlySet<string> = new Set(["tools/call", "sampling/createMessage", "elicitation/create"])

/** Rejects a request with a `task`, because its result would be a task, and not that of its method. */
export const validateNoTask = (method: string, params: object): RequestError.RequestErrorReason | undefined =>
  taskMethods.has(method) && "task" in params && params.task !== undefined
    ? { _tag: "InvalidParams", problem: "task: a request that becomes a task has another result; use `RemoteTasks`" }
    : undefined

/** Returns the check of a method, if it has one. */
export const checkOf = (method: string): SemanticCheck<object> | undefined =>
  // The caller passes the params of the same method.
  trust(byMethod.get(method))

/** Returns why a request of the peer is rejected, beyond its schema (ELI-05, SMP-03, SMP-04). */
export const validateIncoming = (
  method: string,
  params: object,
  declared: (() => Capabilities.ClientCapabilities) | undefined
): string | undefined => {
  // The params have just been checked against the schema of this method.
  if (method === "sampling/createMessage") {
    const checked = Sampling.checkToolUse(trust<Sampling.CreateMessageParams>(params).messages)
    return Result.isSuccess(checked) ? undefined : `Invalid params for ${method}: ${checked.failure}`
  }
  if (method !== "elicitation/create" || declared === undefined) return undefined
  // Checked as above.
  const { mode = "form" } = trust<Elicitation.ElicitParams>(params)
  return Capabilities.declares(declared(), mode === "url" ? "elicitation.url" : "elicitation.form")
    ? undefined
    : `Elicitation by ${mode} is not supported`
}

/** Returns the problem of a result, beyond its schema (ELI-07). */
export const validateResult = (method: string, params: object, result: unknown): string | undefined => {
  if (method === "sampling/createMessage") {
    // Both match their schemas, as below.
    const checked = Sampling.checkResult(trust(params), trust(result))
    return Result.isSuccess(checked) ? undefined : checked.failure
  }
  if (method !== "elicitation/create") return undefined
  // The params were sent by this side or checked on arrival. The result was checked, or a handler of this side made it.
  const { action, content = {} } = trust<Elicitation.ElicitResult>(result)
  const request = trust<Elicitation.ElicitParams>(params)
  if (action !== "accept" || request.mode === "url") return undefined
  const checked = ElicitationContent.check(request.requestedSchema, content)
  return Result.isSuccess(checked) ? undefined : `the content does not match the form: ${checked.failure}`
}

/**
 * The methods whose results are also checked if a handler of this side made them, because no type can state their rules
 * (ROOT-03, CMP-02). Checks of all other methods would cost too much.
 */
const checkedMethods: ReadonlySet<string> = new Set<keyof MethodTable.Requests>(["roots/list", "completion/complete"])

/** Returns the problem of a result that a handler of this side made. */
export const validateOwnResult = (method: string, result: unknown): string | undefined => {
  const row = checkedMethods.has(method)
    ? MethodTable.findRequest(method, "client") ?? MethodTable.findRequest(method, "server")
    : undefined
  if (row === undefined) return undefined
  // Which of the two rows it is makes no difference: any value is checked against its schema.
  const checked = validate<unknown>(trust(row.result))(result)
  return Result.isSuccess(checked) ? undefined : checked.failure
}

/** The types of values that JSON omits. */
const omittedByJson: ReadonlySet<string> = new Set(["undefined", "function", "symbol"])

/** Returns the problem of a notification, beyond its schema: a value that JSON omits, so that its receiver drops it. */
export const validateNotification = (method: string, params: object): string | undefined => {
  if (method !== "notifications/message") return undefined
  const kind = typeof ("data" in params ? params.data : undefined)
  return omittedByJson.has(kind)
    ? `data: expected a value that JSON can represent, got ${kind}; use null for no value`
    : undefined
}
