/**
 * The profile of a peer: the result of the handshake.
 *
 * @stability unstable
 */
import type { ClientCapabilities, ServerCapabilities } from "./Capabilities.ts"
import type { Implementation } from "./Implementation.ts"
import type { ModernRevision, Revision } from "./Revision.ts"

/**
 * The profile of a client, as its server knows it.
 *
 * @category models
 */
export interface ClientProfile {
  readonly revision: Revision
  readonly capabilities: ClientCapabilities
  /** The name and version of the client; `undefined` in a server without sessions. */
  readonly info: Implementation | undefined
}

/**
 * The profile of a server, as its client knows it.
 *
 * @category models
 */
export interface ServerProfile {
  readonly revision: Revision
  readonly capabilities: ServerCapabilities
  /** The name and version of the server. In a revision without a handshake, a server may send none: `unnamed`. */
  readonly info: Implementation
  /** Instructions from the server to a model that uses it. */
  readonly instructions: string | undefined
}

/**
 * The profile of a server in a revision without a handshake.
 *
 * @category models
 */
export interface ModernServerProfile extends ServerProfile {
  readonly revision: ModernRevision
}

/**
 * The name and version of a server that sends none.
 *
 * @category constants
 */
export const unnamed: Implementation = { name: "unnamed", version: "unknown" }

/**
 * The profile of a peer on either side.
 *
 * @category models
 */
export type Profile = ClientProfile | ServerProfile
