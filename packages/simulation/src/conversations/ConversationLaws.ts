/** The laws of sessions, as checks of the history of a conversation. */
import { Faults } from "@effect-mcp/testing"
import { ProtocolLaws, type Search } from "@effect-mcp/testing/internal"
import * as CancellationLaws from "./CancellationLaws.ts"
import * as ClosingLaws from "./ClosingLaws.ts"
import * as EndLaws from "./EndLaws.ts"
import type { History } from "./History.ts"
import * as Model from "./Model.ts"
import * as ModernLaws from "./ModernLaws.ts"
import * as OrderLaws from "./OrderLaws.ts"
import * as ResponseLaws from "./ResponseLaws.ts"
import * as ServingLaws from "./ServingLaws.ts"

const laws: ReadonlyArray<Model.Law> = [
  ModernLaws,
  EndLaws,
  ClosingLaws,
  ProtocolLaws,
  ResponseLaws,
  OrderLaws,
  CancellationLaws,
  ServingLaws
].flatMap((topic) => topic.laws)

/** Returns every law that does not hold in a history, of those that its faults permit. */
export const violations = (history: History): ReadonlyArray<Search.Violation> =>
  ProtocolLaws.violations(laws, Model.sides(history), history, Faults.isLossy(history.conversation.faults))
