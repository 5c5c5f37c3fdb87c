/** The context of a handler whose request became a task: it outlives the request, and perhaps its session. */

import { MethodTable, type Profile, Revision } from "@effect-mcp/protocol"
import {
  type AnsweredQuestion,
  ClientQuestion,
  OnceSteps,
  Outgoing,
  OwnErrors,
  TaskRequests,
  type TaskServer
} from "@effect-mcp/session/internalEngine"
import type { QuestionOptions, RequestContext } from "@effect-mcp/session/RequestContext"
import * as RequestError from "@effect-mcp/session/RequestError"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as StoredTask from "../../StoredTask.ts"
import type { OwnedTasks } from "../runs/OwnedTasks.ts"
import type { TaskRuns } from "../runs/TaskRuns.ts"
import { trust } from "../trust.ts"
import type { TaskCall } from "./ResumedCall.ts"
import { StatusMessage } from "./StatusMessage.ts"
import * as StoredSteps from "./StoredSteps.ts"
import type { TaskMessages } from "./TaskMessages.ts"
import { gone, TaskQuestions } from "./TaskQuestions.ts"

type Service = RequestContext["Service"]

/** The parts of a context. */
export interface TaskContextDependencies {
  readonly server: TaskServer
  readonly tasks: OwnedTasks
  readonly task: StoredTask.StoredTask
  readonly runs: Pick<TaskRuns, "isHandedOn" | "isOurs" | "owner">
  /** The messages for a client that waits for the result; `undefined` in a revision in which none can. */
  readonly messages: TaskMessages | undefined
  /** The scope of the run. */
  readonly scope: Scope.Scope
  /** The steps that were run before the call became a task. */
  readonly steps?: OnceSteps.OnceSteps | undefined
}

const { notifications } = MethodTable

/**
 * The context of one run of a task. Its log messages and its progress wait until a client asks for the result of the
 * task, and so do its questions. What it reads of the request is that of the call.
 */
export class TaskContext implements Service {
  readonly id: Service["id"]
  readonly method: string
  readonly meta: Service["meta"]
  readonly principal: Service["principal"]
  readonly profile: Profile.ClientProfile
  readonly session: Service["session"]
  readonly #call: TaskCall
  readonly #dependencies: TaskContextDependencies
  readonly #questions: TaskQuestions
  readonly #status: StatusMessage
  readonly #steps: OnceSteps.OnceSteps
  readonly #errors = new OwnErrors()
  #highest = Number.NEGATIVE_INFINITY

