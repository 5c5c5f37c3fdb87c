/**
 * What a handler knows of the request it serves, and what it can say while it does.
 *
 * @since 0.1.0
 */
import type {
  Elicitation,
  Logging,
  Meta,
  Methods,
  Profile,
  Progress,
  RequestId,
  Roots,
  Sampling
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"

/**
 * The request that the running handler serves. The session provides it to every handler; what is sent through it travels
 * with the request it belongs to, so a handler never names a request id. It is closed with its request: progress and log
 * messages sent later are dropped, with an event, and requests fail with `ExchangeEnded` (PRG-05).
 *
 * Its members are made when they are looked at, and a spread (`{ ...context }`) has none of them. Who hands on a changed one names
 * what it takes over: `{ id: context.id, … }`.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const countdown = Effect.gen(function*() {
 *   for (let step = 1; step <= 3; step++) {
 *     yield* RequestContext.progress({ progress: step, total: 3 })
 *   }
 *   yield* RequestContext.log({ level: "info", data: "lift-off" })
 * })
 * ```
 *
 * @category services
 * @since 0.1.0
 */
export class RequestContext extends Context.Service<RequestContext, {
  readonly id: RequestId.RequestId
  readonly method: string
  readonly meta: Meta.RequestMeta | undefined
  /** What is known of the client that asks. */
  readonly profile: Profile.ClientProfile
  /** Reports a step of progress. Nothing is sent unless the requester asked for progress, or if the value did not grow. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
  /**
   * Sends a log message, unless it is milder than what the client wants to hear of (LOG-02). It goes nowhere, with an event,
   * unless the server declares the capability `logging` (LOG-01).
   */
  readonly log: (message: Omit<Logging.LogMessageParams, "_meta">) => Effect.Effect<void>
  /** Asks something of the client, on behalf of this request. */
  readonly request: <Name extends Methods.RequestName<"server">>(
    name: Name,
    params: Methods.ParamsOf<Name>,
    options?: RequestOptions
  ) => Effect.Effect<Methods.ResultOf<Name>, RequestError>
  /** Asks the client's model for a message; checks first what the client has declared, and that uses of tools match. */
  readonly createMessage: (
    params: Sampling.CreateMessageParams,
    options?: RequestOptions
  ) => Effect.Effect<Sampling.CreateMessageResult, RequestError>
  /** Asks the client's user, by a form or by a page to visit. */
  readonly elicit: (
    params: Elicitation.ElicitParams,
    options?: RequestOptions
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError>
  /** Asks where the client lets the server work. */
  readonly listRoots: (options?: RequestOptions) => Effect.Effect<Roots.ListRootsResult, RequestError>
}>()("@effect-mcp/session/RequestContext") {}

/**
 * Reports a step of progress of the request being served (PRG-03, PRG-04).
 *
 * @category accessors
 * @since 0.1.0
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.progress(step))

/**
 * Sends the client a log message that belongs to the request being served. The server must declare the capability `logging`
 * (LOG-01).
 *
 * @category accessors
 * @since 0.1.0
 */
export const log = (
  message: Omit<Logging.LogMessageParams, "_meta">
): Effect.Effect<void, never, RequestContext> => Effect.flatMap(RequestContext, (context) => context.log(message))

/**
 * Asks the client's model for a message, on behalf of the request being served.
 *
 * @category accessors
 * @since 0.1.0
 */
export const createMessage = (
  params: Sampling.CreateMessageParams,
  options?: RequestOptions
): Effect.Effect<Sampling.CreateMessageResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.createMessage(params, options))

/**
 * Asks the client's user, on behalf of the request being served.
 *
 * @category accessors
 * @since 0.1.0
 */
export const elicit = (
  params: Elicitation.ElicitParams,
  options?: RequestOptions
): Effect.Effect<Elicitation.ElicitResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.elicit(params, options))

/**
 * Asks where the client lets the server work, on behalf of the request being served.
 *
 * @category accessors
 * @since 0.1.0
 */
export const listRoots = (
  options?: RequestOptions
): Effect.Effect<Roots.ListRootsResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.listRoots(options))
