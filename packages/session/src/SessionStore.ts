/**
 * Where a host keeps what another host, or the same after a restart, needs to know to go on with a session.
 */
import type { JsonRpc } from "@effect-mcp/protocol"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LeastRecentlyUsed from "./internal/collections/LeastRecentlyUsed.ts"
import * as NumericOption from "./NumericOption.ts"

/**
 * A session as it is remembered: nothing but JSON.
 *
 * @category models
 */
export interface StoredSession {
  readonly id: string
  /** The `id` of the principal it belongs to. */
  readonly principal: string | undefined
  /** What the client opened it with: `initialize`, and `notifications/initialized` once it has said so. */
  readonly handshakeMessages: ReadonlyArray<JsonRpc.Request | JsonRpc.Notification>
  /** Milliseconds since the epoch. */
  readonly openedAt: number
  /** When it was last used, in milliseconds since the epoch; it may lag behind by a minute. */
  readonly usedAt: number
}

/**
 * The store failed.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // What every operation of a store over a database goes through.
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
 * The port. An operation that can be done at once may be an `Exit`, which costs no fiber; it has been done when it is returned, so an
 * operation is run where it is called, and once. `SessionStoreLaws` of `@effect-mcp/testing` judge an implementation.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Remembers nobody who has not said who they are, whatever the store.
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
  /** Remembers a session, in place of what was remembered under its id. */
  readonly save: (session: StoredSession) => Effect.Effect<void, SessionStoreError>
  /** What was saved last under this id and not removed. */
  readonly load: (id: string) => Effect.Effect<StoredSession | undefined, SessionStoreError>
  /** It is in use. Nothing happens where it is not known, or where a later use is. */
  readonly touch: (id: string, usedAt: number) => Effect.Effect<void, SessionStoreError>
  /** Forgets it; nothing happens where it is not known. */
  readonly remove: (id: string) => Effect.Effect<void, SessionStoreError>
}>()("@effect-mcp/session/SessionStore") {}

/**
 * How much is kept in memory, and how long.
 *
 * @category models
 */
export interface MemoryOptions {
  /** How many sessions are remembered; the one that was not used for longest makes room. Default 10,000. */
  readonly maxSessions?: number
  /**
   * How many bytes the messages may have that they were opened with, as two for each UTF-16 code unit of their JSON; likewise. Default
   * 64 MiB.
   */
  readonly maxBytes?: number
  /** How long a session is remembered that is not used. Default: for ever. */
  readonly idle?: Duration.Input
}

const rules: NumericOption.Rules<MemoryOptions> = {
  maxSessions: NumericOption.count,
  maxBytes: NumericOption.count,
  idle: NumericOption.duration
}

/** A session that is remembered, and what becomes of it. */
interface Kept {
  readonly session: Omit<StoredSession, "handshakeMessages">
  /** As JSON, which takes less memory than what it is parsed to. */
  readonly handshakeMessages: string
  usedAt: number
  /** The time of the store's own clock at which it is forgotten. */
  until: number
}

/**
 * A store in memory: what it remembers is gone with the process, and no other process sees it. With it, a host goes on with the
 * sessions of one that was drained before, in the same process. A session that expires is forgotten here, too.
 *
 * To save a session, to load it or to touch it is to use it. One whose time is over is not found any more; it makes room when it is
 * asked for, or as the one that was not used for longest. There is no timer. All operations are `Exit`s.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const usedAt = Effect.gen(function*() {
 *   const store = yield* SessionStore.makeMemory({ idle: "1 day" })
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
    const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
    NumericOption.check(options, rules)
    const idleMillis = Duration.toMillis(options.idle ?? Duration.infinity)
    const sessions = LeastRecentlyUsed.make<Kept>({
      size: options.maxSessions ?? 10_000,
      weight: options.maxBytes ?? 64 * 1024 * 1024
    })

    const used = (id: string): Kept | undefined => {
      const kept = sessions.get(id)
      if (kept === undefined) return undefined
      const time = now()
      if (kept.until <= time) {
        sessions.delete(id)
        return undefined
      }
      kept.until = time + idleMillis
      return kept
    }

    return {
      save: (session) => {
        const { handshakeMessages, ...rest } = session
        const text = JSON.stringify(handshakeMessages)
        const kept = { session: rest, handshakeMessages: text, usedAt: session.usedAt, until: now() + idleMillis }
        sessions.set(session.id, kept, 2 * text.length)
        return Exit.void
      },
      load: (id) => {
        const kept = used(id)
        return Exit.succeed(
          kept && { ...kept.session, handshakeMessages: JSON.parse(kept.handshakeMessages), usedAt: kept.usedAt }
        )
      },
      touch: (id, usedAt) => {
        const kept = used(id)
        if (kept !== undefined) kept.usedAt = Math.max(kept.usedAt, usedAt)
        return Exit.void
      },
      remove: (id) => {
        sessions.delete(id)
        return Exit.void
      }
    }
  })

/**
 * A store in memory as a Layer; see {@link makeMemory}.
 *
 * @example
 * ```ts
 * import { SessionStore } from "@effect-mcp/session"
 *
 * export const sessions = SessionStore.layerMemory({ maxSessions: 1000, idle: "1 day" })
 * ```
 *
 * @category layers
 */
export const layerMemory = (options: MemoryOptions = {}): Layer.Layer<SessionStore> =>
  Layer.effect(SessionStore, makeMemory(options))