  constructor(call: TaskCall, dependencies: TaskContextDependencies) {
    const { runs, scope, server: { maxStepCharacters, projection }, task, tasks } = dependencies
    const { id } = task
    this.#call = call
    this.id = call.id
    this.method = call.method
    this.meta = call.meta
    this.principal = call.principal
    this.profile = call.profile
    this.session = call.session
    this.#dependencies = dependencies
    this.#steps = dependencies.steps ?? new OnceSteps.OnceSteps(
      { maxCharacters: maxStepCharacters },
      // `persist` has stored results of steps.
      task.steps.map(({ key, result }) => [key, trust<OnceSteps.StepResult>(result)] as const)
    )
    if (task.resumption !== undefined) this.#steps.persist = (key, result) => this.persist({ key, result })
    this.#questions = new TaskQuestions({ tasks, id, profile: call.profile, projection, runs })
    this.#status = new StatusMessage(tasks, id, scope, runs)
  }

  get lacksScopes(): Service["lacksScopes"] {
    return (scopes) => this.#call.lacksScopes(scopes)
  }

  get parameterHeaders(): Service["parameterHeaders"] {
    return this.#call.parameterHeaders
  }

  /** The token of the request stays valid until the task has ended (PRG-08). */
  get progress(): Service["progress"] {
    return (step) =>
      Effect.suspend(() => {
        if (!Number.isFinite(step.progress) || step.progress <= this.#highest) return Effect.void
        this.#highest = step.progress
        if (this.meta?.progressToken !== undefined) this.#dependencies.messages?.offer({ _tag: "Progress", step })
        return step.message === undefined ? Effect.void : this.#status.set(step.message)
      })
  }

  get log(): Service["log"] {
    return (message) =>
      Effect.suspend(() => {
        const built = this.#notification("notifications/message", message)
        if (Result.isFailure(built)) {
          return Outgoing.isMistake(built.failure)
            ? Effect.die(RequestError.make("notifications/message", built.failure))
            : Effect.void
        }
        const { messages } = this.#dependencies
        // The request has been answered, so that its context drops the message, with an event.
        if (messages === undefined) return this.#call.log(message)
        messages.offer({ _tag: "Log", message })
        return Effect.void
      })
  }

  get notify(): Service["notify"] {
    return (name, params) =>
      Effect.suspend(() => {
        const { session } = this
        if (session === undefined) return Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
        const built = this.#notification(name, params)
        return Result.isFailure(built)
          ? Effect.fail(RequestError.make(name, built.failure))
          : session.send(built.success)
      })
  }

  /** The request has been answered, so that it has no stream. */
  get releaseStream(): Service["releaseStream"] {
    return Effect.succeed(false)
  }

  get request(): Service["request"] {
    const request = (name: string, params: object, options?: QuestionOptions) =>
      this.#errors.of(this.#ask(name, params, options))
    // The question checks the answer against the schema of its method.
    return trust<Service["request"]>(request)
  }

  get isOwnError(): Service["isOwnError"] {
    return (error) => this.#errors.has(error)
  }

  get once(): Service["once"] {
    const once = (key: string, schemas: OnceSteps.StepSchemas, step: Effect.Effect<unknown, unknown>) =>
      Effect.suspend(() => this.#steps.run(key, schemas, step))
    // The schemas decode to the types of the step.
    return trust<Service["once"]>(once)
  }

  /**
   * A question waits as any other one of the task, and so do the requests for its result and its cancellation. The
   * request for its state travels on the session of the call, because it would wait too long.
   */
  get taskRequests(): Service["taskRequests"] {
    const { profile, session } = this
    if (Revision.isModern(profile.revision)) return TaskRequests.none(profile)
    const request = (row: ClientQuestion.QuestionRow, params: object, options?: QuestionOptions) => {
      if (ClientQuestion.rowOfStored(row.name, params) !== undefined) return this.#questions.ask(row, params, options)
      return session === undefined
        ? Effect.fail(RequestError.make(row.name, { _tag: "ExchangeEnded" }))
        // A row that a server may send. Its caller has the type of its params.
        : session.extension(trust<ClientQuestion.ServerRow>(row), params, options)
    }
    return {
      // The rows have the types of their params and results.
      request: trust<TaskRequests.TaskRequests["request"]>(request),
      closed: session?.closed ?? Effect.never,
      receiver: undefined,
      errors: this.#errors,
      // By `TaskResult`.
      cancelsCreated: true
    }
  }

  get becomeTask(): Service["becomeTask"] {
    return Effect.succeed(true)
  }

  get isHandedOn(): Service["isHandedOn"] {
    const { runs, task } = this.#dependencies
    return Effect.sync(() => runs.isHandedOn(task))
  }

  /** Asks the client a question that was asked before the call became a task. */
  ask(method: string, params: object, key: string | undefined): ReturnType<TaskQuestions["ask"]> {
    return this.#ask(method, params, key === undefined ? {} : { key })
  }

  #ask(name: string, params: object, options: QuestionOptions | undefined): ReturnType<TaskQuestions["ask"]> {
    const row = ClientQuestion.rowOf(name)
    return row === undefined
      ? Effect.fail(RequestError.make(name, { _tag: "ExchangeEnded" }))
      : this.#questions.ask(row, params, options)
  }

  /** Returns the questions for which the run has taken an answer before its call became a task, as they are stored. */
  answered(questions: ReadonlyArray<AnsweredQuestion>, from: number): ReadonlyArray<StoredTask.TaskQuestion> {
    return questions.map(({ answer, given, question: { method, params } }, index) =>
      this.#questions.answered(from + index, { method, params: { ...params } }, answer, given)
    )
  }

  /** Stores a step for another run. */
  persist(step: StoredTask.TaskStep): Effect.Effect<void> {
    const { runs, task: { id }, tasks } = this.#dependencies
    return StoredSteps.persist({ tasks, id, isOurs: (task) => runs.isOurs(task), gone }, step)
  }

  #notification(name: keyof typeof notifications, params: object) {
    return Outgoing.notification(notifications[name], params, this.profile, this.#dependencies.server)
  }
}
