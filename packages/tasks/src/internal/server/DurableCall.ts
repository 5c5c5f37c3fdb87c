/**
 * A call of a session that goes on at the next owner of the session: a stored task without an id for the client.
 *
 * It has no lease. The owner of the session runs it, and the epoch of the session says whose changes count.
 */
import { ErrorCode, type JsonRpc, McpError } from "@effect-mcp/protocol"
import { monotonicMillis } from "@effect-mcp/session/internal"
import {
  ClientQuestion,
  DurableRequest,
  OnceSteps,
  OwnErrors,
  type StoredCall,
  type TaskServer
} from "@effect-mcp/session/internalEngine"
import { type QuestionOptions, RequestContext } from "@effect-mcp/session/RequestContext"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberMap from "effect/FiberMap"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import type * as StoredTask from "../../StoredTask.ts"
import { type Created, TaskStoreError } from "../../TaskStore.ts"
import * as DurableCallId from "../runs/DurableCallId.ts"
import { trust } from "../trust.ts"
import * as ForwardedContext from "./ForwardedContext.ts"
import * as QuestionOutcome from "./QuestionOutcome.ts"
import * as ResumedCall from "./ResumedCall.ts"
import * as StoredSteps from "./StoredSteps.ts"
import type { TaskEndpoint } from "./TaskEndpoint.ts"
import { TaskQuestions } from "./TaskQuestions.ts"

type Service = RequestContext["Service"]

type Handling<R> = Effect.Effect<unknown, McpError.McpError, R>

/** The number of times that the deletion of a call is tried, a second apart. */
const removeAttempts = 30

/** The attempts to store an answer or a cancellation, before its sender has to send it again. */
const attempts = { times: 2, schedule: Schedule.spaced("1 second") }

/** The time after which a question is asked again that could not be sent, in milliseconds. */
const askAgainMillis = 500

/** The number of times that an answer or a cancellation may be sent while it is being stored. */
const maxWaiting = 8

/** The error of a call whose task was deleted, or has got another owner. */
const lost = McpError.outcomeUnknown("The call is no longer stored, and its outcome is unknown")

/** The error of a call that was not carried out, because it is not certain whether the store has it. */
const notStored = McpError.received({
  code: ErrorCode.Overloaded,
  message: "Overloaded: the call could not be stored; send it again later"
})

/** The failure of a deletion by a process that does not have its lease now. */
const notOwned = new TaskStoreError({ cause: new Error("the process has no lease") })

/** Returns the name under which a call of this owner is deleted in the background. */
export const removalOf = (epoch: number, id: string): string => `${epoch} ${id}`

/** Lets a message wait for the one that is being stored. */
const wait = (waiting: Array<(isStored: boolean) => void>, acknowledge: (isStored: boolean) => void): void =>
  waiting.length < maxWaiting ? void waiting.push(acknowledge) : acknowledge(false)

/** The server of a call. */
interface CallServer {
  readonly endpoint: TaskEndpoint
  readonly server: TaskServer
  /** Whether the call ends with its process from its first question on. */
  readonly endsWithQuestion: boolean
}

/** The call, and the server that serves it. */
interface Dependencies extends CallServer {
  /** The id of the task. */
  readonly id: string
  readonly durable: DurableRequest
  readonly call: Service
  readonly asking: FiberMap.FiberMap<string>
  readonly fork: (effect: Effect.Effect<unknown>) => void
  /** Deletes the task in the background, in place of what deletes it already. */
  readonly remove: (removing: Effect.Effect<unknown>) => void
}

