/** The request for the result of a task in revision 2025-11-25. Its stream carries the messages of the task. */

import { ErrorCode, type Logging, McpError, Task } from "@effect-mcp/protocol"
import { ClientQuestion, Outgoing, validate } from "@effect-mcp/session/internalEngine"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import type { RequestError } from "@effect-mcp/session/RequestError"
import type { ServerSessionShape } from "@effect-mcp/session/ServerSession"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberMap from "effect/FiberMap"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as StoredTask from "../../StoredTask.ts"
import * as TaskState from "../runs/TaskState.ts"
import { trust } from "../trust.ts"
import * as QuestionOutcome from "./QuestionOutcome.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import type { TaskMessages } from "./TaskMessages.ts"

type Context = RequestContext["Service"]

/** The time for which a result waits for the last messages of its run, in milliseconds. */
const lastMessagesMillis = 1_000

/** The number of times that an answer is tried to be stored, a second apart. */
const storeAttempts = 30

/** Sends the messages of a task as they come, until its run has ended. All belong to the task (TSK-17). */
const deliverMessages = (context: Context, id: string, messages: TaskMessages): Effect.Effect<void> => {
  const _meta = TaskState.relatedMeta(id)
  const { meta, session } = messages
  const isSameSession = session !== undefined && session === context.session
  const next = Effect.flatMap(messages.take, (message) => {
    if (message._tag === "Log") {
      // The messages of handlers have no metadata by their type; this one has.
      return context.log(trust<Omit<Logging.LogMessageParams, "_meta">>({ ...message.message, _meta }))
    }
    // Another session has not given this token.
    const progressToken = isSameSession ? meta?.progressToken : undefined
    if (progressToken === undefined) return Effect.void
    // A session may send every notification of the method table. The types of handlers leave progress out.
    const notify = trust<(name: string, params: object) => Effect.Effect<void, RequestError>>(context.notify)
    return Effect.ignore(notify("notifications/progress", { ...message.step, progressToken, _meta }))
  })
  return Effect.catchIf(Effect.forever(next), Cause.isDone, () => Effect.void)
}

/** Returns whether the client of a request can be asked a question of a task. Its session may be another one. */
const canAsk = (context: Context, { request: { method, params = {} } }: StoredTask.TaskQuestion): boolean => {
  const row = ClientQuestion.rowOfStored(method, params)
  return context.session !== undefined && row !== undefined &&
    ClientQuestion.blocked(row, params, context.profile) === undefined
}

const readCreated = validate(Task.CreateTaskResult)

/** The tasks that clients have created for questions, and the questions that they are being asked. */
interface Asked {
  /** The ids of the client's tasks, the newest last. */
  readonly tasks: Set<string>
  /** The requests without a response, by the task and the key of their questions. */
  readonly pending: Map<string, Fiber.Fiber<void>>
}

/** The questions to the client of each session. They end with the session. */
const askedOf = new WeakMap<ServerSessionShape, Asked>()

const askedIn = (session: ServerSessionShape): Asked => {
  const known = askedOf.get(session)
  if (known !== undefined) return known
  const asked: Asked = { tasks: new Set(), pending: new Map() }
  askedOf.set(session, asked)
  return asked
}

/** The most tasks of one client whose ids are kept. */
const maxClientTasks = 1_000

/** Keeps the id of the task that a client has created. */
const keepTask = ({ tasks }: Asked, answer: unknown): void => {
  const read = readCreated(answer)
  if (Result.isFailure(read)) return
  tasks.add(read.success.task.taskId)
  for (const oldest of tasks) {
    if (tasks.size <= maxClientTasks) break
    tasks.delete(oldest)
  }
}

/** Cancels a task that a client has created for a question whose asker has stopped waiting. */
const cancelCreated = (session: ServerSessionShape, created: unknown): Effect.Effect<unknown, RequestError> => {
  const read = readCreated(created)
  return Result.isSuccess(read)
    ? session.request("tasks/cancel", { taskId: read.success.task.taskId })
    : Effect.void
}

/** Returns whether a client that does not know its task is another client than the one that has created it. */
const isOtherClient = (
  { tasks }: Asked,
  { method, params }: StoredTask.TaskRequest,
  outcome: QuestionOutcome.QuestionOutcome
): boolean =>
  ClientQuestion.isAboutTask(method) && outcome.failure?._tag === "ErrorResponse" &&
  outcome.failure.error.code === ErrorCode.InvalidParams && !tasks.has(String(params?.["taskId"]))

