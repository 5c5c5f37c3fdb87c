/** The generator of trials, and the simpler forms of a trial. */

import { Faults } from "@effect-mcp/testing"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { inside, type Leaf, leaves, type Script, type Step } from "./Script.ts"
import { Trial } from "./Trial.ts"

/** The number of times that a kind of step is drawn, compared with the others. */
const weights: { readonly [Tag in Step["_tag"]]: number } = {
  Ask: 30,
  Once: 12,
  Progress: 8,
  Log: 12,
  Compute: 2,
  Yield: 6,
  Microtask: 3,
  Sleep: 4,
  Fail: 1,
  Die: 1,
  Recover: 6,
  Ensuring: 4,
  Acquire: 3,
  Uninterruptible: 2,
  Timeout: 2,
  All: 12,
  Fork: 4
}

/** The most steps of a sequence, by the number of steps around it. */
const lengths = [5, 4, 3]

const stepsAt = (depth: number): Arbitrary.Arbitrary<Script> =>
  Arbitrary.array(stepAt(depth), { minLength: depth === 0 ? 1 : 0, maxLength: lengths[depth] ?? 1 })

const [ask, once, progress, log, compute, yields, microtask, sleep, fail, die] = leaves

const leaf = {
  Ask: Arbitrary.schema(ask),
  Once: Arbitrary.schema(once),
  Progress: Arbitrary.schema(progress),
  Log: Arbitrary.schema(log),
  Compute: Arbitrary.schema(compute),
  Yield: Arbitrary.schema(yields),
  Microtask: Arbitrary.schema(microtask),
  Sleep: Arbitrary.schema(sleep),
  Fail: Arbitrary.schema(fail),
  Die: Arbitrary.schema(die)
}

type Kinds<A extends Step> = ReadonlyArray<readonly [tag: A["_tag"], kind: Arbitrary.Arbitrary<A>]>

const leafKinds: Kinds<Leaf> = [
  ["Ask", leaf.Ask],
  ["Once", leaf.Once],
  ["Progress", leaf.Progress],
  ["Log", leaf.Log],
  ["Compute", leaf.Compute],
  ["Yield", leaf.Yield],
  ["Microtask", leaf.Microtask],
  ["Sleep", leaf.Sleep],
  ["Fail", leaf.Fail],
  ["Die", leaf.Die]
]

/** Draws a step of one of these kinds, each with its weight. */
const weighted = <A extends Step>(kinds: Kinds<A>, otherwise: Arbitrary.Arbitrary<A>): Arbitrary.Arbitrary<A> => {
  const drawable = kinds.flatMap(([tag, kind]) => Array.from({ length: weights[tag] }, () => kind))
  return Arbitrary.flatMap(
    Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: drawable.length - 1 }))),
    (drawn) => drawable[drawn] ?? otherwise
  )
}

/** Returns the generators of all kinds of steps at a depth. */
const kindsAt = (depth: number): Kinds<Step> => {
  if (depth + 1 >= lengths.length) return leafKinds
  const body = stepsAt(depth + 1)
  const recovering = Arbitrary.schema(Schema.Literals(["catch", "catchCause", "exit"]))
  return [
    ...leafKinds,
    ["Recover", Arbitrary.map(Arbitrary.all({ by: recovering, body }), (parts) => ({ _tag: "Recover", ...parts }))],
    [
      "Ensuring",
      Arbitrary.map(
        Arbitrary.all({ body, finalizer: Arbitrary.array(weighted(leafKinds, leaf.Ask), { maxLength: 2 }) }),
        (parts) => ({ _tag: "Ensuring", ...parts })
      )
    ],
    ["Acquire", Arbitrary.map(body, (body) => ({ _tag: "Acquire", body }))],
    ["Uninterruptible", Arbitrary.map(body, (body) => ({ _tag: "Uninterruptible", body }))],
    ["Timeout", Arbitrary.map(body, (body) => ({ _tag: "Timeout", body }))],
    [
      "All",
      Arbitrary.map(
        Arbitrary.all({
          concurrency: Arbitrary.schema(Schema.Literals([1, 2, "unbounded"])),
          branches: Arbitrary.array(body, { minLength: 1, maxLength: 4 })
        }),
        (parts) => ({ _tag: "All", ...parts })
      )
    ],
    ["Fork", Arbitrary.map(Arbitrary.all({ child: body, meanwhile: body }), (parts) => ({ _tag: "Fork", ...parts }))]
  ]
}

const stepAt = (depth: number): Arbitrary.Arbitrary<Step> => weighted(kindsAt(depth), leaf.Ask)

