/** Processes of one server that share their stores, and serve the workflow that books a journey. */
import { McpServer } from "@effect-mcp/server"
import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
import { EventStore, SessionOwners, SessionStore } from "@effect-mcp/session"
import { TaskStore } from "@effect-mcp/tasks"
import { Authentication, StreamableHttpServer } from "@effect-mcp/transport/node"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServer } from "effect/http/HttpServer"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import type * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { makeStores } from "../../../transport/test/support/fleet.ts"
import { Book } from "./booking.ts"
import { info } from "./connect.ts"

const ada = { id: "ada" }

/** The stores that the processes share. */
export const makeSharedStores = Effect.gen(function*() {
  return { ...yield* makeStores, tasks: yield* TaskStore.makeMemory() }
})

type SharedStores = Effect.Success<typeof makeSharedStores>

/** Starts a process of a fleet. */
export const startMember = Effect.fnUntraced(function*<E>(
  engine: Layer.Layer<WorkflowEngine.WorkflowEngine, E>,
  { ownerStore, sessionStore, store, tasks }: SharedStores,
  options?: McpWorkflow.HandlerOptions,
  http: StreamableHttpServer.Options = { responseMode: "stream" }
) {
  const scope = yield* Effect.acquireRelease(Scope.make(), Scope.close)
  const owners = yield* Scope.provide(SessionOwners.make(ownerStore, { leaseTime: "1 second" }), scope)
  const layer = StreamableHttpServer.layerNode({ port: 0, ...http }).pipe(
    Layer.provide(McpServer.layerHost(Layer.provide(McpWorkflow.layer(Book, options), engine), { info })),
    Layer.provide(Layer.mergeAll(
      Layer.succeed(EventStore.EventStore, store),
      Layer.succeed(SessionStore.SessionStore, sessionStore),
      Layer.succeed(SessionOwners.SessionOwners, owners),
      Layer.succeed(TaskStore.TaskStore, tasks),
      Layer.succeed(Authentication.Authentication, { identify: () => Effect.succeed(ada) })
    ))
  )
  const { address } = Context.get(yield* Effect.orDie(Layer.buildWithScope(Layer.fresh(layer), scope)), HttpServer)
  yield* owners.awaitLease
  return { port: "port" in address ? address.port : 0, stop: Scope.close(scope, Exit.void) }
})
