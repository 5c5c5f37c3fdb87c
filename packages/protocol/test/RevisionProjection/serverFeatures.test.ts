import { icons, lastModified, meta, schema, testExamples, textBlock } from "./example.ts"

const annotations = { audience: ["user"], priority: 1 }

/** The members of a tool that 2025-06-18 has. */
const add = {
  name: "add",
  title: "Add",
  description: "Adds",
  inputSchema: schema,
  outputSchema: schema,
  annotations: { title: "Add", readOnlyHint: true }
}

const inTools = (tool: unknown) => ({ tools: [tool], nextCursor: "", _meta: meta })
const inContent = (content: unknown) => ({ content: [content], isError: false, _meta: meta })
const inMessages = (content: unknown) => ({ messages: [{ role: "user", content }], description: "", _meta: meta })

testExamples([
  {
    name: "a tool",
    method: "tools/list",
    part: "result",
    within: inTools,
    // A client of an older revision would misread `execution`; it has no tasks.
    tolerant: {
      "2025-06-18": { ...add, icons, _meta: meta }
    },
    revisions: {
      "2025-11-25": { ...add, execution: { taskSupport: "optional" }, icons, _meta: meta },
      "2025-06-18": { ...add, _meta: meta },
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
    name: "a call as a task",
    method: "tools/call",
    part: "params",
    tolerant: "as strict",
    revisions: {
      "2025-11-25": { name: "add", arguments: { task: 1, title: "T" }, task: { ttl: 1 }, _meta: { progressToken: 0 } },
      "2025-06-18": { name: "add", arguments: { task: 1, title: "T" }, _meta: { progressToken: 0 } }
    }
  },
  {
    name: "[TOOL-09] a structured result with text content",
    method: "tools/call",
    part: "result",
    revisions: {
      "2025-11-25": { content: [textBlock("42")], structuredContent: { sum: 42 }, _meta: meta },
      "2025-03-26": { content: [textBlock("42")], _meta: meta }
    }
  },
  {
    name: "[TOOL-09] a result with only structured content",
    method: "tools/call",
    part: "result",
    tolerant: {
      "2025-03-26": { content: [textBlock("{\"sum\":42}")], structuredContent: { sum: 42 }, isError: true }
    },
    revisions: {
      "2025-11-25": { content: [], structuredContent: { sum: 42 }, isError: true },
      "2025-03-26": { content: [textBlock("{\"sum\":42}")], isError: true }
    }
  },
  {
    name: "an empty result",
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
      "2025-11-25": { ...textBlock("a"), annotations: { ...annotations, lastModified }, _meta: meta },
      "2025-03-26": { ...textBlock("a"), annotations }
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
    name: "audio",
    method: "prompts/get",
    part: "result",
    within: inMessages,
    tolerant: {
      "2024-11-05": { ...textBlock("[audio, audio/wav]"), annotations: { ...annotations, lastModified } }
    },
    revisions: {
      "2025-11-25": {
        type: "audio",
        data: "AA==",
        mimeType: "audio/wav",
        annotations: { ...annotations, lastModified },
        _meta: meta
      },
      "2025-03-26": { type: "audio", data: "AA==", mimeType: "audio/wav", annotations },
      "2024-11-05": { ...textBlock("[audio, audio/wav]"), annotations }
    }
  },
  {
    name: "a link to a resource",
    method: "tools/call",
    part: "result",
    within: inContent,
    tolerant: {
      "2025-03-26": { ...textBlock("a: file:///a"), annotations: { ...annotations, lastModified } }
    },
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
      "2025-03-26": { ...textBlock("a: file:///a"), annotations }
    }
  },
  {
    name: "an embedded resource",
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
    name: "resource contents",
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
    name: "a completion request with context",
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
  }
])
