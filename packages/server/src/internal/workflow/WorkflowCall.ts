/** A call of a tool that waits for an execution of a workflow. */

import { Capabilities, ErrorCode, McpError } from "@effect-mcp/protocol"
import { ForeignCall, webCrypto } from "@effect-mcp/session/internal"
import * as RequestContext from "@effect-mcp/session/RequestContext"
import type * as RequestError from "@effect-mcp/session/RequestError"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Latch from "effect/Latch"
import * as Option from "effect/Option"
import * as Scheduler from "effect/Scheduler"
import * as Schema from "effect/Schema"
import type * as DurableDeferred from "effect/workflow/DurableDeferred"
import * as Workflow from "effect/workflow/Workflow"
import { WorkflowEngine, WorkflowInstance } from "effect/workflow/WorkflowEngine"
import { trust } from "../trust.ts"
import * as EngineStore from "./EngineStore.ts"
import * as WaitingCalls from "./WaitingCalls.ts"
import * as WorkflowQuestions from "./WorkflowQuestions.ts"

/** A workflow whose types the compiler no longer knows. The type of the handler states the services of its schemas. */
export type AnyWorkflow = Workflow.Workflow<
  string,
  Workflow.AnyStructSchema & Schema.Codec<object, unknown>,
  Schema.Codec<unknown, unknown>,
  Schema.Codec<unknown, unknown>
>

type Question = typeof WorkflowQuestions.Question.Type

type Answer = typeof WorkflowQuestions.Answer.Type

/** The settings of the calls of one tool. */
export interface Settings {
  /** Whether calls with the same idempotency key have one execution. */
  readonly isShared: boolean
  /** Whether those are the calls of all principals. */
  readonly isOfAll: boolean
  /** The longest time between two looks at an execution that runs in another process, in milliseconds. */
  readonly pollMillis: number
}

/** The first time between two looks at an execution, in milliseconds. */
const firstPollMillis = 100

/** The time that the engine has to end an operation, or to take an interruption, in milliseconds. */
const interruptMillis = 10_000

const interrupted = McpError.received({ code: ErrorCode.InternalError, message: "The workflow was interrupted" })

/** Returns whether a question failed because its call has ended. No client has refused it then. */
const isOfCall = ({ reason: { _tag } }: RequestError.RequestError): boolean =>
  _tag === "Closed" || _tag === "ExchangeEnded" || _tag === "OutcomeUnknown" || _tag === "SendFailed" ||
  _tag === "WrongState"

/**
 * Runs an effect of the engine outside of the request. The fibers of workflows, and those of the engine's clients,
 * begin in such effects, and outlive the call: they must neither have its context nor belong to its run. A call that is
 * interrupted does not wait for an operation that cannot be.
 */
const outside = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  ForeignCall.detachable(
    Effect.updateContext(effect, Context.omit(RequestContext.RequestContext, Scheduler.Scheduler))
  )

/** One call. */
class WorkflowCall implements WaitingCalls.WaitingCall {
  readonly #engine: WorkflowEngine["Service"]
  readonly #workflow: AnyWorkflow
  readonly #executionId: string
  readonly #request: RequestContext.RequestContext["Service"]
  readonly #settings: Settings
  /** The instance by which the values of the execution are read. */
  readonly #instance: WorkflowInstance["Service"]
  /** Open if there may be something new. */
  readonly #news = Latch.makeUnsafe(false)
  /** Open if the other calls of the execution may have changed. */
  readonly #others = Latch.makeUnsafe(false)
  readonly unanswerable = new Map<string, { readonly isFirst: boolean }>()
  /** Open unless the engine starts the execution or waits for it. */
  readonly #left = Latch.makeUnsafe(true)
  /** Whether the execution has a result. */
  #isComplete = false

  constructor(
    engine: WorkflowEngine["Service"],
    workflow: AnyWorkflow,
    executionId: string,
    request: RequestContext.RequestContext["Service"],
    settings: Settings
  ) {
    this.#engine = engine
    this.#workflow = workflow
    this.#executionId = executionId
    this.#request = request
    this.#settings = settings
    this.#instance = WorkflowInstance.initial(workflow, executionId)
  }

