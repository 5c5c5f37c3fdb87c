import { Differences, Revision } from "@effect-mcp/protocol"
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { assertAccepted, strictly } from "./official.ts"
import { unknownTo } from "./revisions.ts"
import { type Part, parts } from "./table.ts"
import { frozen, inheritedNames, isMembers } from "./wire.ts"

const { project } = Differences

type Side = "params" | "result"

const revisions = Revision.supported

// =====================================================================================================================
// What a revision cannot say in any way
// =====================================================================================================================

const membersOf = (value: unknown): { readonly [name: string]: unknown } => isMembers(value) ? value : {}

/**
 * Has this a form in every revision that has its method? A question by page and a field of several choices have none
 * before 2025-11-25; nor has the answer to such a field.
 */
const hasForm = ({ method, part }: Part, value: unknown): boolean => {
  if (method !== "elicitation/create") return true
  if (part === "result") {
    return Object.values(membersOf(membersOf(value)["content"])).every((answer) => !Array.isArray(answer))
  }
  const { properties } = membersOf(membersOf(value)["requestedSchema"])
  return membersOf(value)["mode"] !== "url" &&
    Object.values(membersOf(properties)).every((field) => membersOf(field)["type"] !== "array")
}

// =====================================================================================================================
// Laws
// =====================================================================================================================

const runs = { arbitrary: { runs: 30 } }

describe.each(parts)("$label", (row) => {
  const { codec, method, part, since } = row
  const received = Arbitrary.map(strictly(codec), frozen)
  const older = revisions.filter((revision) => Revision.isAtLeast(revision, since))

  it.prop("[INIT-13] is the same in the newest revision", [received], ([value]) => {
    assert.strictEqual(project(method, part, Revision.latest, value), value)
    assert.deepStrictEqual(unknownTo(Revision.latest, method, part, value), [])
  }, runs)

  for (const revision of older) {
    it.prop(`[INIT-12] [INIT-13] fits ${revision}, altered no more than once, and is copied just if it changes`, [
      received
    ], ([value]) => {
      // What is received is frozen: to alter it would throw.
      const projected = project(method, part, revision, value)
      if (projected !== value) assert.notDeepEqual(projected, value)
      assert.strictEqual(project(method, part, revision, projected), projected)
      if (!hasForm(row, value)) return
      assert.deepStrictEqual(unknownTo(revision, method, part, projected), [])
      assertAccepted(method, part, projected)
    }, runs)
  }

  it.prop("[INIT-12] [INIT-13] comes to the same by one step back or by several", [received], ([value]) => {
    let stepwise = value
    for (const revision of revisions.toReversed()) {
      stepwise = project(method, part, revision, stepwise)
      assert.deepStrictEqual(stepwise, project(method, part, revision, value))
    }
  }, runs)
})

// =====================================================================================================================
// Each difference by its name
// =====================================================================================================================

/**
 * One value in all revisions, from the newest to the oldest; where a revision is not named, it is as in the newer one.
 */
interface Example {
  readonly name: string
  readonly method: Part["method"]
  readonly part: Part["part"]
  /** Puts the value where it stands in the message. */
  readonly within?: (value: unknown) => unknown
  readonly revisions: {
    readonly "2025-11-25": unknown
    readonly "2025-06-18"?: unknown
    readonly "2025-03-26"?: unknown
    readonly "2024-11-05"?: unknown
  }
}

const icons = [{ src: "https://example.com/a.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" }]
const meta = { "acme/a": 1 }
const lastModified = "2025-01-12T15:00:58Z"
const annotations = { audience: ["user"], priority: 1 }
const schema = { "$schema": "https://json-schema.org/draft/2020-12/schema", type: "object", title: "T", default: {} }
const words = (text: string) => ({ type: "text", text })

const inTools = (tool: unknown) => ({ tools: [tool], nextCursor: "", _meta: meta })
const inContent = (content: unknown) => ({ content: [content], isError: false, _meta: meta })
const inMessages = (content: unknown) => ({ messages: [{ role: "user", content }], description: "", _meta: meta })
const inSampling = (messages: unknown) => ({ messages, maxTokens: 1, includeContext: "thisServer", _meta: meta })
const inAnswer = (content: unknown) => ({ role: "assistant", content, model: "m", stopReason: "toolUse", _meta: meta })
const inForm = (field: unknown) => ({
  message: "",
  requestedSchema: { type: "object", properties: { first: field, other: { type: "string" } }, required: ["first"] }
})

