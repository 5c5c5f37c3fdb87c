/** A search for a trial in which a law of both eras does not hold, and for the simplest such one. */
import { Report, Search } from "@effect-mcp/testing/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as EraLaws from "./EraLaws.ts"
import * as EraRun from "./EraRun.ts"
import { arbitrary } from "./Generator.ts"
import { Trial } from "./Trial.ts"

/** A trial in which a law does not hold. */
export type Found = Search.Found<Trial>

const [legacy, modern] = EraRun.eras

/** Runs a trial in both eras, in virtual time, and returns the laws that do not hold. */
export const judge = (trial: Trial): ReadonlyArray<Search.Violation> =>
  Search.ended(() =>
    EraLaws.violations({
      trial,
      legacy: EraRun.observeVirtually(trial, legacy),
      modern: EraRun.observeVirtually(trial, modern)
    })
  )

const decode = Schema.decodeUnknownSync(Trial)

/** Does the same with a stored trial. */
export const replay = (input: unknown): ReadonlyArray<Search.Violation> => judge(decode(input))

/** Returns the number of steps of a stored trial. */
export const lengthOf = (input: unknown): number => decode(input).script.length

/** Runs trials until a law does not hold. Returns `undefined` if all laws hold. */
export const run = (options: Search.Options): Effect.Effect<Found | undefined> =>
  Search.run(arbitrary, (trial) => Effect.sync(() => judge(trial)), options)

/** Does the same on the clock and the scheduler of the program, where a failing trial is not made simpler. */
export const runLive = (options: Search.Options): Effect.Effect<Found | undefined> =>
  Search.run(
    arbitrary,
    (trial) =>
      Effect.map(
        Effect.all({ legacy: EraRun.observeLive(trial, legacy), modern: EraRun.observeLive(trial, modern) }),
        (observed) => EraLaws.violations({ trial, ...observed })
      ),
    { ...options, maxShrinks: 0 }
  )

/** Describes the result of a search, with the trial to repeat it. */
export const describe = ({ input, runs, violations }: Found): string =>
  Report.describe({
    violations,
    setting: input,
    clients: `${input.calls} calls${input.hasModel ? "" : " without a model"}`,
    steps: input.script.map(Report.tagged),
    paragraphs: [`found by trial ${runs}; to repeat it, pass this to Search.judge:\n${JSON.stringify(input)}`]
  })
