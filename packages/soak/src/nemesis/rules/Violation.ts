/** A place of a history that breaks a rule. */
import type { Exchange } from "../History.ts"

export interface Violation {
  readonly rule: string
  readonly problem: string
  /** The exchanges to look at. */
  readonly exchanges: ReadonlyArray<Exchange>
}
