/**
 * A bridge from workflows of `effect/workflow`: a tool whose calls execute a `Workflow`, in this process or in an
 * Effect Cluster. An entry point of its own, because `effect/workflow` is unstable.
 *
 * The execution of a call outlives its handler. When another process goes on with the call, it waits for the same
 * execution, whose activities do not run again.
 *
 * @stability unstable
 */
import type { ElicitationSchema, McpError, Progress } from "@effect-mcp/protocol"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Tool from "effect/ai/Tool"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import * as GroupRegistration from "./internal/entries/GroupRegistration.ts"
import * as PreparedForm from "./internal/schema/PreparedForm.ts"
import { trust } from "./internal/trust.ts"
import * as WaitingCalls from "./internal/workflow/WaitingCalls.ts"
import * as WorkflowCall from "./internal/workflow/WorkflowCall.ts"
import * as WorkflowQuestions from "./internal/workflow/WorkflowQuestions.ts"
import type * as McpGroup from "./McpGroup.ts"
import type * as McpMiddleware from "./McpMiddleware.ts"
import type { McpRequest } from "./McpRequest.ts"
import { McpServer } from "./McpServer.ts"
import * as McpTool from "./McpTool.ts"

type Payload<W> = W extends Workflow.Workflow<infer _T, infer P, infer _S, infer _E> ? P : never
type Success<W> = W extends Workflow.Workflow<infer _T, infer _P, infer S, infer _E> ? S : never
type Failure<W> = W extends Workflow.Workflow<infer _T, infer _P, infer _S, infer E> ? E : never

/**
 * The tool of a workflow.
 *
 * @category models
 */
export type ToolOf<W extends Workflow.Any, Name extends string> = Tool.Tool<Name, {
  readonly parameters: Payload<W>
  readonly success: Success<W>
  readonly failure: Failure<W>
  readonly failureMode: "error"
}>

/**
 * Options of {@link tool}.
 *
 * @category options
 */
export interface ToolOptions<Name extends string> {
  /** The name of the tool. Default: that of the workflow. */
  readonly name?: Name
  readonly description?: string
}

/**
 * Options of {@link handler}.
 *
 * @category options
 */
export interface HandlerOptions {
  /**
   * The calls that share an execution.
   *
   * - `"call"`: none. Each call has an execution of its own, which a cancellation of the call interrupts.
   * - `"idempotencyKey"`: all calls of one principal whose payload has the same `idempotencyKey` of the workflow, also
   *   those of its other clients. Each of them gets the questions and the result, and the first answer counts. A
   *   cancellation ends the call, and the execution goes on. Clients without a principal share their executions.
   * - `"idempotencyKeyOfAll"`: the same for the calls of all principals. Everyone who may call the tool can then get
   *   the questions and the result of everyone else, by a payload with the same key.
   *
   * Default: `"call"`. The `idempotencyKey` of the workflow is not used then.
   */
  readonly execution?: "call" | "idempotencyKey" | "idempotencyKeyOfAll"
  /**
   * The longest time between two looks at an execution that runs in another process of a cluster: for new questions,
   * and for the result. One that runs in this process is seen at once. Default: 2 seconds.
   */
  readonly pollInterval?: Duration.Input
}

/**
 * Options of {@link layer}.
 *
 * @category options
 */
export interface Options<Name extends string> extends ToolOptions<Name>, HandlerOptions {
  /** The id of the group in errors. Default: `workflow`. */
  readonly id?: string
}

/**
 * The question of a workflow has no input: the user declined it or dismissed it, no client can be asked, or one has
 * sent input that does not fit the schema. Declare it in the error of the workflow, and the tool returns its message
 * with `isError`. Or catch it in the workflow.
 *
 * @example
 * ```ts
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 *
 * export const message = new McpWorkflow.QuestionError({ asked: "Which seat?", reason: "declined" }).message
 * // => "the user declined: Which seat?"
 * ```
 *
 * @category errors
 */
export class QuestionError extends Schema.TaggedError<QuestionError>()("McpWorkflowQuestionError", {
  /** The message of the question. */
  asked: Schema.String,
  reason: Schema.Literals(["declined", "dismissed", "unavailable", "unfit"]),
  /** Why the client could not be asked, or what does not fit. */
  problem: Schema.optionalKey(Schema.String)
}) {
  override get message(): string {
    switch (this.reason) {
      case "declined":
        return `the user declined: ${this.asked}`
      case "dismissed":
        return `the user dismissed the request: ${this.asked}`
      case "unavailable":
        return `the user could not be asked: ${this.asked}: ${this.problem}`
      case "unfit":
        return `the answer does not fit: ${this.asked}: ${this.problem}`
    }
  }
}

