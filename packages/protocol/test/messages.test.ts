import { Cancelled, Initialize, Logging, Meta, Methods, Progress, Revision, Tool } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { notObjects, overTheWire } from "./wire.ts"

/** Every schema of the method table, under the name of what it describes. */
const codecs: ReadonlyArray<readonly [string, Schema.Codec<unknown>]> = [
  ...Object.values<Methods.AnyRequest>({ ...Methods.requests }).flatMap((
    { name, params, result }
  ): ReadonlyArray<readonly [string, Schema.Codec<unknown>]> => [
    [`params of ${name}`, params],
    [`result of ${name}`, result]
  ]),
  ...Object.values<Methods.AnyNotification>({ ...Methods.notifications }).map((
    { name, params }
  ): readonly [string, Schema.Codec<unknown>] => [`params of ${name}`, params])
]

const info = { name: "peer", version: "1" }
const tool = { name: "add", inputSchema: { type: "object" } }

/** What each schema asks for at the least. */
const minimal: ReadonlyMap<Schema.Codec<unknown>, object> = new Map<Schema.Codec<unknown>, object>([
  [Initialize.InitializeParams, { protocolVersion: Revision.latest, capabilities: {}, clientInfo: info }],
  [Initialize.InitializeResult, { protocolVersion: Revision.latest, capabilities: {}, serverInfo: info }],
  [Meta.RequestParams, {}],
  [Meta.NotificationParams, {}],
  [Meta.EmptyResult, {}],
  [Tool.ListToolsParams, {}],
  [Tool.ListToolsResult, { tools: [] }],
  [Tool.CallToolParams, { name: "add" }],
  [Tool.CallToolResult, { content: [] }],
  [Logging.LogMessageParams, { level: "info", data: null }],
  [Progress.ProgressParams, { progressToken: 0, progress: 0 }],
  [Cancelled.CancelledParams, {}]
])

describe.each(codecs)("%s", (_, codec) => {
  const decode = Schema.decodeUnknownSync(codec)
  const isFit = Schema.is(codec)

  it.prop("[MSG-01] what is sent is understood on the other side, and nothing of it is lost", [codec], ([sent]) => {
    const received = overTheWire(sent)
    assert.deepStrictEqual(decode(received), received)
  }, { arbitrary: { runs: 150 } })

  it.prop("[MSG-01] members that are not known are no reason to refuse a message", [codec], ([sent]) => {
    assert.isTrue(isFit({ ...Object(overTheWire(sent)), "acme.example/extra": { deep: [null] } }))
  }, { arbitrary: { runs: 30 } })

  it.each(notObjects)("[MSG-01] %j is refused", (value) => assert.isFalse(isFit(value)))

  it.prop("[MSG-28] nothing is assumed of what stands in _meta, not even under the reserved keys", [
    Schema.Literals([
      "io.modelcontextprotocol/acme",
      "modelcontextprotocol.io/",
      "dev.mcp/acme",
      "mcp.dev/acme",
      "acme"
    ]),
    Schema.Unknown
  ], ([key, value]) => {
    assert.isTrue(isFit({ ...minimal.get(codec), _meta: { [key]: value } }))
  }, { arbitrary: { runs: 50 } })

  it.each(notObjects)("[MSG-01] %j is refused as _meta", (value) => {
    assert.isFalse(isFit({ ...minimal.get(codec), _meta: value }))
  })

  it("the smallest message of its kind is understood", () => assert.isTrue(isFit(minimal.get(codec))))
})

/** The smallest message of a kind with some of its members changed; `undefined` takes one away. */
const changed = (codec: Schema.Codec<unknown>, change: { readonly [name: string]: unknown }): object =>
  Object.fromEntries(Object.entries({ ...minimal.get(codec), ...change }).filter(([, value]) => value !== undefined))

type Change = { readonly [name: string]: unknown }

