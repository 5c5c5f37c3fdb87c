/**
 * A fleet: several processes of one MCP server, and a load balancer that sends each request to a random process. The
 * processes share their stores, so a client notices neither which process serves it nor that one of them dies.
 *
 * ```sh
 * node packages/examples/src/fleet.ts --port 3000 --processes 3 --store sqlite
 * ```
 *
 * A client connects to `http://127.0.0.1:3000/mcp` with the header `Authorization: Bearer ada`, or with the token `bob`.
 * The program prints `process N pid PID port PORT` for each process, and `ready` when all of them serve. To see what a
 * client notices, kill one: `kill -9 PID`. A call of `book` goes on in another process, also while it asks the user.
 *
 * `fleet/tools.ts` has the tools, `fleet/process.ts` the server, and `fleet/balancer.ts` the load balancer.
 */
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { parseArgs } from "node:util"
import * as Balancer from "./fleet/balancer.ts"
import * as Processes from "./fleet/processes.ts"

/** The databases of a store that is not in a file, by its name. */
const databases = { postgres: "postgres://postgres@127.0.0.1:5432/test", redis: "redis://127.0.0.1:6379" }

const help = `usage: node packages/examples/src/fleet.ts [options]

  --port P        the port of the load balancer; 0 for any free port (default 3000)
  --processes N   the number of processes (default 3)
  --store NAME    sqlite (default), postgres, redis, or memory for one process
  --database X    the file of SQLite (default: a temporary one, which is removed at the end), or the URL of PostgreSQL
                  (default: ${databases.postgres}) or Redis (default:
                  ${databases.redis})
  --owners NAME   what judges which processes live: store (default), or cluster for Effect Cluster, with PostgreSQL
  --restart       start a process again after it has ended; without it, a process that was killed stays away
  --help          print this text`

/** The ports of the runners of Effect Cluster come after this one. */
const firstRunner = 34_430

class UsageError extends Error {}

const stores = ["memory", "sqlite", "postgres", "redis"] as const

/** Returns the number of an option. */
const numberIn = (option: string, text: string, least: number): number => {
  const value = Number(text)
  if (/^\d+$/.test(text) && value >= least) return value
  throw new UsageError(`--${option}: expected an integer of at least ${least}, but got "${text}"`)
}

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "3000" },
      processes: { type: "string", default: "3" },
      store: { type: "string", default: "sqlite" },
      database: { type: "string" },
      owners: { type: "string", default: "store" },
      restart: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  const store = stores.find((name) => name === values.store)
  if (store === undefined) {
    throw new UsageError(`--store: expected one of ${stores.join(", ")}, but got "${values.store}"`)
  }
  const count = numberIn("processes", values.processes, 1)
  if (store === "memory" && count > 1) throw new UsageError("--store: processes cannot share their memory")
  if (values.owners !== "store" && values.owners !== "cluster") {
    throw new UsageError(`--owners: expected store or cluster, but got "${values.owners}"`)
  }
  if (values.owners === "cluster" && store !== "postgres") {
    throw new UsageError("--owners cluster: needs --store postgres")
  }
  return {
    port: numberIn("port", values.port, 0),
    count,
    store,
    database: values.database,
    owners: values.owners,
    restart: values.restart,
    help: values.help
  }
}

const isUsageError = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof Error && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_")

/** Returns the address of the database. That of SQLite is in the folder, unless the program is given another one. */
const databaseOf = ({ database, store }: ReturnType<typeof readOptions>, folder: string): string => {
  if (database !== undefined) return database
  return store === "postgres" || store === "redis" ? databases[store] : path.join(folder, "fleet.sqlite")
}

/** Starts the fleet. It ends with SIGINT or SIGTERM, and its processes end with it. */
const main = async (options: ReturnType<typeof readOptions>): Promise<void> => {
  const { count, owners, port, restart, store } = options
  const folder = fs.mkdtempSync(path.join(tmpdir(), "fleet-"))
  // Any process opens the state of a call that asks its user, in revision 2026-07-28.
  process.env["FLEET_SECRET"] ??= randomBytes(32).toString("base64")
  const processes = new Processes.Processes({
    arguments: (number) => [
      "--store",
      store,
      "--database",
      databaseOf(options, folder),
      "--charges",
      path.join(folder, "charges"),
      ...(owners === "cluster" ? ["--runner", String(firstRunner + number)] : [])
    ],
    restart,
    onStarted: ({ number, pid, port }) => console.log(`process ${number} pid ${pid} port ${port}`),
    onEnded: ({ number, pid }, how) => console.log(`process ${number} pid ${pid} ended: ${how}`)
  })
  const stop = async () => {
    await processes.stop()
    fs.rmSync(folder, { recursive: true, force: true })
    process.exit()
  }
  process.once("SIGINT", () => void stop()).once("SIGTERM", () => void stop())
  try {
    await processes.start(count)
    const balancer = await Balancer.listen(port, () => processes.ports())
    const address = balancer.address()
    const bound = typeof address === "object" && address !== null ? address.port : port
    console.log(`listening at http://127.0.0.1:${bound}/mcp`)
    console.log("ready")
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
    await stop()
  }
}

try {
  const options = readOptions()
  if (options.help) console.log(help)
  else await main(options)
} catch (error) {
  if (!isUsageError(error)) throw error
  console.error(`${error.message}\n${help}`)
  process.exitCode = 2
}