/** Generates trials for a property. */
export const arbitrary: Arbitrary.Arbitrary<Trial> = Arbitrary.all({
  form: Arbitrary.schema(Trial.fields.form),
  interleaving: Arbitrary.schema(Trial.fields.interleaving),
  faults: Arbitrary.schema(Trial.fields.faults),
  seed: Arbitrary.schema(Trial.fields.seed),
  calls: Arbitrary.schema(Trial.fields.calls),
  hasModel: Arbitrary.schema(Trial.fields.hasModel),
  script: stepsAt(0)
})

/** Returns an array with one element replaced by others. */
const replaced = <A>(array: ReadonlyArray<A>, at: number, by: ReadonlyArray<A>): ReadonlyArray<A> => [
  ...array.slice(0, at),
  ...by,
  ...array.slice(at + 1)
]

/** Returns simpler forms of a step. */
const simpler = (step: Step): ReadonlyArray<Step> => {
  switch (step._tag) {
    case "Ask":
      return [
        ...(step.quotes ? [{ ...step, quotes: false }] : []),
        ...(step.hasKey ? [{ ...step, hasKey: false }] : []),
        ...(step.topic === "A" ? [] : [{ ...step, topic: "A" as const }]),
        ...(step.method === "elicitation/create" ? [] : [{ ...step, method: "elicitation/create" as const }])
      ]
    case "Once":
      return [
        ...(step.millis === 0 ? [] : [{ ...step, millis: 0 as const }]),
        ...(step.ending === "Succeed" ? [] : [{ ...step, ending: "Succeed" as const }])
      ]
    case "Log":
      return step.topic === "a" ? [] : [{ ...step, topic: "a" }]
    case "Progress":
      return step.value === 1 ? [] : [{ ...step, value: step.value - 1 }]
    case "Sleep":
      return step.varies ? [{ ...step, varies: false }] : step.millis === 1 ? [] : [{ ...step, millis: 1 }]
    case "Yield":
      return step.varies ? [{ ...step, varies: false }] : step.times === 1 ? [] : [{ ...step, times: 1 }]
    case "Recover":
    case "Acquire":
    case "Uninterruptible":
    case "Timeout":
      return shrink(step.body).map((body) => ({ ...step, body }))
    case "Ensuring":
      return [
        ...shrink(step.body).map((body) => ({ ...step, body })),
        ...step.finalizer.map((_, at) => ({ ...step, finalizer: replaced(step.finalizer, at, []) }))
      ]
    case "All":
      return [
        ...step.branches.map((_, at) => ({ ...step, branches: replaced(step.branches, at, []) })),
        ...step.branches.flatMap((branch, at) =>
          shrink(branch).map((simple) => ({ ...step, branches: replaced(step.branches, at, [simple]) }))
        )
      ]
    case "Fork":
      return [
        ...shrink(step.child).map((child) => ({ ...step, child })),
        ...shrink(step.meanwhile).map((meanwhile) => ({ ...step, meanwhile }))
      ]
    default:
      return []
  }
}

/** Returns simpler scripts: without a step, with the steps inside of a step in its place, or with a simpler step. */
const shrink = (script: Script): ReadonlyArray<Script> => [
  ...script.map((_, at) => replaced(script, at, [])),
  ...script.flatMap((step, at) => inside(step).length === 0 ? [] : [replaced(script, at, inside(step).flat())]),
  ...script.flatMap((step, at) => simpler(step).map((simple) => replaced(script, at, [simple])))
]

/** Returns simpler trials, the simplest ones first. */
export const simplerTrials = (trial: Trial): ReadonlyArray<Trial> => [
  ...shrink(trial.script).map((script) => ({ ...trial, script })),
  ...(trial.calls === 1 ? [] : [{ ...trial, calls: 1 as const }]),
  ...(trial.hasModel ? [] : [{ ...trial, hasModel: true }]),
  ...(trial.form === "OneStream" ? [] : [{ ...trial, form: "OneStream" as const }]),
  ...(trial.interleaving === "Fair" ? [] : [{ ...trial, interleaving: "Fair" as const }]),
  ...Object.entries(Faults.none).flatMap(([name, none]) => {
    const faults = Object.fromEntries(
      Object.entries(trial.faults).map(([key, value]) => [key, key === name ? none : value])
    )
    return JSON.stringify(faults) === JSON.stringify(trial.faults) ? [] : [{ ...trial, faults: decodeFaults(faults) }]
  })
]

const decodeFaults = Schema.decodeUnknownSync(Faults.OrderKeeping)
