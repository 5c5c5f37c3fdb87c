import { type Example, icons, inForm, lastModified, meta, schema, testExamples, textBlock } from "./example.ts"

const inSampling = (messages: unknown) => ({ messages, maxTokens: 1, includeContext: "thisServer", _meta: meta })
const inResult = (content: unknown) => ({ role: "assistant", content, model: "m", stopReason: "toolUse", _meta: meta })

testExamples([
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
    name: "[SMP-02] tools for a model",
    method: "sampling/createMessage",
    part: "params",
    tolerant: "as strict",
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
    name: "messages with one content block",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    tolerant: {
      "2025-06-18": [
        { role: "user", content: { ...textBlock("a"), _meta: meta }, _meta: meta },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" }, _meta: meta }
      ],
      "2024-11-05": [
        { role: "user", content: { ...textBlock("a"), _meta: meta }, _meta: meta },
        { role: "assistant", content: textBlock("[audio, audio/wav]"), _meta: meta }
      ]
    },
    revisions: {
      "2025-11-25": [
        { role: "user", content: [{ ...textBlock("a"), _meta: meta }], _meta: meta },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" }, _meta: meta }
      ],
      "2025-06-18": [
        { role: "user", content: { ...textBlock("a"), _meta: meta } },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" } }
      ],
      "2025-03-26": [
        { role: "user", content: textBlock("a") },
        { role: "assistant", content: { type: "audio", data: "AA==", mimeType: "audio/wav" } }
      ],
      "2024-11-05": [
        { role: "user", content: textBlock("a") },
        { role: "assistant", content: textBlock("[audio, audio/wav]") }
      ]
    }
  },
  {
    name: "messages with several content blocks or with none",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    tolerant: {
      "2025-06-18": [
        { role: "user", content: textBlock("a"), _meta: meta },
        { role: "user", content: { type: "image", data: "AA==", mimeType: "image/png" }, _meta: meta },
        { role: "assistant", content: textBlock("b") }
      ]
    },
    revisions: {
      "2025-11-25": [
        {
          role: "user",
          content: [textBlock("a"), { type: "image", data: "AA==", mimeType: "image/png" }],
          _meta: meta
        },
        { role: "assistant", content: [] },
        { role: "assistant", content: textBlock("b") }
      ],
      "2025-06-18": [
        { role: "user", content: textBlock("a") },
        { role: "user", content: { type: "image", data: "AA==", mimeType: "image/png" } },
        { role: "assistant", content: textBlock("b") }
      ]
    }
  },
  {
    name: "[SMP-03] [SMP-04] tool uses and tool results",
    method: "sampling/createMessage",
    part: "params",
    within: inSampling,
    tolerant: "as strict",
    revisions: {
      "2025-11-25": [
        {
          role: "assistant",
          content: [textBlock("so"), { type: "tool_use", id: "1", name: "add", input: { a: 1 }, _meta: meta }]
        },
        {
          role: "user",
          content: {
            type: "tool_result",
            toolUseId: "1",
            content: [
              textBlock("one"),
              { type: "audio", data: "AA==", mimeType: "audio/wav" },
              { type: "resource_link", uri: "file:///a", name: "a", icons },
              { type: "resource", resource: { uri: "file:///b", text: "b" } },
              { type: "resource", resource: { uri: "file:///c", blob: "AA==" } }
            ]
          }
        },
        { role: "user", content: { type: "tool_result", toolUseId: "2", content: [], structuredContent: { sum: 1 } } },
        { role: "user", content: { type: "tool_result", toolUseId: "3", content: [textBlock("no")], isError: true } }
      ],
      "2025-06-18": [
        { role: "assistant", content: textBlock("so") },
        { role: "assistant", content: textBlock("[tool use, add: {\"a\":1}]") },
        {
          role: "user",
          content: textBlock("[tool result]\none\n[audio, audio/wav]\na: file:///a\nb\n[resource, file:///c]")
        },
        { role: "user", content: textBlock("[tool result]\n{\"sum\":1}") },
        { role: "user", content: textBlock("[tool result, error]\nno") }
      ]
    }
  },
  {
    name: "the result of a model with one content block",
    method: "sampling/createMessage",
    part: "result",
    within: inResult,
    tolerant: {
      "2025-06-18": { type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified } }
    },
    revisions: {
      "2025-11-25": [{ type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified } }],
      "2025-06-18": { type: "image", data: "AA==", mimeType: "image/png", annotations: { lastModified } },
      "2025-03-26": { type: "image", data: "AA==", mimeType: "image/png", annotations: {} }
    }
  },
  {
    name: "the result of a model with several content blocks",
    method: "sampling/createMessage",
    part: "result",
    within: inResult,
    tolerant: "as strict",
    revisions: {
      "2025-11-25": [
        textBlock("a"),
        { type: "image", data: "AA==", mimeType: "image/png" },
        { type: "tool_use", id: "1", name: "add", input: {} }
      ],
      "2025-06-18": textBlock("a\n[image, image/png]\n[tool use, add: {}]")
    }
  },
  {
    name: "the result of a model without content blocks",
    method: "sampling/createMessage",
    part: "result",
    within: inResult,
    tolerant: "as strict",
    revisions: { "2025-11-25": [], "2025-06-18": textBlock("") }
  },
  {
    name: "[ELI-04] a form elicitation",
    method: "elicitation/create",
    part: "params",
    tolerant: {
      "2025-06-18": {
        mode: "form",
        message: "m",
        requestedSchema: { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", properties: {} },
        _meta: meta
      }
    },
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
      name: "[ELI-08] a string field with a default",
      newest: { type: "string", title: "T", minLength: 1, format: "email", default: "a" },
      older: { type: "string", title: "T", minLength: 1, format: "email" }
    },
    {
      name: "[ELI-08] a number field with a default",
      newest: { type: "number", minimum: 0, maximum: 1, default: 0 },
      older: { type: "number", minimum: 0, maximum: 1 }
    },
    {
      name: "[ELI-08] an integer field with a default",
      newest: { type: "integer", description: "d", default: 1 },
      older: { type: "integer", description: "d" }
    },
    {
      name: "[ELI-08] a boolean field with a default, which all revisions have",
      newest: { type: "boolean", default: true },
      older: { type: "boolean", default: true }
    },
    {
      name: "an enum field with a default",
      newest: { type: "string", enum: ["a", "b"], default: "a" },
      older: { type: "string", enum: ["a", "b"] }
    },
    {
      name: "an enum field with enumNames",
      newest: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
      older: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] }
    },
    {
      name: "a titled enum field",
      newest: {
        type: "string",
        title: "T",
        oneOf: [{ const: "a", title: "A" }, { const: "b", title: "B" }],
        default: "a"
      },
      older: { type: "string", title: "T", enum: ["a", "b"], enumNames: ["A", "B"] },
      tolerant: { type: "string", title: "T", enum: ["a", "b"], enumNames: ["A", "B"], default: "a" }
    },
    {
      name: "a titled enum field without values",
      newest: { type: "string", oneOf: [] },
      older: { type: "string", enum: [], enumNames: [] },
      tolerant: { type: "string", enum: [], enumNames: [] }
    }
  ].map(({ name, newest, older, tolerant = newest }): Example => ({
    name: `${name}, in a form`,
    method: "elicitation/create",
    part: "params",
    within: inForm,
    tolerant: { "2025-06-18": tolerant },
    revisions: { "2025-11-25": newest, "2025-06-18": older }
  }))
])
