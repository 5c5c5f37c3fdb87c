import {
  Cancelled,
  Completion,
  Elicitation,
  Initialize,
  Logging,
  Meta,
  Pagination,
  Progress,
  Prompt,
  Resource,
  Revision,
  Roots,
  Sampling,
  Task,
  Tool
} from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { parts } from "./table.ts"
import { notObjects, overTheWire } from "./wire.ts"

/** Every schema of the method table, and the result of a request that became a task. */
const codecs: ReadonlyArray<readonly [string, Schema.Codec<unknown>]> = [
  ...parts.map(({ codec, label }) => [label, codec] as const),
  ["result of a request that became a task", Task.CreateTaskResult]
]

const info = { name: "peer", version: "1" }
const tool = { name: "add", inputSchema: { type: "object" } }
const text = { type: "text", text: "" }
const urlElicitation = { mode: "url", message: "Sign in", url: "https://example.com", elicitationId: "1" }
const task = {
  taskId: "1",
  status: "working",
  createdAt: "2025-11-25T10:30:00Z",
  lastUpdatedAt: "2025-11-25T10:30:00Z",
  ttl: null
}

/** The minimal value of each schema. */
const minimal: ReadonlyMap<Schema.Codec<unknown>, object> = new Map<Schema.Codec<unknown>, object>([
  [Initialize.InitializeParams, { protocolVersion: Revision.latestLegacy, capabilities: {}, clientInfo: info }],
  [Initialize.InitializeResult, { protocolVersion: Revision.latestLegacy, capabilities: {}, serverInfo: info }],
  [Meta.RequestParams, {}],
  [Meta.NotificationParams, {}],
  [Meta.EmptyResult, {}],
  [Pagination.ListParams, {}],
  [Tool.ListToolsResult, { tools: [] }],
  [Tool.CallToolParams, { name: "add" }],
  [Tool.CallToolResult, { content: [] }],
  [Logging.LogMessageParams, { level: "info", data: null }],
  [Progress.ProgressParams, { progressToken: 0, progress: 0 }],
  [Cancelled.CancelledParams, {}],
  [Resource.ResourceParams, { uri: "file:///a" }],
  [Resource.ResourceUpdatedParams, { uri: "file:///a" }],
  [Resource.ListResourcesResult, { resources: [] }],
  [Resource.ListResourceTemplatesResult, { resourceTemplates: [] }],
  [Resource.ReadResourceResult, { contents: [] }],
  [Prompt.ListPromptsResult, { prompts: [] }],
  [Prompt.GetPromptParams, { name: "review" }],
  [Prompt.GetPromptResult, { messages: [] }],
  [Completion.CompleteParams, {
    ref: { type: "ref/prompt", name: "review" },
    argument: { name: "language", value: "" }
  }],
  [Completion.CompleteResult, { completion: { values: [] } }],
  [Logging.SetLevelParams, { level: "info" }],
  [Sampling.CreateMessageParams, { messages: [], maxTokens: 1 }],
  [Sampling.CreateMessageResult, { role: "assistant", content: text, model: "m" }],
  [Elicitation.ElicitParams, { message: "", requestedSchema: { type: "object", properties: {} } }],
  [Elicitation.ElicitResult, { action: "decline" }],
  [Elicitation.ElicitationCompleteParams, { elicitationId: "1" }],
  [Roots.ListRootsResult, { roots: [] }],
  [Task.TaskParams, { taskId: "1" }],
  [Task.TaskResult, task],
  [Task.TaskPayload, {}],
  [Task.ListTasksResult, { tasks: [] }],
  [Task.CreateTaskResult, { task }]
])

