/** The target of an attack that has to reach the limits of the victim before its time starts. */
import type { Target } from "../httpRequests.ts"

export interface PreparedTarget extends Target {
  /** Reports that the attack has reached the limits of the victim. */
  readonly prepared: () => void
}
