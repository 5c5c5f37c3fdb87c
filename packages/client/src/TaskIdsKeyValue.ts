/**
 * A store of the ids of tasks over `effect/persistence/KeyValueStore`: a folder, a database, or the storage of a
 * browser.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import * as StartedTasks from "./internal/StartedTasks.ts"
import * as TaskIds from "./TaskIds.ts"

const StoredTasks = Schema.fromJsonString(
  Schema.Array(Schema.Struct({ id: Schema.String, tool: Schema.String, startedAt: Schema.Finite }))
)

const decode = Schema.decodeUnknownEffect(StoredTasks)
const encode = Schema.encodeEffect(StoredTasks)

const keyOf = (server: string): string => `mcp-tasks-${encodeURIComponent(server)}`

const none = Effect.succeed<ReadonlyArray<TaskIds.StartedTask>>([])

const failed = (cause: unknown) => new TaskIds.TaskIdsError({ cause })

/**
 * Stores the ids of each server as the JSON of one value, whose key is `mcp-tasks-` and the name of the server. One
 * process at a time may use a store. A value that is not such JSON fails, and nothing overwrites it.
 *
 * @example
 * ```ts
 * import { McpClient, McpTarget } from "@effect-mcp/client/node"
 * import * as TaskIdsKeyValue from "@effect-mcp/client/TaskIdsKeyValue"
 * import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
 * import * as NodePath from "@effect/platform-node/NodePath"
 * import * as KeyValueStore from "effect/persistence/KeyValueStore"
 * import * as Layer from "effect/Layer"
 *
 * const ids = TaskIdsKeyValue.layer.pipe(
 *   Layer.provide(KeyValueStore.layerFileSystem("tasks")),
 *   Layer.provide([NodeFileSystem.layer, NodePath.layer])
 * )
 *
 * // Finds its tasks again after a restart.
 * export const reports = Layer.provide(
 *   McpClient.layer(McpTarget.command("node", ["reports.mjs"]), {
 *     name: "reports",
 *     info: { name: "app", version: "1.0.0" }
 *   }),
 *   ids
 * )
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<TaskIds.TaskIds, never, KeyValueStore.KeyValueStore> = Layer.effect(
  TaskIds.TaskIds,
  Effect.map(KeyValueStore.KeyValueStore, (store) => {
    const one = Semaphore.makeUnsafe(1)
    const list = (server: string): Effect.Effect<ReadonlyArray<TaskIds.StartedTask>, TaskIds.TaskIdsError> =>
      Effect.mapError(
        // An empty value is what a write leaves whose process died.
        Effect.flatMap(store.get(keyOf(server)), (text) => text === undefined || text === "" ? none : decode(text)),
        failed
      )
    const change = (
      server: string,
      next: (tasks: ReadonlyArray<TaskIds.StartedTask>) => ReadonlyArray<TaskIds.StartedTask>
    ) =>
      one.withPermits(1)(Effect.flatMap(list(server), (tasks) => {
        const changed = next(tasks)
        const stored = changed.length === 0
          ? store.remove(keyOf(server))
          : Effect.flatMap(encode(changed), (text) => store.set(keyOf(server), text))
        // A file whose write is interrupted is lost.
        return Effect.uninterruptible(Effect.mapError(stored, failed))
      }))
    return {
      list,
      add: (server, task) => change(server, (tasks) => StartedTasks.added(tasks, task)),
      remove: (server, id) => change(server, (tasks) => StartedTasks.removed(tasks, id))
    }
  })
)