describe.each(codecs)("%s", (_, codec) => {
  const decode = Schema.decodeUnknownSync(codec)
  const isValid = Schema.is(codec)

  it.prop("the peer decodes a sent value without loss", [codec], ([sent]) => {
    const received = overTheWire(sent)
    assert.deepStrictEqual(decode(received), received)
  }, { arbitrary: { runs: 60 } })

  it.prop("unknown members are accepted", [codec], ([sent]) => {
    assert.isTrue(isValid({ ...Object(overTheWire(sent)), "acme.example/extra": { deep: [null] } }))
  }, { arbitrary: { runs: 30 } })

  it("the minimal value is accepted; what is no object is rejected, as it is and as _meta", () => {
    assert.isTrue(isValid(minimal.get(codec)))
    assert.deepStrictEqual(notObjects.filter(isValid), [])
    assert.deepStrictEqual(notObjects.filter((_meta) => isValid({ ...minimal.get(codec), _meta })), [])
  })

  it.prop("[MSG-28] _meta may have any members, even with reserved keys", [
    Schema.Literals([
      "io.modelcontextprotocol/acme",
      "modelcontextprotocol.io/",
      "dev.mcp/acme",
      "mcp.dev/acme",
      "acme"
    ]),
    Schema.Unknown
  ], ([key, value]) => {
    assert.isTrue(isValid({ ...minimal.get(codec), _meta: { [key]: value } }))
  }, { arbitrary: { runs: 50 } })
})

/** Returns the minimal value of a schema with some members changed. `undefined` removes a member. */
const changed = (codec: Schema.Codec<unknown>, change: { readonly [name: string]: unknown }): object =>
  Object.fromEntries(Object.entries({ ...minimal.get(codec), ...change }).filter(([, value]) => value !== undefined))

type Change = { readonly [name: string]: unknown }

