/**
 * The request that a handler of a group serves: its client, questions to the client, progress and log messages. They
 * travel with the request and end with it.
 *
 * @stability unstable
 */
import {
  Content,
  type Elicitation,
  type ElicitationSchema,
  type Logging,
  type McpError,
  type Progress,
  Sampling
} from "@effect-mcp/protocol"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ElicitationCancelledError, ElicitationDeclinedError, type ElicitationError } from "./ElicitationError.ts"
import * as PreparedForm from "./internal/schema/PreparedForm.ts"
import * as UnfitAnswer from "./internal/schema/UnfitAnswer.ts"
import { trust } from "./internal/trust.ts"

/**
 * The context of the request: who sent it (`principal`), by which client (`profile`), in which session, and everything
 * that a handler can send meanwhile. It is the service `RequestContext` of `@effect-mcp/session`.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const user = Effect.map(McpRequest.McpRequest, ({ principal }) => principal?.id ?? "anonymous")
 * ```
 *
 * @category services
 */
export const McpRequest = RequestContext.RequestContext

/**
 * The context of the request.
 *
 * @category services
 */
export type McpRequest = RequestContext.RequestContext

/** Fails if the user has not accepted. */
const accepted = (
  asked: string,
  { action, content }: Elicitation.ElicitResult
): Effect.Effect<unknown, ElicitationError> => {
  switch (action) {
    case "accept":
      return Effect.succeed(content ?? {})
    case "decline":
      return Effect.fail(new ElicitationDeclinedError({ asked }))
    case "cancel":
      return Effect.fail(new ElicitationCancelledError({ asked }))
  }
}

/**
 * Requests input of the user: the form is derived from the schema, and the input is decoded by it. The schema is a
 * struct or a class whose members are strings, finite numbers, booleans, enums of strings, or arrays of such enums. A
 * schema with a struct in it does not compile (`ElicitationSchema.FormSchema`).
 *
 * Fails with `ElicitationDeclinedError` or `ElicitationCancelledError` if the user gives no input (ELI-09), and with a
 * `RequestError` if the client cannot elicit input, or sends input that does not fit the schema. In a tool's handler,
 * these failures need no handling: the tool returns their message with `isError`. Never request secrets (ELI-06).
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Audience = Schema.Struct({ audience: Schema.Literals(["kids", "experts"]) })
 *
 * export const audience = McpRequest.elicit("Who is the report for?", Audience).pipe(
 *   Effect.map(({ audience }) => audience),
 *   Effect.catchTag("ElicitationDeclinedError", () => Effect.succeed("experts" as const))
 * )
 * ```
 *
 * @category requests
 */
export const elicit = <S extends Schema.Constraint>(
  message: string,
  schema: S & ElicitationSchema.FormSchema<S>,
  options?: RequestContext.QuestionOptions
): Effect.Effect<
  S["Type"],
  ElicitationError | RequestError.RequestError,
  McpRequest | S["DecodingServices"]
> =>
  // The codec decodes to the type of its schema, and needs its services.
  trust(Effect.suspend(() => {
    const { codec, form } = PreparedForm.of(schema)
    return RequestContext.elicit({ message, requestedSchema: form }, options).pipe(
      Effect.flatMap((result) => accepted(message, result)),
      Effect.flatMap((content) =>
        Effect.catch(codec.decode(content), ({ problem }) =>
          Effect.flatMap(
            McpRequest,
            (context) => Effect.fail(UnfitAnswer.make(context, problem))
          ))
      )
    )
  }))

/**
 * Requests that the user visits a page, for input that must not pass through the client, such as a password (ELI-10).
 * It succeeds when the user agrees to open the page. `session.elicitationComplete` of the request notifies the client
 * when the user is done there.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 *
 * export const connect = McpRequest.elicitUrl("Connect your calendar", {
 *   url: "https://example.com/connect",
 *   elicitationId: "1f4c"
 * })
 * ```
 *
 * @category requests
 */
