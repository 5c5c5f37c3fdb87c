/**
 * What this library generates, judged by the validators of the official SDK.
 */
import { type Content, JsonRpc, McpError, Methods, Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Official from "@modelcontextprotocol/sdk/types.js"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { overTheWire } from "./wire.ts"

/** The part of a zod schema that is used here. */
interface Validator {
  readonly safeParse: (value: unknown) => { readonly success: boolean; readonly error?: { readonly message: string } }
}

const assertAccepted = (validator: Validator, value: unknown): void => {
  const { error, success } = validator.safeParse(value)
  assert.isTrue(success, error?.message)
}

// =====================================================================================================================
// Where the official validators ask for more than the type of a member says
// =====================================================================================================================

// Base64, the range of a priority and the form of a date are stated in the prose of the specification, and the official
// validators hold a peer to them. This library takes a string for a string and a number for a number: content passes
// through it, and a tool's picture is not worth a failed call. So the generators are narrowed here, member by member.
const base64 = (text: string): string => Buffer.from(text).toString("base64")

const strictAnnotations = (annotations: Content.Annotations): Content.Annotations => {
  const { audience, lastModified, priority } = annotations
  return {
    ...(audience === undefined ? {} : { audience }),
    ...(priority === undefined ? {} : { priority: Math.min(1, Math.abs(priority)) }),
    ...(lastModified === undefined ? {} : { lastModified: new Date(lastModified.length * 1e9).toISOString() })
  }
}

const strictBlock = (block: Content.ContentBlock): Content.ContentBlock => {
  const annotated = block.annotations === undefined
    ? block
    : { ...block, annotations: strictAnnotations(block.annotations) }
  switch (annotated.type) {
    case "image":
    case "audio":
      return { ...annotated, data: base64(annotated.data) }
    case "resource":
      return "blob" in annotated.resource
        ? { ...annotated, resource: { ...annotated.resource, blob: base64(annotated.resource.blob) } }
        : annotated
    default:
      return annotated
  }
}

const callToolResult = Arbitrary.map(
  Arbitrary.schema(Tool.CallToolResult),
  (result): Tool.CallToolResult => ({ ...result, content: result.content.map(strictBlock) })
)

// =====================================================================================================================
// One row for each row of the method table
// =====================================================================================================================

interface RequestRow<Name extends keyof Methods.Requests> {
  readonly request: Validator
  readonly result: Validator
  readonly results: Arbitrary.Arbitrary<Methods.ResultOf<Name>>
}

const requests: { readonly [Name in keyof Methods.Requests]: RequestRow<Name> } = {
  "initialize": {
    request: Official.InitializeRequestSchema,
    result: Official.InitializeResultSchema,
    results: Arbitrary.schema(Methods.requests.initialize.result)
  },
  "ping": {
    request: Official.PingRequestSchema,
    result: Official.EmptyResultSchema,
    results: Arbitrary.schema(Methods.requests.ping.result)
  },
  "tools/list": {
    request: Official.ListToolsRequestSchema,
    result: Official.ListToolsResultSchema,
    results: Arbitrary.schema(Methods.requests["tools/list"].result)
  },
  "tools/call": {
    request: Official.CallToolRequestSchema,
    result: Official.CallToolResultSchema,
    results: callToolResult
  }
}

const notifications: { readonly [Name in keyof Methods.Notifications]: Validator } = {
  "notifications/initialized": Official.InitializedNotificationSchema,
  "notifications/cancelled": Official.CancelledNotificationSchema,
  "notifications/progress": Official.ProgressNotificationSchema,
  "notifications/message": Official.LoggingMessageNotificationSchema
}

const runs = { arbitrary: { runs: 150 } }

describe.each(Object.values<Methods.AnyRequest>({ ...Methods.requests }))("$name", ({ name, params }) => {
  it.prop("[MSG-01] [MSG-03] the official server takes the request", {
    id: Schema.Union([Schema.String, Schema.Int]),
    params: Arbitrary.schema<Schema.Codec<object>>(params)
  }, ({ id, params }) => {
    const received = overTheWire(JsonRpc.request(id, name, { ...params }))
    assertAccepted(Official.JSONRPCRequestSchema, received)
    assertAccepted(requests[name].request, received)
  }, runs)

  it.prop("[MSG-01] [MSG-07] [MSG-08] the official client takes the result", {
    id: Schema.Union([Schema.String, Schema.Int]),
    result: requests[name].results
  }, ({ id, result }) => {
    const received = overTheWire(result)
    assertAccepted(Official.JSONRPCResultResponseSchema, overTheWire(JsonRpc.success(id, result)))
    assertAccepted(requests[name].result, received)
  }, runs)
})

describe.each(Object.values<Methods.AnyNotification>({ ...Methods.notifications }))("$name", ({ name, params }) => {
  it.prop("[MSG-01] [MSG-11] the official peer takes the notification", [
    Arbitrary.schema<Schema.Codec<object>>(params)
  ], ([params]) => {
    const received = overTheWire(JsonRpc.notification(name, { ...params }))
    assertAccepted(Official.JSONRPCNotificationSchema, received)
    assertAccepted(notifications[name], received)
  }, runs)
})

it.prop("[MSG-08] [MSG-09] [MSG-10] the official peer takes an error, with an id or without one", {
  id: Schema.Union([Schema.String, Schema.Int, Schema.Undefined]),
  code: Schema.Int,
  message: Schema.String,
  data: Schema.Unknown
}, ({ code, data, id, message }) => {
  const failure = JsonRpc.failure(id, new McpError.McpError({ code, message, data }))
  assertAccepted(Official.JSONRPCErrorResponseSchema, overTheWire(failure))
}, runs)

it("the validators judge: what is wrong is refused", () => {
  assert.isFalse(requests.initialize.request.safeParse({ method: "initialize", params: {} }).success)
  assert.isFalse(
    requests["tools/call"].result.safeParse({ content: [{ type: "image", data: "%", mimeType: "" }] }).success
  )
  assert.isFalse(notifications["notifications/message"].safeParse({ method: "notifications/message" }).success)
})
