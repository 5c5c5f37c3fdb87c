/** The durable calls of sessions that this process takes over. */
import { JsonRpc, type RequestId } from "@effect-mcp/protocol"
import type { OwnedSession, StoredCalls } from "@effect-mcp/session/internalEngine"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import type * as StoredTask from "../../StoredTask.ts"
import * as DurableCallId from "../runs/DurableCallId.ts"
import { maxStarts } from "../runs/LeaseKeeper.ts"
import * as DurableCall from "./DurableCall.ts"
import * as ResumedCall from "./ResumedCall.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"

/** Makes the calls of an endpoint. `isResumable` returns whether the tool of a call runs again here. */
export const make = (
  { removals, tasks }: Pick<TaskEndpoint, "removals" | "tasks">,
  isResumable: (message: JsonRpc.Request) => boolean
): StoredCalls => {
  const isOurs = ({ epoch }: OwnedSession) => ({ call, outcome }: StoredTask.StoredTask) =>
    outcome === undefined && call !== undefined && call.epoch <= epoch

  const take = Effect.fnUntraced(function*(owned: OwnedSession, requestId: RequestId.RequestId) {
    const id = yield* DurableCallId.of(owned.session, requestId)
    const { epoch } = owned
    // It has ended here. The store may not have its reply, nor the end of its stream.
    if (yield* FiberMap.has(removals, DurableCall.removalOf(epoch, id))) return undefined
    const messageOf = ({ request: { method, params } }: StoredTask.StoredTask) =>
      JsonRpc.request(requestId, method, params)
    const goesOn = (task: StoredTask.StoredTask) => isOurs(owned)(task) && isResumable(messageOf(task))
    const changed = yield* tasks.change(id, (task) => {
      const { call, resumption, updatedAt } = task
      // The number of starts is counted here: a process may also die before the handler begins. This owner may have run
      // the call before, and lost its reply.
      return goesOn(task) && call !== undefined && resumption !== undefined && resumption.runs < maxStarts
        ? { call: { epoch }, resumption: { ...resumption, runs: resumption.runs + 1 }, updatedAt }
        : undefined
    })
    if (!("task" in changed)) return undefined
    const { task } = changed
    if (changed._tag === "Changed" && task.resumption !== undefined) {
      return { message: messageOf(task), principal: ResumedCall.make(task, task.resumption).principal, task }
    }
    yield* tasks.removeOwn(id, isOurs(owned))
    return undefined
  })

  return {
    take,
    drop: (owned, requestId) =>
      Effect.flatMap(
        DurableCallId.of(owned.session, requestId),
        (id) => tasks.removeOwn(id, isOurs(owned))
      ),
    clean: (owned, principal) =>
      Effect.flatMap(
        tasks.calls(owned.session, principal),
        (ids) =>
          Effect.forEach(ids, (id) => tasks.removeOwn(id, isOurs({ ...owned, epoch: owned.epoch - 1 })), {
            discard: true
          })
      )
  }
}