export const elicitUrl = (
  message: string,
  page: { readonly url: string; readonly elicitationId: string },
  options?: RequestContext.QuestionOptions
): Effect.Effect<void, ElicitationError | RequestError.RequestError, McpRequest> =>
  Effect.asVoid(Effect.flatMap(
    RequestContext.elicit({ mode: "url", message, ...page }, options),
    (result) => accepted(message, result)
  ))

/**
 * The answer of the client's model.
 *
 * @category models
 */
export interface Sample {
  /** All text of the answer. */
  readonly text: string
  /** The name of the model. */
  readonly model: string
  readonly stopReason: string | undefined
}

/**
 * Options of {@link sample}: the params of the request without its messages, and those of any request.
 *
 * @category models
 */
export interface SampleOptions
  extends Omit<Sampling.CreateMessageParamsWithoutTools, "messages" | "_meta">, RequestContext.QuestionOptions
{}

/**
 * Requests an answer of the client's model to a text of the user, or to messages. Fails with a `RequestError` if the
 * client has no model for servers (SMP-01). For tools and for other content than text, use
 * `RequestContext.createMessage`.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const summary = (text: string) =>
 *   Effect.map(
 *     McpRequest.sample(`Summarize in one sentence: ${text}`, { maxTokens: 200, timeout: "1 minute" }),
 *     ({ text }) => text
 *   )
 * ```
 *
 * @category requests
 */
export const sample = (
  prompt: string | ReadonlyArray<Sampling.SamplingMessage>,
  options: SampleOptions
): Effect.Effect<Sample, RequestError.RequestError, McpRequest> => {
  const { extendOnProgress, key, meta, onProgress, timeout, totalTimeout, ...params } = options
  const messages = typeof prompt === "string" ? [{ role: "user", content: Content.text(prompt) } as const] : prompt
  return Effect.map(
    RequestContext.createMessage({ ...params, messages }, {
      ...(timeout === undefined ? undefined : { timeout }),
      ...(totalTimeout === undefined ? undefined : { totalTimeout }),
      ...(extendOnProgress === undefined ? undefined : { extendOnProgress }),
      ...(onProgress === undefined ? undefined : { onProgress }),
      ...(meta === undefined ? undefined : { meta }),
      ...(key === undefined ? undefined : { key })
    }),
    (result) => ({ text: Sampling.textOf(result), model: result.model, stopReason: result.stopReason })
  )
}

/**
 * Returns the URIs of the client's roots: the folders that it allows the server to use. Fails with a `RequestError` if
 * the client has no roots (ROOT-01).
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const count = Effect.map(McpRequest.roots(), (uris) => uris.length)
 * ```
 *
 * @category requests
 */
export const roots = (
  options?: RequestContext.QuestionOptions
): Effect.Effect<ReadonlyArray<string>, RequestError.RequestError, McpRequest> =>
  Effect.map(RequestContext.listRoots(options), ({ roots }) => roots.map(({ uri }) => uri))

/**
 * Reports a step of progress (PRG-03, PRG-04). It sends nothing if the client requested no progress, or if the value
 * did not grow.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 *
 * export const half = McpRequest.progress({ progress: 1, total: 2, message: "writing" })
 * ```
 *
 * @category notifications
 */
export const progress = (step: Progress.Progress): Effect.Effect<void, never, McpRequest> =>
  RequestContext.progress(step)

/**
 * Sends a log message to the client, unless its level is below the one that the client has set (LOG-02). `McpLogger`
 * sends what Effect's own functions log.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 *
 * export const started = McpRequest.log({ level: "info", logger: "report", data: { topic: "bees" } })
 * ```
 *
 * @category notifications
 */
export const log = (
  message: Omit<Logging.LogMessageParams, "_meta">
): Effect.Effect<void, never, McpRequest> => RequestContext.log(message)

/**
 * Sends a notification with the request, for example that a resource has changed. Use the `session` of the request for
 * notifications that outlive it.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 *
 * export const changed = (uri: string) => McpRequest.notify("notifications/resources/updated", { uri })
 * ```
 *
 * @category notifications
 */
export const notify: typeof RequestContext.notify = RequestContext.notify