/** Changes that make the minimal value of a schema invalid. */
const invalid: ReadonlyArray<readonly [id: string, Schema.Codec<unknown>, ReadonlyArray<Change>]> = [
  ["[INIT-02] InitializeParams", Initialize.InitializeParams, [
    { protocolVersion: undefined },
    { protocolVersion: null },
    { protocolVersion: 20251125 },
    { capabilities: undefined },
    { capabilities: null },
    { capabilities: [] },
    { capabilities: { roots: true } },
    { capabilities: { roots: { listChanged: "yes" } } },
    { capabilities: { sampling: [] } },
    { capabilities: { elicitation: { form: true } } },
    { capabilities: { experimental: { acme: true } } },
    { capabilities: { sampling: { tools: true } } },
    { capabilities: { sampling: { context: "yes" } } },
    { capabilities: { tasks: true } },
    { capabilities: { tasks: { list: true } } },
    { capabilities: { tasks: { requests: { sampling: { createMessage: true } } } } },
    { capabilities: { tasks: { requests: { elicitation: true } } } },
    { clientInfo: undefined },
    { clientInfo: "peer" },
    { clientInfo: { name: "peer" } },
    { clientInfo: { version: "1" } },
    { clientInfo: { name: "peer", version: 1 } },
    { clientInfo: { ...info, icons: {} } },
    { clientInfo: { ...info, icons: [{}] } },
    { clientInfo: { ...info, icons: [{ src: "a.png", theme: "blue" }] } }
  ]],
  ["[INIT-07] InitializeResult", Initialize.InitializeResult, [
    { protocolVersion: undefined },
    { protocolVersion: 20251125 },
    { capabilities: undefined },
    { capabilities: { tools: true } },
    { capabilities: { tools: { listChanged: 1 } } },
    { capabilities: { resources: { subscribe: "yes" } } },
    { capabilities: { logging: true } },
    { capabilities: { completions: true } },
    { capabilities: { prompts: { listChanged: "yes" } } },
    { capabilities: { tasks: { cancel: true } } },
    { capabilities: { tasks: { requests: { tools: { call: true } } } } },
    { serverInfo: undefined },
    { serverInfo: { name: "peer" } },
    { instructions: null },
    { instructions: ["use", "it"] }
  ]],
  ["[PRG-01] RequestParams", Meta.RequestParams, [
    { _meta: { progressToken: null } },
    { _meta: { progressToken: 1.5 } },
    { _meta: { progressToken: true } },
    { _meta: { progressToken: {} } },
    { _meta: { progressToken: ["1"] } }
  ]],
  ["[PRG-01] ProgressParams", Progress.ProgressParams, [
    { progressToken: undefined },
    { progressToken: null },
    { progressToken: 0.5 },
    { progressToken: {} },
    { progress: undefined },
    { progress: null },
    { progress: "1" },
    { progress: Number.NaN },
    { progress: Number.POSITIVE_INFINITY },
    { total: null },
    { total: "100" },
    { message: 1 },
    { message: null }
  ]],
  ["[CAN-09] [MSG-03] [MSG-04] CancelledParams", Cancelled.CancelledParams, [
    { requestId: null },
    { requestId: 1.5 },
    { requestId: true },
    { requestId: {} },
    { requestId: [1] },
    { reason: null },
    { reason: 1 }
  ]],
  ["[PAG-02] ListParams", Pagination.ListParams, [
    { cursor: null },
    { cursor: 2 },
    { cursor: { urlElicitation: 2 } }
  ]],
  ["[TOOL-06] ListToolsResult", Tool.ListToolsResult, [
    { tools: undefined },
    { tools: null },
    { tools: {} },
    { tools: [null] },
    { tools: [tool, {}] },
    { tools: [{ name: "add" }] },
    { tools: [{ inputSchema: tool.inputSchema }] },
    { tools: [{ ...tool, name: 1 }] },
    { tools: [{ ...tool, inputSchema: null }] },
    { tools: [{ ...tool, inputSchema: {} }] },
    { tools: [{ ...tool, inputSchema: [] }] },
    { tools: [{ ...tool, inputSchema: true }] },
    { tools: [{ ...tool, inputSchema: { type: "string" } }] },
    { tools: [{ ...tool, inputSchema: { type: ["object"] } }] },
    { tools: [{ ...tool, outputSchema: null }] },
    { tools: [{ ...tool, outputSchema: ["array"] }] },
    { tools: [{ ...tool, annotations: { readOnlyHint: "yes" } }] },
    { tools: [{ ...tool, execution: { taskSupport: "always" } }] },
    { nextCursor: null },
    { nextCursor: 2 }
  ]],
  ["CallToolParams", Tool.CallToolParams, [
    { name: undefined },
    { name: null },
    { name: 1 },
    { arguments: null },
    { arguments: [] },
    { arguments: "{}" },
    { task: null },
    { task: true },
    { task: { ttl: "60000" } }
  ]],
  ["CallToolResult", Tool.CallToolResult, [
    { content: undefined },
    { content: null },
    { content: {} },
    { content: "text" },
    { content: ["text"] },
    { content: [{}] },
    { content: [{ type: "text" }] },
    { content: [{ type: "text", text: 1 }] },
    { content: [{ type: "Text", text: "" }] },
    { content: [{ type: "video", data: "", mimeType: "video/mp4" }] },
    { content: [{ type: "image", data: "" }] },
    { content: [{ type: "audio", mimeType: "audio/wav" }] },
    { content: [{ type: "resource_link", uri: "file:///a" }] },
    { content: [{ type: "resource", resource: { uri: "file:///a" } }] },
    { content: [{ type: "resource", resource: { text: "" } }] },
    { content: [{ type: "resource", resource: null }] },
    { content: [{ type: "text", text: "", annotations: { audience: ["everyone"] } }] },
    { content: [{ type: "text", text: "", annotations: { priority: "high" } }] },
    { isError: null },
    { isError: "yes" }
  ]],
  ["[LOG-04] LogMessageParams", Logging.LogMessageParams, [
    { level: undefined },
    { level: "warn" },
    { level: "INFO" },
    { level: 3 },
    { data: undefined },
    { logger: null },
    { logger: 1 }
  ]],
  ["[LOG-04] SetLevelParams", Logging.SetLevelParams, [
    { level: undefined },
    { level: null },
    { level: "warn" },
    { level: "" },
    { level: 4 }
  ]],
  ["ResourceParams", Resource.ResourceParams, [
    { uri: undefined },
    { uri: null },
    { uri: 1 },
    { uri: ["file:///a"] }
  ]],
  ["ResourceUpdatedParams", Resource.ResourceUpdatedParams, [
    { uri: undefined },
    { uri: null },
    { uri: 1 }
  ]],
  ["ListResourcesResult", Resource.ListResourcesResult, [
    { resources: undefined },
    { resources: {} },
    { resources: [{ name: "a" }] },
    { resources: [{ uri: "file:///a" }] },
    { resources: [{ uri: "file:///a", name: "a", size: "1 kB" }] },
    { resources: [{ uri: "file:///a", name: "a", mimeType: null }] },
    { resources: [{ uri: "file:///a", name: "a", annotations: { audience: "user" } }] },
    { nextCursor: 2 }
  ]],
  ["ListResourceTemplatesResult", Resource.ListResourceTemplatesResult, [
    { resourceTemplates: undefined },
    { resourceTemplates: [{ name: "a", uri: "file:///a" }] },
    { resourceTemplates: [{ uriTemplate: "file:///{path}" }] },
    { resourceTemplates: [{ uriTemplate: "file:///{path}", name: "a", icons: [{ src: 1 }] }] }
  ]],
  ["ReadResourceResult", Resource.ReadResourceResult, [
    { contents: undefined },
    { contents: {} },
    { contents: [{ uri: "file:///a" }] },
    { contents: [{ text: "" }] },
    { contents: [{ uri: "file:///a", text: 1 }] },
    { contents: [{ uri: "file:///a", blob: [0, 1] }] },
    { contents: [{ uri: "file:///a", text: "", mimeType: 1 }] }
  ]],
  ["ListPromptsResult", Prompt.ListPromptsResult, [
    { prompts: undefined },
    { prompts: [{}] },
    { prompts: [{ name: "review", arguments: {} }] },
    { prompts: [{ name: "review", arguments: [{}] }] },
    { prompts: [{ name: "review", arguments: [{ name: "language", required: "yes" }] }] }
  ]],
  ["GetPromptParams", Prompt.GetPromptParams, [
    { name: undefined },
    { name: 1 },
    { arguments: [] },
    { arguments: { language: 1 } },
    { arguments: { language: null } }
  ]],
  ["GetPromptResult", Prompt.GetPromptResult, [
    { messages: undefined },
    { messages: [{ role: "user" }] },
    { messages: [{ role: "system", content: text }] },
    { messages: [{ role: "user", content: [text] }] },
    { messages: [{ role: "user", content: { type: "image", data: "" } }] },
    { messages: [{ role: "user", content: { type: "tool_use", id: "1", name: "add", input: {} } }] },
    { description: null }
  ]],
  ["[CMP-03] CompleteParams", Completion.CompleteParams, [
    { ref: undefined },
    { ref: {} },
    { ref: { type: "ref/prompt" } },
    { ref: { type: "ref/resource", name: "review" } },
    { ref: { type: "ref/tool", name: "add" } },
    { argument: undefined },
    { argument: { name: "language" } },
    { argument: { name: "language", value: 1 } },
    { context: { arguments: { language: 1 } } },
    { context: null }
  ]],
  ["[CMP-02] CompleteResult", Completion.CompleteResult, [
    { completion: undefined },
    { completion: {} },
    { completion: { values: "a" } },
    { completion: { values: [1] } },
    { completion: { values: Array.from({ length: 101 }, String) } },
    { completion: { values: [], total: "many" } },
    { completion: { values: [], hasMore: 1 } }
  ]],
  ["CreateMessageParams", Sampling.CreateMessageParams, [
    { messages: undefined },
    { messages: {} },
    { messages: [{ role: "user" }] },
    { messages: [{ role: "system", content: text }] },
    { messages: [{ role: "user", content: "text" }] },
    { messages: [{ role: "user", content: { type: "resource_link", uri: "file:///a", name: "a" } }] },
    { messages: [{ role: "user", content: [text, { type: "tool_use", id: "1", name: "add" }] }] },
    { messages: [{ role: "user", content: { type: "tool_result", content: [] } }] },
    { messages: [{ role: "user", content: { type: "tool_result", toolUseId: "1", content: [{ type: "tool_use" }] } }] },
    { maxTokens: undefined },
    { maxTokens: "many" },
    { includeContext: "everything" },
    { modelPreferences: { hints: ["claude"] } },
    { modelPreferences: { costPriority: "high" } },
    { stopSequences: "stop" },
    { metadata: [] },
    { tools: [{ name: "add" }] },
    { toolChoice: "auto" },
    { toolChoice: { mode: "any" } },
    { task: { ttl: null } }
  ]],
  ["CreateMessageResult", Sampling.CreateMessageResult, [
    { role: undefined },
    { role: "model" },
    { content: undefined },
    { content: [{}] },
    { content: { type: "resource", resource: { uri: "file:///a", text: "" } } },
    { model: undefined },
    { stopReason: null }
  ]],
  ["[ELI-10] ElicitParams", Elicitation.ElicitParams, [
    { message: undefined },
    { requestedSchema: undefined },
    { requestedSchema: { type: "object" } },
    { requestedSchema: { type: "array", properties: {} } },
    { requestedSchema: { type: "object", properties: { name: { type: "object", properties: {} } } } },
    { requestedSchema: { type: "object", properties: { name: { type: "string", format: "hostname" } } } },
    { requestedSchema: { type: "object", properties: { name: { type: "number", minimum: "0" } } } },
    { requestedSchema: { type: "object", properties: { name: { type: "boolean", default: "yes" } } } },
    { requestedSchema: { type: "object", properties: { name: { type: "array", items: { type: "string" } } } } },
    { requestedSchema: { type: "object", properties: {}, required: "name" } },
    { mode: "url" },
    { ...urlElicitation, url: undefined },
    { ...urlElicitation, url: "" },
    { ...urlElicitation, url: "sign-in" },
    { ...urlElicitation, url: "//example.com/sign-in" },
    { ...urlElicitation, url: "https://example.com/sign in" },
    { ...urlElicitation, url: "1https://example.com" },
    { ...urlElicitation, elicitationId: undefined },
    { ...urlElicitation, mode: "urlElicitation" }
  ]],
  ["[ELI-09] ElicitResult", Elicitation.ElicitResult, [
    { action: undefined },
    { action: "yes" },
    { content: [] },
    { content: { name: null } },
    { content: { name: {} } },
    { content: { names: [1] } }
  ]],
  ["[ELI-12] ElicitationCompleteParams", Elicitation.ElicitationCompleteParams, [
    { elicitationId: undefined },
    { elicitationId: null },
    { elicitationId: 1 }
  ]],
  ["[ROOT-03] ListRootsResult", Roots.ListRootsResult, [
    { roots: undefined },
    { roots: {} },
    { roots: [{}] },
    { roots: [{ uri: "https://example.com" }] },
    { roots: [{ uri: "/home" }] },
    { roots: [{ uri: "file:/home" }] },
    { roots: [{ uri: "file:///home", name: 1 }] }
  ]],
  ["TaskParams", Task.TaskParams, [
    { taskId: undefined },
    { taskId: null },
    { taskId: 1 }
  ]],
  ["TaskResult", Task.TaskResult, [
    { taskId: undefined },
    { taskId: 1 },
    { status: undefined },
    { status: "submitted" },
    { status: "Working" },
    { createdAt: undefined },
    { lastUpdatedAt: undefined },
    { lastUpdatedAt: 0 },
    { ttl: undefined },
    { ttl: "60000" },
    { pollInterval: null }
  ]],
  ["ListTasksResult", Task.ListTasksResult, [
    { tasks: undefined },
    { tasks: [{}] },
    { tasks: [{ ...task, ttl: undefined }] },
    { nextCursor: 2 }
  ]],
  ["CreateTaskResult", Task.CreateTaskResult, [
    { task: undefined },
    { task: {} },
    { task: { ...task, status: "done" } }
  ]]
]

