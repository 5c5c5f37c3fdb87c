/**
 * The tasks that the peer runs: calls of tools that outlive their requests, and questions to the client that do.
 *
 * @stability unstable
 */
import type { Elicitation, Sampling } from "@effect-mcp/protocol"
import type { ClientSessionShape } from "@effect-mcp/session/ClientSession"
import type { CallTaskRequests, TaskRequests } from "@effect-mcp/session/internalEngine"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import type { RequestError } from "@effect-mcp/session/RequestError"
import type { ServerSessionShape } from "@effect-mcp/session/ServerSession"
import * as Effect from "effect/Effect"
import type * as Calls from "./internal/remote/CallTasks.ts"
import * as ExtensionCalls from "./internal/remote/ExtensionCalls.ts"
import * as LegacyCalls from "./internal/remote/LegacyCalls.ts"
import * as QuestionsAsTasks from "./internal/remote/QuestionsAsTasks.ts"
import type * as Questions from "./internal/remote/QuestionTasks.ts"
import { trust } from "./internal/trust.ts"

/**
 * Options of a call that becomes a task.
 *
 * @category models
 */
export interface CallTaskOptions<R = never> extends Calls.CallTaskOptions<R> {}

/**
 * A task of the server, for one session. The task belongs to no session: another one asks for it by its id.
 *
 * @category models
 */
export interface CallTask<R = never> extends Calls.CallTask<R> {}

/**
 * The calls of a client that become tasks of its server.
 *
 * @category models
 */
export interface CallTasks extends Calls.CallTasks {}

/**
 * Options of a question that becomes a task.
 *
 * @category models
 */
export interface QuestionTaskOptions extends Questions.QuestionTaskOptions {}

/**
 * A task of the client, for one session. The task belongs to no session: another one asks for it by its id.
 *
 * @category models
 */
export interface QuestionTask<A> extends Questions.QuestionTask<A> {}

/**
 * The questions of a server that become tasks of its client, in revision 2025-11-25.
 *
 * @category models
 */
export interface QuestionTasks extends Questions.QuestionTasks {}

/**
 * Returns the tasks that the peer of a session runs. The server runs tasks for the calls of a client's session. The
 * client runs tasks for the questions of a server's session, and of the context of a handler, in revision 2025-11-25.
 *
 * @example
 * ```ts
 * import type { ClientSession } from "@effect-mcp/session"
 * import { RemoteTasks } from "@effect-mcp/tasks"
 * import * as Console from "effect/Console"
 * import * as Effect from "effect/Effect"
 * import * as Stream from "effect/Stream"
 *
 * // Starts a report, shows how it proceeds, and returns it.
 * export const report = (session: ClientSession.ClientSessionShape) =>
 *   Effect.gen(function*() {
 *     const task = yield* RemoteTasks.of(session).call("report", { year: 2026 }, { ttl: "1 hour" })
 *     yield* Stream.runForEach(task.states, ({ status, statusMessage = "" }) => Console.log(status, statusMessage))
 *     return yield* task.result
 *   })
 * ```
 *
 * @category constructors
 */
export const of: {
  (session: Pick<ClientSessionShape, "taskRequests">): CallTasks
  (asking: Pick<RequestContext["Service"] | ServerSessionShape, "taskRequests">): QuestionTasks
} = trust<typeof of>(({ taskRequests }: { readonly taskRequests: CallTaskRequests | TaskRequests.TaskRequests }) =>
  "results" in taskRequests ? callsOf(taskRequests) : QuestionsAsTasks.make(taskRequests)
)

const callsOf = (calls: CallTaskRequests): CallTasks =>
  calls.results === undefined ? LegacyCalls.make(calls) : ExtensionCalls.make(calls, calls.results)

/**
 * Requests input of the client's user as a task of the client, in revision 2025-11-25. The handler goes on as soon as
 * the client has created the task. Fails with `MissingCapability` if the client does not answer elicitations as tasks
 * (TSK-02), and with `NotInRevision` in other revisions.
 *
 * @example
 * ```ts
 * import { RemoteTasks } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * export const named = Effect.gen(function*() {
 *   const asked = yield* RemoteTasks.elicit({
 *     message: "A name for the report?",
 *     requestedSchema: { type: "object", properties: { name: { type: "string" } } }
 *   })
 *   const { content } = yield* asked.result
 *   return content?.["name"] ?? "report"
 * })
 * ```
 *
 * @category accessors
 */
export const elicit = (
  params: Elicitation.ElicitParams,
  options?: QuestionTaskOptions
): Effect.Effect<QuestionTask<Elicitation.ElicitResult>, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => of(context).elicit(params, options))

/**
 * Requests a message of the client's model as a task of the client, in revision 2025-11-25. The handler goes on as soon
 * as the client has created the task. Fails with `MissingCapability` if the client does not sample as tasks (TSK-02),
 * and with `NotInRevision` in other revisions.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { RemoteTasks } from "@effect-mcp/tasks"
 * import * as Effect from "effect/Effect"
 *
 * // Two messages of the model at the same time, which may take long.
 * export const summaries = (texts: ReadonlyArray<string>) =>
 *   Effect.gen(function*() {
 *     const asked = yield* Effect.forEach(texts, (text) =>
 *       RemoteTasks.createMessage({
 *         messages: [{ role: "user", content: Content.text(`In one sentence: ${text}`) }],
 *         maxTokens: 100
 *       }))
 *     return yield* Effect.forEach(asked, ({ result }) => result, { concurrency: "unbounded" })
 *   })
 * ```
 *
 * @category accessors
 */
export const createMessage = (
  params: Sampling.CreateMessageParams,
  options?: QuestionTaskOptions
): Effect.Effect<QuestionTask<Sampling.CreateMessageResult>, RequestError, RequestContext> =>
  Effect.flatMap(RequestContext, (context) => of(context).createMessage(params, options))
