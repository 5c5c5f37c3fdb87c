/**
 * What one side knows of the other once they have shaken hands.
 *
 * @since 0.1.0
 */
import type { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import type { Implementation } from "./Implementation.ts"
import type { Revision } from "./Revision.ts"

/**
 * What a server knows of its client.
 *
 * @category models
 * @since 0.1.0
 */
export interface ClientProfile {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  /** Who the client says it is; unknown to a server that keeps no sessions. */
  readonly info: Implementation | undefined
}

/**
 * What a client knows of its server.
 *
 * @category models
 * @since 0.1.0
 */
export interface ServerProfile {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  readonly info: Implementation
  /** How a model should use this server, in its own words. */
  readonly instructions: string | undefined
}

/**
 * What is known of the peer, whichever side it is.
 *
 * @category models
 * @since 0.1.0
 */
export type Profile = ClientProfile | ServerProfile
