/**
 * The questions of an execution, in the store of its engine.
 *
 * A workflow may run in another process than the call that waits for it, so questions and answers are both values of a
 * `DurableDeferred`. Questions form a list: the first one is the value of `mcp/question/0`. A workflow writes its
 * question to the first place that is free. The first value of a deferred counts, so that two branches never get the
 * same place, and a replay finds the place of its question again.
 */

import { ElicitationSchema } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import * as EngineStore from "./EngineStore.ts"
import * as WaitingCalls from "./WaitingCalls.ts"

/** A question to the client of a call. */
export const Question = Schema.Struct({
  name: Schema.String,
  message: Schema.String,
  form: ElicitationSchema.ElicitationSchema
})

/** The answer of a client, or the reason for which the client could not be asked. */
export const Answer = Schema.Union([
  Schema.Struct({
    _tag: Schema.tag("Answered"),
    action: Schema.Literals(["accept", "decline", "cancel"]),
    content: Schema.Json
  }),
  Schema.Struct({ _tag: Schema.tag("Unavailable"), problem: Schema.String })
])

/** Returns the place of a question in the list. */
export const placeOf = (index: number): DurableDeferred.DurableDeferred<typeof Question> =>
  DurableDeferred.make(`mcp/question/${index}`, { success: Question })

/** Returns the place of the answer to a question. */
export const answerOf = (name: string): DurableDeferred.DurableDeferred<typeof Answer> =>
  DurableDeferred.make(`mcp/answer/${name}`, { success: Answer })

/** Returns the place of the name of the call that was the first one to ask a question. */
export const askerOf = (name: string): DurableDeferred.DurableDeferred<typeof Schema.String> =>
  DurableDeferred.make(`mcp/asker/${name}`, { success: Schema.String })

/** Writes a question to the first free place, unless the list has it. */
const put = (
  question: typeof Question.Type,
  index: number
): Effect.Effect<void, never, WorkflowEngine | WorkflowInstance> =>
  Effect.gen(function*() {
    const engine = yield* WorkflowEngine
    const { executionId, workflow } = yield* WorkflowInstance
    const place = placeOf(index)
    const reading = EngineStore.retrying(engine.deferredResult(place))
    if (Option.isNone(yield* reading)) {
      yield* EngineStore.retrying(engine.deferredDone(place, {
        workflowName: workflow._tag,
        executionId,
        deferredName: place.name,
        exit: Exit.succeed(question)
      }))
    }
    // Another branch may have been faster.
    const stored = yield* reading
    if (Option.isSome(stored) && Exit.isSuccess(stored.value) && stored.value.value.name !== question.name) {
      return yield* put(question, index + 1)
    }
    for (const call of WaitingCalls.of(engine, executionId)) call.wake()
  })

/** Asks a question in a workflow, and suspends it until the answer is there. */
export const ask = (
  question: typeof Question.Type
): Effect.Effect<typeof Answer.Type, never, WorkflowEngine | WorkflowInstance> =>
  Effect.gen(function*() {
    const engine = yield* WorkflowEngine
    const answer = answerOf(question.name)
    if (Option.isNone(yield* EngineStore.retrying(engine.deferredResult(answer)))) {
      // As an activity: a branch that waits already would otherwise suspend the workflow before the question is stored.
      // Branches that have not begun begin now. Otherwise this one would suspend the workflow before they ask.
      yield* Workflow.wrapActivityResult(Effect.andThen(put(question, 0), Effect.yieldNow), () => false)
    }
    return yield* EngineStore.retrying(DurableDeferred.await(answer))
  })
