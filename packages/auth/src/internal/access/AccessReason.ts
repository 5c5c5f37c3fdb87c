/** The cause of an authorization: what a server demands. */
import type { Target } from "../discovery/Target.ts"

export interface Reason {
  readonly target: Target
  readonly scopes: ReadonlyArray<string> | undefined
  /** Whether the tokens are bound to a key of the client (DPoP). */
  readonly isProven: boolean
}
