/**
 * The owners of sessions: which process of a service has the one live copy of a session, and where it listens.
 *
 * A session has at most one owner at a time, and an *epoch*, which rises with each change of owner. A process has a
 * *lease*, which it renews, and owns its sessions only while the lease stands. The lease belongs to the process and not
 * to a session, so an idle session costs nothing.
 *
 * @stability unstable
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as NumericOption from "./internal/NumericOption.ts"
import { LeasedProcess } from "./internal/owners/LeasedProcess.ts"
import { OwnersInMemory } from "./internal/owners/OwnersInMemory.ts"
import * as Shape from "./internal/owners/SessionOwnersShape.ts"

/**
 * The error of a store whose operation failed.
 *
 * @category errors
 */
export type SessionOwnersError = Shape.SessionOwnersError

/**
 * The class of the error {@link SessionOwnersError}.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Runs an operation of a store over a database.
 * export const query = <A>(run: () => Promise<A>) =>
 *   Effect.tryPromise({ try: run, catch: (cause) => new SessionOwners.SessionOwnersError({ cause }) })
 * ```
 *
 * @category errors
 */
export const SessionOwnersError: typeof Shape.SessionOwnersError = Shape.SessionOwnersError

/**
 * The lease of a process.
 *
 * @category models
 */
export interface ProcessLease extends Shape.ProcessLease {}

/**
 * The place of a session.
 *
 * - `Unknown`: there is no session with this id.
 * - `Free`: no process owns the session, or the lease of its owner is over.
 * - `Owned`: the lease of its owner stands.
 *
 * @category models
 */
export type Location = Shape.Location

/**
 * A session, and the epoch in which a process claimed it.
 *
 * @category models
 */
export interface ClaimedSession extends Shape.ClaimedSession {}

/**
 * The store of owners: what an adapter implements. `SessionOwners.make` makes the service of a process from it. Every
 * operation is atomic, also among processes, and the clock of the store decides whether a lease stands.
 * `SessionOwnersLaws` of `@effect-mcp/testing` test an implementation.
 *
 * @category models
 */
export interface OwnerStore extends Shape.OwnerStore {}

/**
 * Options of a process.
 *
 * @category options
 */
export interface Options extends Shape.Options {}

/**
 * The members of the service of one process.
 *
 * @category models
 */
export interface SessionOwnersShape extends Shape.SessionOwnersShape {}

const rules: NumericOption.Rules<Options> = { leaseTime: NumericOption.interval }

/**
 * The owners of sessions, as one process sees them. A `SessionHost` uses the service if it is provided.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // Fails a health check while the process has no lease: it serves no shared session then.
 * export const isReady = Effect.map(SessionOwners.SessionOwners, (owners) => owners.isAlive())
 * ```
 *
 * @category services
 */
export const SessionOwners: typeof Shape.SessionOwners = Shape.SessionOwners

/**
 * The type of the service {@link SessionOwners}.
 *
 * @category services
 */
export type SessionOwners = Shape.SessionOwners

/**
 * Makes the service of a process over a store. It renews the lease until the scope closes, and then ends it.
 *
 * Each call of the store has a deadline: half of the lease time for the lease, and 5 seconds otherwise. If the store is
 * away for longer than the lease time, the process owns no session until it has renewed its lease and has asked which
 * of its sessions it still has. It asks for 500 at a time, and goes on renewing its lease meanwhile.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const epochs = Effect.gen(function*() {
 *   const store = yield* SessionOwners.makeStoreInMemory
 *   const one = yield* SessionOwners.make(store, { address: "http://10.0.0.1:3000" })
 *   const two = yield* SessionOwners.make(store, { address: "http://10.0.0.2:3000" })
 *   yield* one.awaitLease
 *   yield* two.awaitLease
 *   const first = yield* one.claim("s", 0)
 *   const refused = yield* two.claim("s", 1)
 *   yield* one.release("s", 1)
 *   return [first, refused, yield* two.claim("s", 1)]
 * }).pipe(Effect.scoped) // => [1, undefined, 2]
 * ```
 *
 * @category constructors
 */
export const make = (
  store: OwnerStore,
  options: Options = {}
): Effect.Effect<SessionOwners["Service"], never, Scope.Scope> =>
  Effect.suspend(() => {
    NumericOption.check(options, rules)
    return LeasedProcess.make(store, options)
  })

/**
 * Makes a store in memory, for several hosts in one program, such as those of a test. It takes memory for each session
 * that was not removed.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const unknown = Effect.gen(function*() {
 *   const store = yield* SessionOwners.makeStoreInMemory
 *   return yield* store.locate("s")
 * }) // => { _tag: "Unknown" }
 * ```
 *
 * @category constructors
 */
export const makeStoreInMemory: Effect.Effect<OwnerStore> = Effect.map(
  Clock.Clock,
  (clock) => new OwnersInMemory(clock)
)

/**
 * Provides the service of a process over a store.
 *
 * @example
 * ```ts
 * import { SessionOwners } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * export const owners = Layer.unwrap(Effect.map(SessionOwners.makeStoreInMemory, (store) =>
 *   SessionOwners.layer(store, { address: "http://10.0.0.3:3000", leaseTime: "3 seconds" })))
 * ```
 *
 * @category layers
 */
export const layer = (store: OwnerStore, options: Options = {}): Layer.Layer<SessionOwners> =>
  Layer.effect(SessionOwners, make(store, options))
