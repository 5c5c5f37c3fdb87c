/** Processes that share the tasks of one store, in one process of the tests. */
import { SessionHost } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { info, type ServerHandlers } from "../../../session/test/support/sessions.ts"

/** Starts a process on a store: a host with tasks, which can be stopped, and killed, and which can hang. */
export const startProcess = Effect.fnUntraced(function*(
  store: TaskStore.TaskStore["Service"],
  handlers: ServerHandlers,
  options: ServerTasks.Options
) {
  const scope = yield* Scope.make()
  let state: "alive" | "hung" | "dead" = "alive"
  // A store in memory carries out an operation where it is called.
  const alive = <A>(operation: () => Effect.Effect<A, TaskStore.TaskStoreError>) =>
    Effect.suspend(() => {
      if (state === "alive") return operation()
      return state === "hung" ? Effect.never : Effect.fail(new TaskStore.TaskStoreError({ cause: "killed" }))
    })
  const own: TaskStore.TaskStore["Service"] = {
    ...store,
    load: (id) => alive(() => store.load(id)),
    loadState: (id) => alive(() => store.loadState(id)),
    setMessage: (id, owner, message, updatedAt) => alive(() => store.setMessage(id, owner, message, updatedAt)),
    replace: (task, limits) => alive(() => store.replace(task, limits)),
    renew: (id, lease) => alive(() => store.renew(id, lease)),
    due: (now, limit) => alive(() => store.due(now, limit))
  }
  const tasks = yield* ServerTasks.make(options).pipe(
    Effect.provideService(TaskStore.TaskStore, own),
    Scope.provide(scope)
  )
  const host = yield* SessionHost.make(handlers, {
    info,
    tasks,
    limits: { gracefulTimeout: 0 },
    sessions: { idleTimeout: "1 day", maxAge: "1 day" }
  }).pipe(Scope.provide(scope))
  const stop = Scope.close(scope, Exit.void)
  yield* Effect.addFinalizer(() => stop)
  const become = (next: typeof state) =>
    Effect.sync(() => {
      state = next
    })
  return {
    host,
    running: tasks.running,
    stop,
    /** From now on, the process waits for the store. */
    hang: become("hung"),
    wake: become("alive"),
    /** From now on, nothing of the process reaches the store. */
    kill: Effect.andThen(become("dead"), stop)
  }
})