/** Changes that turn the smallest message of a kind into none. */
const wrong: ReadonlyArray<readonly [id: string, Schema.Codec<unknown>, ReadonlyArray<Change>]> = [
  ["[INIT-02] initialize is refused", Initialize.InitializeParams, [
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
    { clientInfo: undefined },
    { clientInfo: "peer" },
    { clientInfo: { name: "peer" } },
    { clientInfo: { version: "1" } },
    { clientInfo: { name: "peer", version: 1 } },
    { clientInfo: { ...info, icons: {} } },
    { clientInfo: { ...info, icons: [{}] } },
    { clientInfo: { ...info, icons: [{ src: "a.png", theme: "blue" }] } }
  ]],
  ["[INIT-07] an answer to initialize is refused", Initialize.InitializeResult, [
    { protocolVersion: undefined },
    { protocolVersion: 20251125 },
    { capabilities: undefined },
    { capabilities: { tools: true } },
    { capabilities: { tools: { listChanged: 1 } } },
    { capabilities: { resources: { subscribe: "yes" } } },
    { capabilities: { logging: true } },
    { serverInfo: undefined },
    { serverInfo: { name: "peer" } },
    { instructions: null },
    { instructions: ["use", "it"] }
  ]],
  ["[PRG-01] a request for progress is refused", Meta.RequestParams, [
    { _meta: { progressToken: null } },
    { _meta: { progressToken: 1.5 } },
    { _meta: { progressToken: true } },
    { _meta: { progressToken: {} } },
    { _meta: { progressToken: ["1"] } }
  ]],
  ["[PRG-01] progress is refused", Progress.ProgressParams, [
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
  ["[CAN-09] [MSG-03] [MSG-04] a cancellation is refused", Cancelled.CancelledParams, [
    { requestId: null },
    { requestId: 1.5 },
    { requestId: true },
    { requestId: {} },
    { requestId: [1] },
    { reason: null },
    { reason: 1 }
  ]],
  ["a request for a page is refused", Tool.ListToolsParams, [
    { cursor: null },
    { cursor: 2 },
    { cursor: { page: 2 } }
  ]],
  ["[TOOL-06] a list of tools is refused", Tool.ListToolsResult, [
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
    { tools: [{ ...tool, outputSchema: { type: "array" } }] },
    { tools: [{ ...tool, annotations: { readOnlyHint: "yes" } }] },
    { tools: [{ ...tool, execution: { taskSupport: "always" } }] },
    { nextCursor: null },
    { nextCursor: 2 }
  ]],
  ["a call of a tool is refused", Tool.CallToolParams, [
    { name: undefined },
    { name: null },
    { name: 1 },
    { arguments: null },
    { arguments: [] },
    { arguments: "{}" }
  ]],
  ["the result of a tool is refused", Tool.CallToolResult, [
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
    { structuredContent: null },
    { structuredContent: [] },
    { structuredContent: "42" },
    { isError: null },
    { isError: "yes" }
  ]],
  ["[LOG-04] a log message is refused", Logging.LogMessageParams, [
    { level: undefined },
    { level: "warn" },
    { level: "INFO" },
    { level: 3 },
    { data: undefined },
    { logger: null },
    { logger: 1 }
  ]]
]

describe.each(wrong)("%s that says", (_, codec, changes) => {
  it.each(
    changes.map((change) =>
      [JSON.stringify(change, (_, value) => value === undefined ? "(absent)" : value), change] as const
    )
  )(
    "%s",
    (_, change) => assert.isFalse(Schema.is(codec)(changed(codec, change)))
  )
})

it("[LOG-04] the levels are those of syslog, mildest first", () => {
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

it("[CAN-05] [CAN-09] a cancellation may leave out the id, from which nothing follows", () => {
  assert.isTrue(Schema.is(Cancelled.CancelledParams)({ reason: "task" }))
})

it("[PAG-02] [PAG-04] an empty cursor is a cursor", () => {
  assert.isTrue(Schema.is(Tool.ListToolsParams)({ cursor: "" }))
  assert.isTrue(Schema.is(Tool.ListToolsResult)({ tools: [], nextCursor: "" }))
})

it("data of a log message may be any JSON value, null and false included", () => {
  for (const data of [null, false, 0, "", [], {}]) {
    assert.isTrue(Schema.is(Logging.LogMessageParams)({ level: "info", data }))
  }
})