  get progress(): WaitingCalls.WaitingCall["progress"] {
    return this.#request.progress
  }

  readonly wake = (): void => {
    this.#news.openUnsafe()
    this.#others.openUnsafe()
  }

  /** Starts the execution, or finds the one that runs, and waits for its result. */
  serve(payload: object): Effect.Effect<unknown, unknown, RequestContext.RequestContext> {
    return Effect.suspend(() => {
      const leave = WaitingCalls.add(this.#engine, this.#executionId, this)
      return Effect.raceFirst(this.#execute(payload), this.#watch(0)).pipe(
        Effect.flatMap((exit) => this.#result(exit)),
        Effect.onExit((exit) => {
          leave()
          return this.#end(exit)
        })
      )
    })
  }

  /**
   * Executes the workflow, and returns the exit of the execution. A failure of the engine is none: the engine sends the
   * payload to its store again while it waits, and one that fails leaves the execution as it is.
   */
  #execute(payload: object): Effect.Effect<Exit.Exit<unknown, unknown>> {
    const executed = Effect.suspend(() => {
      this.#left.closeUnsafe()
      return this.#engine.execute(this.#workflow, {
        executionId: this.#executionId,
        payload,
        suspendedRetrySchedule: this.#workflow.suspendedRetrySchedule
      })
    })
    const left = Effect.sync(() => this.#left.openUnsafe())
    return Effect.flatMap(
      Effect.exit(outside(Effect.ensuring(executed, left))),
      // Only executions succeed, and have errors.
      (exit) => Exit.isSuccess(exit) || Cause.hasFails(exit.cause) ? Effect.succeed(exit) : this.#broken(exit, payload)
    )
  }

  /** Returns the exit of the execution after a defect or an interruption, its own one or that of the engine. */
  #broken(exit: Exit.Failure<unknown, unknown>, payload: object): Effect.Effect<Exit.Exit<unknown, unknown>> {
    const again = Effect.andThen(
      Effect.logDebug(`the execution ${this.#executionId} is awaited again: its engine failed`, exit.cause),
      Effect.andThen(Effect.sleep(EngineStore.pauseMillis), this.#execute(payload))
    )
    return Effect.matchCauseEffect(outside(this.#engine.poll(this.#workflow, this.#executionId)), {
      // The engine has no other way to return a defect that is not captured.
      onFailure: (cause) => EngineStore.isAway(cause) ? again : Effect.succeed(exit),
      onSuccess: (result) => {
        if (Option.isNone(result)) {
          // It runs, or was not started.
          const passes = EngineStore.isAway(exit.cause) || Cause.hasInterruptsOnly(exit.cause)
          return passes ? again : Effect.failCause(trust<Cause.Cause<never>>(exit.cause))
        }
        return result.value._tag === "Complete" ? Effect.succeed(result.value.exit) : again
      }
    })
  }