/**
 * Defines the tool of a workflow: its parameters, its success and its failure are the payload, the success and the
 * error of the workflow. Annotations of the workflow, such as `Tool.Title` and `McpTool.Task`, are those of the tool.
 * Default of `McpTool.Task`: `{ support: "optional", resumable: true }`.
 *
 * @example
 * ```ts
 * import { McpGroup } from "@effect-mcp/server"
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 * import * as Schema from "effect/Schema"
 * import * as Workflow from "effect/workflow/Workflow"
 *
 * const Report = Workflow.make("report", {
 *   payload: { topic: Schema.String },
 *   success: Schema.String,
 *   idempotencyKey: ({ topic }) => topic
 * })
 *
 * const Reports = McpGroup.make("reports", McpWorkflow.tool(Report, { description: "Writes a report" }))
 *
 * export const ReportsLive = Reports.toLayer((handlers) => handlers.tool("report", McpWorkflow.handler(Report)))
 * ```
 *
 * @category constructors
 */
export const tool = <W extends Workflow.Any, const Name extends string = W["_tag"]>(
  workflow: W,
  { description, name }: ToolOptions<Name> = {}
): ToolOf<W, Name> =>
  // The schemas are those of the type.
  trust(
    Tool.make(name ?? workflow._tag, {
      ...(description === undefined ? undefined : { description }),
      parameters: workflow.payloadSchema,
      success: workflow.successSchema,
      failure: workflow.errorSchema
    })
      .annotate(McpTool.Task, { support: "optional", resumable: true })
      .annotateMerge(workflow.annotations)
  )

const defaultPoll: Duration.Input = "2 seconds"

/**
 * Returns the handler of the tool of a workflow. It executes the workflow, waits for its result, sends its progress,
 * and asks its questions.
 *
 * - A run of the call in another process, or after an answer in revision 2026-07-28, waits for the same execution.
 * - If the call is cancelled or ends with its session, the execution is interrupted, and its compensations run.
 * - If the call goes on elsewhere, the execution goes on as well.
 *
 * It needs the engine. The Layer of the workflow (`workflow.toLayer`) must be in this process, or in another one of the
 * cluster.
 *
 * @example
 * ```ts
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 * import * as Schema from "effect/Schema"
 * import * as Workflow from "effect/workflow/Workflow"
 *
 * const Refund = Workflow.make("refund", {
 *   payload: { order: Schema.String },
 *   idempotencyKey: ({ order }) => order
 * })
 *
 * export const refund = McpWorkflow.handler(Refund, { execution: "idempotencyKey" })
 * ```
 *
 * @category constructors
 */
export const handler = <W extends Workflow.Any>(
  workflow: W,
  { execution = "call", pollInterval = defaultPoll }: HandlerOptions = {}
): (
  payload: Payload<W>["Type"]
) => Effect.Effect<
  Success<W>["Type"],
  Failure<W>["Type"] | RequestError.RequestError | McpError.McpError,
  | McpRequest
  | WorkflowEngine
  | Payload<W>["EncodingServices"]
  | Success<W>["DecodingServices"]
  | Failure<W>["DecodingServices"]
> => {
  const settings = {
    isShared: execution !== "call",
    isOfAll: execution === "idempotencyKeyOfAll",
    pollMillis: Duration.toMillis(pollInterval)
  }
  // The engine decodes the result by the schemas of the workflow, and the payload is that of the tool.
  return (payload) => trust(WorkflowCall.serve(trust(workflow), settings, trust(payload)))
}

/**
 * Serves a workflow as the one tool of a group: {@link tool} with {@link handler}. For middleware, scopes and
 * `visible`, put the tool into a group of yours.
 *
 * @example
 * ```ts
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Schema from "effect/Schema"
 * import * as Activity from "effect/workflow/Activity"
 * import * as Workflow from "effect/workflow/Workflow"
 * import * as WorkflowEngine from "effect/workflow/WorkflowEngine"
 *
 * declare const charge: (city: string) => Effect.Effect<string>
 *
 * const Seat = Schema.Struct({ seat: Schema.String })
 *
 * const Book = Workflow.make("book", {
 *   payload: { city: Schema.String },
 *   success: Schema.String,
 *   error: McpWorkflow.QuestionError,
 *   idempotencyKey: ({ city }) => city
 * })
 *
 * const BookLive = Book.toLayer(({ city }) =>
 *   Effect.gen(function*() {
 *     const receipt = yield* Activity.make({ name: "charge", success: Schema.String, execute: charge(city) })
 *     const { seat } = yield* McpWorkflow.elicit("seat", `Which seat to ${city}?`, Seat)
 *     return `${receipt}: seat ${seat}`
 *   }))
 *
 * export const JourneysLive = McpWorkflow.layer(Book, { description: "Books a journey" }).pipe(
 *   Layer.provide(BookLive),
 *   Layer.provide(WorkflowEngine.layerMemory)
 * )
 * ```
 *
 * @category layers
 */
