/**
 * A search for a conversation in which a law does not hold, and for the shortest such one.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import { arbitrary, type Conversation, length } from "./Conversation.ts"
import * as ConversationLaws from "./ConversationLaws.ts"
import * as FailureReport from "./FailureReport.ts"
import type { History } from "./History.ts"
import * as Simulation from "./Simulation.ts"

/**
 * The extent of a search.
 */
export interface Options {
  /** The number of conversations to simulate. */
  readonly runs: number
  /** The seed. The same seed generates the same conversations. */
  readonly seed: number | string
  /** The number of commands to which conversations grow in the course of the search. Default: the maximum. */
  readonly size?: number | undefined
  /** The greatest number of conversations to try in order to shrink a failing one. Default: 3,000. */
  readonly maxShrinks?: number | undefined
}

/**
 * A conversation in which a law does not hold, after shrinking.
 */
export interface Found {
  readonly conversation: Conversation
  readonly violations: ReadonlyArray<ConversationLaws.Violation>
  /** Its history; `undefined` if the simulation did not end. */
  readonly history: History | undefined
  /** The number of conversations before the first failing one. */
  readonly runs: number
}

const unheld = (thrown: unknown): ConversationLaws.Violation => ({
  law: "law 1: a conversation ends",
  session: 0,
  side: "client",
  place: 0,
  problem: String(thrown)
})

/**
 * Simulates one conversation and checks it.
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
 * Simulates conversations until a law does not hold, and shrinks that conversation. Returns `undefined` if all laws
 * hold.
 */
export const run = ({ maxShrinks = 3000, runs, seed, size = length }: Options): Effect.Effect<Found | undefined> =>
  Effect.suspend(() => {
    // A shorter conversation must break the same law.
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
 * Describes the result of a search.
 */
export const describe = ({ conversation, history, violations }: Found): string =>
  history === undefined
    ? [
      ...violations.map(({ law, problem }) => `${law}: ${problem}`),
      "",
      `  pnpm simulate --conversation '${FailureReport.replay(conversation)}'`
    ].join("\n")
    : FailureReport.describe(history, violations)
