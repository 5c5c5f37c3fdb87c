/**
 * A stored task: facts, from which each revision computes the status that it sends.
 *
 * @stability unstable
 */
import type { JsonRpc, Profile, RequestId } from "@effect-mcp/protocol"
import { Weight } from "@effect-mcp/session/internal"
import type { Principal } from "@effect-mcp/session/Principal"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

/**
 * The outcome of a task. A task whose result has `isError` is `failed` in revision 2025-11-25 and `completed` in the
 * extension of 2026-07-28. The store therefore keeps the result, and no status.
 *
 * @category models
 */
export type Outcome =
  | { readonly _tag: "Result"; readonly result: unknown }
  | { readonly _tag: "Error"; readonly error: JsonRpc.ErrorObject }
  | { readonly _tag: "Cancelled" }

/**
 * A request: the one that a task runs, or one that a task asks.
 *
 * @category models
 */
export interface TaskRequest {
  readonly method: string
  readonly params?: JsonRpc.Params | undefined
}

/**
 * The reason why a question has no answer, and gets none.
 *
 * - `ErrorResponse`: the client answered with an error.
 * - `InvalidResult`: the client answered with a result that does not fit the question.
 * - `Withdrawn`: the task no longer waits for the answer.
 *
 * @category models
 */
export type QuestionFailure =
  | { readonly _tag: "ErrorResponse"; readonly error: JsonRpc.ErrorObject }
  | { readonly _tag: "InvalidResult"; readonly problem: string }
  | { readonly _tag: "Withdrawn" }

/**
 * A question that a task asks its client. It is open until it has an answer or a failure.
 *
 * @category models
 */
export interface TaskQuestion {
  /** Identifies the question for the life of the task: a later question has another key. */
  readonly key: string
  readonly request: TaskRequest
  /** The number of times that the run had asked the same before. Absent if the program has given the key. */
  readonly occurrence?: number
  /** The id of the request that asks the question. Only the questions of a durable call have one. */
  readonly requestId?: RequestId.RequestId
  /** Whether the client has the question of a durable call, or can get it from the stream of the call. */
  readonly isSent?: boolean
  /** The result that the client sent. */
  readonly answer?: unknown
  readonly failure?: QuestionFailure | undefined
}

/**
 * A result that a task's handler must not compute again.
 *
 * @category models
 */
export interface TaskStep {
  /** Identifies the step in its task. */
  readonly key: string
  readonly result: unknown
}

/**
 * The right of a process to run a task, until a time.
 *
 * @category models
 */
