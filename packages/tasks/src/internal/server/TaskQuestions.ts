/** The questions of a task that runs in this process. They wait in its store for a client that asks for its result. */

import { McpError, type Profile, type RequestId, type RevisionProjection } from "@effect-mcp/protocol"
import { CanonicalJson } from "@effect-mcp/protocol/internal"
import { ClientQuestion, OnceSteps } from "@effect-mcp/session/internalEngine"
import type { QuestionOptions } from "@effect-mcp/session/RequestContext"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as StoredTask from "../../StoredTask.ts"
import type { TaskStoreError } from "../../TaskStore.ts"
import type { Changed, OwnedTasks } from "../runs/OwnedTasks.ts"
import type { TaskRuns } from "../runs/TaskRuns.ts"
import * as TaskState from "../runs/TaskState.ts"

/** The task that asks. */
export interface TaskQuestionsDependencies {
  readonly tasks: OwnedTasks
  readonly id: string
  readonly profile: Profile.ClientProfile
  readonly projection: RevisionProjection.Projection | undefined
  readonly runs: Pick<TaskRuns, "isHandedOn" | "isOurs">
  /** Waits for the end of a run whose task is gone. Default: it is interrupted. */
  readonly gone?: Effect.Effect<never>
  /** Asks the client at once. Absent if a client is asked when it requests the result of the task. */
  readonly asking?: Asking | undefined
}

/** The asking of questions on the stream of a call. */
export interface Asking {
  /** Returns the id of the next question. */
  readonly nextId: () => RequestId.RequestId
  /** Begins to ask a question of the task, unless it is being asked. */
  readonly begin: (question: StoredTask.TaskQuestion) => Effect.Effect<void>
  /** Stops asking a question, and cancels it. */
  readonly stop: (key: string) => Effect.Effect<void>
}

const textOf = ({ method, params }: StoredTask.TaskRequest): string => CanonicalJson.textOf({ method, params })

const isWithdrawn = ({ failure }: StoredTask.TaskQuestion): boolean => failure?._tag === "Withdrawn"

/** Returns the key of a question. Questions are never removed, so that no key is used again (TKX-09). */
const keyAt = (index: number, given: string | undefined): string =>
  given === undefined ? `question-${index + 1}` : `key-${index + 1}-${given}`

/** Returns the key that the program has given, without what makes it unique; `undefined` if it has given none. */
const givenIn = (key: string): string | undefined => /^key-\d+-(.*)$/s.exec(key)?.[1]

/**
 * Lets an effect be interrupted, also in code of the handler that is not. Nothing else ends its wait when the process
 * stops.
 */
const waiting = Effect.interruptible

/** Waits until the run is interrupted, because another process runs the task, or the store has ended or deleted it. */
export const gone: Effect.Effect<never> = Effect.interruptible(Effect.never)

/** Tries to store something until the store works. Only the time between two attempts can be interrupted. */
const keepTrying = <A>(store: Effect.Effect<A, TaskStoreError>): Effect.Effect<A> =>
  Effect.catch(store, () => Effect.andThen(waiting(Effect.sleep("1 second")), Effect.suspend(() => keepTrying(store))))

/** The questions of one run of a task. */
export class TaskQuestions {
  readonly #dependencies: TaskQuestionsDependencies
  /** The number of times that this run has asked each question without a key. */
  readonly #occurrences = new Map<string, number>()
  /** The number of branches that wait for the answer to each question. */
  readonly #waiting = new Map<string, number>()
  /** The questions that this run withdraws or has withdrawn. Each is completed when the store knows, or has failed. */
  readonly #closing = new Map<string, Deferred.Deferred<void>>()

  constructor(dependencies: TaskQuestionsDependencies) {
    this.#dependencies = dependencies
  }

