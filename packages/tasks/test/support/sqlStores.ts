/** Stores of tasks in databases, each with a connection of its own. */

import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import type * as TaskStore from "@effect-mcp/tasks/TaskStore"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as SqlClient from "effect/sql/SqlClient"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"

type Store = TaskStore.TaskStore["Service"]

/** Makes a store over a client that ends with it. */
export const storeOver = <E>(client: Layer.Layer<SqlClient.SqlClient, E>, options?: TaskStoreSql.Options) =>
  Effect.flatMap(Layer.build(client), (context) => Effect.provide(TaskStoreSql.make(options), context))

/** Makes a store in a file of SQLite. */
export const storeIn = (filename: string, options?: TaskStoreSql.Options) =>
  storeOver(NodeSqlite.layer({ filename }), options)

/** Returns the path of a database in a new folder, which is deleted with the scope. */
export const newFile = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => fs.mkdtempSync(path.join(os.tmpdir(), "effect-mcp-tasks-"))),
    (folder) => Effect.sync(() => fs.rmSync(folder, { recursive: true, force: true }))
  ),
  (folder) => path.join(folder, "tasks.db")
)

/** Returns a store whose operations run over these stores by turns. */
export const byTurns = (first: Store, ...others: ReadonlyArray<Store>): Store => {
  const stores = [first, ...others]
  let turn = 0
  const store = () => stores[turn++ % stores.length] ?? first
  return {
    create: (task, limits) => store().create(task, limits),
    load: (id) => store().load(id),
    loadState: (id) => store().loadState(id),
    replace: (task, limits) => store().replace(task, limits),
    renew: (id, lease) => store().renew(id, lease),
    setMessage: (id, owner, message, updatedAt) => store().setMessage(id, owner, message, updatedAt),
    list: (principal, page) => store().list(principal, page),
    remove: (id) => store().remove(id),
    awaitChange: (id, version) => store().awaitChange(id, version),
    due: (now, limit) => store().due(now, limit)
  }
}