const examples: ReadonlyArray<Example> = [
  {
    name: "who a client is",
    method: "initialize",
    part: "params",
    within: (clientInfo) => ({ protocolVersion: "2025-11-25", capabilities: {}, clientInfo }),
    revisions: {
      "2025-11-25": { name: "n", version: "1", title: "T", description: "d", websiteUrl: "https://example.com", icons },
      "2025-06-18": { name: "n", version: "1", title: "T" },
      "2025-03-26": { name: "n", version: "1" }
    }
  },
  {
    name: "who a server is",
    method: "initialize",
    part: "result",
    within: (serverInfo) => ({
      protocolVersion: "2025-11-25",
      capabilities: {},
      serverInfo,
      instructions: "i",
      _meta: meta
    }),
    revisions: {
      "2025-11-25": { name: "n", version: "1", title: "T", description: "d", websiteUrl: "https://example.com", icons },
      "2025-06-18": { name: "n", version: "1", title: "T" },
      "2025-03-26": { name: "n", version: "1" }
    }
  },
  {
    name: "what a client can do",
    method: "initialize",
    part: "params",
    within: (capabilities) => ({
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "n", version: "1" },
      _meta: meta
    }),
    revisions: {
      "2025-11-25": {
        experimental: { "acme/a": { tasks: true } },
        roots: { listChanged: true },
        sampling: { context: {}, tools: {} },
        elicitation: { form: {}, url: {} },
        tasks: { list: {}, cancel: {}, requests: { elicitation: { create: {} } } }
      },
      "2025-06-18": {
        experimental: { "acme/a": { tasks: true } },
        roots: { listChanged: true },
        sampling: {},
        elicitation: {}
      },
      "2025-03-26": { experimental: { "acme/a": { tasks: true } }, roots: { listChanged: true }, sampling: {} }
    }
  },
  {
    name: "[ELI-02] a client that asks its user by page and not by form",
    method: "initialize",
    part: "params",
    within: (capabilities) => ({
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "n", version: "1" }
    }),
    revisions: { "2025-11-25": { roots: {}, elicitation: { url: {} } }, "2025-06-18": { roots: {} } }
  },
  {
    name: "[ELI-02] a client that names no mode",
    method: "initialize",
    part: "params",
    within: (capabilities) => ({
      protocolVersion: "2025-11-25",
      capabilities,
      clientInfo: { name: "n", version: "1" }
    }),
    revisions: { "2025-11-25": { elicitation: {} }, "2025-03-26": {} }
  },
  {
    name: "what a server can do",
    method: "initialize",
    part: "result",
    within: (capabilities) => ({
      protocolVersion: "2025-11-25",
      capabilities,
      serverInfo: { name: "n", version: "1" }
    }),
    revisions: {
      "2025-11-25": {
        logging: {},
        completions: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: false },
        tools: {},
        tasks: { requests: { tools: { call: {} } } }
      },
      "2025-06-18": {
        logging: {},
        completions: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: false },
        tools: {}
      },
      "2024-11-05": {
        logging: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: false },
        tools: {}
      }
    }
  },
  {
    name: "[TOOL-11] a tool",
    method: "tools/list",
    part: "result",
    within: inTools,
    revisions: {
      "2025-11-25": {
        name: "add",
        title: "Add",
        description: "Adds",
        inputSchema: schema,
        outputSchema: schema,
        annotations: { title: "Add", readOnlyHint: true },
        execution: { taskSupport: "optional" },
        icons,
        _meta: meta
      },
      "2025-06-18": {
        name: "add",
        title: "Add",
        description: "Adds",
        inputSchema: schema,
        outputSchema: schema,
        annotations: { title: "Add", readOnlyHint: true },
        _meta: meta
      },
      "2025-03-26": {
        name: "add",
        description: "Adds",
        inputSchema: schema,
        annotations: { title: "Add", readOnlyHint: true }
      },
      "2024-11-05": { name: "add", description: "Adds", inputSchema: schema }
    }
  },
  {
    name: "[TSK-02] a call as a task",
    method: "tools/call",
    part: "params",
    revisions: {
      "2025-11-25": { name: "add", arguments: { task: 1, title: "T" }, task: { ttl: 1 }, _meta: { progressToken: 0 } },
      "2025-06-18": { name: "add", arguments: { task: 1, title: "T" }, _meta: { progressToken: 0 } }
    }
  },
  {
    name: "[TOOL-09] a structured result that is also said in text",
    method: "tools/call",
    part: "result",
    revisions: {
      "2025-11-25": { content: [words("42")], structuredContent: { sum: 42 }, _meta: meta },
      "2025-03-26": { content: [words("42")], _meta: meta }
    }
  },
  {
    name: "[TOOL-09] a result that is nothing but structured",
    method: "tools/call",
    part: "result",
    revisions: {
      "2025-11-25": { content: [], structuredContent: { sum: 42 }, isError: true },
      "2025-03-26": { content: [words("{\"sum\":42}")], isError: true }
    }
  },
  {
    name: "a result of nothing at all",
    method: "tools/call",
    part: "result",
    revisions: { "2025-11-25": { content: [] } }
  },
  {
    name: "text",
    method: "tools/call",
    part: "result",
    within: inContent,
    revisions: {
      "2025-11-25": { ...words("a"), annotations: { ...annotations, lastModified }, _meta: meta },
      "2025-03-26": { ...words("a"), annotations }
    }
  },
  {
    name: "an image",
    method: "tools/call",
    part: "result",
    within: inContent,
    revisions: {
      "2025-11-25": { type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified }, _meta: meta },
      "2025-03-26": { type: "image", data: "AA==", mimeType: "image/png", annotations: {} }
    }
  },
  {
    name: "[PRM-05] sound",
    method: "prompts/get",
    part: "result",
    within: inMessages,
    revisions: {
      "2025-11-25": {
        type: "audio",
        data: "AA==",
        mimeType: "audio/wav",
        annotations: { ...annotations, lastModified },
        _meta: meta
      },
      "2025-03-26": { type: "audio", data: "AA==", mimeType: "audio/wav", annotations },
      "2024-11-05": { ...words("[audio, audio/wav]"), annotations }
    }
  },
  {
    name: "a link to a resource",
    method: "tools/call",
    part: "result",
    within: inContent,
    revisions: {
      "2025-11-25": {
        type: "resource_link",
        uri: "file:///a",
        name: "a",
        title: "A",
        description: "d",
        mimeType: "text/plain",
        size: 1,
        icons,
        annotations: { ...annotations, lastModified },
        _meta: meta
      },
      "2025-06-18": {
        type: "resource_link",
        uri: "file:///a",
        name: "a",
        title: "A",
        description: "d",
        mimeType: "text/plain",
        size: 1,
        annotations: { ...annotations, lastModified },
        _meta: meta
      },
      "2025-03-26": { ...words("a: file:///a"), annotations }
    }
  },
  {
    name: "a resource in full",
    method: "prompts/get",
    part: "result",
    within: inMessages,
    revisions: {
      "2025-11-25": {
        type: "resource",
        resource: { uri: "file:///a", mimeType: "text/plain", text: "a", _meta: meta },
        annotations: { ...annotations, lastModified },
        _meta: meta
      },
      "2025-03-26": {
        type: "resource",
        resource: { uri: "file:///a", mimeType: "text/plain", text: "a" },
        annotations
      }
    }
  },
  {
    name: "a resource",
    method: "resources/list",
    part: "result",
    within: (resource) => ({ resources: [resource], nextCursor: "1", _meta: meta }),
    revisions: {
      "2025-11-25": {
        uri: "file:///a",
        name: "a",
        title: "A",
        size: 1,
        icons,
        annotations: { priority: 1, lastModified },
        _meta: meta
      },
      "2025-06-18": {
        uri: "file:///a",
        name: "a",
        title: "A",
        size: 1,
        annotations: { priority: 1, lastModified },
        _meta: meta
      },
      "2025-03-26": { uri: "file:///a", name: "a", size: 1, annotations: { priority: 1 } }
    }
  },
  {
    name: "a resource template",
    method: "resources/templates/list",
    part: "result",
    within: (template) => ({ resourceTemplates: [template] }),
    revisions: {
      "2025-11-25": {
        uriTemplate: "file:///{a}",
        name: "a",
        title: "A",
        icons,
        annotations: { priority: 1, lastModified },
        _meta: meta
      },
      "2025-06-18": {
        uriTemplate: "file:///{a}",
        name: "a",
        title: "A",
        annotations: { priority: 1, lastModified },
        _meta: meta
      },
      "2025-03-26": { uriTemplate: "file:///{a}", name: "a", annotations: { priority: 1 } }
    }
  },
  {
    name: "what was read",
    method: "resources/read",
    part: "result",
    within: (contents) => ({ contents, _meta: meta }),
    revisions: {
      "2025-11-25": [{ uri: "file:///a", text: "a", _meta: meta }, { uri: "file:///b", blob: "AA==", _meta: meta }],
      "2025-03-26": [{ uri: "file:///a", text: "a" }, { uri: "file:///b", blob: "AA==" }]
    }
  },
  {
    name: "a prompt",
    method: "prompts/list",
    part: "result",
    within: (prompt) => ({ prompts: [prompt] }),
    revisions: {
      "2025-11-25": {
        name: "p",
        title: "P",
        icons,
        arguments: [{ name: "a", title: "A", required: true }],
        _meta: meta
      },
      "2025-06-18": { name: "p", title: "P", arguments: [{ name: "a", title: "A", required: true }], _meta: meta },
      "2025-03-26": { name: "p", arguments: [{ name: "a", required: true }] }
    }
  },
  {
    name: "a completion in its context",
    method: "completion/complete",
    part: "params",
    revisions: {
      "2025-11-25": {
        ref: { type: "ref/prompt", name: "p", title: "P" },
        argument: { name: "a", value: "" },
        context: { arguments: { b: "c" } }
      },
      "2025-03-26": { ref: { type: "ref/prompt", name: "p" }, argument: { name: "a", value: "" } }
    }
  },
  {
    name: "a root",
    method: "roots/list",
    part: "result",
    within: (root) => ({ roots: [root], _meta: meta }),
    revisions: {
      "2025-11-25": { uri: "file:///a", name: "a", _meta: meta },
      "2025-03-26": { uri: "file:///a", name: "a" }
    }
  },
  {
    name: "[PRG-07] progress",
    method: "notifications/progress",
    part: "params",
    revisions: {
      "2025-11-25": { progressToken: 0, progress: 1, total: 2, message: "half", _meta: meta },
      "2024-11-05": { progressToken: 0, progress: 1, total: 2, _meta: meta }
    }
  },
  {
    name: "a cancellation, which is the same in all revisions",
    method: "notifications/cancelled",
    part: "params",
    revisions: { "2025-11-25": { requestId: 0, reason: "r", _meta: meta } }
  },
  {
    name: "[SMP-02] [TSK-02] what is offered to a model",
    method: "sampling/createMessage",
    part: "params",
    revisions: {
      "2025-11-25": {
        messages: [],
        maxTokens: 1,
        tools: [{ name: "add", inputSchema: schema }],
        toolChoice: { mode: "auto" },
        task: {},
        metadata: { tools: [] }
      },
      "2025-06-18": { messages: [], maxTokens: 1, metadata: { tools: [] } }
    }
  },
  {
    name: "messages of one piece",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    revisions: {
      "2025-11-25": [
        { role: "user", content: [{ ...words("a"), _meta: meta }], _meta: meta },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" }, _meta: meta }
      ],
      "2025-06-18": [
        { role: "user", content: { ...words("a"), _meta: meta } },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" } }
      ],
      "2025-03-26": [
        { role: "user", content: words("a") },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" } }
      ],
      "2024-11-05": [
        { role: "user", content: words("a") },
        { role: "assistant", content: words("[audio, audio/wav]") }
      ]
    }
  },
  {
    name: "messages of several pieces or of none",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    revisions: {
      "2025-11-25": [
        { role: "user", content: [words("a"), { type: "image", data: "AA==", mimeType: "image/png" }], _meta: meta },
        { role: "assistant", content: [] },
        { role: "assistant", content: words("b") }
      ],
      "2025-06-18": [
        { role: "user", content: words("a") },
        { role: "user", content: { type: "image", data: "AA==", mimeType: "image/png" } },
        { role: "assistant", content: words("b") }
      ]
    }
  },
  {
    name: "[SMP-03] [SMP-04] uses of tools and their results",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    revisions: {
      "2025-11-25": [
        {
          role: "assistant",
          content: [words("so"), { type: "tool_use", id: "1", name: "add", input: { a: 1 }, _meta: meta }]
        },
        {
          role: "user",
          content: {
            type: "tool_result",
            toolUseId: "1",
            content: [
              words("one"),
              { type: "audio", data: "AA==", mimeType: "audio/wav" },
              { type: "resource_link", uri: "file:///a", name: "a", icons },
              { type: "resource", resource: { uri: "file:///b", text: "b" } },
              { type: "resource", resource: { uri: "file:///c", blob: "AA==" } }
            ]
          }
        },
        { role: "user", content: { type: "tool_result", toolUseId: "2", content: [], structuredContent: { sum: 1 } } },
        { role: "user", content: { type: "tool_result", toolUseId: "3", content: [words("no")], isError: true } }
      ],
      "2025-06-18": [
        { role: "assistant", content: words("so") },
        { role: "assistant", content: words("[tool use, add: {\"a\":1}]") },
        {
          role: "user",
          content: words("[tool result]\none\n[audio, audio/wav]\na: file:///a\nb\n[resource, file:///c]")
        },
        { role: "user", content: words("[tool result]\n{\"sum\":1}") },
        { role: "user", content: words("[tool result, error]\nno") }
      ]
    }
  },
  {
    name: "the answer of a model in one piece",
    method: "sampling/createMessage",
    part: "result",
    within: inAnswer,
    revisions: {
      "2025-11-25": [{ type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified } }],
      "2025-06-18": { type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified } },
      "2025-03-26": { type: "image", data: "AA==", mimeType: "image/png", annotations: {} }
    }
  },
  {
    name: "the answer of a model in several pieces",
    method: "sampling/createMessage",
    part: "result",
    within: inAnswer,
    revisions: {
      "2025-11-25": [
        words("a"),
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "tool_use", id: "1", name: "add", input: {} }
      ],
      "2025-06-18": words("a\n[image, image/png]\n[tool use, add: {}]")
    }
  },
  {
    name: "the answer of a model in no piece",
    method: "sampling/createMessage",
    part: "result",
    within: inAnswer,
    revisions: { "2025-11-25": [], "2025-06-18": words("") }
  },
  {
    name: "[ELI-04] [TSK-02] a question by form",
    method: "elicitation/create",
    part: "params",
    revisions: {
      "2025-11-25": {
        mode: "form",
        message: "m",
        requestedSchema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: {} },
        task: { ttl: 1 },
        _meta: meta
      },
      "2025-06-18": { message: "m", requestedSchema: { type: "object", properties: {} }, _meta: meta }
    }
  },
  ...[
    {
      name: "[ELI-08] a text with a default",
      newest: { type: "string", title: "T", minLength: 1, format: "email", default: "a" },
      older: { type: "string", title: "T", minLength: 1, format: "email" }
    },
    {
      name: "[ELI-08] a number with a default",
      newest: { type: "number", minimum: 0, maximum: 1, default: 0 },
      older: { type: "number", minimum: 0, maximum: 1 }
    },
    {
      name: "[ELI-08] a whole number with a default",
      newest: { type: "integer", description: "d", default: 1 },
      older: { type: "integer", description: "d" }
    },
    {
      name: "[ELI-08] a yes or no with a default, which it always had",
      newest: { type: "boolean", default: true },
      older: { type: "boolean", default: true }
    },
    {
      name: "a choice with a default",
      newest: { type: "string", enum: ["a", "b"], default: "a" },
      older: { type: "string", enum: ["a", "b"] }
    },
    {
      name: "a choice with names beside it",
      newest: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      older: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] }
    },
    {
      name: "a titled choice",
      newest: {
        type: "string",
        title: "T",
        oneOf: [{ const: "a", title: "A" }, { const: "b", title: "B" }],
        default: "a"
      },
      older: { type: "string", title: "T", enum: ["a", "b"], enumNames: ["A", "B"] }
    },
    {
      name: "a titled choice among nothing",
      newest: { type: "string", oneOf: [] },
      older: { type: "string", enum: [], enumNames: [] }
    }
  ].map(({ name, newest, older }): Example => ({
    name: `${name}, in a form`,
    method: "elicitation/create",
    part: "params",
    within: inForm,
    revisions: { "2025-11-25": newest, "2025-06-18": older }
  }))
]