export const layer = <W extends Workflow.Any, const Name extends string = W["_tag"]>(
  workflow: W,
  { id = "workflow", ...options }: Options<Name> = {}
): Layer.Layer<
  never,
  never,
  | McpServer
  | McpGroup.Remaining<
    | WorkflowEngine
    | Tool.SchemaServices<ToolOf<W, Name>>
    | Payload<W>["EncodingServices"]
    | Success<W>["DecodingServices"]
    | Failure<W>["DecodingServices"],
    readonly []
  >
> => {
  // The type above states the services that the erased effect needs.
  return trust(
    Effect.gen(function*() {
      const server = yield* McpServer
      const served = tool(workflow, options)
      yield* server.register(GroupRegistration.make({
        id,
        mount: server.mount,
        context: yield* Effect.context(),
        middlewares: [] satisfies ReadonlyArray<McpMiddleware.AnyService>,
        members: [served],
        handlers: [{ kind: "tool" as const, name: served.name, handler: handler(workflow, options) }]
      }))
    }).pipe(Layer.effectDiscard)
  )
}

/**
 * Sends a step of progress from a workflow, or from one of its activities, to the calls in this process that wait for
 * its execution. No step is stored: if no call waits here, the step is lost. A replay of the workflow sends its steps
 * again, and a client gets only those whose value has grown.
 *
 * @example
 * ```ts
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 *
 * export const half = McpWorkflow.progress({ progress: 1, total: 2, message: "writing" })
 * ```
 *
 * @category workflows
 */
export const progress = (
  step: Progress.Progress
): Effect.Effect<void, never, WorkflowEngine | WorkflowInstance> =>
  Effect.gen(function*() {
    const engine = yield* WorkflowEngine
    const { executionId } = yield* WorkflowInstance
    yield* Effect.forEach(WaitingCalls.of(engine, executionId), (call) => call.progress(step), { discard: true })
  })

/**
 * Requests input of the user in a workflow. The question and its answer are stored by the engine. The workflow is
 * suspended until a call that waits for the execution has asked its client, in this process or in another one. The
 * first answer counts.
 *
 * Each question of a workflow has a name of its own: another question with the same name gets the same answer. The
 * schema is one for `McpRequest.elicit`. No time limits the answer: race the question with a `DurableClock` if the
 * workflow must go on without it. Never request secrets (ELI-06).
 *
 * @example
 * ```ts
 * import * as McpWorkflow from "@effect-mcp/server/McpWorkflow"
 * import * as Effect from "effect/Effect"
 * import * as Schema from "effect/Schema"
 *
 * export const seat = McpWorkflow.elicit("seat", "Which seat?", Schema.Struct({ seat: Schema.String })).pipe(
 *   Effect.map(({ seat }) => seat),
 *   Effect.catchTag("McpWorkflowQuestionError", () => Effect.succeed("any"))
 * )
 * ```
 *
 * @category workflows
 */
export const elicit = <S extends Schema.Constraint>(
  name: string,
  message: string,
  schema: S & ElicitationSchema.FormSchema<S>
): Effect.Effect<S["Type"], QuestionError, WorkflowEngine | WorkflowInstance | S["DecodingServices"]> =>
  // The codec decodes to the type of its schema, and needs its services.
  trust(Effect.suspend(() => {
    const { codec, form } = PreparedForm.of(schema)
    const failed = (reason: QuestionError["reason"], problem?: string) =>
      Effect.fail(new QuestionError({ asked: message, reason, ...(problem === undefined ? {} : { problem }) }))
    return Effect.flatMap(WorkflowQuestions.ask({ name, message, form }), (answer) => {
      if (answer._tag === "Unavailable") return failed("unavailable", answer.problem)
      switch (answer.action) {
        case "accept":
          return Effect.catch(codec.decode(answer.content), ({ problem }) => failed("unfit", problem))
        case "decline":
          return failed("declined")
        case "cancel":
          return failed("dismissed")
      }
    })
  }))
