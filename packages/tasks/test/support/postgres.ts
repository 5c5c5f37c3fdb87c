/** A server of PostgreSQL for tests, on machines that have its programs. */

import * as PgClient from "@effect/sql-pg/PgClient"
import { afterAll, beforeAll } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { spawn, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { freePort } from "../../../../scripts/freePort.ts"

const find = (program: string): string | undefined =>
  ["/usr/local/bin", "/usr/bin", "/opt/homebrew/bin"].map((folder) => path.join(folder, program)).find(fs.existsSync)

const postgres = find("postgres")
const initdb = find("initdb")

/** Whether the programs of PostgreSQL are installed. */
export const isInstalled = postgres !== undefined && initdb !== undefined

/** The user that runs the server. PostgreSQL does not run as root. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** Returns the Layer of a client of the server at this port. */
export const layerAt = (port: number) =>
  PgClient.layer({ host: "127.0.0.1", port, database: "postgres", username: "tests", password: Redacted.make("") })

/** Starts a server with an empty database, and returns its port. It is killed and deleted with the scope. */
export const server = Effect.gen(function*() {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-postgres-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  )
  if (user.uid !== undefined) fs.chownSync(folder, user.uid, user.gid)
  const data = path.join(folder, "data")
  const locale = ["-E", "UTF8", "--locale=C.UTF-8"]
  const made = spawnSync(initdb ?? "", ["-D", data, "-U", "tests", "-A", "trust", "-N", ...locale], {
    ...user,
    cwd: folder,
    encoding: "utf8"
  })
  if (made.status !== 0) return yield* Effect.die(new Error(`initdb: ${made.stderr}`))
  const port = yield* freePort
  const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", "max_connections=50"]
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(postgres ?? "", ["-D", data, "-p", String(port), ...settings.flatMap((setting) => ["-c", setting])], {
        ...user,
        cwd: folder,
        stdio: "ignore"
      })
    ),
    (child) =>
      Effect.callback<void>((resume) => {
        child.once("exit", () => resume(Effect.void))
        child.kill("SIGQUIT")
      })
  )
  yield* PgClient.PgClient.pipe(
    Effect.flatMap((sql) => sql`select 1`),
    Effect.provide(layerAt(port)),
    Effect.retry({ times: 200, schedule: Schedule.spaced("50 millis") }),
    Effect.orDie
  )
  return port
})

/** Starts a server for the tests of a suite. Returns its port, once they run. */
export const forSuite = (): () => number => {
  const scope = Scope.makeUnsafe()
  let port = 0
  beforeAll(async () => {
    port = await Effect.runPromise(Scope.provide(server, scope))
  }, 60_000)
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return () => port
}