describe.each(examples)("$name", ({ method, part, revisions: expected, within = (value) => value }) => {
  const newest = frozen(within(expected["2025-11-25"]))
  const row = parts.find((row) => row.method === method && row.part === part)
  let last: unknown = expected["2025-11-25"]
  const inAll = revisions.toReversed().map((revision) => {
    last = expected[revision] ?? last
    return [revision, within(last)] as const
  })

  it.each(inAll)("[INIT-12] [INIT-13] in %s", (revision, value) => {
    const projected = project(method, part, revision, newest)
    assert.deepStrictEqual(projected, value)
    assert.strictEqual(project(method, part, revision, projected), projected)
    if (row === undefined || !Revision.isAtLeast(revision, row.since)) return
    assert.deepStrictEqual(unknownTo(revision, method, part, projected), [])
    assertAccepted(method, part, projected)
  })
})

// =====================================================================================================================
// What has no form in an older revision
// =====================================================================================================================

const page = { mode: "url", message: "m", url: "https://example.com", elicitationId: "1", task: {} }
const choices = { type: "array", items: { type: "string", enum: ["a"] }, default: ["a"] }

const formless: ReadonlyArray<readonly [string, Side, unknown]> = [
  ["[ELI-10] a question by page", "params", page],
  ["a field of several choices", "params", inForm(choices)],
  [
    "a field of several titled choices",
    "params",
    inForm({ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } })
  ],
  ["the answer to a field of several choices", "result", { action: "accept", content: { first: ["a"] } }]
]

