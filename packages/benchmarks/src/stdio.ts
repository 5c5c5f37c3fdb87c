/**
 * Benchmarks of servers over stdio, each a child process, under a load of plain lines from this process.
 *
 * To profile a server:
 *
 *     node --cpu-prof --cpu-prof-dir=results/profiles src/main.ts stdio --rounds 5
 */
import * as load from "./load.ts"
import * as servers from "./servers.ts"
import { type Server, start } from "./StdioProcess.ts"

/** The servers. Faster ones get more calls, so that each takes about the same time. */
const all: ReadonlyArray<Server> = [
  { name: "raw lines of JSON", program: "echo" },
  { name: "official v1", program: "officialV1" },
  { name: "official v2", program: "officialV2" },
  { name: "effect/ai", program: "effectAi" },
  { name: "effect/ai, schemas compiled", program: "effectAi", compiled: true },
  { name: "Effect MCP", program: "ours" },
  { name: "Effect MCP, schemas compiled", program: "ours", compiled: true }
]

/** Servers that describe their tools by schemas, with one tool and with 500. */
const applications: ReadonlyArray<Server> = [
  { name: "official v1", program: "officialV1" },
  { name: "official v2", program: "officialV2" },
  { name: "FastMCP", program: "fastMcp" },
  { name: "effect/ai", program: "effectAi" },
  { name: "Effect MCP", program: "ours" }
].flatMap(({ name, program }) => [
  { name, program: `applications/${program}`, arguments: ["1"] },
  { name: `${name}, 500 tools`, program: `applications/${program}`, arguments: ["500"] }
])

/** The names of the servers. */
export const names: ReadonlyArray<string> = all.map(({ name }) => name)

/** The names of the servers that describe their tools by schemas. */
export const applicationNames: ReadonlyArray<string> = applications.map(({ name }) => name)

/** The ratios to report. */
export const bases: ReadonlyArray<string> = ["raw lines of JSON", "official v1", "official v2", "effect/ai"]

/** The ratios to report of servers that describe their tools by schemas. */
export const applicationBases: ReadonlyArray<string> = applicationNames
  .filter((name) => !name.startsWith("Effect MCP,"))

interface Options {
  readonly rounds: number
  readonly calls: number
  readonly servers: string
}

/** Measures `tools/call` of servers over stdio. */
export const measure = (options: Options): Promise<load.Results> => measureServers(all, options)

/** Measures `tools/call` of servers over stdio that describe their tools by schemas. */
export const measureApplications = (options: Options): Promise<load.Results> => measureServers(applications, options)

/** Measures servers. All run throughout, because an idle process takes no CPU time. */
const measureServers = async (
  compared: ReadonlyArray<Server>,
  { calls, rounds, servers: part }: Options
): Promise<load.Results> => {
  servers.build()
  const taking = compared.filter(({ name }) => name.includes(part))
  const running = taking.map((server) => ({ name: server.name, ...start(server) }))
  try {
    const clients = await Promise.all(
      running.map(async ({ name, lines }) => ({ name, client: await load.connect(lines()) }))
    )
    return await load.compare(clients, { calls, rounds })
  } finally {
    await Promise.all(running.map(({ stop }) => stop()))
  }
}
