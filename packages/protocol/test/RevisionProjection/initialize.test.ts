import { icons, meta, testExamples } from "./example.ts"

const implementation = { name: "n", version: "1" }

const implementations = {
  "2025-11-25": { ...implementation, title: "T", description: "d", websiteUrl: "https://example.com", icons },
  "2025-06-18": { ...implementation, title: "T" },
  "2025-03-26": implementation
}

const client = (members: { readonly clientInfo?: unknown; readonly capabilities?: unknown }) => ({
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: implementation,
  _meta: meta,
  ...members
})

const server = (members: { readonly serverInfo?: unknown; readonly capabilities?: unknown }) => ({
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: implementation,
  instructions: "i",
  _meta: meta,
  ...members
})

testExamples([
  {
    name: "the implementation of a client",
    method: "initialize",
    part: "params",
    within: (clientInfo) => client({ clientInfo }),
    revisions: implementations
  },
  {
    name: "the implementation of a server",
    method: "initialize",
    part: "result",
    within: (serverInfo) => server({ serverInfo }),
    revisions: implementations
  },
  {
    name: "the capabilities of a client",
    method: "initialize",
    part: "params",
    within: (capabilities) => client({ capabilities }),
    tolerant: {
      "2025-06-18": {
        experimental: { "acme/a": { tasks: true } },
        roots: { listChanged: true },
        sampling: { context: {} },
        elicitation: { form: {} }
      },
      "2025-03-26": {
        experimental: { "acme/a": { tasks: true } },
        roots: { listChanged: true },
        sampling: { context: {} }
      }
    },
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
    name: "[ELI-02] a client with URL elicitation and without form elicitation",
    method: "initialize",
    part: "params",
    within: (capabilities) => client({ capabilities }),
    tolerant: "as strict",
    revisions: { "2025-11-25": { roots: {}, elicitation: { url: {} } }, "2025-06-18": { roots: {} } }
  },
  {
    name: "[ELI-02] a client with elicitation without a mode",
    method: "initialize",
    part: "params",
    within: (capabilities) => client({ capabilities }),
    tolerant: "as strict",
    revisions: { "2025-11-25": { elicitation: {} }, "2025-03-26": {} }
  },
  {
    name: "the capabilities of a server",
    method: "initialize",
    part: "result",
    within: (capabilities) => server({ capabilities }),
    tolerant: {
      "2025-06-18": {
        logging: {},
        completions: {},
        prompts: { listChanged: true },
        resources: { subscribe: true, listChanged: false },
        tools: {}
      }
    },
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
  }
])
