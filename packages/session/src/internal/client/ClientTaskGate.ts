/** The seam to the tasks of a client: what they add to the client, and the gate in front of its handlers. */

import type { Capabilities } from "@effect-mcp/protocol"
import type * as Effect from "effect/Effect"
import type { Handlers } from "../../Handlers.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import type { Sender } from "../engine/Sender.ts"

/** The session whose server asks. */
export interface AskedSession {
  readonly sender: Pick<Sender, "notify">
  readonly closed: Effect.Effect<unknown>
}

/** The tasks of a client, as its sessions use them. */
export interface GatedClientTasks {
  /** Returns the capabilities of a client with handlers of these methods (TSK-01). */
  readonly capabilities: (handles: (method: string) => boolean) => Capabilities.ClientTasks
  /** The handlers of the methods for tasks. */
  readonly handlers: Handlers<"server">
  /** Lets questions become tasks, before they reach the handlers of the client. */
  readonly gate: (dispatch: Dispatch<unknown>, session: AskedSession) => Dispatch<unknown>
}
