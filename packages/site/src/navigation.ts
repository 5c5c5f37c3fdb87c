/**
 * The order of the documentation. The sidebar, the home page and the lists for models are made of it. Each page of
 * `docs` is in exactly one group (`node scripts/navigation.ts`).
 */

/** A page, by its file in the repository. Without a title, it has that of its first heading. */
export interface Entry {
  readonly file: string
  readonly title?: string
}

/** The pages for one job. */
export interface Group {
  readonly title: string
  /** The job, as the home page names it. */
  readonly job: string
  readonly pages: ReadonlyArray<Entry>
}

export const navigation: ReadonlyArray<Group> = [
  {
    title: "Start",
    job: "A server, a client and a session in a few lines each, and how to get the packages",
    pages: [{ file: "README.md", title: "Overview" }, { file: "docs/versions.md" }]
  },
  {
    title: "Servers",
    job: "Tools, resources and prompts with typed handlers, composed of groups, middleware and bridges",
    pages: [
      { file: "docs/serve-tools.md" },
      { file: "docs/middleware.md" },
      { file: "docs/long-running-tools.md" },
      { file: "docs/compose.md", title: "Compose servers" },
      { file: "docs/bridges.md", title: "Bridges: HttpApi, toolkits, RPC" },
      { file: "docs/files.md", title: "Serve files" },
      { file: "docs/serve.md" }
    ]
  },
  {
    title: "Serving",
    job: "In a backend, behind a proxy, with users, limits and OAuth",
    pages: [
      { file: "docs/mount.md" },
      { file: "docs/proxies.md" },
      { file: "docs/runtimes.md" },
      { file: "docs/secure.md" },
      { file: "docs/protect-a-server.md" },
      { file: "docs/call-other-apis.md" }
    ]
  },
  {
    title: "Clients and agents",
    job: "One server or many, supervised, with typed calls, sign-in, and tools for a model",
    pages: [
      { file: "docs/use-servers.md" },
      { file: "docs/connect.md" },
      { file: "docs/sign-in.md" }
    ]
  },
  {
    title: "Testing",
    job: "Clients in process, faults, virtual time, and the laws of transports",
    pages: [
      { file: "docs/test.md" },
      { file: "docs/write-a-transport.md" }
    ]
  },
  {
    title: "Operate",
    job: "Events, spans, metrics, and every limit with its default",
    pages: [
      { file: "docs/observe.md" },
      { file: "docs/limits.md" },
      { file: "docs/benchmarks.md" }
    ]
  },
  {
    title: "Revisions",
    job: "Five revisions of the protocol in one program, and what each method is in them",
    pages: [
      { file: "docs/two-eras.md" },
      { file: "docs/handshake.md" },
      { file: "docs/methods.md" },
      { file: "docs/transports.md" }
    ]
  },
  {
    title: "Coming from",
    job: "The counterparts of the official SDKs, effect/ai and FastMCP",
    pages: [
      { file: "docs/from-official-sdk.md", title: "The official SDK" },
      { file: "docs/from-effect-ai.md", title: "effect/ai" },
      { file: "docs/from-fastmcp.md", title: "FastMCP" },
      { file: "docs/from-python.md", title: "The Python SDK" }
    ]
  },
  {
    title: "Troubleshooting",
    job: "The messages themselves, sent by hand with a shell and curl",
    pages: [{ file: "docs/by-hand.md" }]
  },
  {
    title: "Project",
    job: "How it is built, tested and changed",
    pages: [
      { file: "ARCHITECTURE.md" },
      { file: "CONTRIBUTING.md" },
      { file: "CHANGELOG.md" },
      { file: "docs/testing.md" },
      { file: "docs/mutants.md" },
      { file: "docs/design/session.md", title: "Design: sessions" },
      { file: "docs/design/groups.md", title: "Design: groups" },
      { file: "docs/design/replay.md", title: "Design: requests without a handshake" },
      { file: "docs/design/tasks.md", title: "Design: tasks" },
      { file: "docs/design/supervision.md", title: "Design: supervised clients" },
      { file: "docs/design/authorization.md", title: "Design: authorization" },
      { file: "docs/design/host.md", title: "Design: hosts" },
      { file: "docs/design/http.md", title: "Design: HTTP" },
      { file: "docs/design/sockets.md", title: "Design: WebSocket and sockets" },
      { file: "docs/decisions/README.md", title: "Decisions" }
    ]
  }
]

/** All pages, in order. */
export const entries: ReadonlyArray<Entry> = navigation.flatMap(({ pages }) => pages)
