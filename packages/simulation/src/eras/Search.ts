/**
 * A search for a trial in which a law of both eras does not hold, and for the simplest such one.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as EraLaws from "./EraLaws.ts"
import * as EraRun from "./EraRun.ts"
import { arbitrary, simplerTrials } from "./Generator.ts"
import type { Trial } from "./Trial.ts"

/** The extent of a search. */
export interface Options {
  /** The number of trials. */
  readonly runs: number
  /** The seed. The same seed generates the same trials. */
  readonly seed: number | string
}

/** A trial in which a law does not hold, after it was made simpler. */
export interface Found {
  readonly trial: Trial
  readonly violations: ReadonlyArray<EraLaws.Violation>
  /** The number of trials up to the first failing one. */
  readonly runs: number
}

/** Runs a trial in both eras, in virtual time, and checks it. */
export const judge = (trial: Trial): ReadonlyArray<EraLaws.Violation> => {
  const [legacy, modern] = EraRun.eras
  try {
    return EraLaws.violations({
      trial,
      legacy: EraRun.observeVirtually(trial, legacy),
      modern: EraRun.observeVirtually(trial, modern)
    })
  } catch (thrown) {
    return [{ law: "a call ends", problem: String(thrown) }]
  }
}

/** The most trials that are run to make one simpler. */
const maxAttempts = 2_000

/** Returns the simplest trial that breaks the same law. */
const simplified = (trial: Trial, law: string): Trial => {
  let attempts = 0
  const next = (from: Trial): Trial | undefined =>
    simplerTrials(from).find((simpler) =>
      ++attempts <= maxAttempts && judge(simpler).some((violation) => violation.law === law)
    )
  let simplest = trial
  for (let found = next(simplest); found !== undefined; found = next(simplest)) simplest = found
  return simplest
}

/** Runs trials until a law does not hold, and makes that trial simpler. Returns `undefined` if all laws hold. */
export const run = ({ runs, seed }: Options): Effect.Effect<Found | undefined> =>
  Effect.map(
    Arbitrary.checkEffect(arbitrary, (trial) => judge(trial).length === 0, { runs, seed, maxShrinks: 0 }),
    (result) => {
      if (result._tag !== "Falsified") return undefined
      const [first] = judge(result.initialInput)
      const trial = simplified(result.initialInput, first?.law ?? "")
      return { trial, runs: result.runs, violations: judge(trial) }
    }
  )

/** Does the same on the clock and the scheduler of the program. A failing trial is not made simpler. */
export const runLive = ({ runs, seed }: Options): Effect.Effect<Found | undefined> => {
  const [legacy, modern] = EraRun.eras
  const check = (trial: Trial) =>
    Effect.map(
      Effect.all({ legacy: EraRun.observeLive(trial, legacy), modern: EraRun.observeLive(trial, modern) }),
      (observed) => EraLaws.violations({ trial, ...observed })
    )
  return Effect.flatMap(
    Arbitrary.checkEffect(
      arbitrary,
      (trial) => Effect.map(check(trial), (violations) => violations.length === 0),
      { runs, seed, maxShrinks: 0 }
    ),
    (result) =>
      result._tag === "Falsified"
        ? Effect.map(check(result.initialInput), (violations) => ({
          trial: result.initialInput,
          runs: result.runs,
          violations
        }))
        : Effect.succeed(undefined)
  )
}

/** Describes the result of a search, with the trial to repeat it. */
export const describe = ({ runs, trial, violations }: Found): string =>
  [
    ...violations.map(({ law, problem }) => `${law}: ${problem}`),
    "",
    `found by trial ${runs}; to repeat it, pass this to Search.judge:`,
    JSON.stringify(trial)
  ].join("\n")
