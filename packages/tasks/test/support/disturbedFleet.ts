/** A fleet with a tool that goes on at the next owner of a session, and with stores that a test disturbs. */
import { McpError } from "@effect-mcp/protocol"
import { type EventStore, RequestContext, SessionOwners } from "@effect-mcp/session"
import { ServerTasks, TaskStore } from "@effect-mcp/tasks"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { makeStores, startProcess } from "../../../transport/test/support/fleet.ts"
import { text, tools } from "../../../transport/test/support/server.ts"

type Tasks = TaskStore.TaskStore["Service"]
type Events = EventStore.EventStore["Service"]
type Operation = "create" | "end" | "load" | "replace" | "takeOver"

/** An effect before or after the next operation of a kind. */
interface Disturbance {
  readonly operation: Operation
  readonly isAfter: boolean
  readonly effect: Effect.Effect<void, TaskStore.TaskStoreError>
}

/** The failure of an operation. */
export const fails = Effect.fail(new TaskStore.TaskStoreError({ cause: "disturbed" }))

/** Makes a fleet. `pausesFirst` is the time for which the first run of the tool stands before its step. */
export const makeDisturbedFleet = Effect.fnUntraced(function*({ pausesFirst = 0 } = {}) {
  const stores = yield* makeStores
  const shared = yield* TaskStore.makeMemory()
  const counts = { charged: 0, started: 0 }
  const book = Effect.gen(function*() {
    const run = ++counts.started
    yield* RequestContext.progress({ progress: 1 })
    if (run === 1) yield* Effect.sleep(pausesFirst)
    const charge = yield* RequestContext.once("charge", { success: Schema.Number }, Effect.sync(() => ++counts.charged))
    yield* RequestContext.progress({ progress: 2 })
    const { action } = yield* Effect.mapError(
      RequestContext.elicit({ message: "Book it?", requestedSchema: { type: "object", properties: {} } }),
      () => McpError.invalidRequest("not answered")
    )
    return text(`${charge} ${action}`)
  })
  const start = Effect.gen(function*() {
    const disturbances: Array<Disturbance> = []
    const disturbed = <A, E>(operation: Operation, effect: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        const index = disturbances.findIndex((one) => one.operation === operation)
        const found = index === -1 ? undefined : disturbances.splice(index, 1)[0]
        if (found === undefined) return effect
        return found.isAfter ? Effect.tap(effect, found.effect) : Effect.andThen(found.effect, effect)
      })
    const tasks: Tasks = {
      ...shared,
      create: (task, limits) => disturbed("create", Effect.suspend(() => shared.create(task, limits))),
      load: (id) => disturbed("load", Effect.suspend(() => shared.load(id))),
      replace: (task, limits) => disturbed("replace", Effect.suspend(() => shared.replace(task, limits)))
    }
    const events = <A, E>(operation: Operation, effect: Effect.Effect<A, E>) =>
      Effect.catchIf(
        disturbed(operation, effect),
        (error) => error instanceof TaskStore.TaskStoreError,
        (error) => Effect.die(error)
      )
    const store: Events = {
      ...stores.store,
      end: (stream) => events("end", Effect.suspend(() => stores.store.end(stream))),
      takeOver: (session, epoch) => events("takeOver", Effect.suspend(() => stores.store.takeOver(session, epoch)))
    }
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope, exit) => Scope.close(scope, exit))
    const made = yield* ServerTasks.make({ tools: { book: { support: "forbidden", resumable: true } } }).pipe(
      Effect.provideService(TaskStore.TaskStore, tasks),
      Scope.provide(scope)
    )
    let isCutOff = false
    const { ownerStore } = stores
    const renew: SessionOwners.OwnerStore["renew"] = (lease) =>
      isCutOff ? Effect.fail(new SessionOwners.SessionOwnersError({ cause: "cut off" })) : ownerStore.renew(lease)
    const process = yield* startProcess({ ...stores, store, ownerStore: { ...ownerStore, renew } }, tools({ book }), {
      session: { tasks: made, limits: { gracefulTimeout: "5 seconds" } },
      http: { responseMode: "stream" },
      authentication: { identify: () => Effect.succeed({ id: "ada" }) }
    })
    return {
      ...process,
      /** Ends the lease of the process. It runs on, as one that was paused does. */
      cutOff: Effect.suspend(() => {
        isCutOff = true
        return ownerStore.retire(process.owners.process)
      }),
      before: (operation: Operation, effect: Disturbance["effect"]) =>
        void disturbances.push({ operation, isAfter: false, effect }),
      after: (operation: Operation, effect: Disturbance["effect"]) =>
        void disturbances.push({ operation, isAfter: true, effect })
    }
  })
  /** The number of stored calls. */
  const stored = Effect.map(
    Effect.suspend(() => shared.list("ada", { limit: 100 })),
    (listed) => listed._tag === "Page" ? listed.tasks.length : 0
  )
  return { counts, start, stored }
})
