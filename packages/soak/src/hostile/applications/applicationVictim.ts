/**
 * The application under attack: `node applicationVictim.ts http-application`. Its tools are `echo`, which returns a
 * given number of bytes; `work`, which runs as a task without end and may report its progress; and `find`, whose
 * results are kept. The tasks of `http-sql` are in an SQL database.
 */
import { McpGroup, McpMiddleware, McpResponseCache, McpServer, McpTool } from "@effect-mcp/server"
import { RequestContext } from "@effect-mcp/session"
import * as NodeSqlite from "@effect-mcp/tasks/NodeSqlite"
import * as TaskStoreSql from "@effect-mcp/tasks/TaskStoreSql"
import * as Tool from "effect/ai/Tool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ApplicationProcess from "./applicationProcess.ts"

class Cached extends McpMiddleware.Service<Cached>()("Cached") {}

const Application = McpGroup.make(
  "application",
  Tool.make("echo", { parameters: Schema.Struct({ bytes: Schema.Finite }), success: Schema.String }),
  Tool.make("work", {
    parameters: Schema.Struct({ everyMillis: Schema.optionalKey(Schema.Finite), input: Schema.Unknown }),
    success: Schema.String
  }).annotate(McpTool.Task, "required"),
  Tool.make("find", {
    parameters: Schema.Struct({ page: Schema.Finite, bytes: Schema.Finite, input: Schema.Unknown }),
    success: Schema.String
  })
).middleware(Cached)

const reporting = (everyMillis: number) => {
  let progress = 0
  return Effect.forever(Effect.andThen(
    Effect.suspend(() => RequestContext.progress({ progress: ++progress, message: `step ${progress}` })),
    Effect.sleep(everyMillis)
  ))
}

const text = (bytes: number): string => "x".repeat(bytes)

const ApplicationLive = Application.toLayer((handlers) =>
  handlers
    .tool("echo", ({ bytes }) => Effect.succeed(text(bytes)))
    .tool("work", ({ everyMillis }) => everyMillis === undefined ? Effect.never : reporting(everyMillis))
    .tool("find", ({ bytes }) => Effect.sync(() => text(bytes)))
).pipe(Layer.provide(McpResponseCache.layer(Cached, { timeToLive: { find: "1 hour" } })))

const store = TaskStoreSql.layer().pipe(Layer.provide(NodeSqlite.layer({ filename: ":memory:" })))

const groups = process.argv[2] === "http-sql" ? Layer.merge(ApplicationLive, store) : ApplicationLive

ApplicationProcess.run(McpServer.layerHost(groups, { info: { name: "victim", version: "1.0.0" } }))
