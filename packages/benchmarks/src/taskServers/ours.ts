import { Content } from "@effect-mcp/protocol"
import { ClientSession, MemoryTransport, ServerSession, Transport } from "@effect-mcp/session"
import { RemoteTasks, ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Scope from "effect/Scope"
import { info } from "../peers/tools.ts"
import { inFlight, result, type TaskServer } from "./TaskServer.ts"

const nextTurn = Effect.callback<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

/** Connects a client to a server with room for a number of tasks. By default a principal has 100, and 16 MiB. */
export const connect = (most: number): Promise<TaskServer> =>
  Effect.gen(function*() {
    const scope = yield* Scope.make()
    const latch = yield* Latch.make()
    const room = { maxTasks: most, maxBytes: Number.MAX_SAFE_INTEGER }
    const tasks = yield* ServerTasks.make({ tools: { wait: "required" }, ...room }).pipe(
      Effect.provideService(TaskStore.TaskStore, yield* TaskStore.makeMemory(room)),
      Scope.provide(scope)
    )
    const pair = yield* MemoryTransport.make({ serialization: "json" })
    yield* ServerSession.make({
      "tools/list": () =>
        Effect.succeed({
          tools: [{ name: "wait", inputSchema: { type: "object" }, execution: { taskSupport: "required" } }]
        }),
      "tools/call": () => Effect.as(latch.await, { content: [Content.text(result)] })
    }, { info, tasks }).pipe(Effect.provideService(Transport.Transport, pair.server), Scope.provide(scope))
    const session = yield* ClientSession.make({ info, revisions: ["2025-11-25"] }).pipe(
      Effect.provideService(Transport.Transport, pair.client),
      Scope.provide(scope)
    )
    // The client knows from the list which tools are tasks.
    yield* session.listTools()
    const ids: Array<string> = []
    return {
      create: (count: number) =>
        Effect.runPromise(Effect.forEach(
          Array.from({ length: count }),
          () => Effect.map(RemoteTasks.of(session).call("wait"), ({ id }) => void ids.push(id ?? "")),
          { concurrency: inFlight, discard: true }
        )),
      finish: () =>
        Effect.runPromise(Effect.andThen(
          latch.open,
          Effect.repeat(Effect.andThen(nextTurn, tasks.running), { until: (running) => running === 0 })
        )).then(() => {}),
      collect: () =>
        Effect.runPromise(Effect.forEach(
          ids,
          (id) =>
            Effect.map(RemoteTasks.of(session).of(id).result, ({ content: [first] }) => {
              if (first?.type !== "text" || first.text !== result) throw new Error(`wrong result of ${id}`)
            }),
          { concurrency: inFlight, discard: true }
        )),
      close: () => Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }).pipe(Effect.runPromise)