/** The run of a stored call. */
class DurableCall {
  readonly #dependencies: Dependencies
  readonly #id: string
  readonly #errors = new OwnErrors()
  /** The acknowledgements of answers that are being stored, by the keys of their questions. */
  readonly #storing = new Map<string, Array<(isStored: boolean) => void>>()
  /** The acknowledgements of a cancellation that is being stored. */
  #cancelling: Array<(isStored: boolean) => void> | undefined
  /** Completed when it is decided whether the call is stored. */
  readonly #begun = Deferred.makeUnsafe<void>()
  readonly #lost = Deferred.makeUnsafe<never, McpError.McpError>()
  /** Whether the run has found its task gone. */
  #isGone = false
  /** Whether the call is stored, and goes on at the next owner of its session. */
  #goesOn = false
  /** Whether the store has shown that the next owner has the call. A process that was paused may learn it here. */
  #isSuperseded = false

  constructor(dependencies: Dependencies) {
    this.#dependencies = dependencies
    this.#id = dependencies.id
  }

  /** Stores the call, unless it goes on here. Returns `undefined` without room for it. */
  begin(message: JsonRpc.Request): Effect.Effect<StoredTask.StoredTask | undefined, McpError.McpError> {
    return this.#begin(message).pipe(
      Effect.tap((task) =>
        Effect.sync(() => {
          this.#goesOn = task !== undefined
        })
      ),
      Effect.ensuring(Effect.sync(() => Deferred.doneUnsafe(this.#begun, Exit.void)))
    )
  }

  #begin(message: JsonRpc.Request): Effect.Effect<StoredTask.StoredTask | undefined, McpError.McpError> {
    const { call, durable: { earlier, epoch }, endpoint: { removals, runs } } = this.#dependencies
    // `StoredCalls` has taken it over.
    if (earlier !== undefined) return Effect.succeed(trust<StoredTask.StoredTask>(trust<StoredCall>(earlier.call).task))
    const { method, params } = message
    return Effect.clockWith((clock) => {
      const { lease: _, ...described } = runs.taskOf(
        {
          principal: call.principal?.id,
          request: { method, params },
          ttlMillis: Number.POSITIVE_INFINITY,
          resumption: ResumedCall.resumptionOf(call)
        },
        clock.currentTimeMillisUnsafe()
      )
      // An earlier call with the id of this one, which would delete it.
      const removed = FiberMap.remove(removals, removalOf(epoch, this.#id))
      return Effect.andThen(removed, this.#store({ ...described, id: this.#id, call: { epoch } }, clock))
    })
  }

  #store(
    task: StoredTask.StoredTask,
    clock: Clock.Clock
  ): Effect.Effect<StoredTask.StoredTask | undefined, McpError.McpError> {
    const { endpoint: { tasks, warnings } } = this.#dependencies
    const put = tasks.put(task)
    return put.pipe(
      Effect.flatMap((created) => created === "Taken" ? this.#settle(task, put) : Effect.succeed(created)),
      Effect.catch(() => this.#settle(task, put)),
      Effect.mapError(() => notStored),
      Effect.flatMap((created) => {
        switch (created) {
          case "Stored":
            return Effect.succeed(task)
          case "Taken":
            return Effect.fail(notStored)
          case "TooLarge":
          case "TooMany":
            return warnings.take(monotonicMillis(clock))
              ? Effect.as(
                Effect.logWarning("a call ends with its process: its principal has too many tasks"),
                undefined
              )
              : Effect.undefined
        }
      })
    )
  }

  /**
   * Finds out whether a task is stored, after the store has failed or had one with this id. What is not known would be
   * run again by the next owner, with the steps of this run missing.
   */
  #settle(
    task: StoredTask.StoredTask,
    put: Effect.Effect<Created, TaskStoreError>
  ): Effect.Effect<Created, TaskStoreError> {
    const { durable: { epoch }, endpoint: { tasks } } = this.#dependencies
    return Effect.flatMap(tasks.stored(this.#id), (found) => {
      if (found === undefined) return put
      if (found.createdAt === task.createdAt && this.#isOurs(found)) return Effect.succeed("Stored")
      // A client has used the id of its request before, and the call of that could not be deleted.
      return Effect.andThen(tasks.removeOwn(this.#id, ({ call }) => call !== undefined && call.epoch <= epoch), put)
    })
  }

  /** Runs the handler of the call. */
  run<R>(task: StoredTask.StoredTask, handling: Handling<R>): Handling<R> {
    const { durable } = this.#dependencies
    durable.begin()
    // A process that stops may have stored the call since then.
    durable.handOn()
    durable.afterReply((reply) => {
      // The next owner of the session has the call, or may have it. Without its reply, the call runs again when its
      // client resumes the stream.
      if (!this.#goesOn || durable.hasMoved || reply === "Lost") return
      if (reply === "Sent" || durable.isOwned) this.#removeLater(reply === "Sent")
    })
    const served = Effect.updateContext(handling, (services: Context.Context<never>) =>
      // The services of the call, with its own context in their place.
      trust<Context.Context<R>>(Context.add(services, RequestContext, this.#contextOf(task))))
    const adopted = Effect.andThen(
      Effect.forEach(
        task.questions.filter(({ answer, failure }) => answer === undefined && failure === undefined),
        (question) => this.#beginToAsk(question),
        { discard: true }
      ),
      Effect.sync(() => durable.earlier?.adopted())
    )
    return Effect.raceFirst(Effect.andThen(adopted, served), Deferred.await(this.#lost))
  }

  /** Leaves the call of a session that moves to its next owner. */
  get end(): Effect.Effect<void> {
    return Effect.suspend(() => {
      const { durable } = this.#dependencies
      // A run that was superseded counts as a start: a call that blocks its process until the lease is over may do so
      // each time.
      if (!this.#goesOn || !durable.isHandedOn) return Effect.void
      return durable.canResume ? this.#handOn : this.#remove
    })
  }

  #contextOf(task: StoredTask.StoredTask): Service {
    const { call, endpoint: { tasks }, server: { maxStepCharacters, projection } } = this.#dependencies
    const id = this.#id
    const steps = new OnceSteps.OnceSteps(
      { maxCharacters: maxStepCharacters },
      // `persist` has stored results of steps.
      task.steps.map(({ key, result }) => [key, trust<OnceSteps.StepResult>(result)] as const)
    )
    const isOurs = this.#isOurs
    const gone = this.#gone
    steps.persist = (key, result) => StoredSteps.persist({ tasks, id, isOurs, gone }, { key, result })
    const questions = new TaskQuestions({
      tasks,
      id,
      profile: call.profile,
      projection,
      runs: { isOurs, isHandedOn: () => this.#dependencies.durable.hasMoved },
      gone,
      asking: {
        nextId: () => this.#dependencies.durable.nextId(),
        begin: (question) => this.#beginToAsk(question),
        stop: (key) => FiberMap.remove(this.#dependencies.asking, key)
      }
    })
    const request = (
      name: string,
      params: object,
      options?: QuestionOptions
    ): ReturnType<TaskQuestions["ask"]> => {
      const row = ClientQuestion.rowOf(name)
      if (this.#dependencies.endsWithQuestion && this.#goesOn) {
        steps.persist = undefined
        return Effect.andThen(this.#leave, Effect.suspend(() => request(name, params, options)))
      }
      return row === undefined || !this.#goesOn
        // Its caller has the type of its params.
        ? trust<(...args: ReadonlyArray<unknown>) => ReturnType<TaskQuestions["ask"]>>(call.request)(
          name,
          params,
          options
        )
        : this.#errors.of(questions.ask(row, params, options))
    }
    const once = (key: string, schemas: OnceSteps.StepSchemas, step: Effect.Effect<unknown, unknown>) =>
      Effect.suspend(() => steps.run(key, schemas, Effect.andThen(this.#untilOwned(), step)))
    return ForwardedContext.make(() => call, {
      // The question checks the answer against the schema of its method, and the schemas decode to the types of a step.
      request: trust<Service["request"]>(request),
      once: trust<Service["once"]>(once),
      isHandedOn: Effect.sync(() => {
        const { durable } = this.#dependencies
        // `end` removes a call whose client cannot resume it. One that another process takes is decided there.
        return this.#goesOn &&
          (this.#isSuperseded || (durable.hasMoved && (!durable.isHandedOn || durable.canResume)))
      }),
      isOwnError: (error) => this.#errors.has(error) || call.isOwnError(error)
    })
  }

  /** Returns whether this process has the session, and so the call, and records if a later owner has it. */
  readonly #isOurs = ({ call, outcome }: Pick<StoredTask.StoredTask, "call" | "outcome">): boolean => {
    const { epoch } = this.#dependencies.durable
    this.#isSuperseded ||= call !== undefined && call.epoch > epoch
    return outcome === undefined && call?.epoch === epoch
  }

  /**
   * Waits until this process has the session for certain. Without this, a process that was paused before a step would
   * run it, although the next owner of the session has stored its result meanwhile.
   */
  #untilOwned(): Effect.Effect<void> {
    return Effect.suspend(() =>
      !this.#goesOn || this.#dependencies.durable.isOwned
        // Its client may be able to resume the stream by now, if the process stops.
        ? Effect.sync(() => this.#dependencies.durable.handOn())
        : Effect.andThen(Effect.interruptible(Effect.sleep("200 millis")), this.#untilOwned())
    )
  }

  /**
   * Ends the run with an error, because its task is gone. One that the next owner of the session has waits until its
   * copy of the session closes: the next owner replies itself.
   */
  get #gone(): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#isGone = true
      this.#loseIfGone()
      return Effect.interruptible(Effect.never)
    })
  }

  #loseIfGone(): void {
    const goesOnElsewhere = this.#isSuperseded || this.#dependencies.durable.hasMoved
    // A cancellation that is stored ends the run without a reply.
    if (!this.#isGone || goesOnElsewhere || this.#cancelling !== undefined) return
    Deferred.doneUnsafe(this.#lost, Exit.fail(lost))
  }

  // ===================================================================================================================
  // Questions
  // ===================================================================================================================

  #beginToAsk(question: StoredTask.TaskQuestion): Effect.Effect<void> {
    const { asking, durable } = this.#dependencies
    durable.handOn()
    return Effect.flatMap(FiberMap.has(asking, question.key), (isAsked) =>
      isAsked
        ? Effect.void
        : Effect.asVoid(FiberMap.run(asking, question.key, this.#ask(question), { startImmediately: true })))
  }

  /** Asks a question on the stream of the call, or waits for the answer to one that the client has. */
  #ask(question: StoredTask.TaskQuestion): Effect.Effect<void> {
    const { isSent, key, request: { method, params = {} }, requestId } = question
    const { durable, fork } = this.#dependencies
    const row = ClientQuestion.rowOf(method)
    // Each question of a durable call has an id, and a method that can be asked.
    if (row === undefined || requestId === undefined) return Effect.void
    const asked = durable.ask(trust<ClientQuestion.ServerRow>(row), params, {
      timeout: Number.POSITIVE_INFINITY,
      movable: {
        id: requestId,
        isSent: isSent === true || durable.earlier?.questions.has(requestId) === true,
        onSent: () => fork(this.#markSent(key)),
        isAnswered: () => this.#storing.has(key),
        onAnswer: (response, acknowledge) => this.#answer(key, QuestionOutcome.ofResponse(response), acknowledge)
      }
    })
    return Effect.catchCause(
      Effect.flatMap(Effect.result(asked), (response) => {
        // `onAnswer` has stored the outcome.
        if (QuestionOutcome.of(response) !== undefined || Result.isSuccess(response) || durable.isEnding) {
          return Effect.void
        }
        // The question is open in the store, and waits for its answer again. The client may have it if its stream has
        // stalled.
        const { reason } = response.failure
        const mayHaveIt = reason._tag === "SendFailed" && reason.error.reason._tag === "StreamStalled"
        const again = { ...question, isSent: isSent === true || mayHaveIt }
        return Effect.delay(Effect.suspend(() => this.#ask(again)), askAgainMillis)
      }),
      (cause) =>
        Cause.hasInterruptsOnly(cause) ? Effect.interrupt : Effect.logError("a question of a call failed", cause)
    )
  }

  /** Records that the client has a question: the events of its stream may be deleted before the call ends. */
  #markSent(key: string): Effect.Effect<void> {
    return Effect.ignoreCause(this.#dependencies.endpoint.tasks.change(this.#id, (task) =>
      this.#isOurs(task)
        ? {
          questions: task.questions.map((one) => one.key === key ? { ...one, isSent: true } : one),
          updatedAt: task.updatedAt
        }
        : undefined))
  }

  /** Stores an answer, and acknowledges it then. One that is sent again meanwhile is acknowledged with it. */
  #answer(
    key: string,
    outcome: QuestionOutcome.QuestionOutcome,
    acknowledge: (isStored: boolean) => void
  ): void {
    const waiting = this.#storing.get(key)
    if (waiting !== undefined) return wait(waiting, acknowledge)
    const acknowledgements = [acknowledge]
    this.#storing.set(key, acknowledgements)
    this.#dependencies.fork(Effect.map(this.#storeAnswer(key, outcome), (isStored) => {
      this.#storing.delete(key)
      for (const one of acknowledgements) one(isStored)
    }))
  }

  /** Returns whether the store has the answer, or the question is closed. Otherwise the sender sends it again. */
  #storeAnswer(key: string, outcome: QuestionOutcome.QuestionOutcome): Effect.Effect<boolean> {
    const { endpoint: { tasks } } = this.#dependencies
    let isOurs = false
    const store = (outcome: QuestionOutcome.QuestionOutcome) =>
      tasks.change(this.#id, (task) => {
        isOurs = this.#isOurs(task)
        const isOpen = isOurs &&
          task.questions.some((one) => one.key === key && one.answer === undefined && one.failure === undefined)
        return isOpen
          ? { questions: task.questions.map((one) => one.key === key ? { ...one, ...outcome } : one) }
          : undefined
      })
    const problem = "the answer does not fit into the bytes that all tasks of a principal may have together"
    const stored = Effect.flatMap(
      store(outcome),
      (changed) =>
        changed._tag === "TooLarge" ? store({ failure: { _tag: "InvalidResult", problem } }) : Effect.succeed(changed)
    )
    return Effect.matchCause(Effect.retry(stored, attempts), {
      onSuccess: ({ _tag }) => _tag === "Changed" || (_tag === "Unchanged" && isOurs),
      onFailure: () => false
    })
  }

  // ===================================================================================================================
  // The end of the call
  // ===================================================================================================================

  /** Stores a cancellation, and acknowledges it then. One that is sent again meanwhile is acknowledged with it. */
  cancel(acknowledge: (isStored: boolean) => void): void {
    const { durable, endpoint: { tasks }, fork } = this.#dependencies
    if (this.#cancelling !== undefined) return wait(this.#cancelling, acknowledge)
    const acknowledgements = this.#cancelling = [acknowledge]
    const cancelled = Effect.suspend(() =>
      this.#goesOn ? tasks.cancelOwn(this.#id, this.#isOurs) : Effect.succeed("Gone" as const)
    )
    const stored = Effect.matchCause(Effect.andThen(Deferred.await(this.#begun), Effect.retry(cancelled, attempts)), {
      onSuccess: (end) => end !== "Stays",
      onFailure: () => false
    })
    fork(Effect.map(stored, (isStored) => {
      this.#cancelling = undefined
      if (isStored && this.#goesOn) {
        this.#goesOn = false
        durable.leave()
        this.#removeLater(true)
      }
      for (const one of acknowledgements) one(isStored)
      if (!isStored) this.#loseIfGone()
    }))
  }

  /** Lets the call end with its process, as that of any other tool. Waits until no other process can run it again. */
  get #leave(): Effect.Effect<void> {
    const { durable, endpoint: { tasks } } = this.#dependencies
    const removed = Effect.suspend(() => tasks.removeOwn(this.#id, this.#isOurs))
    return Effect.andThen(
      Effect.orDie(Effect.retry(removed, { times: removeAttempts - 1, schedule: Schedule.spaced("1 second") })),
      Effect.sync(() => {
        this.#goesOn = false
        durable.leave()
      })
    )
  }

  /** A stop is no failure of the run, so that it does not count. */
  get #handOn(): Effect.Effect<void> {
    const { tasks } = this.#dependencies.endpoint
    return Effect.ignoreCause(tasks.change(this.#id, (task) => {
      const { resumption, updatedAt } = task
      return this.#isOurs(task) && resumption !== undefined
        ? { resumption: { ...resumption, runs: resumption.runs - 1 }, updatedAt }
        : undefined
    }))
  }

  /** A call that stays in the store is deleted by the next owner of its session, or when its lifetime is over. */
  get #remove(): Effect.Effect<void> {
    return Effect.ignoreCause(this.#dependencies.endpoint.tasks.removeOwn(this.#id, this.#isOurs))
  }

  /**
   * Deletes the call in the background. While the store fails, it is tried again: until then, the next owner could run
   * the call once more, and it counts in the limits of its principal.
   */
  #removeLater(hasReply: boolean): void {
    const { durable, endpoint: { tasks }, remove } = this.#dependencies
    // Nothing runs a call again that has its reply, unless this process has lost its lease meanwhile.
    const first = hasReply && durable.isOwned ? tasks.remove(this.#id) : tasks.removeOwn(this.#id, this.#isOurs)
    const again = Effect.suspend(() => {
      if (durable.hasMoved && !durable.isHandedOn) return Effect.void
      // The client of a call without a reply may resume its stream at the next owner.
      return hasReply || durable.isOwned ? tasks.removeOwn(this.#id, this.#isOurs) : Effect.fail(notOwned)
    })
    const retried = Effect.retry(again, { times: removeAttempts - 2, schedule: Schedule.spaced("1 second") })
    remove(Effect.ignoreCause(Effect.catch(first, () => Effect.delay(retried, "1 second"))))
  }
}

/** Serves a call of a resumable tool, which goes on at the next owner of its session. */
export const serve = <R>(
  server: CallServer,
  message: JsonRpc.Request,
  handling: Handling<R>
): Handling<R | RequestContext> =>
  Effect.flatMap(RequestContext, (call): Handling<R> => {
    const durable = DurableRequest.of(call)
    if (durable === undefined) return handling
    // A scope of its own: the questions end before the reply, and the handler keeps the scope of its request.
    return Effect.scopedWith((scope) =>
      // An interruption after the call was stored would leave it in the store.
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function*(): Effect.fn.Return<unknown, McpError.McpError, R> {
          const runFork = Effect.runForkWith(yield* Effect.context<never>())
          const { removals, runs } = server.endpoint
          const id = yield* DurableCallId.of(durable.session, call.id)
          const run = new DurableCall({
            ...server,
            id,
            durable,
            call,
            asking: yield* Scope.provide(FiberMap.make<string>(), scope),
            fork: (effect) => void runFork(runs.fork(Effect.asVoid(effect))),
            remove: (removing) => void runFork(FiberMap.run(removals, removalOf(durable.epoch, id), removing))
          })
          durable.onCancel((acknowledge) => run.cancel(acknowledge))
          const task = yield* run.begin(message)
          return yield* task === undefined
            ? restore(handling)
            : Effect.ensuring(restore(run.run(task, handling)), run.end)
        })
      )
    )
  })