  #result(exit: Exit.Exit<unknown, unknown>): Effect.Effect<unknown, unknown> {
    this.#isComplete = true
    // As the exit of this fiber, it would mean that the call was cancelled.
    return Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? Effect.fail(interrupted) : exit
  }

  /** Interrupts the execution with its call, unless another run of the call goes on to wait for it. */
  #end(exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> {
    if (this.#isComplete || this.#settings.isShared || Exit.isSuccess(exit)) return Effect.void
    const interrupt = ForeignCall.within(
      "WorkflowEngine.interrupt",
      interruptMillis,
      () => EngineStore.retrying(outside(this.#engine.interrupt(this.#workflow, this.#executionId)))
    )
    const logged = Effect.catchCause(interrupt, (cause) =>
      Effect.logWarning(
        `the execution ${this.#executionId} of the workflow "${this.#workflow._tag}" was not interrupted`,
        cause
      ))
    // The engine finds no execution before it has stored the start.
    const left = Effect.ignore(ForeignCall.within("WorkflowEngine.execute", interruptMillis, () => this.#left.await))
    // Another process may take the call over meanwhile.
    return this.#unlessHandedOn(Effect.andThen(left, this.#unlessHandedOn(logged)))
  }

  #unlessHandedOn(effect: Effect.Effect<void>): Effect.Effect<void> {
    return Effect.flatMap(this.#request.isHandedOn, (isHandedOn) => isHandedOn ? Effect.void : effect)
  }

  // ===================================================================================================================
  // Questions
  // ===================================================================================================================

  /**
   * Asks the questions from a place of the list on, until the execution is complete. The engine wakes only callers in
   * the process that runs the workflow, and wakes none for a question. So this looks at the store now and then.
   */
  #watch(
    from: number
  ): Effect.Effect<Exit.Exit<unknown, unknown>, RequestError.RequestError, RequestContext.RequestContext> {
    const look = (
      waitMillis: number
    ): Effect.Effect<Exit.Exit<unknown, unknown>, RequestError.RequestError, RequestContext.RequestContext> =>
      Effect.suspend(() => {
        this.#news.closeUnsafe()
        return Effect.flatMap(this.#questions(from), (questions) => {
          if (questions.length > 0) {
            const asking = Effect.forEach(questions, (question) => this.#ask(question), {
              concurrency: "unbounded",
              discard: true
            })
            return Effect.raceFirst(Effect.andThen(asking, Effect.never), this.#watch(from + questions.length))
          }
          return Effect.flatMap(this.#polled, (exit) => exit === undefined ? next(waitMillis) : Effect.succeed(exit))
        })
      })
    const next = (waitMillis: number) =>
      Effect.flatMap(
        Effect.raceFirst(Effect.as(this.#news.await, true), Effect.as(Effect.sleep(waitMillis), false)),
        (isNews) => look(isNews ? firstPollMillis : Math.min(waitMillis * 1.5, this.#settings.pollMillis))
      )
    return look(firstPollMillis)
  }

  /** Returns the result of the execution; `undefined` if it has none yet. A store that fails now may work later. */
  get #polled(): Effect.Effect<Exit.Exit<unknown, unknown> | undefined> {
    return Effect.matchCause(outside(this.#engine.poll(this.#workflow, this.#executionId)), {
      onSuccess: (result) => Option.isSome(result) && result.value._tag === "Complete" ? result.value.exit : undefined,
      onFailure: () => undefined
    })
  }

  /** Returns the questions from a place of the list on. */
  #questions(from: number): Effect.Effect<ReadonlyArray<Question>> {
    return Effect.flatMap(this.#read(WorkflowQuestions.placeOf(from)), (question) =>
      question === undefined
        ? Effect.succeed([])
        : Effect.map(this.#questions(from + 1), (others) => [question, ...others]))
  }

  #read<S extends Schema.Constraint>(
    deferred: DurableDeferred.DurableDeferred<S>
  ): Effect.Effect<S["Type"] | undefined> {
    return Effect.matchCause(this.#stored(deferred), {
      onSuccess: (exit) => Option.isSome(exit) && Exit.isSuccess(exit.value) ? exit.value.value : undefined,
      onFailure: () => undefined
    })
  }

  /** Returns a value of the execution as the store has it. */
  #stored<S extends Schema.Constraint>(
    deferred: DurableDeferred.DurableDeferred<S>
  ): Effect.Effect<Option.Option<Exit.Exit<S["Type"]>>> {
    return outside(Effect.provideService(this.#engine.deferredResult(deferred), WorkflowInstance, this.#instance))
  }

  /** Stores a value of the execution, unless it has one. The first one counts. */
  #store<A>(deferred: DurableDeferred.DurableDeferred<Schema.Codec<A, unknown>>, value: A): Effect.Effect<void> {
    return EngineStore.retrying(outside(this.#engine.deferredDone(deferred, {
      workflowName: this.#workflow._tag,
      executionId: this.#executionId,
      deferredName: deferred.name,
      exit: Exit.succeed(value)
    })))
  }

  /** Asks the client of the call, and stores its answer, unless there is one. The first answer counts. */
  #ask(
    { form, message, name }: Question
  ): Effect.Effect<void, RequestError.RequestError, RequestContext.RequestContext> {
    return Effect.gen({ self: this }, function*() {
      const place = WorkflowQuestions.answerOf(name)
      if (Option.isSome(yield* EngineStore.retrying(this.#stored(place)))) return
      const mayAsk = Capabilities.declares(this.#request.profile.capabilities, "elicitation.form")
      const isFirst = mayAsk && this.#settings.isShared ? yield* this.#begin(name) : false
      // The workflow decides how long it waits.
      const answer = yield* RequestContext.elicit({ message, requestedSchema: form }, {
        key: name,
        timeout: Number.POSITIVE_INFINITY
      }).pipe(
        Effect.map(({ action, content }): Answer => ({
          _tag: "Answered",
          action,
          // The content of an answer is a part of a message, so it is JSON.
          content: trust<Schema.Json>(content ?? {})
        })),
        Effect.catchIf((error) => !isOfCall(error), (error) => this.#unanswered(name, isFirst, error))
      )
      yield* this.#store(place, answer)
      this.wake()
    })
  }

  /** Stores that this call asks a question. Returns whether it is the first one. */
  #begin(name: string): Effect.Effect<boolean> {
    const place = WorkflowQuestions.askerOf(name)
    const begun = Effect.gen({ self: this }, function*() {
      const own = webCrypto.randomUUID()
      yield* this.#store(place, own)
      const stored = yield* EngineStore.retrying(this.#stored(place))
      return Option.isSome(stored) && Exit.isSuccess(stored.value) && stored.value.value === own
    })
    return this.#request.once(`workflow ${this.#executionId} asks ${name}`, { success: Schema.Boolean }, begun)
  }

  /**
   * Returns the answer to a question that the client has not answered. The question is left to the calls of this
   * process that wait for the execution as well. If none of them has an answer, the question may be open at the client
   * of a call that is elsewhere, or that goes on with the answer: then this call fails instead.
   */
  #unanswered(
    name: string,
    isFirst: boolean,
    error: RequestError.RequestError
  ): Effect.Effect<Answer, RequestError.RequestError> {
    const unavailable: Answer = { _tag: "Unavailable", problem: error.message }
    if (!this.#settings.isShared) return Effect.succeed(unavailable)
    const calls = () => WaitingCalls.of(this.#engine, this.#executionId)
    return Effect.gen({ self: this }, function*() {
      this.unanswerable.set(name, { isFirst })
      for (const call of calls()) call.wake()
      for (;;) {
        this.#others.closeUnsafe()
        if (calls().every((call) => call.unanswerable.has(name))) break
        yield* this.#others.await
      }
      const isOurs = calls().some((call) => call.unanswerable.get(name)?.isFirst === true)
      const isOpen = !isOurs && Option.isSome(
        yield* EngineStore.retrying(this.#stored(WorkflowQuestions.askerOf(name)))
      )
      return isOpen ? yield* error : unavailable
    })
  }
}

/**
 * Returns the id of the execution that calls with a payload share. A principal has executions of its own: by the
 * payload of another one, which models write, it would otherwise get the questions and the result of that one.
 */
const sharedId = (
  workflow: AnyWorkflow,
  payload: object,
  principal: string | undefined
): Effect.Effect<string> => {
  if (principal === undefined) return workflow.executionId(payload)
  // With the tag of the workflow, the key of an anonymous call could have the text of this one.
  const own = Workflow.make(`${workflow._tag} of a principal`, {
    payload: workflow.payloadSchema,
    idempotencyKey: (value) => JSON.stringify([principal, workflow.idempotencyKey(value)])
  })
  return own.executionId(payload)
}

/** Serves a call by an execution of the workflow. The payload is that of the schema of the workflow. */
export const serve = (
  workflow: AnyWorkflow,
  settings: Settings,
  payload: object
): Effect.Effect<unknown, unknown, RequestContext.RequestContext | WorkflowEngine> =>
  Effect.gen(function*() {
    const engine = yield* WorkflowEngine
    const request = yield* RequestContext.RequestContext
    const executionId = settings.isShared
      ? yield* sharedId(workflow, payload, settings.isOfAll ? undefined : request.principal?.id)
      : yield* request.once(
        `workflow ${workflow._tag}`,
        { success: Schema.String },
        Effect.sync(() => webCrypto.randomUUID())
      )
    return yield* new WorkflowCall(engine, workflow, executionId, request, settings).serve(payload)
  })
