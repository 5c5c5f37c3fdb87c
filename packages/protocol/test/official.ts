/**
 * The validators of the official packages, one entry for each schema of the method table.
 */
import { assert } from "@effect/vitest"
import * as Second from "@modelcontextprotocol/client"
import * as First from "@modelcontextprotocol/sdk/types.js"
import * as Arbitrary from "effect/Arbitrary"
import type * as Schema from "effect/Schema"
import type { NotificationName, RequestName } from "./table.ts"
import { isMembers, overTheWire } from "./wire.ts"

/** Returns the problem of a value, or `undefined`. */
export type Validator = (value: unknown) => string | undefined

interface Zod {
  readonly safeParse: (value: unknown) => { readonly error?: { readonly message: string } }
}

const first = (schema: Zod): Validator => (value) => schema.safeParse(value).error?.message

const second = (name: Second.SpecTypeName): Validator => (value) => {
  const { issues } = Second.specTypeSchemas[name]["~standard"].validate(value)
  return issues === undefined ? undefined : JSON.stringify(issues)
}

/** The validators of both official packages for one type, and the name of the type in the specification. */
interface Packages {
  readonly validators: readonly [first: Validator, second: Validator]
  readonly name: Second.SpecTypeName
}

const both = (schema: Zod, name: Second.SpecTypeName): Packages => ({ validators: [first(schema), second(name)], name })

interface RequestValidators {
  readonly params: Packages
  readonly result: Packages
}

const requests: { readonly [Name in RequestName]: RequestValidators } = {
  "initialize": {
    params: both(First.InitializeRequestSchema, "InitializeRequest"),
    result: both(First.InitializeResultSchema, "InitializeResult")
  },
  "ping": {
    params: both(First.PingRequestSchema, "PingRequest"),
    result: both(First.EmptyResultSchema, "EmptyResult")
  },
  "tools/list": {
    params: both(First.ListToolsRequestSchema, "ListToolsRequest"),
    result: both(First.ListToolsResultSchema, "ListToolsResult")
  },
  "tools/call": {
    params: both(First.CallToolRequestSchema, "CallToolRequest"),
    result: both(First.CallToolResultSchema, "CallToolResult")
  },
  "resources/list": {
    params: both(First.ListResourcesRequestSchema, "ListResourcesRequest"),
    result: both(First.ListResourcesResultSchema, "ListResourcesResult")
  },
  "resources/templates/list": {
    params: both(First.ListResourceTemplatesRequestSchema, "ListResourceTemplatesRequest"),
    result: both(First.ListResourceTemplatesResultSchema, "ListResourceTemplatesResult")
  },
  "resources/read": {
    params: both(First.ReadResourceRequestSchema, "ReadResourceRequest"),
    result: both(First.ReadResourceResultSchema, "ReadResourceResult")
  },
  "resources/subscribe": {
    params: both(First.SubscribeRequestSchema, "SubscribeRequest"),
    result: both(First.EmptyResultSchema, "EmptyResult")
  },
  "resources/unsubscribe": {
    params: both(First.UnsubscribeRequestSchema, "UnsubscribeRequest"),
    result: both(First.EmptyResultSchema, "EmptyResult")
  },
  "prompts/list": {
    params: both(First.ListPromptsRequestSchema, "ListPromptsRequest"),
    result: both(First.ListPromptsResultSchema, "ListPromptsResult")
  },
  "prompts/get": {
    params: both(First.GetPromptRequestSchema, "GetPromptRequest"),
    result: both(First.GetPromptResultSchema, "GetPromptResult")
  },
  "completion/complete": {
    params: both(First.CompleteRequestSchema, "CompleteRequest"),
    result: both(First.CompleteResultSchema, "CompleteResult")
  },
  "logging/setLevel": {
    params: both(First.SetLevelRequestSchema, "SetLevelRequest"),
    result: both(First.EmptyResultSchema, "EmptyResult")
  },
  "sampling/createMessage": {
    params: both(First.CreateMessageRequestSchema, "CreateMessageRequest"),
    result: both(First.CreateMessageResultWithToolsSchema, "CreateMessageResultWithTools")
  },
  "elicitation/create": {
    params: both(First.ElicitRequestSchema, "ElicitRequest"),
    result: both(First.ElicitResultSchema, "ElicitResult")
  },
  "roots/list": {
    params: both(First.ListRootsRequestSchema, "ListRootsRequest"),
    result: both(First.ListRootsResultSchema, "ListRootsResult")
  },
  "tasks/get": {
    params: both(First.GetTaskRequestSchema, "GetTaskRequest"),
    result: both(First.GetTaskResultSchema, "GetTaskResult")
  },
  "tasks/result": {
    params: both(First.GetTaskPayloadRequestSchema, "GetTaskPayloadRequest"),
    result: both(First.GetTaskPayloadResultSchema, "GetTaskPayloadResult")
  },
  "tasks/list": {
    params: both(First.ListTasksRequestSchema, "ListTasksRequest"),
    result: both(First.ListTasksResultSchema, "ListTasksResult")
  },
  "tasks/cancel": {
    params: both(First.CancelTaskRequestSchema, "CancelTaskRequest"),
    result: both(First.CancelTaskResultSchema, "CancelTaskResult")
  }
}

