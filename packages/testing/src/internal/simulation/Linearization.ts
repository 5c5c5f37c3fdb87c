/**
 * The search for an order of commands that explains their results.
 *
 * Each command takes effect at one moment between its start and its end. A command in flight, or one whose outcome is
 * unknown, takes effect at any moment after its start, or never.
 */
import * as Equal from "effect/Equal"
import type { Action, Returned } from "./Action.ts"

/** A command that was started. */
export interface Operation<Model> {
  readonly action: Pick<Action<Model, unknown>, "isAllowed" | "next">
  /** The places of its start and its end among all starts and ends. */
  readonly started: number
  readonly ended: number | undefined
  /** Its result, if it is known. */
  readonly returned: Returned<Model> | undefined
}

/** An operation whose result does not fit the model. */
export interface Obstacle<Model> {
  readonly operation: Operation<Model>
  readonly problem: string
  readonly model: Model
}

/** The outcome of a search. */
export interface Search<Model> {
  /** Whether some order explains all results. A search that took too long counts as one that found an order. */
  readonly explained: boolean
  /** Whether the precondition of each command without a known result holds wherever it may take effect. */
  readonly allowed: boolean
  /** The operation at which the longest explanation ends, and what is wrong with its result there. */
  readonly obstacle: Obstacle<Model> | undefined
}

/** The greatest number of steps of one search. Commands that overlap rarely need more than a few hundred. */
const maxSteps = 20_000

const isKnown = <Model>({ ended, returned }: Operation<Model>): boolean => ended !== undefined && returned !== undefined

/** Searches the orders of these operations. */
export const search = <Model>(initial: Model, operations: ReadonlyArray<Operation<Model>>): Search<Model> => {
  // The models that were reached by each set of operations: another order of the same set needs no second visit.
  const visited = new Map<string, Array<Model>>()
  const applied = operations.map(() => false)
  let steps = 0
  let explained = false
  let allowed = true
  let obstacle: Obstacle<Model> | undefined
  let longest = -1

  const isVisited = (model: Model): boolean => {
    const key = applied.map(Number).join("")
    const models = visited.get(key)
    if (models === undefined) visited.set(key, [model])
    else if (models.some((one) => Equal.equals(one, model))) return true
    else models.push(model)
    return false
  }

  const visit = (model: Model, known: number): void => {
    if (steps > maxSteps || isVisited(model)) return
    const left = operations.filter((operation, index) => !applied[index] && isKnown(operation))
    if (left.length === 0) explained = true
    // Nothing takes effect before a command that had ended when it started.
    const firstEnd = left.reduce((least, { ended }) => Math.min(least, ended ?? least), Number.POSITIVE_INFINITY)
    for (const [index, operation] of operations.entries()) {
      if (applied[index] || operation.started > firstEnd) continue
      steps++
      const { action, returned } = operation
      let after: Model
      if (returned === undefined) {
        if (!action.isAllowed(model)) allowed = false
        after = action.next(model)
      } else {
        const problem = returned.problem(model)
        if (problem !== undefined) {
          if (known > longest) {
            longest = known
            obstacle = { operation, problem, model }
          }
          continue
        }
        after = returned.next(model)
      }
      applied[index] = true
      visit(after, known + Number(returned !== undefined))
      applied[index] = false
    }
  }

  visit(initial, 0)
  const exhausted = steps > maxSteps
  return { explained: explained || exhausted, allowed: allowed && !exhausted, obstacle }
}
