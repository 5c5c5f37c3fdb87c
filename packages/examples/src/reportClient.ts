/**
 * Starts reports, and collects them later, perhaps days later and in another process. Each run starts the server
 * (`reports.ts`) as its child process, and ends it:
 *
 * ```sh
 * node packages/examples/src/reportClient.ts start 2026   # prints the id, and ends
 * node packages/examples/src/reportClient.ts list
 * node packages/examples/src/reportClient.ts collect      # shows the status, and prints the report
 * ```
 *
 * The folder `reports` has the database of the server and the ids that the client has stored. The environment variable
 * `REPORTS` names another folder, and `SECONDS` the time of a chapter.
 */
import { McpClient, McpTarget } from "@effect-mcp/client/node"
import * as TaskIdsKeyValue from "@effect-mcp/client/TaskIdsKeyValue"
import { type Implementation, TaskExtension } from "@effect-mcp/protocol"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodePath from "@effect/platform-node/NodePath"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as KeyValueStore from "effect/persistence/KeyValueStore"
import * as Stream from "effect/Stream"
import * as path from "node:path"

const [, , command, year = "2026"] = process.argv
const { REPORTS: folder = "reports", SECONDS: seconds = "10" } = process.env

const info: Implementation.Implementation = { name: "report-client", version: "1.0.0" }

const client = McpClient.layer(
  McpTarget.command(process.execPath, [
    // The file beside this one, also after a bundler has written both.
    path.join(import.meta.dirname, `reports${path.extname(import.meta.filename)}`),
    path.join(folder, "reports.db"),
    seconds
  ]),
  { name: "reports", info, capabilities: { extensions: { [TaskExtension.name]: {} } }, waitTimeout: "1 minute" }
)

const ids = TaskIdsKeyValue.layer.pipe(
  Layer.provide(KeyValueStore.layerFileSystem(folder)),
  Layer.provide([NodeFileSystem.layer, NodePath.layer])
)

const program = Effect.gen(function*() {
  const { tasks } = yield* McpClient.McpClient
  switch (command) {
    case "start": {
      const { id } = yield* tasks.call("report", { year: Number(year) }, { ttl: "1 day" })
      return yield* Console.log(`started ${id}`)
    }
    case "list": {
      for (const { id, startedAt, tool } of yield* tasks.started) {
        const status = yield* Effect.match(tasks.of(id).state, {
          onSuccess: ({ status }) => status,
          onFailure: ({ message }) => message
        })
        yield* Console.log(`${id} ${tool} of ${new Date(startedAt).toISOString()}: ${status}`)
      }
      return
    }
    case "collect": {
      const started = yield* tasks.started
      if (started.length === 0) return yield* Console.log("nothing was started, or all of it was collected")
      for (const { id, tool } of started) {
        const task = tasks.of(id, { tool })
        const lines = Stream.map(task.states, ({ status, statusMessage = "" }) => `${status} ${statusMessage}`)
        const shown = Stream.runForEach(Stream.changes(lines), (line) => Console.error(line))
        // Beside each other: a task that asks waits for the request for its result. One that has expired is no end.
        yield* Effect.all([shown, task.result], { concurrency: 2 }).pipe(
          Effect.flatMap(([, { structuredContent }]) => Console.log(JSON.stringify(structuredContent, null, 2))),
          Effect.catchTag("RequestError", ({ message }) => Console.error(`${id}: ${message}`))
        )
      }
      return
    }
    default:
      return yield* Console.error("usage: reportClient.ts start [year] | list | collect")
  }
})

NodeRuntime.runMain(program.pipe(Effect.provide(client), Effect.provide(ids)))