/**
 * Runs a step that must not run again when the client answers a question. In revision 2026-07-28, the answer starts the
 * handler from its beginning, and the encoded results of these steps travel with the question, sealed. The step runs at
 * least once. Each step of a request has a key of its own.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Answer = Schema.Struct({ sure: Schema.Boolean })
 *
 * export const book = (reserve: Effect.Effect<string>) =>
 *   Effect.gen(function*() {
 *     const seat = yield* McpRequest.once("reserve", { success: Schema.String }, reserve)
 *     const { sure } = yield* McpRequest.elicit(`Take seat ${seat}?`, Answer)
 *     return sure ? `seat ${seat} is yours` : "not booked"
 *   })
 * ```
 *
 * @category tasks
 */
export const once: typeof RequestContext.once = RequestContext.once

/**
 * Lets the call of a tool become a task now, and returns whether it is one. The call stays a call if the client has not
 * declared tasks, or the tool forbids them (`ServerTasks`). Fails if the client has too many tasks.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const report = Effect.andThen(McpRequest.becomeTask, Effect.sleep("1 hour"))
 * ```
 *
 * @category tasks
 */
export const becomeTask: Effect.Effect<boolean, McpError.McpError, McpRequest> = RequestContext.becomeTask

/**
 * Returns, in a handler that is being interrupted, whether another run of it goes on after this one: at the next owner
 * of its session, in another process that runs its task, or when the client of revision 2026-07-28 has answered its
 * questions. Then work that the handler has started elsewhere must go on as well.
 *
 * @example
 * ```ts
 * import { McpRequest } from "@effect-mcp/server"
 * import * as Effect from "effect/Effect"
 *
 * export const waitFor = (result: Effect.Effect<string>, stop: Effect.Effect<void>) =>
 *   Effect.onInterrupt(
 *     result,
 *     () => Effect.flatMap(McpRequest.isHandedOn, (goesOn) => goesOn ? Effect.void : stop)
 *   )
 * ```
 *
 * @category tasks
 */
export const isHandedOn: Effect.Effect<boolean, never, McpRequest> = RequestContext.isHandedOn

/**
 * Returns whether the sender of the request has all of these scopes. An anonymous sender of a transport that
 * authenticates has none. Over transports without authentication, the one client has all, unless it has a principal. As
 * `visible` of a member, it hides the member from principals that lack a scope.
 *
 * @example
 * ```ts
 * import { McpGroup, McpRequest } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 *
 * const Admin = McpGroup.make("admin", Tool.make("purge"))
 *
 * export const AdminLive = Admin.toLayer((handlers) =>
 *   handlers.tool("purge", () => Effect.void, { visible: McpRequest.hasScopes(["admin"]) })
 * )
 * ```
 *
 * @category scopes
 */
export const hasScopes: (scopes: ReadonlyArray<string>) => Effect.Effect<boolean, never, McpRequest> =
  RequestContext.hasScopes

/**
 * Fails with the error −31012 `InsufficientScope` if the sender of the request lacks one of these scopes: for scopes
 * that depend on the arguments. Name all scopes of the operation, also those that its member declares (AUT-47). Over
 * HTTP the error becomes 403 with a challenge, if the response has not begun: demand scopes before the first progress
 * and log message (AUT-46).
 *
 * @example
 * ```ts
 * import { McpGroup, McpRequest } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * const Remove = Tool.make("remove", { parameters: Schema.Struct({ ids: Schema.Array(Schema.String) }) })
 * const Notes = McpGroup.make("notes", Remove).scopes(["notes:write"])
 *
 * export const NotesLive = Notes.toLayer((handlers) =>
 *   handlers.tool("remove", ({ ids }) =>
 *     ids.length > 10 ? McpRequest.requireScopes(["notes:write", "notes:admin"]) : Effect.void
 *   )
 * )
 * ```
 *
 * @category scopes
 */
export const requireScopes: (
  scopes: ReadonlyArray<string>
) => Effect.Effect<void, McpError.McpError, McpRequest> = RequestContext.requireScopes
