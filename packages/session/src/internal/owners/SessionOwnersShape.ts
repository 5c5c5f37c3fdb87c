/** The interface of `SessionOwners`, of its store, and their values. */
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * The error of a store whose operation failed.
 */
export class SessionOwnersError extends Data.TaggedError("SessionOwnersError")<{
  readonly cause: unknown
}> {}

/**
 * The lease of a process.
 */
export interface ProcessLease {
  /** Identifies the process. Each start of a program has another one. */
  readonly process: string
  /** The origin at which other processes reach it, such as `http://10.0.0.3:3000`. */
  readonly address: string
  /** The time for which each renewal extends the lease, in milliseconds. */
  readonly millis: number
}

/**
 * The place of a session.
 *
 * - `Unknown`: there is no session with this id.
 * - `Free`: no process owns the session, or the lease of its owner is over.
 * - `Owned`: the lease of its owner stands.
 */
export type Location =
  | { readonly _tag: "Unknown" }
  | { readonly _tag: "Free"; readonly epoch: number }
  | { readonly _tag: "Owned"; readonly epoch: number; readonly process: string; readonly address: string }

/**
 * A session, and the epoch in which a process claimed it.
 */
export interface ClaimedSession {
  readonly session: string
  readonly epoch: number
}

/**
 * The store of owners: what an adapter implements. `SessionOwners.make` makes the service of a process from it. Every
 * operation is atomic, also among processes, and the clock of the store decides whether a lease stands.
 * `SessionOwnersLaws` of `@effect-mcp/testing` test an implementation.
 */
export interface OwnerStore {
  /**
   * Extends the lease of a process, or begins it. Returns whether the lease stood until now: if it did not, other
   * processes may have claimed the sessions of this one.
   */
  readonly renew: (lease: ProcessLease) => Effect.Effect<boolean, SessionOwnersError>
  /** Ends the lease of a process. Its sessions are free. */
  readonly retire: (process: string) => Effect.Effect<void, SessionOwnersError>
  /** Returns where a session is. */
  readonly locate: (session: string) => Effect.Effect<Location, SessionOwnersError>
  /**
   * Makes a process the owner of a session, and returns the next epoch. Epoch 0 stands for a new session, which no
   * process knows. Returns `undefined` and changes nothing if
   *
   * - the session has another epoch by now, or the lease of the process does not stand;
   * - the lease of another owner stands;
   * - the lease of another owner is over, and that of the process has not stood for the time of one lease. Without
   *   this rule, the first process to return after an outage of the store would take all sessions of the others.
   */
  readonly claim: (
    session: string,
    epoch: number,
    lease: ProcessLease
  ) => Effect.Effect<number | undefined, SessionOwnersError>
  /** Frees a session, unless it has another epoch. The epoch stays, so that the next one is later. */
  readonly release: (session: string, epoch: number) => Effect.Effect<void, SessionOwnersError>
  /** Deletes a session that has ended, unless it has another epoch. */
  readonly remove: (session: string, epoch: number) => Effect.Effect<void, SessionOwnersError>
  /** Returns those of these sessions that the process does not own in their epoch. There are at most 500. */
  readonly lost: (
    process: string,
    sessions: ReadonlyArray<ClaimedSession>
  ) => Effect.Effect<ReadonlyArray<string>, SessionOwnersError>
}

/** The time for which a renewal extends a lease, by default. */
export const defaultLeaseTime = "2 seconds"

/**
 * Options of a process.
 */
export interface Options {
  /**
   * The origin at which other processes reach this one, such as `http://10.0.0.3:3000`. Default: the address that the
   * HTTP server announces when it listens. A server that listens on all interfaces (`0.0.0.0`) cannot know it.
   */
  readonly address?: string | undefined
  /**
   * The time for which a renewal extends the lease. Sessions of a process that was killed are taken over after this
   * time. A lease is renewed four times within that time. Default 2 seconds.
   */
  readonly leaseTime?: Duration.Input | undefined
}

/** The members of the service of one process. */
export interface SessionOwnersShape {
  /** Identifies this process. Each start has another one. */
  readonly process: string
  /**
   * Whether the lease of this process stands. Only then does it own its sessions. Costs no query: the clock of this
   * process decides, and is never later than that of the store.
   */
  readonly isAlive: () => boolean
  /** Waits until the lease stands. */
  readonly awaitLease: Effect.Effect<void>
  /** Returns the address of this process, if the program or a server has set it. */
  readonly address: () => string | undefined
  /** Sets the address of this process, unless the program has set one, and begins the lease. */
  readonly announce: (address: string) => Effect.Effect<void>
  /**
   * Returns where a session is. The place of a session of another process may be one second old; `invalidate` corrects
   * it.
   */
  readonly locate: (session: string) => Effect.Effect<Location, SessionOwnersError>
  /** Discards what this process remembers of the place of a session. */
  readonly invalidate: (session: string) => void
  /**
   * Makes this process the owner of a session with this epoch, and returns the next epoch; see `OwnerStore`. Epoch 0
   * stands for a new session. Returns `undefined` if another process was faster, or may still own it. After a failure
   * or an interruption the process frees what the store has claimed, or claims later.
   */
  readonly claim: (session: string, epoch: number) => Effect.Effect<number | undefined, SessionOwnersError>
  /**
   * Whether this process has claimed a session in this epoch, and has neither released nor removed it, nor learned that
   * it was lost. Costs no query.
   */
  readonly owns: (session: string, epoch: number) => boolean
  /** Frees a session of this process. A failure is logged, and the session is freed later. */
  readonly release: (session: string, epoch: number) => Effect.Effect<void>
  /** Deletes a session of this process that has ended. A failure is logged, and the session is deleted later. */
  readonly remove: (session: string, epoch: number) => Effect.Effect<void>
  /**
   * Asks the store which of its sessions this process still has, and reports those that it has lost: sessions that were
   * deleted while their owner lived. A failure is logged.
   */
  readonly check: Effect.Effect<void>
  /**
   * Calls a function with each session that this process has lost while its lease was over, before `isAlive` returns
   * `true` again, or that `check` finds. The function must not throw, and must not wait.
   */
  readonly onLost: (listener: (session: string, epoch: number) => void) => Effect.Effect<void, never, Scope.Scope>
}

/** The owners of sessions, as one process sees them. */
export class SessionOwners
  extends Context.Service<SessionOwners, SessionOwnersShape>()("@effect-mcp/session/SessionOwners")
{}
