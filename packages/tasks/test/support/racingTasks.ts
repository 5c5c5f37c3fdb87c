/** Processes that replace one stored task at the same time. */
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import { assert } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { storedTask } from "./storedTask.ts"

/** The limits of a store without limits. */
export const unlimited = { maxTasks: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY }

interface Counts {
  readonly tasks: number
  readonly bytes: number
}

/** Returns the stored counts of each owner, and those that are right. */
export const counts = (sql: SqlClient.SqlClient) =>
  Effect.all([
    sql<Counts>`select owner, tasks, bytes from mcp_task_owners order by owner`,
    sql<Counts>`select owner, 1.0 * count(*) as tasks, sum(bytes) as bytes from mcp_tasks group by owner order by owner`
  ]).pipe(Effect.map((all) => all.map((rows) => rows.map(({ bytes, tasks }) => [Number(tasks), Number(bytes)]))))

/** Runs the fixture in a process of its own, and returns the versions that it has stored. */
const race = (database: string, id: string, last: number) =>
  Effect.callback<ReadonlyArray<number>, Error>((resume) => {
    const fixture = fileURLToPath(new URL("../fixtures/racingTasks.ts", import.meta.url))
    const options = { encoding: "utf8", env: { ...process.env, NODE_NO_WARNINGS: "1" } } as const
    const child = execFile(process.execPath, [fixture, database, id, String(last), "3"], options, (error, stdout) => {
      resume(error === null ? Effect.succeed(JSON.parse(stdout)) : Effect.fail(error))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Lets three processes replace one task, and checks that each version was stored by one of them. */
export const raceOver = Effect.fnUntraced(
  function*(database: string, client: Layer.Layer<SqlClient.SqlClient, unknown>) {
    const context = yield* Layer.build(client)
    const store = yield* Effect.provide(TaskStoreSql.make(), context)
    yield* store.create(storedTask("raced"), unlimited)
    const last = 60
    const stored = yield* Effect.all(Array.from({ length: 3 }, () => race(database, "raced", last)), {
      concurrency: "unbounded"
    })
    const versions = stored.flat().toSorted((one, other) => one - other)
    assert.deepStrictEqual(versions, Array.from({ length: last - 1 }, (_, index) => index + 2))
    assert.strictEqual((yield* store.load("raced"))?.version, last)
    const listed = yield* store.list("ada", { limit: 100 })
    assert.isTrue(listed._tag === "Page" && listed.tasks.length <= 20)
    const [found, right] = yield* counts(Context.get(context, SqlClient.SqlClient))
    assert.deepStrictEqual(found, right)
  }
)