it.each(formless)("%s is left as it is, so that nothing else is read in it", (_, part, value) => {
  for (const revision of revisions) {
    assert.strictEqual(project("elicitation/create", part, revision, value), value)
  }
  assert.isNotEmpty(unknownTo("2025-06-18", "elicitation/create", part, value))
})

// =====================================================================================================================
// Names and values nobody expects
// =====================================================================================================================

describe.each([...inheritedNames, "acme/echo", "tools/call params"])("the method %j, which is in no table,", (name) => {
  it("has no differences", () => {
    const value = { content: [], structuredContent: {}, title: "", _meta: {} }
    for (const revision of revisions) {
      assert.strictEqual(project(name, "params", revision, value), value)
      assert.strictEqual(project(name, "result", revision, value), value)
    }
  })
})

it.each(inheritedNames)("members named %j pass", (name) => {
  const received: unknown = JSON.parse(
    `{"content":[{"type":"text","text":"","_meta":{}}],"structuredContent":{},${JSON.stringify(name)}:{"a":1}}`
  )
  const expected: unknown = JSON.parse(`{"content":[{"type":"text","text":""}],${JSON.stringify(name)}:{"a":1}}`)
  const projected = project("tools/call", "result", "2025-03-26", received)
  assert.strictEqual(JSON.stringify(projected), JSON.stringify(expected))
  assert.strictEqual(Object.getPrototypeOf(projected), Object.prototype)
})

