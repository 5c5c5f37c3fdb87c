/**
 * The order of the documentation. The sidebar, the home page and the lists for models are made of it. Each page of
 * `docs` is in exactly one group (`node scripts/navigation.ts`).
 */

/**
 * The kinds of pages: to learn by doing, to reach an aim, to understand, or to look up. A page is of one kind. A record
 * is a file of the project that is no page for users. It may be longer than a page.
 */
export const kinds = ["tutorial", "how-to", "explanation", "reference", "record"] as const

export type Kind = (typeof kinds)[number]

/** A page, by its file in the repository. Without a title, it has that of its first heading. */
export interface Entry {
  readonly file: string
  readonly kind: Kind
  readonly title?: string
}

/** The lines that a page may have. Longer pages are divided; records are not. */
export const maxLines = 250

/** The pages for one job. */
export interface Group {
  readonly title: string
  /** The job, as the home page names it. */
  readonly job: string
  readonly pages: ReadonlyArray<Entry>
}

/** The title of the group to which the site adds the packages and modules. */
export const reference = "Reference"

export const navigation: ReadonlyArray<Group> = [
  {
    title: "Start",
    job: "A server and a client in five minutes each, the packages, and the examples",
    pages: [
      { file: "README.md", kind: "explanation", title: "Overview" },
      { file: "docs/start/first-server.md", kind: "tutorial" },
      { file: "docs/start/hosts.md", kind: "how-to" },
      { file: "docs/start/first-client.md", kind: "tutorial" },
      { file: "docs/start/which-package.md", kind: "reference" },
      { file: "docs/start/examples.md", kind: "reference" },
      { file: "docs/start/compared.md", kind: "reference", title: "Compared" }
    ]
  },
  {
    title: "Servers",
    job: "Tools, resources and prompts with typed handlers, composed of groups, middleware and bridges",
    pages: [
      { file: "docs/servers/tools.md", kind: "how-to" },
      { file: "docs/servers/groups.md", kind: "how-to", title: "Groups" },
      { file: "docs/servers/resources.md", kind: "how-to" },
      { file: "docs/servers/prompts.md", kind: "how-to" },
      { file: "docs/servers/asking-the-user.md", kind: "how-to", title: "Ask the user" },
      { file: "docs/servers/errors.md", kind: "how-to" },
      { file: "docs/servers/progress-and-logs.md", kind: "how-to" },
      { file: "docs/servers/users.md", kind: "how-to", title: "Users and visibility" },
      { file: "docs/servers/changes.md", kind: "how-to" },
      { file: "docs/servers/middleware.md", kind: "how-to" },
      { file: "docs/servers/long-running-tools.md", kind: "how-to" },
      { file: "docs/servers/durable-calls.md", kind: "how-to" },
      { file: "docs/servers/workflows.md", kind: "how-to", title: "A workflow as a tool" },
      { file: "docs/servers/compose.md", kind: "how-to", title: "Compose servers" },
      { file: "docs/servers/proxy-a-server.md", kind: "how-to" },
      { file: "docs/servers/http-api.md", kind: "how-to", title: "An HttpApi as tools" },
      { file: "docs/servers/bridges.md", kind: "how-to", title: "Toolkits and procedures" },
      { file: "docs/servers/files.md", kind: "how-to", title: "Serve files" },
      { file: "docs/servers/methods.md", kind: "how-to", title: "A server by its methods" },
      { file: "docs/servers/uri-templates.md", kind: "reference" },
      { file: "docs/servers/publish-a-server.md", kind: "how-to" }
    ]
  },
  {
    title: "Serving",
    job: "Over stdio or HTTP, in a backend, behind a proxy, with sessions, users and OAuth",
    pages: [
      { file: "docs/serving/stdio.md", kind: "how-to", title: "stdio" },
      { file: "docs/serving/http.md", kind: "how-to", title: "HTTP" },
      { file: "docs/serving/beside-an-http-api.md", kind: "how-to", title: "Beside an HttpApi" },
      { file: "docs/serving/other-transports.md", kind: "how-to", title: "WebSocket and sockets" },
      { file: "docs/serving/proxies.md", kind: "how-to" },
      { file: "docs/serving/sessions-and-scaling.md", kind: "how-to" },
      { file: "docs/serving/several-processes.md", kind: "how-to", title: "Several processes" },
      { file: "docs/serving/without-sessions.md", kind: "how-to", title: "Without sessions" },
      { file: "docs/serving/workers.md", kind: "how-to", title: "Workers" },
      { file: "docs/serving/security.md", kind: "explanation", title: "Security" },
      { file: "docs/serving/authentication.md", kind: "how-to" },
      { file: "docs/serving/protect-a-server.md", kind: "how-to" },
      { file: "docs/serving/dpop.md", kind: "how-to" },
      { file: "docs/serving/call-other-apis.md", kind: "how-to" },
      { file: "docs/serving/runtimes.md", kind: "reference" }
    ]
  },
  {
    title: "Clients and agents",
    job: "One server or many, supervised, with typed calls, sign-in, and tools for a model",
    pages: [
      { file: "docs/clients/connect.md", kind: "how-to" },
      { file: "docs/clients/calls.md", kind: "how-to" },
      { file: "docs/clients/typed-calls.md", kind: "how-to" },
      { file: "docs/clients/long-running-calls.md", kind: "how-to" },
      { file: "docs/clients/use-servers.md", kind: "how-to" },
      { file: "docs/clients/configuration-files.md", kind: "reference" },
      { file: "docs/clients/models.md", kind: "how-to" },
      { file: "docs/clients/answer-questions.md", kind: "how-to" },
      { file: "docs/clients/sign-in.md", kind: "how-to" },
      { file: "docs/clients/sign-in-jobs.md", kind: "how-to" },
      { file: "docs/clients/web-application.md", kind: "how-to" },
      { file: "docs/clients/client-registration.md", kind: "how-to" },
      { file: "docs/clients/token-stores.md", kind: "how-to" },
      { file: "docs/clients/sign-in-errors.md", kind: "reference" },
      { file: "docs/clients/sessions.md", kind: "how-to" },
      { file: "docs/clients/output-schemas.md", kind: "how-to" },
      { file: "docs/clients/transports.md", kind: "reference" },
      { file: "docs/clients/revisions.md", kind: "reference" }
    ]
  },
  {
    title: "Testing",
    job: "Clients in process, faults, virtual time, and the laws of transports",
    pages: [
      { file: "docs/testing/test.md", kind: "how-to" },
      { file: "docs/testing/try-a-server.md", kind: "how-to" },
      { file: "docs/testing/in-memory.md", kind: "how-to" },
      { file: "docs/testing/simulate.md", kind: "how-to" },
      { file: "docs/testing/properties.md", kind: "how-to" },
      { file: "docs/testing/transcripts.md", kind: "how-to" },
      { file: "docs/testing/faults.md", kind: "how-to" },
      { file: "docs/testing/stores.md", kind: "how-to" },
      { file: "docs/testing/transport-laws.md", kind: "how-to" },
      { file: "docs/testing/write-a-transport.md", kind: "how-to" }
    ]
  },
  {
    title: "Operate",
    job: "Events, spans, metrics, limits, and the size of a server",
    pages: [
      { file: "docs/operate/observe.md", kind: "how-to" },
      { file: "docs/operate/telemetry.md", kind: "how-to" },
      { file: "docs/operate/deploy.md", kind: "how-to" },
      { file: "docs/operate/containers.md", kind: "how-to" },
      { file: "docs/operate/databases.md", kind: "how-to", title: "Share stores in a database" },
      { file: "docs/operate/redis.md", kind: "how-to", title: "Share stores in Redis" },
      { file: "docs/operate/effect-cluster.md", kind: "how-to", title: "Let Effect Cluster judge processes" },
      { file: "docs/operate/size-a-server.md", kind: "how-to", title: "Size a server" },
      { file: "docs/operate/limits.md", kind: "how-to", title: "Set a limit" }
    ]
  },
  {
    title: "Revisions",
    job: "Five revisions of the protocol in one program, and the handshake of four of them",
    pages: [
      { file: "docs/revisions/two-eras.md", kind: "explanation" },
      { file: "docs/revisions/handshake.md", kind: "reference" }
    ]
  },
  {
    title: "Coming from",
    job: "The counterparts of the official SDKs, effect/ai and FastMCP",
    pages: [
      { file: "docs/coming-from/official-sdk.md", kind: "reference", title: "The official SDK" },
      { file: "docs/coming-from/official-sdk-server.md", kind: "how-to" },
      { file: "docs/coming-from/official-sdk-client.md", kind: "how-to" },
      { file: "docs/coming-from/effect-ai.md", kind: "reference", title: "effect/ai" },
      { file: "docs/coming-from/effect-ai-server.md", kind: "how-to" },
      { file: "docs/coming-from/fastmcp.md", kind: "reference", title: "FastMCP" },
      { file: "docs/coming-from/fastmcp-server.md", kind: "how-to" },
      { file: "docs/coming-from/python.md", kind: "reference", title: "The Python SDK" }
    ]
  },
  {
    title: "Troubleshooting",
    job: "Errors by their texts, with causes and remedies, and the messages themselves, sent by hand",
    pages: [
      { file: "docs/troubleshooting/errors.md", kind: "reference", title: "Errors of start and connection" },
      { file: "docs/troubleshooting/errors-of-calls.md", kind: "reference" },
      { file: "docs/troubleshooting/type-errors.md", kind: "reference" },
      { file: "docs/troubleshooting/by-hand.md", kind: "tutorial" }
    ]
  },
  {
    title: reference,
    job: "Every module, method and limit, where transports differ, and what a version may change",
    pages: [
      { file: "docs/revisions/methods.md", kind: "reference" },
      { file: "docs/revisions/transports.md", kind: "reference" },
      { file: "docs/operate/limits-of-sessions.md", kind: "reference" },
      { file: "docs/operate/limits-of-hosts.md", kind: "reference" },
      { file: "docs/operate/limits-of-servers.md", kind: "reference" },
      { file: "docs/operate/limits-of-transports.md", kind: "reference" },
      { file: "docs/operate/limits-of-clients.md", kind: "reference" },
      { file: "docs/start/versions.md", kind: "reference" }
    ]
  },
  {
    title: "Project",
    job: "How it is built, tested and changed",
    pages: [
      { file: "ARCHITECTURE.md", kind: "record" },
      { file: "CONTRIBUTING.md", kind: "record" },
      { file: "CHANGELOG.md", kind: "record" },
      { file: "docs/project/testing.md", kind: "record" },
      { file: "docs/project/benchmarks.md", kind: "record" },
      { file: "docs/project/mutants.md", kind: "record" },
      { file: "docs/design/session.md", kind: "record", title: "Design: sessions" },
      { file: "docs/design/groups.md", kind: "record", title: "Design: groups" },
      { file: "docs/design/replay.md", kind: "record", title: "Design: requests without a handshake" },
      { file: "docs/design/tasks.md", kind: "record", title: "Design: tasks" },
      { file: "docs/design/supervision.md", kind: "record", title: "Design: supervised clients" },
      { file: "docs/design/authorization.md", kind: "record", title: "Design: authorization" },
      { file: "docs/design/host.md", kind: "record", title: "Design: hosts" },
      { file: "docs/design/http.md", kind: "record", title: "Design: HTTP" },
      { file: "docs/design/sockets.md", kind: "record", title: "Design: WebSocket and sockets" },
      { file: "docs/decisions/README.md", kind: "record", title: "Decisions" }
    ]
  }
]

/** All pages, in order. */
export const entries: ReadonlyArray<Entry> = navigation.flatMap(({ pages }) => pages)
