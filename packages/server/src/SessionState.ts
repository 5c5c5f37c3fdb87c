/**
 * State of a session: a value for each client, which ends with its session.
 *
 * @stability unstable
 */
import type { ServerSession } from "@effect-mcp/session"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Ref from "effect/Ref"
import { McpRequest } from "./McpRequest.ts"
import { McpServer } from "./McpServer.ts"

/**
 * The error of a request without a session to keep state for: over a stateless transport, or in revision 2026-07-28.
 * A server with {@link layer} serves no such requests.
 *
 * @example
 * ```ts
 * import { SessionState } from "@effect-mcp/server"
 *
 * export const message = new SessionState.NoSessionError({ state: "cart" }).message
 * // => "the state \"cart\" needs a session, and this request has none: provide SessionState.layer to the server"
 * ```
 *
 * @category errors
 */
export class NoSessionError extends Data.TaggedError("NoSessionError")<{
  /** The name of the state. */
  readonly state: string
}> {
  override get message(): string {
    return `the state "${this.state}" needs a session, and this request has none: ` +
      "provide SessionState.layer to the server"
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
  readonly ref: Effect.Effect<Ref.Ref<A>, NoSessionError, McpRequest>
  /** Returns the reference with the value of this session, for the handler of a notification. */
  readonly of: (session: ServerSession.ServerSessionShape) => Effect.Effect<Ref.Ref<A>>
  readonly get: Effect.Effect<A, NoSessionError, McpRequest>
  readonly set: (value: A) => Effect.Effect<void, NoSessionError, McpRequest>
  /** Changes the value, and returns the new one. */
  readonly update: (change: (value: A) => A) => Effect.Effect<A, NoSessionError, McpRequest>
  /** Changes the value, and returns a result. Concurrent requests of the session change it one after another. */
  readonly modify: <B>(
    change: (value: A) => readonly [B, A]
  ) => Effect.Effect<B, NoSessionError, McpRequest>
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
    McpRequest,
    ({ session }) => session === undefined ? Effect.fail(new NoSessionError({ state: name })) : of(session)
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

/**
 * Declares, beside the groups of a server, that they need this state. The server then serves the revisions with a
 * handshake, and clients of 2026-07-28 that support an older one connect with it. With the option `revisions`, the
 * program decides itself: requests of 2026-07-28 fail with {@link NoSessionError}, and a server without an older
 * revision does not start.
 *
 * @example
 * ```ts
 * import { McpGroup, McpResource, McpServer, SessionState } from "@effect-mcp/server"
 * import { ClientSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const visits = SessionState.make("visits", () => 0)
 * const Visits = McpGroup.make("visits", McpResource.make("count", { uri: "app://visits" }))
 * const VisitsLive = Visits.toLayer((handlers) =>
 *   handlers.resource("count", Effect.map(Effect.orDie(visits.update((count) => count + 1)), String))
 * )
 * const info = { name: "example", version: "1.0.0" }
 * const server = McpServer.layerMemory(Layer.merge(VisitsLive, SessionState.layer(visits)), { info })
 *
 * export const second = Effect.gen(function*() {
 *   const session = yield* ClientSession.make({ info })
 *   yield* session.readResource("app://visits")
 *   return yield* session.readResource("app://visits")
 * }).pipe(Effect.scoped, Effect.provide(server)) // => { contents: [{ uri: "app://visits", text: "2" }] }
 * ```
 *
 * @category layers
 */
export const layer = ({ name }: Pick<SessionState<unknown>, "name">): Layer.Layer<never, never, McpServer> =>
  Layer.effectDiscard(
    Effect.flatMap(
      McpServer,
      (server) => server.needsSessions({ reason: `the state "${name}" needs sessions`, isRequired: true })
    )
  )