export interface TaskLease {
  /** Identifies the process. */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * The facts that another process needs to run a task again, after the process that ran it has ended. Only tasks of
 * resumable tools have them.
 *
 * @category models
 */
export interface TaskResumption {
  /** The client that has called the tool. */
  readonly profile: Profile.ClientProfile
  /** The claims of the principal. */
  readonly claims?: Principal["claims"]
  /**
   * The scopes that were granted to the call. Without a principal, none (`[]`) for an anonymous client of a transport
   * that authenticates its clients, and all (`undefined`) for the owner of the process.
   */
  readonly scopes?: Principal["scopes"]
  /** The number of times that the task was started. */
  readonly runs: number
}

/**
 * The session of a durable call, as far as its task needs it.
 *
 * @category models
 */
export interface DurableCall {
  /** The number of the owner of the session, whose process alone may change the task. */
  readonly epoch: number
}

/**
 * A stored task, which consists of JSON values.
 *
 * Questions and steps are lists and no records, so that no key is found that was not stored, such as `constructor`.
 *
 * @category models
 */
export interface StoredTask {
  /** Identifies the task among those of all principals. */
  readonly id: string
  /** The `id` of the principal that the task belongs to. */
  readonly principal?: string | undefined
  /** The request that the task runs. It has no params any more when the task has ended. */
  readonly request: TaskRequest
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  /** The last change that a client can see, in milliseconds since the epoch. */
  readonly updatedAt: number
  /** The milliseconds after `createdAt` after which the task may be deleted; `undefined` for no limit. */
  readonly ttlMillis?: number | undefined
  /** The milliseconds that a client is told to wait between two requests for the state of the task. */
  readonly pollMillis: number
  /** The status message for the client. */
  readonly message?: string | undefined
  /** The outcome of a task that has ended. */
  readonly outcome?: Outcome | undefined
  /** Whether the client has cancelled the task. The process that runs it then ends it. */
  readonly cancelRequested: boolean
  /** All questions that the task has asked, in order. */
  readonly questions: ReadonlyArray<TaskQuestion>
  /** The steps that are done, in order. */
  readonly steps: ReadonlyArray<TaskStep>
  /**
   * The process that runs the task. A task without a lease waits for something else than a process. To hand a task to
   * any process, set an empty owner, and `expiresAt` to the present time.
   */
  readonly lease?: TaskLease | undefined
  /** The facts for another run; `undefined` if there is none. */
  readonly resumption?: TaskResumption | undefined
  /**
   * Present if the task is a durable call: the call of a session, which goes on at the next owner of the session. It
   * has no lease, and its client never learns its id.
   */
  readonly call?: DurableCall | undefined
  /** The number of the change: 1 when the task is created, and one more with each change. */
  readonly version: number
}

/**
 * The way in which a task has ended: the tag of its outcome, and `ErrorResult` for a result that has `isError`.
 *
 * @category models
 */
export type Ending = Outcome["_tag"] | "ErrorResult"

/**
 * The state of a stored task: the part of it that clients see before the outcome. Stores keep it apart from the rest,
 * because clients read it often, and the request of a task may have megabytes.
 *
 * @category models
 */
export interface TaskState extends
  Pick<
    StoredTask,
    | "id"
    | "principal"
    | "createdAt"
    | "updatedAt"
    | "ttlMillis"
    | "pollMillis"
    | "message"
    | "lease"
    | "version"
  >
{
  /** The way in which the task has ended. */
  readonly ending?: Ending | undefined
  /** The questions that wait for their answers, in order. */
  readonly openQuestions: ReadonlyArray<TaskQuestion>
}

const endingOf = (outcome: Outcome): Ending => {
  if (outcome._tag !== "Result") return outcome._tag
  const { result } = outcome
  return typeof result === "object" && result !== null && "isError" in result && result.isError === true
    ? "ErrorResult"
    : "Result"
}

/**
 * Returns the state of a task. That of an ended task has neither a lease nor open questions.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * export const ending = (task: StoredTask.StoredTask) => StoredTask.stateOf(task).ending
 * ```
 *
 * @category models
 */
export const stateOf = (task: StoredTask): TaskState => {
  const { createdAt, id, lease, message, outcome, pollMillis, principal, questions, ttlMillis, updatedAt, version } =
    task
  return {
    id,
    principal,
    createdAt,
    updatedAt,
    ttlMillis,
    pollMillis,
    message,
    version,
    ...(outcome === undefined
      ? {
        lease,
        openQuestions: questions.filter(({ answer, failure }) => answer === undefined && failure === undefined)
      }
      : { ending: endingOf(outcome), openQuestions: [] })
  }
}

/** The bytes of the members that may change whatever the limits. A status message has at most 1,024 characters. */
const fixedBytes = 2560

/** The bytes that an unfinished task keeps free for its end. */
const reservedBytes = 2048

/**
 * Returns the bytes that a task counts for the limits of a store: the memory that it takes when it is parsed, and at
 * least two for each UTF-16 code unit of its JSON. Many small arrays take twenty times as much memory as text.
 *
 * The members `message`, `updatedAt`, `lease`, `cancelRequested` and `version` count 2,560 bytes together, whatever
 * their values. A task without an outcome counts 2,048 bytes more. Without these two rules, a task of a full store
 * could be neither leased nor cancelled, nor ended with an error that says so.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * // Rejects tasks that no client may create.
 * export const isTooLarge = (task: StoredTask.StoredTask) => StoredTask.bytesOf(task) > 1024 * 1024
 * ```
 *
 * @category limits
 */
export const bytesOf = (task: StoredTask): number => {
  const { cancelRequested: _, lease: __, message: ___, updatedAt: ____, version: _____, ...counted } = task
  const bytes = Math.max(2 * JSON.stringify(counted).length, Weight.of(counted))
  return bytes + fixedBytes + (task.outcome === undefined ? reservedBytes : 0)
}

/**
 * Returns the time at which a sweeper has to look at a task, in milliseconds since the epoch: when the task may be
 * deleted, or earlier when the lease of an unfinished task expires. `Infinity` if neither happens.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * export const dueAt = StoredTask.dueAt({
 *   createdAt: 1_000,
 *   ttlMillis: 60_000,
 *   lease: { owner: "a", expiresAt: 31_000 }
 * }) // => 31000
 * ```
 *
 * @category times
 */
export const dueAt = (
  { createdAt, lease, outcome, ttlMillis }: Pick<StoredTask, "createdAt" | "lease" | "outcome" | "ttlMillis">
): number =>
  Math.min(
    ttlMillis === undefined ? Number.POSITIVE_INFINITY : createdAt + ttlMillis,
    outcome !== undefined || lease === undefined ? Number.POSITIVE_INFINITY : lease.expiresAt
  )

const isSame = (one: Outcome, other: Outcome | undefined): boolean => JSON.stringify(one) === JSON.stringify(other)

/**
 * Returns the task to store in place of a stored one. `undefined` is a conflict: the change was made to another version
 * than the stored one, or it changes an outcome. `id`, `principal`, `request` and `createdAt` stay as they are, and a
 * task that has ended keeps only the method of its request.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * // A step of an implementation of `TaskStore.replace`.
 * export const replace = (tasks: Map<string, StoredTask.StoredTask>, task: StoredTask.StoredTask) => {
 *   const stored = tasks.get(task.id)
 *   if (stored === undefined) return "Missing"
 *   const next = StoredTask.change(stored, task)
 *   if (next === undefined) return "Conflict"
 *   tasks.set(next.id, next)
 *   return "Stored"
 * }
 * ```
 *
 * @category changes
 */
export const change = (stored: StoredTask, task: StoredTask): StoredTask | undefined => {
  if (task.version !== stored.version + 1) return undefined
  if (stored.outcome !== undefined && !isSame(stored.outcome, task.outcome)) return undefined
  const { createdAt, id, principal, request: { method, params } } = stored
  // Nothing runs an ended task again, and a client that reads its outcome must not pay for the size of its params.
  const request = task.outcome === undefined && params !== undefined ? { method, params } : { method }
  return { ...task, id, principal, request, createdAt }
}

/**
 * A place in a list of tasks, which are in the order of `createdAt` and then of `id`.
 *
 * @category cursors
 */
export interface Position {
  readonly createdAt: number
  readonly id: string
}

/**
 * Returns the cursor for the tasks after a position. It needs no memory, and stays valid after the task was removed.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * export const cursor = StoredTask.cursorOf({ createdAt: 1_000, id: "t" })
 * export const position = StoredTask.positionOf(cursor) // => { createdAt: 1000, id: "t" }
 * ```
 *
 * @category cursors
 */
export const cursorOf = ({ createdAt, id }: Position): string => Base64Url.encode(JSON.stringify([createdAt, id]))

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Returns the position of a cursor, and `undefined` for any text that {@link cursorOf} does not return.
 *
 * @example
 * ```ts
 * import { StoredTask } from "@effect-mcp/tasks"
 *
 * export const position = StoredTask.positionOf("page 2") // => undefined
 * ```
 *
 * @category cursors
 */
export const positionOf = (cursor: string): Position | undefined => {
  const value = parsed(Result.getOrElse(Base64Url.decodeString(cursor), () => ""))
  if (!Array.isArray(value)) return undefined
  const [createdAt, id]: ReadonlyArray<unknown> = value
  if (typeof createdAt !== "number" || typeof id !== "string") return undefined
  // Base64 and JSON have several texts for one value. Only that of `cursorOf` is a cursor.
  return cursorOf({ createdAt, id }) === cursor ? { createdAt, id } : undefined
}
