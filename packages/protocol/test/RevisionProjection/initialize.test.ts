import { hold, icons, meta } from "./example.ts"

const someone = { name: "n", version: "1" }

const someoneInAll = {
  "2025-11-25": { ...someone, title: "T", description: "d", websiteUrl: "https://example.com", icons },
  "2025-06-18": { ...someone, title: "T" },
  "2025-03-26": someone
}

const client = (members: { readonly clientInfo?: unknown; readonly capabilities?: unknown }) => ({
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: someone,
  _meta: meta,
  ...members
})

const server = (members: { readonly serverInfo?: unknown; readonly capabilities?: unknown }) => ({
  protocolVersion: "2025-11-25",
  capabilities: {},
  serverInfo: someone,
  instructions: "i",
  _meta: meta,
  ...members
})

hold([
  {
    name: "who a client is",
    method: "initialize",
    part: "params",
    within: (clientInfo) => client({ clientInfo }),
    revisions: someoneInAll
  },
  {
    name: "who a server is",
    method: "initialize",
    part: "result",
    within: (serverInfo) => server({ serverInfo }),
    revisions: someoneInAll
  },
  {
    name: "what a client can do",
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
    name: "[ELI-02] a client that asks its user by page and not by form",
    method: "initialize",
    part: "params",
    within: (capabilities) => client({ capabilities }),
    tolerant: "as strict",
    revisions: { "2025-11-25": { roots: {}, elicitation: { url: {} } }, "2025-06-18": { roots: {} } }
  },
  {
    name: "[ELI-02] a client that names no mode",
    method: "initialize",
    part: "params",
    within: (capabilities) => client({ capabilities }),
    tolerant: "as strict",
    revisions: { "2025-11-25": { elicitation: {} }, "2025-03-26": {} }
  },
  {
    name: "what a server can do",
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
