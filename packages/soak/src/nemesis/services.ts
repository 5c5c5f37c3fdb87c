/** Databases of their own for a run, which it can stop and start: the installed PostgreSQL and Redis. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout as sleep } from "node:timers/promises"
import { freePort } from "./ports.ts"

/** The stores of a run. With `memory` each process has stores of its own, so that three of them break the rules. */
export type StoreName = "memory" | "sqlite" | "postgres" | "redis"

/** The database of a run. */
export interface Service {
  /** The port that it listens on; `undefined` for a file. */
  readonly port: number | undefined
  /** Returns the address for a process that reaches the database at this port. */
  readonly url: (port: number | undefined) => string
  readonly start: () => Promise<void>
  /** Stops it at once, as a crash does. */
  readonly stop: () => Promise<void>
  /** Returns whether a process holds the lock of a file. Absent for a database that serves others meanwhile. */
  readonly isLocked?: () => boolean
  /** Returns the number of rows of each table, or of keys: those of sessions, streams and events, and others. */
  readonly rows: () => Readonly<Record<string, number>>
  /** Stops it, and removes its files. */
  readonly remove: () => Promise<void>
}

/** The prefix of the tables of the fleet. */
const prefix = "fleet_"

const folderOf = (name: string): string => fs.mkdtempSync(path.join(tmpdir(), `fleet-${name}-`))

const removeFolder = (folder: string): void => fs.rmSync(folder, { recursive: true, force: true })

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null

/** The time in which a database starts. */
const startMillis = 90_000

/** A program that is started and stopped, and answers a question when it is ready. */
const program = (
  start: () => ChildProcess,
  isReady: () => boolean
): Pick<Service, "start" | "stop"> => {
  let child: ChildProcess | undefined
  return {
    start: async () => {
      const started = start()
      child = started
      // A run that is broken off leaves no database running.
      process.once("exit", () => started.kill("SIGKILL"))
      for (const end = Date.now() + startMillis; !isReady(); await sleep(50)) {
        if (hasEnded(started) || Date.now() > end) throw new Error(`${started.spawnfile} does not start`)
      }
    },
    stop: async () => {
      if (child === undefined || hasEnded(child)) return
      const ended = once(child, "exit")
      // For PostgreSQL the immediate shutdown; Redis ends as by a crash.
      child.kill("SIGQUIT")
      await ended
    }
  }
}

const succeeds = (command: string, args: ReadonlyArray<string>): boolean => {
  try {
    execFileSync(command, args, { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

const binaries = "/usr/lib/postgresql/15/bin"

/** Returns the user who may run PostgreSQL: root may not. */
const postgresUser = (): { readonly uid?: number; readonly gid?: number } => {
  if (process.getuid?.() !== 0) return {}
  const id = (option: string) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

const postgres = async (): Promise<Service> => {
  const folder = folderOf("postgres")
  const user = postgresUser()
  if (user.uid !== undefined && user.gid !== undefined) fs.chownSync(folder, user.uid, user.gid)
  const data = path.join(folder, "data")
  const options = { ...user, cwd: folder, stdio: "ignore" as const }
  execFileSync(path.join(binaries, "initdb"), ["-D", data, "-U", "postgres", "-A", "trust", "--no-sync"], options)
  const port = await freePort()
  const settings = [`-p${port}`, `-k${folder}`, "-clisten_addresses=127.0.0.1", "-cfsync=off", "-cmax_connections=100"]
  const server = program(
    () => spawn(path.join(binaries, "postgres"), ["-D", data, ...settings], options),
    () => succeeds(path.join(binaries, "pg_isready"), ["-q", "-h", "127.0.0.1", "-p", String(port)])
  )
  return {
    ...server,
    port,
    url: (at) => `postgres://postgres@127.0.0.1:${at ?? port}/postgres`,
    rows: () => {
      const count = "(xpath('//c/text()', query_to_xml('select count(*) c from '||tablename, false, true, '')))[1]"
      const query = `select tablename || ' ' || ${count} from pg_tables where tablename like '${prefix}%'`
      const args = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres", "-At", "-c", query]
      const lines = execFileSync(path.join(binaries, "psql"), args, { encoding: "utf8" }).trim().split("\n")
      return Object.fromEntries(
        lines.map((line) => line.slice(prefix.length).split(" "))
          .map(([name = "", rows]) => [name, Number(rows)])
      )
    },
    remove: async () => {
      await server.stop()
      removeFolder(folder)
    }
  }
}

const redis = async (): Promise<Service> => {
  const folder = folderOf("redis")
  const port = await freePort()
  // What was acknowledged survives the end of the server, as the library requires of its database.
  const settings = ["--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--save", ""]
  const durable = ["--appendonly", "yes", "--appendfsync", "always"]
  const server = program(
    () => spawn("redis-server", [...settings, ...durable], { stdio: "ignore" }),
    () => succeeds("redis-cli", ["-p", String(port), "--raw", "get", "x"])
  )
  return {
    ...server,
    port,
    url: (at) => `redis://127.0.0.1:${at ?? port}`,
    rows: () => {
      const ask = (...command: ReadonlyArray<string>) =>
        execFileSync("redis-cli", ["-p", String(port), "--raw", ...command], { encoding: "utf8" }).trim()
      const keys = ask("--scan").split("\n").filter((key) => key !== "")
      const count = (kind: string) => keys.filter((key) => key.startsWith(`fleet:${kind}:`)).length
      return {
        sessions: count("session"),
        streams: Number(ask("zcard", "fleet:streams")),
        events: count("events"),
        keys: keys.length
      }
    },
    remove: async () => {
      await server.stop()
      removeFolder(folder)
    }
  }
}

const sqlite = (): Service => {
  const folder = folderOf("sqlite")
  const file = path.join(folder, "fleet.sqlite")
  return {
    port: undefined,
    url: () => file,
    rows: () => {
      const database = new DatabaseSync(file, { readOnly: true })
      try {
        const tables = database.prepare("select name from sqlite_master where type = 'table'").all()
          .map(({ name }) => String(name)).filter((name) => name.startsWith(prefix))
        return Object.fromEntries(tables.map((name) => {
          const row = database.prepare(`select count(*) as rows from ${name}`).get()
          return [name.slice(prefix.length), Number(row?.["rows"])]
        }))
      } finally {
        database.close()
      }
    },
    isLocked: () => {
      const database = new DatabaseSync(file)
      try {
        database.exec("begin immediate")
        database.exec("rollback")
        return false
      } catch {
        return true
      } finally {
        database.close()
      }
    },
    start: () => Promise.resolve(),
    stop: () => Promise.resolve(),
    remove: () => Promise.resolve(removeFolder(folder))
  }
}

/** Makes a database. It does not run yet. */
export const make = (name: StoreName): Promise<Service> =>
  name === "postgres" ? postgres() : name === "redis" ? redis() : Promise.resolve(sqlite())
