/** Calls of tools that only read, which the next owner of a session repeats if the server says so. */
import { McpGroup, McpRequest, McpServer } from "@effect-mcp/server"
import { EventStore, SessionOwners, SessionStore } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import { assert, it } from "@effect/vitest"
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { makeStores } from "../../transport/test/support/fleet.ts"
import { connect } from "../../transport/test/support/httpClient.ts"
import { info } from "./support/connect.ts"

const Reading = McpGroup.make(
  "reading",
  Tool.make("look", { success: Schema.String }).annotate(Tool.Readonly, true),
  Tool.make("change", { success: Schema.String })
)

const waits = Effect.andThen(McpRequest.progress({ progress: 1 }), Effect.never)

const ReadingLive = Reading.toLayer((handlers) => handlers.tool("look", () => waits).tool("change", () => waits))

/** Returns how many tasks are stored while a call of a tool runs. */
const storedBy = Effect.fnUntraced(function*(tool: string, tasks: McpServer.TaskOptions) {
  const { ownerStore, sessionStore, store } = yield* makeStores
  const taskStore = yield* TaskStore.makeMemory()
  const owners = yield* SessionOwners.make(ownerStore, { leaseTime: "1 second" })
  const layer = StreamableHttpServer.layerNode({ port: 0, responseMode: "stream" }).pipe(
    Layer.provide(McpServer.layerHost(ReadingLive, { info, tasks })),
    Layer.provide(Layer.mergeAll(
      Layer.succeed(EventStore.EventStore, store),
      Layer.succeed(SessionStore.SessionStore, sessionStore),
      Layer.succeed(SessionOwners.SessionOwners, owners),
      Layer.succeed(TaskStore.TaskStore, taskStore),
      Layer.succeed(Authentication.Authentication, { identify: () => Effect.succeed({ id: "ada" }) })
    ))
  )
  const { address } = Context.get(yield* Effect.orDie(Layer.build(Layer.fresh(layer))), HttpServer)
  yield* owners.awaitLease
  const client = yield* connect({ port: "port" in address ? address.port : 0 })
  const response = yield* client.call("c", tool)
  yield* response.awaitMessages(1)
  const listed = yield* Effect.orDie(taskStore.list("ada", { limit: 10 }))
  return listed._tag === "Page" ? listed.tasks.length : undefined
})

it.live("a call of a tool that only reads is stored if the server repeats it, and any other one is not", () =>
  Effect.gen(function*() {
    assert.strictEqual(yield* storedBy("look", { repeatsReading: true }), 1)
    assert.strictEqual(yield* storedBy("look", {}), 0)
    assert.strictEqual(yield* storedBy("change", { repeatsReading: true }), 0)
  }).pipe(Effect.scoped))
