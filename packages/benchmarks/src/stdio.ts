/**
 * Benchmarks of servers over stdio, each a child process, under a load of plain lines from this process.
 *
 * To profile a server:
 *
 *     node --cpu-prof --cpu-prof-dir=results/profiles src/main.ts --only stdio --rounds 5
 */
import { spawn } from "node:child_process"
import * as load from "./load.ts"
import * as servers from "./servers.ts"

const compiler = import.meta.resolve("effect/schema/SchemaJITCompiler/enable")

interface Server {
  readonly name: string
  readonly program: string
  readonly arguments?: ReadonlyArray<string>
  /** Whether the server's process compiles Effect's schemas. */
  readonly compiled?: boolean
}

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

/** The ratios to report. */
export const bases: ReadonlyArray<string> = ["raw lines of JSON", "official v1", "official v2", "effect/ai"]

/** The ratios to report of servers that describe their tools by schemas. */
export const applicationBases: ReadonlyArray<string> = applications
  .map(({ name }) => name)
  .filter((name) => !name.startsWith("Effect MCP,"))

/** Starts a child process whose standard streams carry the messages. */
const start = ({ arguments: given = [], compiled, name, program }: Server) => {
  const options = [...process.execArgv, ...(compiled === true ? ["--import", compiler] : [])]
  const child = spawn(process.execPath, [...options, servers.fromBuild(program), ...given], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve())
  })
  const closed = new Promise<never>((_, reject) => {
    child.on("error", reject).on("exit", (code) => reject(new Error(`${name} exited with ${code}`)))
    child.stdin.on("error", reject)
  })
  // The process exits on request as well.
  closed.catch(() => {})
  let rest = ""
  const connection: load.MessageConnection = {
    write: (messages) => void child.stdin.write(`${messages.join("\n")}\n`),
    subscribe: (receive) => {
      child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n")
        rest = lines.pop() ?? ""
        if (lines.length > 0) receive(lines)
      })
    },
    closed
  }
  const stop = async (): Promise<void> => {
    child.stdin.end()
    await exited
  }
  return { connection, stop }
}

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
  const running = taking.map((server) => ({ ...server, ...start(server) }))
  try {
    const clients = await Promise.all(
      running.map(async ({ name, connection }) => ({ name, client: await load.connect(connection) }))
    )
    return await load.compare(clients, { calls, rounds })
  } finally {
    await Promise.all(running.map(({ stop }) => stop()))
  }
}
