/**
 * The context of a handler: the request that it serves, and the messages that it can send to the client meanwhile.
 *
 * @stability unstable
 */
import {
  type Elicitation,
  type Logging,
  McpError,
  type Meta,
  type MethodTable,
  type Profile,
  type Progress,
  type RequestId,
  type Roots,
  type Sampling
} from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { TaskRequests } from "./internal/engine/TaskRequests.ts"
import type { ServerSessionShape } from "./internal/server/ServerSessionShape.ts"
import { trust } from "./internal/trust.ts"
import type { Principal } from "./Principal.ts"
import type { RequestError } from "./RequestError.ts"
import type { RequestOptions } from "./RequestOptions.ts"

/**
 * The notifications that a handler may send to its client. Progress has a member of its own, and cancellations are sent
 * by the session.
 *
 * @category models
 */
export type HandlerNotification = Exclude<
  MethodTable.NotificationName<"server">,
  "notifications/cancelled" | "notifications/progress"
>

/**
 * Options for a request to the client.
 *
 * @category models
 */
export interface QuestionOptions extends RequestOptions {
  /**
   * The key of the question, for clients of revision 2026-07-28. They answer in a repeated request, and the answer goes
   * to the question with the same key. A call that asks two different questions by one key fails. Default: a digest of
   * the question, and the number of times that it was asked before.
   */
  readonly key?: string
}

/**
 * The schemas of the result of {@link once}.
 *
 * @category models
 */
export interface OnceSchemas<A, E> {
  readonly success: Schema.Codec<A, unknown>
  /** Default: a failure is not kept, and the step runs again. */
  readonly error?: Schema.Codec<E, unknown>
}

/**
 * The request of the running handler. The session provides it to every handler. Messages that are sent through it
 * travel on the stream of the request, so a handler never names a request id. It is closed with its request: later
 * progress and log messages are dropped, with an event, and later requests fail with `ExchangeEnded` (PRG-05).
 *
 * Its members are lazy getters, so a spread (`{ ...context }`) copies none of them. To pass on a changed context, name
 * its members: `{ id: context.id, … }`.
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
 */
export class RequestContext extends Context.Service<RequestContext, {
  /** The id of the request. */
  readonly id: RequestId.RequestId
  /** The method of the request, such as `tools/call`. */
  readonly method: string
  /** The `_meta` of the request. */
  readonly meta: Meta.RequestMeta | undefined
  /** The authenticated sender of the request. */
  readonly principal: Principal | undefined
  /** Returns whether the sender lacks one of these scopes. See {@link hasScopes}. */
  readonly lacksScopes: (scopes: ReadonlyArray<string>) => boolean
  /**
   * The session of the request, for state and messages that outlive the request. `undefined` over stateless
   * transports, where each request stands alone.
   */
  readonly session: ServerSessionShape | undefined
  /** The profile of the client. */
  readonly profile: Profile.ClientProfile
  /**
   * The `Mcp-Param-*` headers of the request by their names in lower case: arguments of the tool that the client
   * repeats for proxies (SHE-28). `undefined` where there are none: in older revisions, and without HTTP.
   */
  readonly parameterHeaders: { readonly [name: string]: string } | undefined
  /** Reports a step of progress. It sends nothing if the client requested no progress, or if the value did not grow. */
  readonly progress: (step: Progress.Progress) => Effect.Effect<void>
  /**
   * Sends a log message, unless its level is below the level that the client has set (LOG-02). Dies with a
   * `RequestError` if the server has switched off `logging` (LOG-01), or if JSON cannot carry `data`. A message after
   * the end of the request, or one that the transport cannot send, is dropped, with an event.
   */
  readonly log: (message: Omit<Logging.LogMessageParams, "_meta">) => Effect.Effect<void>
  /**
   * Sends a notification on the stream of this request, for example that a resource has changed. Fails with
   * `ExchangeEnded` after the reply. Use the session to send later notifications.
   */
  readonly notify: <Name extends HandlerNotification>(
    name: Name,
    params: MethodTable.NotificationParamsOf<Name>
  ) => Effect.Effect<void, RequestError>
  /**
   * Closes the HTTP response of this request, if the client can reconnect for later messages (SHS-04), so that a long
   * request does not hold a connection. Returns whether the response was closed.
   */
  readonly releaseStream: Effect.Effect<boolean>
  /**
   * Sends a request to the client on the stream of this request. {@link elicit}, {@link createMessage} and
   * {@link listRoots} are functions over it.
   */
  readonly request: <Name extends MethodTable.RequestName<"server">>(
    name: Name,
    params: MethodTable.ParamsOf<Name>,
    options?: QuestionOptions
  ) => Effect.Effect<MethodTable.ResultOf<Name>, RequestError>
  /** The questions to the client that become tasks: use `RemoteTasks.of`. */
  readonly taskRequests: TaskRequests
  /** Runs a step of the handler that must not run again when the client answers a question. See {@link once}. */
  readonly once: <A, E, R>(
    key: string,
    schemas: OnceSchemas<A, E>,
    step: Effect.Effect<A, E, R>
  ) => Effect.Effect<A, E, R>
  /**
   * Returns whether a request of this context failed with the error. Then its text is that of the client, and may be
   * sent to it. Text of another server, or of the client of another session, may not.
   */
  readonly isOwnError: (error: RequestError) => boolean
  /** Lets the call of a tool become a task now. Returns whether it is one. See {@link becomeTask}. */
  readonly becomeTask: Effect.Effect<boolean, McpError.McpError>
  /** Returns whether another run of the handler goes on after this one. See {@link isHandedOn}. */
  readonly isHandedOn: Effect.Effect<boolean>
}>()("@effect-mcp/session/RequestContext") {}

