/**
 * The store of hosted sessions. With it another host, or the same host after a restart, can restore a session.
 *
 * @stability unstable
 */
import { ExactJson, type JsonRpc, type Logging } from "@effect-mcp/protocol"
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
import { SupersededError } from "./SupersededError.ts"

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
  /**
   * The last use, in milliseconds since the epoch. It may be up to a minute too early, also that of a session which a
   * connection holds.
   */
  readonly usedAt: number
  /** Counts the lives of the session, from 1: each time that a host restores the session, it rises. */
  readonly epoch: number
  /** The least severe level of the log messages that the client wants; `undefined` if it has set none. */
  readonly logLevel?: Logging.Level | undefined
  /** The URIs of the resources that the client has subscribed to. */
  readonly subscriptions?: ReadonlyArray<string> | undefined
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
 * The store of a host's sessions. One process at a time may have a copy of a session. `SessionOwners` decides which
 * one; without it, the program routes each session to one process.
 *
 * Each write carries the epoch of the copy that makes it. A write of an earlier epoch than the stored one fails with
 * `SupersededError` and changes nothing, so that a process that was paused cannot undo what its successor has written.
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
 *   create: (session: SessionStore.StoredSession) =>
 *     session.principal === undefined ? Effect.void : store.create(session)
 * }))
 *
 * export const layer = Layer.provide(Layer.effect(SessionStore.SessionStore, named), SessionStore.layerMemory())
 * ```
 *
 * @category services
 */
export class SessionStore extends Context.Service<SessionStore, {
  /** Stores a new session, in place of one with this id and the same or an earlier epoch. */
  readonly create: (session: StoredSession) => Effect.Effect<void, SessionStoreError | SupersededError>
  /**
   * Replaces a stored session. Does nothing for an unknown one, which has ended or made room for others: a process that
   * was paused must not bring it back.
   */
  readonly save: (session: StoredSession) => Effect.Effect<void, SessionStoreError | SupersededError>
  /**
   * Returns the session that was last stored with this id, unless it was removed. This is no use of the session, and
   * does not extend the time for which it is stored: any client can cause it, also one of another principal.
   */
  readonly load: (id: string) => Effect.Effect<StoredSession | undefined, SessionStoreError>
  /** Sets the last use of a session. Does nothing for an unknown session, or if a later use is stored. */
  readonly touch: (
    id: string,
    epoch: number,
    usedAt: number
  ) => Effect.Effect<void, SessionStoreError | SupersededError>
  /** Deletes a session. Does nothing for an unknown session. */
  readonly remove: (id: string, epoch: number) => Effect.Effect<void, SessionStoreError | SupersededError>
  /**
   * Deletes all sessions of a principal, whatever their epochs, and their owners if it has them. It can delete sessions
   * that are stored at the same time, or leave them. `SessionHost.closePrincipal` uses it. Without it, sessions of
   * other processes that do not live, or are paused, stay.
   */
  readonly removeAllOf?: ((principal: string) => Effect.Effect<void, SessionStoreError>) | undefined
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
   * The bytes of all handshake messages and subscriptions: two for each UTF-16 code unit of their JSON. The least
   * recently used session makes room. Default 64 MiB.
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
  readonly session: Omit<StoredSession, "handshakeMessages" | "subscriptions">
  /** The handshake messages and the subscriptions as JSON, which takes less memory than parsed messages. */
  readonly messages: string
  usedAt: number
  /** The time at which the session expires, of a clock that never jumps. */
  expiresAt: number
}

/**
 * Makes a store in memory, which ends with its process. With it, a host can restore the sessions of another host that
 * was drained in the same process. A host also deletes its expired sessions from the store.
 *
 * Saving and touching a session count as use, and loading it does not. An expired session is not found. It is deleted
 * when it is looked up, or as the least recently used one. The store has no timer. All operations are `Exit`s.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const usedAt = Effect.gen(function*() {
 *   const store = yield* SessionStore.makeMemory({ idleTimeout: "1 day" })
 *   yield* store.create({ id: "s", principal: undefined, handshakeMessages: [], openedAt: 1, usedAt: 1, epoch: 1 })
 *   yield* store.touch("s", 1, 2)
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

    const find = (id: string): Entry | undefined => {
      const entry = sessions.peek(id)
      if (entry === undefined || entry.expiresAt > now()) return entry
      sessions.delete(id)
      return undefined
    }

    const use = (id: string): Entry | undefined => {
      const entry = find(id)
      if (entry === undefined) return undefined
      entry.expiresAt = now() + idleMillis
      return sessions.get(id)
    }

    const put = (session: StoredSession): void => {
      const { handshakeMessages, subscriptions, ...rest } = session
      const messages = JSON.stringify([handshakeMessages, subscriptions ?? []])
      const entry = { session: rest, messages, usedAt: session.usedAt, expiresAt: now() + idleMillis }
      sessions.set(session.id, entry, 2 * messages.length)
    }

    /** Runs a write of this epoch, unless the session has a later one. `write` gets the session if it is stored. */
    const writing = (id: string, epoch: number, write: (entry: Entry | undefined) => void) => {
      const entry = use(id)
      if (entry !== undefined && entry.session.epoch > epoch) return Exit.fail(new SupersededError({ epoch }))
      write(entry)
      return Exit.void
    }

    return {
      create: (session) => writing(session.id, session.epoch, () => put(session)),
      save: (session) =>
        writing(session.id, session.epoch, (entry) => {
          if (entry !== undefined) put(session)
        }),
      load: (id) => {
        const entry = find(id)
        if (entry === undefined) return Exit.succeed(undefined)
        // The text was made from values of these types when the session was stored.
        const [handshakeMessages, subscriptions] = trust<
          readonly [StoredSession["handshakeMessages"], ReadonlyArray<string>]
        >(ExactJson.parse(entry.messages))
        return Exit.succeed({
          ...entry.session,
          handshakeMessages,
          ...(subscriptions.length === 0 ? undefined : { subscriptions }),
          usedAt: entry.usedAt
        })
      },
      touch: (id, epoch, usedAt) =>
        writing(id, epoch, (entry) => {
          if (entry !== undefined) entry.usedAt = Math.max(entry.usedAt, usedAt)
        }),
      remove: (id, epoch) =>
        writing(id, epoch, () => {
          sessions.delete(id)
        }),
      removeAllOf: (principal) => {
        for (const id of sessions.names()) if (sessions.peek(id)?.session.principal === principal) sessions.delete(id)
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
