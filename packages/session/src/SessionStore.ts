/**
 * Where a host keeps what another host, or the same after a restart, needs to know to go on with a session.
 *
 * @since 0.1.0
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

/**
 * A session as it is remembered: nothing but JSON.
 *
 * @category models
 * @since 0.1.0
 */
export interface StoredSession {
  readonly id: string
  /** The `id` of the principal it belongs to. */
  readonly principal: string | undefined
  /** What the client opened it with: `initialize`, and `notifications/initialized` once it has said so. */
  readonly opening: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification>
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** When it was last used, in milliseconds since the epoch; it may lag behind by a minute. */
  readonly usedAt: number
}

/**
 * The store failed.
 *
 * @category errors
 * @since 0.1.0
 */
export class SessionStoreError extends Data.TaggedError("SessionStoreError")<{
  readonly cause: unknown
}> {}

/**
 * The port.
 *
 * @category services
 * @since 0.1.0
 */
export class SessionStore extends Context.Service<SessionStore, {
  /** Remembers a session, in place of what was remembered under its id. */
  readonly save: (session: StoredSession) => Effect.Effect<void, SessionStoreError>
  /** What was saved last under this id and not removed. */
  readonly load: (id: string) => Effect.Effect<StoredSession | undefined, SessionStoreError>
  /** It is in use. Nothing happens where it is not known. */
  readonly touch: (id: string, usedAt: number) => Effect.Effect<void, SessionStoreError>
  /** Forgets it; nothing happens where it is not known. */
  readonly remove: (id: string) => Effect.Effect<void, SessionStoreError>
}>()("@effect-mcp/session/SessionStore") {}