/**
 * Returns whether the sender of the request has all of these scopes. An anonymous sender of a transport that
 * authenticates has none. Over transports without authentication (stdio, sockets, memory), the one client is the owner
 * of the process and has all, unless the transport gives it a principal.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const title = Effect.map(
 *   RequestContext.hasScopes(["notes:admin"]),
 *   (isAdministrator) => isAdministrator ? "All notes" : "Your notes"
 * )
 * ```
 *
 * @category accessors
 */
export const hasScopes = (scopes: ReadonlyArray<string>): Effect.Effect<boolean, never, RequestContext> =>
  Effect.map(RequestContext, (context) => !context.lacksScopes(scopes))

/**
 * Fails with the error −31012 `InsufficientScope` if the sender of the request lacks one of these scopes: for scopes
 * that depend on the arguments. Name all scopes of the operation, also those that its member declares (AUT-47). Over
 * HTTP the error becomes 403 with a challenge, if the response has not begun (AUT-46): demand scopes before the first
 * progress and log message.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const remove = (notes: ReadonlyArray<string>) =>
 *   notes.length > 1 ? RequestContext.requireScopes(["notes:write", "notes:admin"]) : Effect.void
 * ```
 *
 * @category accessors
 */
export const requireScopes = (
  scopes: ReadonlyArray<string>
): Effect.Effect<void, McpError.McpError, RequestContext> =>
  Effect.flatMap(
    RequestContext,
    (context) => context.lacksScopes(scopes) ? Effect.fail(McpError.insufficientScope(scopes)) : Effect.void
  )

/**
 * Reports a step of progress of the request that the handler serves (PRG-03, PRG-04). It sends nothing if the client
 * requested no progress, or if the value did not grow.
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
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.progress(step))

/**
 * Sends a log message on the stream of the request that the handler serves. Every server declares `logging` unless the
 * program switches it off. Then the handler dies with an error that names the option (LOG-01), because no handler can
 * correct it.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 *
 * export const warn = RequestContext.log({ level: "warning", logger: "disk", data: { freeBytes: 4096 } })
 * ```
 *
 * @category accessors
 */
export const log = (
  message: Omit<Logging.LogMessageParams, "_meta">
): Effect.Effect<void, never, RequestContext> => Effect.flatMap(RequestContext, (context) => context.log(message))

/**
 * Sends a notification on the stream of the request that the handler serves.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 *
 * // Notifies the client that a tool has changed a resource.
 * export const changed = (uri: string) => RequestContext.notify("notifications/resources/updated", { uri })
 * ```
 *
 * @category accessors
 */
export const notify = <Name extends HandlerNotification>(
  name: Name,
  params: MethodTable.NotificationParamsOf<Name>
): Effect.Effect<void, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.notify(name, params))

/**
 * Requests a message of the client's model. Fails before it sends anything with `MissingCapability` (SMP-01, SMP-02),
 * with `NotInRevision`, or with `InvalidParams` if a use of a tool has no result (SMP-03, SMP-04). Without `tools`, a
 * result that is not one text, image or audio fails with `InvalidResult`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * // For a client without a model, the text is its own summary.
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
 */
