/** A workflow engine whose store is away at times, for tests. */
import { PersistenceError } from "effect/cluster/ClusterError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
import { makeBooking } from "./booking.ts"

/** The defect of an engine of Effect Cluster whose database is away. */
const lost = Effect.die(new PersistenceError({ cause: new Error("the connection is lost") }))

/**
 * Builds an engine in memory with the workflow that books a journey. While its store is away, operations of the calls
 * and of the workflow fail. `failed` has their names. The first operation with a given name begins an outage.
 */
export const makeOutage = Effect.fnUntraced(function*(first?: string) {
  const { counts, engine } = yield* makeBooking
  const context = yield* Layer.build(engine)
  const service = Context.get(context, WorkflowEngine.WorkflowEngine)
  const { deferredDone, deferredResult, execute, interrupt, poll } = service
  const away = yield* Latch.make()
  const failed: Array<string> = []
  const failing = (name: string) =>
    Effect.suspend(() => {
      failed.push(name)
      return lost
    })
  const orFailing = <Args extends ReadonlyArray<unknown>, A, E, R>(
    name: string,
    operation: (...args: Args) => Effect.Effect<A, E, R>
  ) =>
  (...args: Args): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      if (first === name && failed.length === 0) away.openUnsafe()
      return away.isOpen() ? failing(name) : operation(...args)
    })
  // In place, because the workflow uses this engine as well.
  Object.assign(service, {
    // It sends to the store again and again while it waits.
    execute: (...args: Parameters<typeof execute>) =>
      Effect.raceFirst(execute(...args), Effect.andThen(away.await, failing("execute"))),
    interrupt: orFailing("interrupt", interrupt),
    poll: orFailing("poll", poll),
    deferredResult: orFailing("deferredResult", deferredResult),
    deferredDone: orFailing("deferredDone", deferredDone)
  })
  return { away, counts, engine, failed }
})
