/**
 * What a handler knows of the request it serves, and what it can say while it does.
 *
 * @since 0.1.0
 */
import type {
  Elicitation,
  Logging,
  Meta,
  MethodTable,
  Profile,
  Progress,
  RequestId,
  Roots,
  Sampling
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { trust } from "./internal/trust.ts"
import type { Principal } from "./Principal.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"

/**
 * What a handler may tell its client. Progress has a member of its own, and what is cancelled is a matter of the session.
 *
 * @category models
 * @since 0.1.0
 */
export type Telling = Exclude<
  MethodTable.NotificationName<"server">,
  "notifications/cancelled" | "notifications/progress"
>

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
  /** Who asks, where the transport has found out. */
  readonly principal: Principal | undefined
  /** What is known of the client that asks. */
  readonly profile: Profile.ClientProfile
  /** Reports a step of progress. Nothing is sent unless the requester asked for progress, or if the value did not grow. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
  /**
   * Sends a log message, unless it is milder than what the client wants to hear of (LOG-02). Dies with the
   * `RequestError` that names the mistake if the server has switched off `logging` (LOG-01), or if `data` is nothing
   * that JSON can carry. A message that comes after its request has ended, or that the connection does not take, is
   * dropped, with an event.
   */
  readonly log: (message: Omit<Logging.LogMessageParams, "_meta">) => Effect.Effect<void>
  /**
   * Tells the client something while this request is served, for example that a resource has changed. Fails with `ExchangeEnded`
   * when it has been answered; what has to be said later is said by the session.
   */
  readonly notify: <Name extends Telling>(
    name: Name,
    params: MethodTable.NotificationParamsOf<Name>
  ) => Effect.Effect<void, RequestError>
  /**
   * Lets go of the connection that the client waits on, where it can come back for what is said meanwhile (SHS-04): a request that
   * takes long need not hold a connection that long. Answers whether it did; where the transport cannot, nothing happens.
   */
  readonly releaseStream: Effect.Effect<boolean>
  /** Asks something of the client, on behalf of this request. */
  readonly request: <Name extends MethodTable.RequestName<"server">>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: RequestOptions
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError>
  /** Asks the client's model for a message; checks first what the client has declared, and that uses of tools match. */
  readonly createMessage: {
    (
      params: Sampling.CreateMessageParamsWithoutTools,
      options?: RequestOptions
    ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError>
    (
      params: Sampling.CreateMessageParams,
      options?: RequestOptions
    ): Effect.Effect<Sampling.CreateMessageResult, RequestError>
  }
  /** Asks the client's user, by a form or by a page to visit. */
  readonly elicit: (
    params: Elicitation.ElicitParams,
    options?: RequestOptions
  ) => Effect.Effect<Elicitation.ElicitResult, RequestError>
  /** Asks where the client lets the server work. */
  readonly listRoots: (options?: RequestOptions) => Effect.Effect<Roots.ListRootsResult, RequestError>
}>()("@effect-mcp/session/RequestContext") {}

/**
 * Reports a step of progress of the request being served (PRG-03, PRG-04). Nothing is sent unless the requester asked for
 * progress, or if the value did not grow.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const all = <A, E, R>(steps: ReadonlyArray<Effect.Effect<A, E, R>>) =>
 *   Effect.forEach(
 *     steps,
 *     (step, index) => Effect.tap(step, RequestContext.progress({ progress: index + 1, total: steps.length }))
 *   )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.progress(step))

/**
 * Sends the client a log message that belongs to the request being served. Every server declares `logging` unless it
 * switches that off; then the handler dies of an error that names the option (LOG-01), because no handler can mend it.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 *
 * export const warn = RequestContext.log({ level: "warning", logger: "disk", data: { freeBytes: 4096 } })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const log = (
  message: Omit<Logging.LogMessageParams, "_meta">
): Effect.Effect<void, never, RequestContext> => Effect.flatMap(RequestContext, (context) => context.log(message))

/**
 * Tells the client something while the request is being served.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 *
 * // A tool that has changed a resource says so.
 * export const changed = (uri: string) => RequestContext.notify("notifications/resources/updated", { uri })
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const notify = <Name extends Telling>(
  name: Name,
  params: MethodTable.NotificationParamsOf<Name>
): Effect.Effect<void, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.notify(name, params))

/**
 * Asks the client's model for a message, on behalf of the request being served. What stands against the question is found
 * before it is sent: `MissingCapability` (SMP-01, SMP-02), `NotInRevision`, or `InvalidParams` where uses of tools do not match
 * their results (SMP-03, SMP-04). Without `tools` the answer is one piece of text, image or audio; any other fails with
 * `InvalidResult`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // A client without a model gets the text as it is.
 * export const summaryOf = (text: string) =>
 *   RequestContext.createMessage({
 *     messages: [{ role: "user", content: Content.text(`In one sentence: ${text}`) }],
 *     maxTokens: 100
 *   }).pipe(
 *     Effect.map(({ content }) => content),
 *     Effect.catchReason("RequestError", "MissingCapability", () => Effect.succeed(Content.text(text)))
 *   )
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const createMessage: {
  (
    params: Sampling.CreateMessageParamsWithoutTools,
    options?: RequestOptions
  ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, RequestContext>
  (
    params: Sampling.CreateMessageParams,
    options?: RequestOptions
  ): Effect.Effect<Sampling.CreateMessageResult, RequestError, RequestContext>
} = (params: Sampling.CreateMessageParams, options?: RequestOptions) =>
  // The context's member has both forms, and gives what belongs to these params.
  trust(Effect.flatMap(RequestContext, (context) => context.createMessage(params, options)))

/**
 * Asks the client's user, on behalf of the request being served. Fails with `MissingCapability` where the client has not
 * declared the means (ELI-03), and with `InvalidResult` where what was filled in does not fit the form (ELI-07).
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const consents = RequestContext.elicit({
 *   message: "Delete all notes?",
 *   requestedSchema: { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] }
 * }).pipe(Effect.map(({ action, content }) => action === "accept" && content?.["sure"] === true))
 * ```
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
 * Asks where the client lets the server work, on behalf of the request being served. Fails with `MissingCapability` where the
 * client has not declared `roots` (ROOT-01).
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const folders = Effect.map(RequestContext.listRoots(), ({ roots }) => roots.map(({ uri }) => new URL(uri)))
 * ```
 *
 * @category accessors
 * @since 0.1.0
 */
export const listRoots = (
  options?: RequestOptions
): Effect.Effect<Roots.ListRootsResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.listRoots(options))