it.each(invalid)("%s rejects each of these changes", (_, codec, changes) => {
  assert.deepStrictEqual(changes.filter((change) => Schema.is(codec)(changed(codec, change))), [])
})

it("[LOG-04] the levels are those of syslog, in order of severity", () => {
  assert.deepStrictEqual([...Logging.levels], [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency"
  ])
})

it("[CAN-05] [CAN-09] a cancellation without a request id is valid", () => {
  assert.isTrue(Schema.is(Cancelled.CancelledParams)({ reason: "task" }))
})

it("[PAG-02] [PAG-04] an empty cursor is valid", () => {
  assert.isTrue(Schema.is(Pagination.ListParams)({ cursor: "" }))
  assert.isTrue(Schema.is(Tool.ListToolsResult)({ tools: [], nextCursor: "" }))
})

it("[CMP-02] a completion with 100 values is valid", () => {
  const values = Array.from({ length: Completion.maximumValues }, String)
  assert.isTrue(Schema.is(Completion.CompleteResult)({ completion: { values, total: 1000, hasMore: true } }))
})

it("the payload of a task may be any result", () => {
  for (const result of [{}, { content: [text] }, { role: "user", _meta: {} }, { "": null }]) {
    assert.isTrue(Schema.is(Task.TaskPayload)(result))
  }
})

