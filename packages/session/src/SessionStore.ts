/**
 * The store of hosted sessions. With it another host, or the same host after a restart, can restore a session.
 *
 * @stability unstable
 */
import { ExactJson, type JsonRpc } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LeastRecentlyUsed from "./internal/collections/LeastRecentlyUsed.ts"
import { monotonicMillis } from "./internal/monotonicMillis.ts"
import * as NumericOption from "./internal/NumericOption.ts"
import { trust } from "./internal/trust.ts"

/**
 * A stored session, which consists of JSON values.
 *
 * @category models
 */
export interface StoredSession {
  readonly id: string
  /** The `id` of the principal that the session belongs to. */
  readonly principal: string | undefined
  /** The handshake messages of the client: `initialize`, and `notifications/initialized` if the client has sent it. */
  readonly handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification>
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** The last use, in milliseconds since the epoch. It may be up to a minute too early. */
  readonly usedAt: number
}

/**
 * The error of a store whose operation failed.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a store over a database.
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new SessionStore.SessionStoreError({ cause }) })
 * ```
 *
 * @category errors
 */
export class SessionStoreError extends Data.TaggedError("SessionStoreError")<{
  readonly cause: unknown
}> {}

/**
 * The store of a host's sessions. It is safe for one owner of a session at a time: another process may restore the
 * session when its process is gone. Two processes that serve one session each have a copy of it, which does not know
 * the calls, answers and subscriptions of the other one, so requests have to be routed by session.
 *
 * An implementation can complete an operation synchronously and return an `Exit`, which
 * needs no fiber. A caller therefore runs each operation once, where it calls it. `SessionStoreLaws` of
 * `@effect-mcp/testing` test an implementation.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Stores no anonymous sessions.
 * const named = Effect.map(SessionStore.SessionStore, (store) => ({
 *   ...store,
 *   save: (session: SessionStore.StoredSession) => session.principal === undefined ? Effect.void : store.save(session)
 * }))
 *
 * export const layer = Layer.provide(Layer.effect(SessionStore.SessionStore, named), SessionStore.layerMemory())
 * ```
 *
 * @category services
 */
export class SessionStore extends Context.Service<SessionStore, {
  /** Stores a session, and replaces the one that was stored with this id. */
  readonly save: (session: StoredSession) => Effect.Effect<void, SessionStoreError>
  /** Returns the session that was last saved with this id, unless it was removed. */
  readonly load: (id: string) => Effect.Effect<StoredSession | undefined, SessionStoreError>
  /** Sets the last use of a session. Does nothing for an unknown session, or if a later use is stored. */
  readonly touch: (id: string, usedAt: number) => Effect.Effect<void, SessionStoreError>
  /** Deletes a session. Does nothing for an unknown session. */
  readonly remove: (id: string) => Effect.Effect<void, SessionStoreError>
}>()("@effect-mcp/session/SessionStore") {}

/**
 * Options for a store in memory.
 *
 * @category models
 */
export interface MemoryOptions {
  /** The number of sessions. The least recently used one makes room. Default 10,000. */
  readonly maxSessions?: number
  /**
   * The bytes of all handshake messages: two for each UTF-16 code unit of their JSON. The least recently used session
   * makes room. Default 64 MiB.
   */
  readonly maxBytes?: number
  /** The time after its last use for which a session is stored. Default: no limit. */
  readonly idleTimeout?: Duration.Input
}

const rules: NumericOption.Rules<MemoryOptions> = {
  maxSessions: NumericOption.count,
  maxBytes: NumericOption.count,
  idleTimeout: NumericOption.duration
}

/** A session in the store. */
interface Entry {
  readonly session: Omit<StoredSession, "handshakeMessages">
  /** As JSON, which takes less memory than the parsed messages. */
  readonly handshakeMessages: string
  usedAt: number
  /** The time at which the session expires, of a clock that never jumps. */
  expiresAt: number
}

/**
 * Makes a store in memory, which ends with its process. With it, a host can restore the sessions of another host that
 * was drained in the same process. A host also deletes its expired sessions from the store.
 *
 * Saving, loading and touching a session all count as use. An expired session is not found. It is deleted when it is
 * looked up, or as the least recently used one. The store has no timer. All operations are `Exit`s.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const usedAt = Effect.gen(function*() {
 *   const store = yield* SessionStore.makeMemory({ idleTimeout: "1 day" })
 *   yield* store.save({ id: "s", principal: undefined, handshakeMessages: [], openedAt: 1, usedAt: 1 })
 *   yield* store.touch("s", 2)
 *   return (yield* store.load("s"))?.usedAt
 * }) // => 2
 * ```
 *
 * @category constructors
 */
export const makeMemory = (options: MemoryOptions = {}): Effect.Effect<SessionStore["Service"]> =>
  Effect.map(Clock.Clock, (clock) => {
    const now = () => monotonicMillis(clock)
    NumericOption.check(options, rules)
    const idleMillis = Duration.toMillis(options.idleTimeout ?? Duration.infinity)
    const sessions = LeastRecentlyUsed.make<Entry>({
      size: options.maxSessions ?? 10_000,
      weight: options.maxBytes ?? 64 * 1024 * 1024
    })

    const use = (id: string): Entry | undefined => {
      const entry = sessions.get(id)
      if (entry === undefined) return undefined
      const time = now()
      if (entry.expiresAt <= time) {
        sessions.delete(id)
        return undefined
      }
      entry.expiresAt = time + idleMillis
      return entry
    }

    return {
      save: (session) => {
        const { handshakeMessages, ...rest } = session
        const text = JSON.stringify(handshakeMessages)
        const expiresAt = now() + idleMillis
        const entry = { session: rest, handshakeMessages: text, usedAt: session.usedAt, expiresAt }
        sessions.set(session.id, entry, 2 * text.length)
        return Exit.void
      },
      load: (id) => {
        const entry = use(id)
        return Exit.succeed(
          entry && {
            ...entry.session,
            // The text was made from messages of this type when the session was stored.
            handshakeMessages: trust<StoredSession["handshakeMessages"]>(ExactJson.parse(entry.handshakeMessages)),
            usedAt: entry.usedAt
          }
        )
      },
      touch: (id, usedAt) => {
        const entry = use(id)
        if (entry !== undefined) entry.usedAt = Math.max(entry.usedAt, usedAt)
        return Exit.void
      },
      remove: (id) => {
        sessions.delete(id)
        return Exit.void
      }
    }
  })

/**
 * Provides a store in memory; see {@link makeMemory}.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 *
 * export const sessions = SessionStore.layerMemory({ maxSessions: 1000, idleTimeout: "1 day" })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<SessionStore> =>
  Layer.effect(SessionStore, makeMemory(options))