/** Asks the client of this request a question of a task, and stores its answer. */
const deliverQuestion = (
  { tasks }: TaskEndpoint,
  context: Context,
  id: string,
  { key, request: question }: StoredTask.TaskQuestion
): Effect.Effect<void> => {
  const { method, params = {} } = question
  const isWaiting = (questions: ReadonlyArray<StoredTask.TaskQuestion> = []) =>
    questions.some((question) => question.key === key && TaskState.isOpen(question))
  const store = (outcome: QuestionOutcome.QuestionOutcome) =>
    tasks.change(id, (task) =>
      task.outcome === undefined && isWaiting(task.questions)
        ? { questions: task.questions.map((one) => one.key === key ? { ...one, ...outcome } : one) }
        : undefined)
  const { id: relatedRequestId, session } = context
  const row = ClientQuestion.rowOfStored(method, params)
  // `canAsk` has checked both.
  if (session === undefined || row === undefined) return Effect.void
  const becomesTask = Outgoing.returnsTask(row)
  const asked = askedIn(session)
  const delivered = Effect.gen(function*() {
    // Another request for the result may have asked while this one waited.
    if (!isWaiting((yield* tasks.find(id))?.openQuestions)) return
    // The question was checked against the schema of its method before it was stored.
    const response = yield* Effect.result(session.extension(trust<ClientQuestion.ServerRow>(row), params, {
      // The answer to a question that becomes a task comes later, with the result of that.
      ...(becomesTask ? undefined : { timeout: Duration.infinity }),
      meta: TaskState.relatedMeta(id),
      relatedRequestId
    }))
    const outcome = QuestionOutcome.of(response)
    if (outcome === undefined || isOtherClient(asked, question, outcome)) return
    if (becomesTask && outcome.failure === undefined) keepTask(asked, outcome.answer)
    const attempts = { times: storeAttempts, schedule: Schedule.spaced("1 second") }
    const stored = yield* Effect.option(Effect.retry(store(outcome), attempts))
    const end = Option.isSome(stored) ? stored.value._tag : "Failed"
    if (becomesTask && end !== "Changed") yield* Effect.ignore(cancelCreated(session, outcome.answer))
    if (end === "Failed" || end === "TooLarge") {
      const problem = end === "Failed"
        ? "the answer could not be stored"
        : "the answer does not fit into the bytes that all tasks of a principal may have together"
      yield* store({ failure: { _tag: "InvalidResult", problem } })
    }
  }).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logError("a question of a task failed", cause)
    )
  )
  return becomesTask ? detached(asked, `${id} ${key}`, delivered) : delivered
}

/**
 * Waits for an effect that goes on after an interruption, and that is not begun again meanwhile: no notification may
 * cancel a request that becomes a task (CAN-03).
 */
const detached = (
  { pending }: Pick<Asked, "pending">,
  name: string,
  delivered: Effect.Effect<void>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const known = pending.get(name)
    // Its stream may have been lost, so that it gets no response. Then the client is asked again.
    if (known !== undefined) return Effect.andThen(Fiber.join(known), detached({ pending }, name, delivered))
    return Effect.flatMap(Effect.forkDetach(delivered, { startImmediately: true }), (fiber) => {
      pending.set(name, fiber)
      fiber.addObserver(() => {
        pending.delete(name)
      })
      return Fiber.join(fiber)
    })
  })

/** The most requests that may wait for the result of one task in this process. Each asks the questions of the task. */
const maxWaiting = 32

const tooManyWaiting = McpError.invalidRequest(
  `${maxWaiting} requests wait for the result of this task already; wait for one of them`
)

/** Counts a request that waits for the result of a task, as long as its scope is open. Fails if there are too many. */
const countWaiting = ({ waiting }: TaskEndpoint, id: string): Effect.Effect<void, McpError.McpError, Scope.Scope> =>
  Effect.suspend(() => {
    const count = waiting.get(id) ?? 0
    if (count >= maxWaiting) return Effect.fail(tooManyWaiting)
    waiting.set(id, count + 1)
    return Effect.addFinalizer(() =>
      Effect.sync(() => {
        const left = (waiting.get(id) ?? 1) - 1
        if (left === 0) waiting.delete(id)
        else waiting.set(id, left)
      })
    )
  })

/**
 * Asks the client of a request the open questions of a task until it has ended, and returns its outcome.
 */
const untilEnded = (
  endpoint: TaskEndpoint,
  context: Context,
  asking: FiberMap.FiberMap<string>,
  asked: Set<string>,
  task: StoredTask.TaskState
): Effect.Effect<StoredTask.Outcome, McpError.McpError> => {
  const { ending, id, openQuestions: open } = task
  if (ending !== undefined) return endpoint.tasks.ended(task)
  const keys = new Set(open.map(({ key }) => key))
  const closed = [...asked].filter((key) => !keys.has(key))
  const unasked = open.filter((question) => !asked.has(question.key) && canAsk(context, question))
  for (const { key } of unasked) asked.add(key)
  const deliver = Effect.forEach(unasked, (question) => {
    const delivery = deliverQuestion(endpoint, context, id, question)
    return FiberMap.run(asking, question.key, endpoint.asking.run(`${id} ${question.key}`, delivery))
  }, { discard: true })
  // The task no longer waits for these.
  const withdraw = Effect.forEach(closed, (key) => FiberMap.remove(asking, key), { discard: true })
  const next = Effect.suspend(() => endpoint.tasks.next(task, context.principal?.id))
  return Effect.andThen(withdraw, deliver).pipe(
    Effect.andThen(next),
    Effect.flatMap((task) => untilEnded(endpoint, context, asking, asked, task))
  )
}

/**
 * Waits until a task of the principal has ended, and returns its result (TSK-15, TSK-16). Meanwhile it sends the log
 * messages, the progress and the questions of the task to this client (TSK-20). An interruption loses none of the
 * questions: the next request for the result asks them again.
 */
export const make = (
  endpoint: TaskEndpoint,
  id: string
): Effect.Effect<Task.TaskPayload, McpError.McpError, RequestContext | Scope.Scope> =>
  Effect.gen(function*() {
    const context = yield* RequestContext
    const load = endpoint.tasks.load(id, context.principal?.id)
    if ((yield* load).ending === undefined) yield* countWaiting(endpoint, id)
    const messages = endpoint.messages.get(id)
    const sending = messages === undefined
      ? undefined
      : yield* Effect.forkScoped(deliverMessages(context, id, messages))
    const asking = yield* FiberMap.make<string>()
    const outcome = yield* Effect.flatMap(load, (task) => untilEnded(endpoint, context, asking, new Set(), task))
    yield* FiberMap.clear(asking)
    // The last messages come before the result. A run whose task was ended elsewhere may take longer to end.
    if (sending !== undefined && outcome._tag !== "Cancelled") {
      yield* Effect.timeoutOption(Fiber.await(sending), lastMessagesMillis)
    }
    return yield* TaskState.payload(id, outcome)
  })
