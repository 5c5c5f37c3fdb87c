/**
 * A search for a conversation in which a law does not hold, and for the shortest one at that.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { arbitrary, type Conversation, length } from "./Conversation.ts"
import * as ConversationLaws from "./ConversationLaws.ts"
import * as FailureReport from "./FailureReport.ts"
import type { History } from "./History.ts"
import * as Simulation from "./Simulation.ts"

/**
 * How long to search, and where.
 */
export interface Options {
  /** How many conversations to hold. */
  readonly runs: number
  /** Where to begin; the same seed draws the same conversations. */
  readonly seed: number | string
  /** How long the conversations grow in the course of the search, in commands. Default: as long as they may be. */
  readonly size?: number | undefined
  /** How many conversations to try in order to make a failing one shorter. Default 3,000. */
  readonly maxShrinks?: number | undefined
}

/**
 * A conversation in which a law does not hold, as short as it could be made.
 */
export interface Found {
  readonly conversation: Conversation
  readonly violations: ReadonlyArray<ConversationLaws.Violation>
  /** What happened in it; `undefined` where it could not be held to its end. */
  readonly history: History | undefined
  /** How many conversations were held before the first that failed. */
  readonly runs: number
}

const unheld = (thrown: unknown): ConversationLaws.Violation => ({
  law: "law 1: a conversation comes to its end",
  session: 0,
  side: "client",
  place: 0,
  problem: String(thrown)
})

/**
 * Holds one conversation and judges it.
 */
export const judge = (
  conversation: Conversation
): { readonly history: History | undefined; readonly violations: ReadonlyArray<ConversationLaws.Violation> } => {
  try {
    const history = Simulation.run(conversation)
    return { history, violations: ConversationLaws.violations(history) }
  } catch (thrown) {
    return { history: undefined, violations: [unheld(thrown)] }
  }
}

/**
 * Holds conversations until a law does not hold in one, and makes that one shorter; `undefined` if it finds none.
 */
export const run = ({ maxShrinks = 3000, runs, seed, size = length }: Options): Effect.Effect<Found | undefined> =>
  Effect.suspend(() => {
    // What is made shorter has to break the law that was found to be broken, not just any.
    let broken: string | undefined
    const holds = (conversation: Conversation): boolean => {
      const laws = judge(conversation).violations.map(({ law }) => law)
      broken ??= laws[0]
      return broken === undefined || !laws.includes(broken)
    }
    return Effect.map(Arbitrary.checkEffect(arbitrary, holds, { runs, seed, size, maxShrinks }), (result) => {
      if (result._tag !== "Falsified") return undefined
      const { history, violations } = judge(result.shrunkInput)
      const sorted = violations.toSorted((a, b) => Number(b.law === broken) - Number(a.law === broken))
      return { conversation: result.shrunkInput, runs: result.runs, history, violations: sorted }
    })
  })

/**
 * What was found, for a person to read.
 */
export const describe = ({ conversation, history, violations }: Found): string =>
  history === undefined
    ? [
      ...violations.map(({ law, problem }) => `${law}: ${problem}`),
      "",
      `  pnpm simulate --conversation '${FailureReport.replay(conversation)}'`
    ].join("\n")
    : FailureReport.describe(history, violations)
