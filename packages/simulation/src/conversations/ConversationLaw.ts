/** A law of simulated conversations, and its violation. */

import type { History } from "./History.ts"
import type * as Model from "./Model.ts"

/** A place in the history, and the reason why a law does not hold there. */
export interface Finding {
  readonly place: number
  readonly problem: string
}

/** A law of one side of one session. */
export interface ConversationLaw {
  readonly name: string
  /** Whether the law also holds if messages get lost, arrive twice, or overtake each other. */
  readonly lossy: boolean
  readonly findings: (side: Model.Side, history: History) => Iterable<Finding>
}