  /**
   * Returns the question for which this run has taken an answer before its call became a task. `index` is its place
   * among all questions of the task.
   */
  answered(
    index: number,
    request: StoredTask.TaskRequest,
    answer: unknown,
    given: string | undefined
  ): StoredTask.TaskQuestion {
    const key = keyAt(index, given)
    return given === undefined
      ? { key, request, answer, occurrence: this.#occurrence(textOf(request)) }
      : { key, request, answer }
  }

  /**
   * Asks the client, and waits for its answer, however long that takes unless `options` have a time (TSK-20). Branches
   * that ask by the same key share the question, which is closed when the last of them stops waiting.
   */
  ask(
    row: ClientQuestion.QuestionRow,
    params: object,
    options: QuestionOptions = {}
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const method = row.name
    return OnceSteps.outside(
      method,
      Effect.suspend(() => {
        const { profile, projection } = this.#dependencies
        const blocked = ClientQuestion.blocked(row, params, profile)
        if (blocked !== undefined) return Effect.fail(RequestError.make(method, blocked))
        const question = ClientQuestion.make(row, params, profile, projection)
        const request = { method, params: { ...question.params } }
        // An interruption after its question was stored would leave a question whose answer no fiber takes.
        const asked = Effect.uninterruptible(
          Effect.flatMap(
            this.#put(request, options.key),
            (key) => this.#waits(key, waiting(this.#answerTo(key, row, params, options)))
          )
        )
        const limits = [options.timeout, options.totalTimeout].flatMap((one) =>
          one === undefined ? [] : [Duration.toMillis(one)]
        )
        const afterMillis = Math.min(...limits)
        return Number.isFinite(afterMillis)
          ? Effect.timeoutOrElse(asked, {
            duration: afterMillis,
            orElse: () => Effect.fail(RequestError.make(method, { _tag: "Timeout", afterMillis }))
          })
          : asked
      })
    )
  }

  get #gone(): Effect.Effect<never> {
    return this.#dependencies.gone ?? gone
  }

