/**
 * State of a session: a value for each client, which ends with its session.
 */
import type { ServerSession } from "@effect-mcp/session"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Ref from "effect/Ref"

/**
 * The error of a request over a sessionless transport, where no session exists to keep state for.
 *
 * @example
 * ```ts
 * import { SessionState } from "@effect-mcp/server"
 *
 * export const message = new SessionState.NoSession({ state: "cart" }).message
 * // => "the state \"cart\" needs a session: serve this client over a transport with sessions"
 * ```
 *
 * @category errors
 */
export class NoSession extends Data.TaggedError("NoSession")<{
  /** The name of the state. */
  readonly state: string
}> {
  override get message(): string {
    return `the state "${this.state}" needs a session: serve this client over a transport with sessions`
  }
}

/**
 * A value for each session. Its members read and change the value of the session whose request is being served.
 *
 * @category models
 */
export interface SessionState<A> {
  readonly name: string
  /** The reference with the value of this session. */
  readonly ref: Effect.Effect<Ref.Ref<A>, NoSession, RequestContext.RequestContext>
  /** Returns the reference with the value of this session, for the handler of a notification. */
  readonly of: (session: ServerSession.ServerSessionShape) => Effect.Effect<Ref.Ref<A>>
  readonly get: Effect.Effect<A, NoSession, RequestContext.RequestContext>
  readonly set: (value: A) => Effect.Effect<void, NoSession, RequestContext.RequestContext>
  /** Changes the value, and returns the new one. */
  readonly update: (change: (value: A) => A) => Effect.Effect<A, NoSession, RequestContext.RequestContext>
  /** Changes the value, and returns a result. Concurrent requests of the session change it one after another. */
  readonly modify: <B>(
    change: (value: A) => readonly [B, A]
  ) => Effect.Effect<B, NoSession, RequestContext.RequestContext>
}

/**
 * Defines a value for each session. Before its first change in a session, it is the result of `initial`. A session that
 * a host restores begins with `initial` again.
 *
 * The value lives as long as its session. Handlers that store what clients send should limit its size.
 *
 * @example
 * ```ts
 * import { SessionState } from "@effect-mcp/server"
 *
 * const visits = SessionState.make("visits", () => 0)
 *
 * export const visit = visits.update((count) => count + 1)
 * ```
 *
 * @category constructors
 */
export const make = <A>(name: string, initial: () => A): SessionState<A> => {
  // The session itself is the key. Its id is none, because it is the same in a restored session.
  const values = new WeakMap<ServerSession.ServerSessionShape, Ref.Ref<A>>()
  const of = (session: ServerSession.ServerSessionShape) =>
    Effect.sync(() => {
      const existing = values.get(session)
      if (existing !== undefined) return existing
      const created = Ref.makeUnsafe(initial())
      values.set(session, created)
      return created
    })
  const ref = Effect.flatMap(
    RequestContext.RequestContext,
    ({ session }) => session === undefined ? Effect.fail(new NoSession({ state: name })) : of(session)
  )
  return {
    name,
    ref,
    of,
    get: Effect.flatMap(ref, Ref.get),
    set: (value) => Effect.flatMap(ref, (current) => Ref.set(current, value)),
    update: (change) => Effect.flatMap(ref, (current) => Ref.updateAndGet(current, change)),
    modify: (change) => Effect.flatMap(ref, (current) => Ref.modify(current, change))
  }
}
