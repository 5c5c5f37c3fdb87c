/**
 * The laws of sessions, as checks of the history of a conversation.
 */
import { Faults } from "@effect-mcp/testing"
import * as CancellationLaws from "./CancellationLaws.ts"
import * as ClosingLaws from "./ClosingLaws.ts"
import type { ConversationLaw } from "./ConversationLaw.ts"
import * as EndLaws from "./EndLaws.ts"
import type { History } from "./History.ts"
import * as Model from "./Model.ts"
import * as ModernLaws from "./ModernLaws.ts"
import * as OrderLaws from "./OrderLaws.ts"
import * as ResponseLaws from "./ResponseLaws.ts"
import * as ServingLaws from "./ServingLaws.ts"

/**
 * A law that did not hold: its name, the place in the history, and the reason.
 */
export interface Violation {
  readonly law: string
  readonly session: number
  readonly side: "client" | "server"
  /** The index in the entries of the history. */
  readonly place: number
  readonly problem: string
}

const laws: ReadonlyArray<ConversationLaw> = [
  ModernLaws,
  EndLaws,
  ClosingLaws,
  ResponseLaws,
  OrderLaws,
  CancellationLaws,
  ServingLaws
].flatMap((topic) => topic.laws)

/**
 * The names of the laws.
 */
export const names: ReadonlyArray<string> = laws.map(({ name }) => name)

/**
 * Returns every law that does not hold in a history, of those that its faults permit.
 */
export const violations = (history: History): ReadonlyArray<Violation> => {
  const lossy = Faults.isLossy(history.conversation.faults)
  return Model.sides(history).flatMap((side) =>
    laws.filter((law) => law.lossy || !lossy).flatMap(({ findings, name }) =>
      Array.from(findings(side, history), (finding) => ({
        law: name,
        session: side.session,
        side: side.side,
        ...finding
      }))
    )
  )
}