  /** Returns the number of times that this run has asked a question before. */
  #occurrence(text: string): number {
    const occurrence = this.#occurrences.get(text) ?? 0
    this.#occurrences.set(text, occurrence + 1)
    return occurrence
  }

  /**
   * Stores a question, unless its key has one that waits or is answered. Returns the stored key. A question without a
   * key is that of an earlier run with the same text, which was asked as many times before: its position would not do,
   * because branches may change their order. One that was withdrawn is asked again, in the same place.
   */
  #put(request: StoredTask.TaskRequest, given: string | undefined): Effect.Effect<string, RequestError.RequestError> {
    const { asking, id, runs, tasks } = this.#dependencies
    const text = textOf(request)
    const requestId = asking?.nextId()
    const occurrence = given === undefined ? this.#occurrence(text) : undefined
    let key: string | undefined
    let isOther = false
    const put = tasks.change(id, (task) => {
      key = undefined
      if (!runs.isOurs(task)) return undefined
      const { questions } = task
      const known = questions.find((question) =>
        !isWithdrawn(question) && givenIn(question.key) === given && question.occurrence === occurrence &&
        (given !== undefined || textOf(question.request) === text)
      )
      isOther = known !== undefined && textOf(known.request) !== text
      key = known?.key ?? keyAt(questions.length, given)
      if (known !== undefined) return undefined
      const question: StoredTask.TaskQuestion = {
        key,
        request,
        ...(occurrence === undefined ? undefined : { occurrence }),
        ...(requestId === undefined ? undefined : { requestId })
      }
      return { questions: [...questions, question] }
    })
    const stored: Effect.Effect<string, RequestError.RequestError> = Effect.flatMap(keepTrying(put), (changed) => {
      const closing = key === undefined ? undefined : this.#closing.get(key)
      // The last branch that waited for it has stopped, just as this one asks by the same key. Without this, the client
      // would see the question that is withdrawn once more.
      if (closing !== undefined) return Effect.andThen(waiting(Deferred.await(closing)), Effect.suspend(() => stored))
      switch (changed._tag) {
        case "TooLarge":
          return Effect.fail(RequestError.make(request.method, {
            _tag: "InvalidParams",
            problem: "the question does not fit into the bytes that all tasks of a principal may have together"
          }))
        case "Missing":
          return this.#gone
        case "Changed":
        case "Unchanged":
          if (isOther) {
            return Effect.die(new Error(`two different questions of the task have the key ${JSON.stringify(given)}`))
          }
          if (key === undefined) return this.#gone
          this.#waiting.set(key, (this.#waiting.get(key) ?? 0) + 1)
          return Effect.as(this.#begin(changed.task, key), key)
      }
    })
    return stored
  }

  #begin({ questions }: StoredTask.StoredTask, key: string): Effect.Effect<void> {
    const { asking } = this.#dependencies
    const question = questions.find((one) => one.key === key)
    return asking === undefined || question === undefined || !TaskState.isOpen(question)
      ? Effect.void
      : asking.begin(question)
  }

  /** Counts a branch that waits. The last one that stops before the answer closes the question. */
  #waits<A, E>(key: string, answer: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.onExit(answer, (exit) => {
      const others = (this.#waiting.get(key) ?? 1) - 1
      if (others > 0) this.#waiting.set(key, others)
      else this.#waiting.delete(key)
      return others > 0 || !Exit.hasInterrupts(exit) ? Effect.void : this.#close(key)
    })
  }

  /** Closes a question for which no branch waits. One that cannot be withdrawn may be asked again. */
  #close(key: string): Effect.Effect<void> {
    const { asking } = this.#dependencies
    const closing = Deferred.makeUnsafe<void>()
    this.#closing.set(key, closing)
    return Effect.asVoid(Effect.onExit(
      Effect.andThen(asking === undefined ? Effect.void : asking.stop(key), Effect.result(this.#withdraw(key))),
      (exit) =>
        Effect.sync(() => {
          const changed = Exit.isSuccess(exit) && Result.isSuccess(exit.value) ? exit.value.success : undefined
          if (changed?._tag !== "Changed") this.#closing.delete(key)
          Deferred.doneUnsafe(closing, Exit.void)
        })
    ))
  }

  #answerTo(
    key: string,
    row: ClientQuestion.QuestionRow,
    params: object,
    { key: given }: QuestionOptions
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const { id, runs, tasks } = this.#dependencies
    const wait = (state: StoredTask.TaskState | undefined): Effect.Effect<StoredTask.TaskQuestion, TaskStoreError> => {
      if (state === undefined) return this.#gone
      if (state.openQuestions.some((question) => question.key === key)) return Effect.flatMap(tasks.later(state), wait)
      return Effect.flatMap(tasks.stored(id), (task) => {
        const question = task?.questions.find((one) => one.key === key)
        // An answer that was stored for the run of another process is not the answer to this one.
        if (task === undefined || question === undefined || !runs.isOurs(task)) return this.#gone
        return TaskState.isOpen(question) ? Effect.flatMap(tasks.find(id), wait) : Effect.succeed(question)
      })
    }
    // A store that fails now may work later, and the client may answer then.
    return Effect.flatMap(
      Effect.orDie(Effect.retry(Effect.flatMap(tasks.find(id), wait), Schedule.spaced("1 second"))),
      ({ answer, failure }): Effect.Effect<unknown, RequestError.RequestError> => {
        const fail = (reason: RequestError.RequestErrorReason) => Effect.fail(RequestError.make(row.name, reason))
        switch (failure?._tag) {
          case undefined: {
            const problem = ClientQuestion.problemOf(row, params, answer)
            return problem === undefined ? Effect.succeed(answer) : fail({ _tag: "InvalidResult", problem })
          }
          case "ErrorResponse":
            return fail({ _tag: "ErrorResponse", error: McpError.received(failure.error) })
          case "InvalidResult":
            return fail({ _tag: "InvalidResult", problem: failure.problem })
          case "Withdrawn":
            // An earlier run has closed it, just as this one asked by the same key.
            return this.ask(row, params, given === undefined ? {} : { key: given })
        }
      }
    )
  }

  /** Withdraws a question whose branch of the handler has ended, so that no client is asked any more. */
  #withdraw(key: string): Effect.Effect<Changed, TaskStoreError> {
    const { id, runs, tasks } = this.#dependencies
    return tasks.change(id, (task) => {
      const { questions } = task
      const isWaiting = questions.some((question) => question.key === key && TaskState.isOpen(question))
      // The next run of the task needs the answer.
      if (!runs.isOurs(task) || runs.isHandedOn(task) || !isWaiting) return undefined
      return {
        questions: questions.map((question) =>
          question.key === key ? { ...question, failure: { _tag: "Withdrawn" } } : question
        )
      }
    })
  }
}
