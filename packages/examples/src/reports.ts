/**
 * A server of reports that take a minute. It keeps them in a database, so that the process that starts a report, the
 * process that writes it and the process that collects it may be three:
 *
 * ```sh
 * node packages/examples/src/reports.ts reports.db 10
 * ```
 *
 * The arguments are the database and the seconds that each of the six chapters takes. Started over stdio, as above, it
 * is a child process of its client: `reportClient.ts` is one.
 */
import { McpGroup, McpRequest, McpServer, McpTool } from "@effect-mcp/server/node"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

const [, , database = "reports.db", seconds = "10"] = process.argv

const chapters = ["income", "costs", "people", "plans", "risks", "outlook"]

const Reports = McpGroup.make(
  "reports",
  Tool.make("report", {
    description: "Writes the report of a year. It takes a minute.",
    parameters: Schema.Struct({ year: Schema.Int }),
    success: Schema.Struct({ year: Schema.Int, chapters: Schema.Array(Schema.String) })
  }).annotate(McpTool.Task, { support: "required", resumable: true })
)

const ReportsLive = Reports.toLayer((handlers) =>
  handlers.tool("report", ({ year }) =>
    Effect.gen(function*() {
      const written: Array<string> = []
      for (const [index, chapter] of chapters.entries()) {
        yield* McpRequest.progress({ progress: index, total: chapters.length, message: `writes about ${chapter}` })
        // A chapter that is done is not written again if another process goes on.
        const text = yield* McpRequest.once(
          chapter,
          { success: Schema.String },
          Effect.as(Effect.sleep(Duration.seconds(Number(seconds))), `${chapter} of ${year}, by process ${process.pid}`)
        )
        written.push(text)
      }
      return { year, chapters: written }
    }))
)

const store = Layer.orDie(TaskStoreSql.layer().pipe(Layer.provide(NodeSqlite.layer({ filename: database }))))

McpServer.runMainStdio(Layer.merge(ReportsLive, store), {
  info: { name: "reports", version: "1.0.0" },
  // A short lease, so that the next process goes on soon if this one was killed.
  tasks: { lease: "3 seconds", ttl: "1 day" }
})