it.each(inheritedNames)("a field named %j is a field", (name) => {
  const form = (field: string): unknown =>
    JSON.parse(`{"message":"","requestedSchema":{"type":"object","properties":{${JSON.stringify(name)}:${field}}}}`)
  const projected = project(
    "elicitation/create",
    "params",
    "2025-06-18",
    form(`{"type":"string","default":""}`)
  )
  assert.strictEqual(JSON.stringify(projected), JSON.stringify(form(`{"type":"string"}`)))
})

const cycle: { [name: string]: unknown } = {}
cycle["self"] = cycle

it.each([["a cycle", cycle], ["a big integer", { n: 1n }]])("%s in what becomes text does not throw", (_, value) => {
  const result = project("tools/call", "result", "2025-03-26", { content: [], structuredContent: value })
  assert.deepStrictEqual<unknown>(result, { content: [words("[no JSON]")] })
})

it.prop("whatever the value is, fitting it does not throw", [Arbitrary.schema(Schema.Unknown)], ([value]) => {
  for (const { method, part } of parts) {
    for (const revision of revisions) {
      project(method, part, revision, value)
      for (const name of ["content", "messages", "capabilities", "requestedSchema", "tools"]) {
        project(method, part, revision, { [name]: value })
        project(method, part, revision, { [name]: [value] })
      }
    }
  }
}, { arbitrary: { runs: 30 } })

it("[INIT-13] the member lists judge: what a revision does not have is found", () => {
  const result = { content: [{ type: "audio", data: "", mimeType: "" }], structuredContent: {}, acme: 1 }
  assert.deepStrictEqual(unknownTo("2024-11-05", "tools/call", "result", result), [
    "result.content[0] is of an unknown kind",
    "result.structuredContent is unknown",
    "result.acme is unknown"
  ])
  assert.isNotEmpty(unknownTo("2025-11-25", "acme/echo", "params", {}))
})
