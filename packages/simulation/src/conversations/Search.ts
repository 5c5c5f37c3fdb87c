/** A search for a conversation in which a law does not hold, and for the shortest such one. */
import { Search } from "@effect-mcp/testing/internal"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { arbitrary, Conversation, length } from "./Conversation.ts"
import * as ConversationLaws from "./ConversationLaws.ts"
import * as FailureReport from "./FailureReport.ts"
import * as Simulation from "./Simulation.ts"

/** A conversation in which a law does not hold. */
export type Found = Search.Found<Conversation>

/** Simulates one conversation and returns the laws that do not hold. */
export const judge = (conversation: Conversation): ReadonlyArray<Search.Violation> =>
  Search.ended(() => ConversationLaws.violations(Simulation.run(conversation)))

const decode = Schema.decodeUnknownSync(Conversation)

/** Does the same with a stored conversation. */
export const replay = (input: unknown): ReadonlyArray<Search.Violation> => judge(decode(input))

/** Returns the number of commands of a stored conversation. */
export const lengthOf = (input: unknown): number => decode(input).commands.length

/** Simulates conversations until a law does not hold. Returns `undefined` if all laws hold. */
export const run = (options: Search.Options): Effect.Effect<Found | undefined> =>
  Search.run(arbitrary, (conversation) => Effect.sync(() => judge(conversation)), { size: length, ...options })

/** Describes the result of a search. A conversation that does not end has no history. */
export const describe = ({ input, violations }: Pick<Found, "input" | "violations">): string =>
  violations.some(({ law }) => law === Search.everyRequestEnds)
    ? FailureReport.describe(input, violations, undefined)
    : FailureReport.describe(input, violations, Simulation.run(input))
