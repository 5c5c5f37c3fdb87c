/** The states of a session, on each side. */
import type { CloseReason } from "../../CloseReason.ts"
import type { ClientProfile, ModernServerProfile, ServerProfile } from "../../Profile.ts"
import type { LegacyRevision } from "../../Revision.ts"

/**
 * A session that is ending: requests in flight may finish, up to a limit.
 *
 * @category models
 */
export interface Closing {
  readonly _tag: "Closing"
  readonly reason: CloseReason
}

/**
 * A session that has ended.
 *
 * @category models
 */
export interface Closed {
  readonly _tag: "Closed"
  readonly reason: CloseReason
}

/**
 * The states of a client's session. In `Probing` the client waits for the response to `server/discover`, to learn
 * whether the server needs a handshake. `Operating` follows a handshake. A session that is `Modern` had none: each of
 * its requests names its revision.
 *
 * @category models
 */
export type ClientState =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Probing" }
  | { readonly _tag: "Initializing"; readonly offer: LegacyRevision }
  | { readonly _tag: "Operating"; readonly profile: ServerProfile }
  | { readonly _tag: "Modern"; readonly profile: ModernServerProfile }
  | Closing
  | Closed

/**
 * The states of a server's session. In `Negotiated` the server sends no request but `ping` (INIT-10). The state ends
 * with `notifications/initialized`, or with the client's first other request.
 *
 * @category models
 */
export type ServerState =
  | { readonly _tag: "AwaitingInitialize" }
  | { readonly _tag: "Initializing"; readonly profile: ClientProfile }
  | { readonly _tag: "Negotiated"; readonly profile: ClientProfile }
  | { readonly _tag: "Operating"; readonly profile: ClientProfile }
  | Closing
  | Closed

/**
 * The states of a server without sessions. It serves every request, stores nothing about a client, and cannot send a
 * request.
 *
 * @category models
 */
export type StatelessServerState =
  | { readonly _tag: "Stateless" }
  | Closing
  | Closed
