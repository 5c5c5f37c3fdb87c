/** The calls of this process that wait for executions of workflows. Workflows that run here as well reach them. */

import type { Progress } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"

/** A call that waits for an execution. */
export interface WaitingCall {
  /** Sends a step of progress to the client of the call. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
  /** Lets the call look for questions, and at the other calls, at once. */
  readonly wake: () => void
  /** The questions that the client of the call cannot answer, by their names. */
  readonly unanswerable: ReadonlyMap<string, {
    /** Whether the call was the first one that has asked the question. */
    readonly isFirst: boolean
  }>
}

/** The calls by their engines, because the ids of two engines may be the same. */
const byEngine = new WeakMap<object, Map<string, Set<WaitingCall>>>()

/** Adds a call, and returns the function that removes it. */
export const add = (engine: object, executionId: string, call: WaitingCall): () => void => {
  let executions = byEngine.get(engine)
  if (executions === undefined) byEngine.set(engine, executions = new Map())
  let calls = executions.get(executionId)
  if (calls === undefined) executions.set(executionId, calls = new Set())
  calls.add(call)
  return () => {
    calls.delete(call)
    if (calls.size === 0 && executions.get(executionId) === calls) executions.delete(executionId)
    // Their questions may have waited for this call.
    for (const other of calls) other.wake()
  }
}

/** Returns the calls that wait for an execution. */
export const of = (engine: object, executionId: string): ReadonlyArray<WaitingCall> => [
  ...byEngine.get(engine)?.get(executionId) ?? []
]