const notifications: { readonly [Name in NotificationName]: { readonly params: Packages } } = {
  "notifications/initialized": { params: both(First.InitializedNotificationSchema, "InitializedNotification") },
  "notifications/cancelled": { params: both(First.CancelledNotificationSchema, "CancelledNotification") },
  "notifications/progress": { params: both(First.ProgressNotificationSchema, "ProgressNotification") },
  "notifications/roots/list_changed": {
    params: both(First.RootsListChangedNotificationSchema, "RootsListChangedNotification")
  },
  "notifications/message": { params: both(First.LoggingMessageNotificationSchema, "LoggingMessageNotification") },
  "notifications/resources/updated": {
    params: both(First.ResourceUpdatedNotificationSchema, "ResourceUpdatedNotification")
  },
  "notifications/resources/list_changed": {
    params: both(First.ResourceListChangedNotificationSchema, "ResourceListChangedNotification")
  },
  "notifications/tools/list_changed": {
    params: both(First.ToolListChangedNotificationSchema, "ToolListChangedNotification")
  },
  "notifications/prompts/list_changed": {
    params: both(First.PromptListChangedNotificationSchema, "PromptListChangedNotification")
  },
  "notifications/elicitation/complete": {
    params: both(First.ElicitationCompleteNotificationSchema, "ElicitationCompleteNotification")
  },
  "notifications/tasks/status": { params: both(First.TaskStatusNotificationSchema, "TaskStatusNotification") }
}

const byMethod: { readonly [name: string]: { readonly params: Packages; readonly result?: Packages } } = {
  ...requests,
  ...notifications
}

const envelopes = {
  request: both(First.JSONRPCRequestSchema, "JSONRPCRequest"),
  notification: both(First.JSONRPCNotificationSchema, "JSONRPCNotification"),
  success: both(First.JSONRPCResultResponseSchema, "JSONRPCResultResponse"),
  failure: both(First.JSONRPCErrorResponseSchema, "JSONRPCErrorResponse"),
  createdTask: both(First.CreateTaskResultSchema, "CreateTaskResult"),
  urlElicitation: both(First.ElicitRequestURLParamsSchema, "ElicitRequestURLParams")
}

const assertNone = (packages: Packages | undefined, value: unknown): void => {
  assert.isDefined(packages)
  for (const validate of packages?.validators ?? []) assert.strictEqual(validate(value), undefined)
}

/** Asserts that both packages accept the params or the result of a method. They validate params inside a message. */
export const assertAccepted = (method: string, part: "params" | "result", value: unknown): void =>
  assertNone(byMethod[method]?.[part], part === "params" ? { method, params: value } : value)

/**
 * Returns the name of the definition in the specification's schema: that of the result, or for params that of the whole
 * message.
 */
export const definitionOf = (method: string, part: "params" | "result"): string => {
  const name = byMethod[method]?.[part]?.name
  // The packages split this definition in two.
  return name === "CreateMessageResultWithTools" ? "CreateMessageResult" : String(name)
}

/** Asserts that both packages accept a message envelope, or another type outside of the method table. */
export const assertEnvelope = (kind: keyof typeof envelopes, value: unknown): void => assertNone(envelopes[kind], value)

/** Asserts that neither package accepts the params or the result of a method. */
export const assertRejected = (method: string, part: "params" | "result", value: unknown): void => {
  for (const validate of byMethod[method]?.[part]?.validators ?? []) {
    assert.isDefined(validate(part === "params" ? { method, params: value } : value))
  }
}

// =====================================================================================================================
// Members for which the official validators are stricter than the schemas
// =====================================================================================================================

// The prose of the specification requires base64, the range of a priority, the form of a date and of a URL, and whole
// counts, and the official validators enforce these. This library only checks the JSON type: it passes content through,
// and an invalid image should not fail a call. Generated values are therefore narrowed here, member by member.
const strictMembers: {
  readonly [name: string]: (value: unknown, siblings: { readonly [name: string]: unknown }) => unknown
} = {
  data: (data, { mimeType }) => typeof mimeType === "string" ? base64(data) : data,
  blob: (blob) => base64(blob),
  url: (url, { elicitationId }) =>
    elicitationId === undefined ? url : `https://example.com/${encodeURIComponent(base64(url))}`,
  lastModified: (moment) => typeof moment === "string" ? new Date(moment.length * 1e9).toISOString() : moment,
  priority: fraction,
  costPriority: fraction,
  speedPriority: fraction,
  intelligencePriority: fraction,
  maxTokens: wholeNumber,
  total: wholeNumber,
  size: wholeNumber,
  ttl: wholeNumber,
  pollInterval: wholeNumber
}

function base64(value: unknown): string {
  return Buffer.from(String(value)).toString("base64")
}

function fraction(value: unknown): unknown {
  return typeof value === "number" ? Math.min(1, Math.abs(value)) : value
}

function wholeNumber(value: unknown): unknown {
  return typeof value === "number" ? Math.trunc(value) % Number.MAX_SAFE_INTEGER : value
}

/** Converts the members of a value that the official packages restrict. */
const strict = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(strict)
  if (!isMembers(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      const narrow = Object.hasOwn(strictMembers, name) ? strictMembers[name] : undefined
      return [name, narrow === undefined ? strict(inner) : narrow(inner, value)]
    })
  )
}

/** Generates values of a schema that the official packages accept, as the peer receives them. */
export const strictly = (codec: Schema.Codec<unknown>): Arbitrary.Arbitrary<unknown> =>
  Arbitrary.map(Arbitrary.schema(codec), (value) => strict(overTheWire(value)))