describe("[ELI-04] [ELI-10] ElicitParams accepts", () => {
  const fields: ReadonlyArray<readonly [string, object]> = [
    ["string", { type: "string", minLength: 1, maxLength: 9, format: "email", default: "" }],
    ["number", { type: "number", minimum: 0, maximum: 1, default: 0.5 }],
    ["whole number", { type: "integer", title: "Age", description: "in years" }],
    ["boolean", { type: "boolean", default: false }],
    ["single choice", { type: "string", enum: ["a", "b"], default: "a" }],
    ["single choice with enumNames", { type: "string", enum: ["a"], enumNames: ["A"] }],
    ["titled single choice", { type: "string", oneOf: [{ const: "a", title: "A" }] }],
    ["multiple choice", { type: "array", minItems: 1, items: { type: "string", enum: ["a"] }, default: ["a"] }],
    ["titled multiple choice", { type: "array", maxItems: 2, items: { anyOf: [{ const: "a", title: "A" }] } }]
  ]

  it.each(fields)("a form with a field for a %s", (_, field) => {
    const requestedSchema = { type: "object", properties: { field }, required: ["field"] }
    for (const mode of [{}, { mode: "form" }]) {
      const params = { ...mode, message: "", requestedSchema }
      assert.isTrue(Schema.is(Elicitation.FormParams)(params))
      // Decoding keeps all members, although several kinds of field match.
      assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(Elicitation.ElicitParams)(params), params)
    }
  })

  it("URL elicitation", () => {
    assert.deepStrictEqual<unknown>(Schema.decodeUnknownSync(Elicitation.ElicitParams)(urlElicitation), urlElicitation)
    assert.isFalse(Schema.is(Elicitation.FormParams)(urlElicitation))
  })
})

it("the data of a log message may be any JSON value, including null and false", () => {
  for (const data of [null, false, 0, "", [], {}]) {
    assert.isTrue(Schema.is(Logging.LogMessageParams)({ level: "info", data }))
  }
})