export const createMessage: {
  (
    params: Sampling.CreateMessageParamsWithoutTools,
    options?: QuestionOptions
  ): Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, RequestContext>
  (
    params: Sampling.CreateMessageParams,
    options?: QuestionOptions
  ): Effect.Effect<Sampling.CreateMessageResult, RequestError, RequestContext>
} = (params: Sampling.CreateMessageParams, options?: QuestionOptions) =>
  // `SemanticChecks` has checked that a result without tools has none.
  trust<Effect.Effect<Sampling.CreateMessageResultWithoutTools, RequestError, RequestContext>>(
    Effect.flatMap(RequestContext, (context) => context.request("sampling/createMessage", params, options))
  )

/**
 * Requests input of the client's user, by a form or by a page to visit. Fails with `MissingCapability` if the client
 * has not declared the mode (ELI-03), and with `InvalidResult` if the input does not match the form (ELI-07).
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
 */
export const elicit = (
  params: Elicitation.ElicitParams,
  options?: QuestionOptions
): Effect.Effect<Elicitation.ElicitResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.request("elicitation/create", params, options))

/**
 * Requests the client's roots: the folders that the client allows the server to use. Fails with `MissingCapability` if
 * the client has not declared `roots` (ROOT-01).
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
 */
export const listRoots = (
  options?: QuestionOptions
): Effect.Effect<Roots.ListRootsResult, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.request("roots/list", {}, options))

/**
 * Runs a step that must not run again when the client answers a question. In revision 2026-07-28, a question ends the
 * run of its handler, and the answer starts another run from the beginning. Everything before the question runs again,
 * except these steps: their encoded results travel with the question, in a form that only the server can read.
 *
 * The step runs at least once, not exactly once: an answer may get lost, and a client may send one twice. Each step of
 * a request has a key of its own. It dies if it asks a question itself, if its result does not fit the schema, or if
 * all results together have more characters than `limits.maxRequestStateCharacters`. With other clients it does the
 * same, so that a test with any of them shows a mistake.
 *
 * A task of a resumable tool stores the results, for the process that runs it again (`ServerTasks`).
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * export const book = (reserve: Effect.Effect<string>) =>
 *   Effect.gen(function*() {
 *     const seat = yield* RequestContext.once("reserve", { success: Schema.String }, reserve)
 *     const { action } = yield* RequestContext.elicit({
 *       message: `Take seat ${seat}?`,
 *       requestedSchema: { type: "object", properties: {} }
 *     })
 *     return action === "accept" ? `seat ${seat} is yours` : "not booked"
 *   })
 * ```
 *
 * @category combinators
 */
export const once = <A, E, R>(
  key: string,
  schemas: OnceSchemas<A, E>,
  step: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R | RequestContext> =>
  Effect.flatMap(RequestContext, (context) => context.once(key, schemas, step))

/**
 * Lets the call of a tool become a task now, and returns whether it is one. The client receives the id of the task, and
 * the handler goes on. In revision 2026-07-28 the server decides when a call becomes a task: questions before this
 * point are results of the call, and later ones are those of the task. The call stays a call if the client has not
 * declared tasks, or the tool forbids them (`ServerTasks`). In revision 2025-11-25 the client has decided at the start.
 *
 * Fails if the client has too many tasks.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const form = { type: "object", properties: {} } as const
 *
 * // Asks first, and works afterwards.
 * export const report = Effect.gen(function*() {
 *   yield* RequestContext.elicit({ message: "Start a report that takes an hour?", requestedSchema: form })
 *   yield* RequestContext.becomeTask
 *   yield* Effect.sleep("1 hour")
 *   return { content: [Content.text("the report")] }
 * })
 * ```
 *
 * @category accessors
 */
export const becomeTask: Effect.Effect<boolean, McpError.McpError, RequestContext> = Effect.flatMap(
  Effect.service(RequestContext),
  (context) => context.becomeTask
)

/**
 * Returns, in a handler that is being interrupted, whether another run of it goes on after this one: at the next owner
 * of its session, in another process that runs its task, or when the client of revision 2026-07-28 has answered its
 * questions. Then work that the handler has started elsewhere must go on as well. `false` if the call was cancelled, or
 * has ended for another reason.
 *
 * @example
 * ```ts
 * import { RequestContext } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * export const waitFor = <A>(result: Effect.Effect<A>, stop: Effect.Effect<void>) =>
 *   Effect.onInterrupt(
 *     result,
 *     () => Effect.flatMap(RequestContext.isHandedOn, (goesOn) => goesOn ? Effect.void : stop)
 *   )
 * ```
 *
 * @category tasks
 */
export const isHandedOn: Effect.Effect<boolean, never, RequestContext> = Effect.flatMap(
  Effect.service(RequestContext),
  (context) => context.isHandedOn
)
