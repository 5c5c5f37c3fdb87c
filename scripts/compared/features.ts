/** The features of the compared libraries. Each cell has a source: a test or a page of this project, or theirs. */

/** A statement on a library, and its source: a file of this repository, or a page of the library. */
export interface Cell {
  readonly text: string
  readonly source: string
}

/** A feature, with a cell for each library in the order of `implementations`. */
export interface Feature {
  readonly name: string
  readonly cells: readonly [ours: Cell, official: Cell, fastmcp: Cell, effectAi: Cell]
}

const cell = (text: string, source: string): Cell => ({ text, source })

const tests = "packages/comparisons/test"
const programs = "packages/comparisons/src"
const official = "https://ts.sdk.modelcontextprotocol.io/v2"
const fastmcp = "https://github.com/punkpeye/fastmcp#readme"
const effect = "https://github.com/Effect-TS/effect/blob/main/packages/effect/src/ai"
const npm = "https://www.npmjs.com/package"

/** The features that another library has and this one lacks, or has in another form. */
export const lacking: ReadonlyArray<Feature> = [
  {
    name: "published on npm",
    cells: [
      cell("not yet", "docs/start/versions.md"),
      cell("yes", `${npm}/@modelcontextprotocol/server`),
      cell("yes", `${npm}/fastmcp`),
      cell("yes", `${npm}/effect`)
    ]
  },
  {
    name: "programs without Effect",
    cells: [
      cell("no", "docs/coming-from/official-sdk.md"),
      cell("yes", `${programs}/official/a.ts`),
      cell("yes", `${programs}/fastmcp/a.ts`),
      cell("no", `${programs}/effect-ai/a.ts`)
    ]
  },
  {
    name: "schemas of Zod, Valibot or ArkType",
    cells: [
      cell("no, Effect's", "docs/servers/tools.md"),
      cell("yes", `${official}/advanced/schema-libraries`),
      cell("yes", fastmcp),
      cell("no, Effect's", `${effect}/Tool.ts`)
    ]
  },
  {
    name: "tools from an OpenAPI document",
    cells: [
      cell("by hand; from an `HttpApi` of Effect: yes", "docs/servers/http-api.md"),
      cell("by hand", `${programs}/official/h.ts`),
      cell("yes", `${tests}/openApi.test.ts`),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "packages for Express, Fastify and Hono",
    cells: [
      cell("no; any `fetch` handler", "docs/serving/http.md"),
      cell("yes", `${npm}/@modelcontextprotocol/express`),
      cell("Hono is inside", fastmcp),
      cell("no; Effect's router", `${programs}/effect-ai/b.ts`)
    ]
  },
  {
    name: "sign-in by Google, GitHub or Azure ready to use (OAuth proxy)",
    cells: [
      cell("no", "docs/serving/protect-a-server.md"),
      cell("no", `${official}/serving/external-authorization-servers`),
      cell("yes", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "authorization server",
    cells: [
      cell("no", "docs/serving/protect-a-server.md"),
      cell("deprecated", `${npm}/@modelcontextprotocol/server-legacy`),
      cell("as a proxy", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "skills (an extension)",
    cells: [
      cell("no", "docs/revisions/methods.md"),
      cell("yes", `${official}/servers/skills`),
      cell("no", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  }
]

/** The features that this library has, and not every other. */
export const having: ReadonlyArray<Feature> = [
  {
    name: "a client",
    cells: [
      cell("yes", `${tests}/client.test.ts`),
      cell("yes", `${tests}/client.test.ts`),
      cell("no", fastmcp),
      cell("yes", `${tests}/client.test.ts`)
    ]
  },
  {
    name: "one server for 2025-11-25 and 2026-07-28",
    cells: [
      cell("yes", `${tests}/withoutSessions.test.ts`),
      cell("yes", `${tests}/withoutSessions.test.ts`),
      cell("2025-11-25 only", `${tests}/withoutSessions.test.ts`),
      cell("one of them", `${tests}/withoutSessions.test.ts`)
    ]
  },
  {
    name: "sessions belong to users, expire, and are limited",
    cells: [
      cell("yes", `${tests}/httpServer.test.ts`),
      cell("by hand", `${tests}/httpServer.test.ts`),
      cell("no", `${tests}/httpServer.test.ts`),
      cell("no", `${tests}/httpServer.test.ts`)
    ]
  },
  {
    name: "foreign origins and hosts are rejected",
    cells: [
      cell("yes", `${tests}/httpServer.test.ts`),
      cell("by functions", `${tests}/httpServer.test.ts`),
      cell("no", `${tests}/httpServer.test.ts`),
      cell("origins", `${tests}/httpServer.test.ts`)
    ]
  },
  {
    name: "a client answers elicitation, sampling and roots",
    cells: [
      cell("yes", `${tests}/client.test.ts`),
      cell("yes", `${tests}/client.test.ts`),
      cell("no client", fastmcp),
      cell("no", `${tests}/client.test.ts`)
    ]
  },
  {
    name: "a client connects again, and repeats what is safe",
    cells: [
      cell("yes", "docs/clients/use-servers.md"),
      cell("by hand", `${programs}/official/d.ts`),
      cell("no client", fastmcp),
      cell("by hand", `${programs}/effect-ai/d.ts`)
    ]
  },
  {
    name: "OAuth: a server verifies tokens, a client signs in",
    cells: [
      cell("both", `${tests}/oauth.test.ts`),
      cell("both", `${tests}/oauth.test.ts`),
      cell("server", fastmcp),
      cell("neither", `${effect}/McpClient.ts`)
    ]
  },
  {
    name: "calls as tasks, that outlive requests and processes",
    cells: [
      cell("yes", "docs/servers/long-running-tools.md"),
      cell("not in 2.4.0", `${npm}/@modelcontextprotocol/server/v/2.4.0`),
      cell("no", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "WebSocket, Unix sockets and TCP",
    cells: [
      cell("yes", "docs/serving/other-transports.md"),
      cell("no", `${official}/serving/http`),
      cell("no", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "spans and metrics of requests",
    cells: [
      cell("yes", "docs/operate/telemetry.md"),
      cell("no", `${official}/`),
      cell("no", fastmcp),
      cell("spans of HTTP", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "a simulation finds faults by seeds",
    cells: [
      cell("yes", "docs/testing/simulate.md"),
      cell("no", `${official}/`),
      cell("no", fastmcp),
      cell("no", `${effect}/McpServer.ts`)
    ]
  },
  {
    name: "runs on workers",
    cells: [
      cell("yes", "docs/serving/workers.md"),
      cell("yes", `${official}/serving/web-standard`),
      cell("`EdgeFastMCP`", fastmcp),
      cell("not tried", `${effect}/McpServer.ts`)
    ]
  }
]
