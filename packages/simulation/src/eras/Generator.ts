/** The generator of trials. */

import { generators, Setting } from "@effect-mcp/testing/internal"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { type Leaf, leaves, type Script, type Step } from "./Script.ts"
import { Trial } from "./Trial.ts"

/** A kind of step, and how often it is drawn compared with the others. */
type Kind<A> = readonly [weight: number, steps: Arbitrary.Arbitrary<A>]

type Kinds<A> = readonly [Kind<A>, ...ReadonlyArray<Kind<A>>]

const [ask, once, progress, log, compute, yields, microtask, sleep, fail, die] = leaves

/** A failing step shrinks towards the first kind. */
const leafKinds: Kinds<Leaf> = [
  [30, Arbitrary.schema(ask)],
  [12, Arbitrary.schema(once)],
  [8, Arbitrary.schema(progress)],
  [12, Arbitrary.schema(log)],
  [2, Arbitrary.schema(compute)],
  [6, Arbitrary.schema(yields)],
  [3, Arbitrary.schema(microtask)],
  [4, Arbitrary.schema(sleep)],
  [1, Arbitrary.schema(fail)],
  [1, Arbitrary.schema(die)]
]

const draw = <A>(kinds: Kinds<A>): Arbitrary.Arbitrary<A> => {
  const drawable = kinds.flatMap(([weight, steps]) => Array.from({ length: weight }, () => steps))
  return Arbitrary.flatMap(generators.upTo(drawable.length - 1), (drawn) => drawable[drawn] ?? kinds[0][1])
}

/** The most steps of a sequence, by the number of steps around it. */
const lengths = [5, 4, 3]

const stepsAt = (depth: number): Arbitrary.Arbitrary<Script> =>
  Arbitrary.array(draw(kindsAt(depth)), { minLength: depth === 0 ? 1 : 0, maxLength: lengths[depth] ?? 1 })

const of = <A extends object, Tag extends Step["_tag"]>(_tag: Tag, parts: Arbitrary.Arbitrary<A>) =>
  Arbitrary.map(parts, (parts) => ({ _tag, ...parts }))

/** Returns the generators of all kinds of steps at a depth. */
const kindsAt = (depth: number): Kinds<Step> => {
  if (depth + 1 >= lengths.length) return leafKinds
  const body = stepsAt(depth + 1)
  const by = Arbitrary.schema(Schema.Literals(["catch", "catchCause", "exit"]))
  const finalizer = Arbitrary.array(draw(leafKinds), { maxLength: 2 })
  const concurrency = Arbitrary.schema(Schema.Literals([1, 2, "unbounded"]))
  const branches = Arbitrary.array(body, { minLength: 1, maxLength: 4 })
  return [
    ...leafKinds,
    [6, of("Recover", Arbitrary.all({ by, body }))],
    [4, of("Ensuring", Arbitrary.all({ body, finalizer }))],
    [3, of("Acquire", Arbitrary.all({ body }))],
    [2, of("Uninterruptible", Arbitrary.all({ body }))],
    [2, of("Timeout", Arbitrary.all({ body }))],
    [12, of("All", Arbitrary.all({ concurrency, branches }))],
    [4, of("Fork", Arbitrary.all({ child: body, meanwhile: body }))]
  ]
}

/** Generates trials for a property. */
export const arbitrary: Arbitrary.Arbitrary<Trial> = Arbitrary.all({
  ...Setting.arbitraries,
  faults: Arbitrary.schema(Trial.fields.faults),
  calls: generators.oneOf<Trial["calls"]>(1, 2),
  hasModel: generators.oneOf(true, false),
  script: stepsAt(0)
})
