/**
 * Scripts of handlers: trees of steps, from which a handler is made.
 *
 * Each tree is meaningful, so that a long failing script shrinks to a short one.
 */
import * as Schema from "effect/Schema"

const concurrency = Schema.Literals([1, 2, "unbounded"])

/** The methods of questions. */
export const QuestionMethod = Schema.Literals(["elicitation/create", "sampling/createMessage", "roots/list"])

/**
 * The steps without steps inside.
 *
 * - `Ask` asks the client. Few topics exist, so that a script asks the same question several times. A quoting question
 *   has the result of the step before in its text. A question with a given key has the path of its step as key.
 * - `Once` runs a step that must not run again. Only `FailSealed` has a schema for its error.
 * - `Progress` and `Log` send messages, `Compute` only returns something.
 * - `Yield` lets other fibers run, `Microtask` waits for resolved promises, and `Sleep` for the clock. Varying ones
 *   take another time in each run, as I/O does.
 */
export const leaves = [
  Schema.TaggedStruct("Ask", {
    method: QuestionMethod,
    topic: Schema.Literals(["A", "B", "C"]),
    quotes: Schema.Boolean,
    hasKey: Schema.Boolean
  }),
  Schema.TaggedStruct("Once", {
    ending: Schema.Literals(["Succeed", "FailSealed", "Fail", "Die"]),
    millis: Schema.Literals([0, 20])
  }),
  Schema.TaggedStruct("Progress", { value: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 })) }),
  Schema.TaggedStruct("Log", { topic: Schema.Literals(["a", "b"]), level: Schema.Literals(["debug", "warning"]) }),
  Schema.TaggedStruct("Compute", {}),
  Schema.TaggedStruct("Yield", { times: Schema.Literals([1, 9]), varies: Schema.Boolean }),
  Schema.TaggedStruct("Microtask", { times: Schema.Literals([1, 30]) }),
  Schema.TaggedStruct("Sleep", { millis: Schema.Literals([1, 30]), varies: Schema.Boolean }),
  Schema.TaggedStruct("Fail", {}),
  Schema.TaggedStruct("Die", {})
] as const

const Leaf = Schema.Union(leaves)

/** A step without steps inside. */
export type Leaf = typeof Leaf.Type

/**
 * The steps with steps inside.
 *
 * - `Recover` continues after a failure, with one of three functions of Effect.
 * - `All` runs its branches. With more than one at a time, a branch that fails does not end the others, because it
 *   would depend on the times of answers which of them have asked by then.
 * - `Fork` runs a child beside other steps, and joins it.
 */
export type Step =
  | Leaf
  | { readonly _tag: "Recover"; readonly by: "catch" | "catchCause" | "exit"; readonly body: ReadonlyArray<Step> }
  | { readonly _tag: "Ensuring"; readonly body: ReadonlyArray<Step>; readonly finalizer: ReadonlyArray<Leaf> }
  | { readonly _tag: "Acquire"; readonly body: ReadonlyArray<Step> }
  | { readonly _tag: "Uninterruptible"; readonly body: ReadonlyArray<Step> }
  | { readonly _tag: "Timeout"; readonly body: ReadonlyArray<Step> }
  | {
    readonly _tag: "All"
    readonly concurrency: 1 | 2 | "unbounded"
    readonly branches: ReadonlyArray<ReadonlyArray<Step>>
  }
  | { readonly _tag: "Fork"; readonly child: ReadonlyArray<Step>; readonly meanwhile: ReadonlyArray<Step> }

const body = Schema.Array(Schema.suspend((): Schema.Codec<Step> => Step))

/** A step. */
export const Step: Schema.Codec<Step> = Schema.Union([
  ...leaves,
  Schema.TaggedStruct("Recover", { by: Schema.Literals(["catch", "catchCause", "exit"]), body }),
  Schema.TaggedStruct("Ensuring", { body, finalizer: Schema.Array(Leaf) }),
  Schema.TaggedStruct("Acquire", { body }),
  Schema.TaggedStruct("Uninterruptible", { body }),
  Schema.TaggedStruct("Timeout", { body }),
  Schema.TaggedStruct("All", { concurrency, branches: Schema.Array(body) }),
  Schema.TaggedStruct("Fork", { child: body, meanwhile: body })
])

/** The steps of a handler. */
export const Script = Schema.Array(Step)

/** The steps of a handler. */
export type Script = typeof Script.Type

/** Returns the sequences of steps inside of a step. */
export const inside = (step: Step): ReadonlyArray<ReadonlyArray<Step>> => {
  switch (step._tag) {
    case "Recover":
    case "Acquire":
    case "Uninterruptible":
    case "Timeout":
      return [step.body]
    case "Ensuring":
      return [step.body, step.finalizer]
    case "All":
      return step.branches
    case "Fork":
      return [step.child, step.meanwhile]
    default:
      return []
  }
}

/** Returns all steps of a script, with those inside of steps. */
export const flatten = (script: Script): ReadonlyArray<Step> =>
  script.flatMap((step) => [step, ...inside(step).flatMap(flatten)])

/** Returns whether a step runs several of its branches at the same time. */
export const isConcurrent = (step: Step): boolean =>
  step._tag === "Fork" || (step._tag === "All" && step.concurrency !== 1 && step.branches.length > 1)

/** Returns the steps that run beside others. */
export const beside = (script: Script): ReadonlyArray<Step> =>
  script.flatMap((step) => isConcurrent(step) ? inside(step).flatMap(flatten) : inside(step).flatMap(beside))

/** Returns whether a step waits for something other than an answer, outside of `once`. */
const waits = (step: Step): boolean => step._tag === "Sleep" || step._tag === "Microtask"

/** Returns the time at which the last of these works ends, if so many run at a time, each in its turn. */
const makespan = (works: ReadonlyArray<number>, workers: number): number => {
  const busy = Array.from({ length: Math.max(1, Math.min(workers, works.length)) }, () => 0)
  for (const work of works) {
    const next = busy.indexOf(Math.min(...busy))
    busy[next] = (busy[next] ?? 0) + work
  }
  return Math.max(...busy)
}

/** Returns whether some of these steps ask the same, and only their order tells the questions apart. */
const repeatsQuestions = (steps: ReadonlyArray<Step>): boolean => {
  const asked = steps.flatMap((step) =>
    step._tag !== "Ask" || step.hasKey ? [] : [step.method === "roots/list" ? step.method : step.method + step.topic]
  )
  return new Set(asked).size < asked.length
}

/**
 * Returns the greatest number of rounds that a script needs: questions after one another need a round each, and
 * questions of branches that run at the same time share it. There are two exceptions. A branch that waits for something
 * else is interrupted, and asks in a later round. If two branches ask the same, the first one to ask again takes the
 * answer, and the other one needs another round.
 */
export const maxRounds = (script: Script): number =>
  script.reduce((rounds, step) => {
    if (step._tag === "Ask") return rounds + 1
    const works = inside(step).map(maxRounds)
    const sum = works.reduce((total, work) => total + work, 0)
    const steps = inside(step).flatMap(flatten)
    if (!isConcurrent(step) || steps.some(waits) || repeatsQuestions(steps)) return rounds + sum
    return rounds + makespan(works, step._tag === "All" && step.concurrency === 2 ? 2 : works.length)
  }, 0)
