/**
 * The context of a client's handler: the request of the server that it serves.
 *
 * @stability unstable
 */
import type { Meta, Profile, Progress, RequestId } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/**
 * The request of the server that the running handler of the client serves. The session provides it to every handler of
 * a request. After the end of the request, progress is dropped, with an event (PRG-05).
 *
 * Its members are lazy getters, so a spread (`{ ...context }`) copies none of them. To pass on a changed context, name
 * its members: `{ id: context.id, … }`.
 *
 * @example
 * ```ts
 * import { ClientRequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // A client shows its user the name of the server that requests input (ELI-16).
 * export const serverName = Effect.map(ClientRequestContext.ClientRequestContext, ({ profile }) => profile.info.name)
 * ```
 *
 * @category services
 */
export class ClientRequestContext extends Context.Service<ClientRequestContext, {
  /** The id of the request. */
  readonly id: RequestId.RequestId
  /** The method of the request, such as `sampling/createMessage`. */
  readonly method: string
  /** The `_meta` of the request. */
  readonly meta: Meta.RequestMeta | undefined
  /** The profile of the server. */
  readonly profile: Profile.ServerProfile
  /** Reports a step of progress. It sends nothing if the server requested no progress, or if the value did not grow. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
}>()("@effect-mcp/session/ClientRequestContext") {}

/**
 * Reports a step of progress of the server's request (PRG-03, PRG-04). It sends nothing if the server requested no
 * progress, or if the value did not grow.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { ClientRequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const createMessage = Effect.gen(function*() {
 *   yield* ClientRequestContext.progress({ progress: 1, total: 2, message: "waiting for the user's consent" })
 *   return { role: "assistant", content: Content.text("42"), model: "example-1" } as const
 * })
 * ```
 *
 * @category accessors
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, ClientRequestContext> =>
  Effect.flatMap(ClientRequestContext, (context) => context.progress(step))
