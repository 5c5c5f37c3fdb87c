/** One run of a handler that may ask its client, in a revision without requests of the server. */

import {
  Capabilities,
  Elicitation,
  ErrorCode,
  type InputRequired,
  type JsonRpc,
  McpError,
  type Profile,
  type RevisionProjection
} from "@effect-mcp/protocol"
import { CanonicalJson } from "@effect-mcp/protocol/internal"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scheduler from "effect/Scheduler"
import * as RequestError from "../../../RequestError.ts"
import * as ClientQuestion from "../../engine/ClientQuestion.ts"
import type { IncomingRequest } from "../../engine/IncomingRequests.ts"
import * as OnceSteps from "../../engine/OnceSteps.ts"
import { trust } from "../../trust.ts"
import * as RequestState from "./RequestState.ts"
import { RunScheduler } from "./RunScheduler.ts"
import { SentLogs } from "./SentLogs.ts"

/** The request of a run, and the server that serves it. */
export interface RunDependencies {
  readonly settings: RequestState.Settings
  readonly maxRounds: number
  readonly projection: RevisionProjection.Projection | undefined
}

/** A question without an answer, and the fibers that wait for it. */
interface Asked {
  readonly question: InputRequired.InputRequest
  /** The key that the program has given. */
  readonly given: string | undefined
  /** Resumes each of these fibers with another effect. */
  readonly waiting: Set<(next: Effect.Effect<unknown, RequestError.RequestError>) => void>
}

/** A question with its answer. */
export interface AnsweredQuestion {
  readonly question: InputRequired.InputRequest
  /** The key that the program has given. */
  readonly given: string | undefined
  readonly answer: unknown
}

/** Asks in another way than by the result of the call. */
export type Ask = (
  method: string,
  params: object,
  key: string | undefined
) => Effect.Effect<unknown, RequestError.RequestError>

/** The time that the finalizers of a run that is cut have, in milliseconds. Then the questions are sent anyway. */
const finalizersMillis = 1_000

/** The most runs in a row that may take none of the answers to the questions before. */
const maxUntaken = 5

/** Begins the keys of pages that a handler has failed for. Its next run takes no answer to them. */
const visitPrefix = "visit."

const noResponses: ReadonlyMap<string, unknown> = new Map()

/**
 * One run of a handler. When it asks, it waits; when nothing of it can go on without an answer, it is cut: its fibers
 * are interrupted, and the client receives all of its questions. The client repeats the request with the answers, and
 * another run takes them where this one asked.
 *
 * A failure or an interruption that is raised where the handler asks would not do: `catchCause` and `race` swallow
 * both. The run is therefore interrupted from outside, and whatever the handler makes of that is dropped.
 */
export class ReplayedRun {
  /** The request of the run, when its handler starts. */
  incoming: IncomingRequest | undefined
  readonly #dependencies: RunDependencies
  readonly #owner: RequestState.Owner
  readonly #profile: Profile.ClientProfile
  #state = RequestState.initial
  #responses = noResponses
  #steps: OnceSteps.OnceSteps | undefined
  #scheduler: RunScheduler | undefined
  #dispatcher: Scheduler.SchedulerDispatcher | undefined
  #root: Fiber.Fiber<unknown, McpError.McpError> | undefined
  #resume: ((outcome: Effect.Effect<unknown, McpError.McpError>) => void) | undefined
  /** The questions without an answer by their keys. */
  readonly #open = new Map<string, Asked>()
  readonly #waiting = new Set<Fiber.Fiber<unknown, unknown>>()
  /** The digests of all questions of this run by their keys. */
  readonly #questions = new Map<string, string>()
  readonly #occurrences = new Map<string, number>()
  readonly #taken = new Map<string, unknown>()
  readonly #answers: Array<AnsweredQuestion> = []
  /** The number of digests that are being made. The run is not cut meanwhile. */
  #digesting = 0
  /** The number of runs in a row, this one included, that took none of the answers to the questions before. */
  #untaken = 0
  #logs = new SentLogs({})
  /** The highest progress when the run ended. Its finalizers may report more, which is not sent. */
  #progress = Number.NEGATIVE_INFINITY
  #isClosed = false
  #isChecking = false
  #isSuspended = false
  /** Asks the questions of a handler that goes on as a task. */
  #ask: Ask | undefined

  constructor(dependencies: RunDependencies, owner: RequestState.Owner, profile: Profile.ClientProfile) {
    this.#dependencies = dependencies
    this.#owner = owner
    this.#profile = profile
  }

  /** Whether the reply has questions, and no result. */
  get isSuspended(): boolean {
    return this.#isSuspended
  }

  /** Serves the request: its result is that of the handler, or an `InputRequiredResult`. */
  serve<R>(handling: Effect.Effect<unknown, McpError.McpError, R>): Effect.Effect<unknown, McpError.McpError, R> {
    if (!RequestState.isRetry(this.#owner.params)) return this.#run(handling)
    const restored = RequestState.restore(this.#dependencies.settings, this.#owner)
    return Effect.flatMap(
      Effect.mapError(restored, ({ code, message }) => new McpError.McpError({ code, message })),
      ({ responses, state }) => {
        this.#state = state
        this.#responses = responses
        this.#logs = new SentLogs(state.logs)
        // Progress that the client has received is not sent again.
        if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress
        return this.#run(handling)
      }
    )
  }

  /** Calls a function when the handler has ended. Its finalizers may run for longer than the reply waits for them. */
  whenEnded(then: () => void): void {
    if (this.#root === undefined || this.#ask !== undefined) then()
    else this.#root.addObserver(() => then())
  }

  /** Whether the call has no result yet. */
  get isOpen(): boolean {
    return !this.#isClosed
  }

  /** The questions of this run that have an answer, in the order in which it has asked them. */
  get answers(): ReadonlyArray<AnsweredQuestion> {
    return this.#answers
  }

  /** The steps that must not run again. */
  get steps(): OnceSteps.OnceSteps {
    return this.#onceSteps
  }

  /** Ends the run with this result, while its handler goes on as a task, whose questions are asked by `ask`. */
  detach(result: object, ask: Ask): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#ask = ask
    for (const { given, question: { method, params = {} }, waiting } of this.#open.values()) {
      for (const resume of waiting) resume(ask(method, params, given))
    }
    this.#open.clear()
    this.#resume?.(Effect.succeed(result))
  }

  /**
   * Returns whether a notification of the handler is sent. After the cut none is, because the next run sends it in its
   * place. Log messages that earlier runs have sent are not sent again.
   */
  admits(message: JsonRpc.Notification): boolean {
    if (this.#isClosed) return false
    return message.method !== "notifications/message" || this.#logs.admits(message)
  }

  /** Runs a step that must not run again. */
  once(
    key: string,
    schemas: OnceSteps.StepSchemas,
    step: Effect.Effect<unknown, unknown>
  ): Effect.Effect<unknown, unknown> {
    return Effect.suspend(() => this.#isClosed ? Effect.interrupt : this.#onceSteps.run(key, schemas, step))
  }

  /** Asks the client: returns its answer, or waits until the run is cut (MRTR-01). */
  ask(
    row: { readonly name: string },
    params: object,
    key: string | undefined
  ): Effect.Effect<unknown, RequestError.RequestError> {
    return OnceSteps.outside(
      row.name,
      Effect.suspend(() => {
        const { name } = row
        const known = ClientQuestion.rowOf(name)
        if (known === undefined) return Effect.fail(RequestError.make(name, { _tag: "StatelessModeNotSupported" }))
        const blocked = ClientQuestion.blocked(known, params, this.#profile)
        if (blocked !== undefined) return Effect.fail(RequestError.make(name, blocked))
        const question = ClientQuestion.make(known, params, this.#profile, this.#dependencies.projection)
        return Effect.flatMap(this.#digestOf(question), (digest) => {
          if (this.#isClosed) return this.#ask?.(name, params, key) ?? Effect.interrupt
          const own = key ?? this.#keyOf(digest)
          const { questions } = this.#state
          const before = this.#questions.get(own) ?? (Object.hasOwn(questions, own) ? questions[own] : undefined)
          if (before !== undefined && before !== digest) {
            return this.#fail(`two different questions have the key ${JSON.stringify(own)}`)
          }
          this.#questions.set(own, digest)
          return this.#answerTo(own, known, question, params, key)
        })
      })
    )
  }

  // ===================================================================================================================
  // Questions and answers
  // ===================================================================================================================

  get #onceSteps(): OnceSteps.OnceSteps {
    return this.#steps ??= new OnceSteps.OnceSteps({
      maxCharacters: this.#dependencies.settings.maxCharacters,
      changed: () => this.#check()
    }, Object.entries(this.#state.steps))
  }

  #digestOf(question: InputRequired.InputRequest): Effect.Effect<string> {
    return Effect.suspend(() => {
      const digest = RequestState.digest(this.#dependencies.settings, CanonicalJson.textOf(question))
      this.#digesting++
      return Effect.catch(
        Effect.onExit(digest, () =>
          Effect.sync(() => {
            this.#digesting--
            this.#check()
          })),
        () => this.#fail("the seal of the server failed")
      )
    })
  }

  /**
   * Returns the key of a question: its digest, and the number of times that it was asked before. Its position would not
   * do: if branches change their order, the answer to one question would be given to another.
   */
  #keyOf(digest: string): string {
    const occurrence = this.#occurrences.get(digest) ?? 0
    this.#occurrences.set(digest, occurrence + 1)
    return occurrence === 0 ? digest : `${digest}.${occurrence + 1}`
  }

  #answerTo(
    key: string,
    row: ClientQuestion.QuestionRow,
    question: InputRequired.InputRequest,
    params: object,
    given: string | undefined
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const answer = this.#takeAnswer(key)
    if (answer !== undefined) {
      this.#answers.push({ question, given, answer })
      const problem = ClientQuestion.problemOf(row, params, answer)
      return problem === undefined
        ? Effect.succeed(answer)
        : Effect.fail(RequestError.make(row.name, { _tag: "InvalidResult", problem }))
    }
    return Effect.withFiber((fiber) =>
      // Interruptible in uninterruptible code as well. Otherwise the cut could not end it.
      Effect.interruptible(Effect.flatten(
        Effect.callback<Effect.Effect<unknown, RequestError.RequestError>>((resume) => {
          const asked = this.#open.get(key) ?? { question, given, waiting: new Set() }
          const resumeWith = (next: Effect.Effect<unknown, RequestError.RequestError>) => resume(Effect.succeed(next))
          asked.waiting.add(resumeWith)
          this.#open.set(key, asked)
          this.#waiting.add(fiber)
          this.#check()
          return Effect.sync(() => {
            this.#waiting.delete(fiber)
            asked.waiting.delete(resumeWith)
            // A question that lost a race is not asked.
            if (asked.waiting.size === 0 && !this.#isClosed) this.#open.delete(key)
          })
        })
      ))
    )
  }

  /** Returns the answer to a question. One in the state wins, because the client cannot change it. */
  #takeAnswer(key: string): unknown {
    const answer = Object.hasOwn(this.#state.answers, key) ? this.#state.answers[key] : this.#responses.get(key)
    if (answer !== undefined) this.#taken.set(key, answer)
    return answer
  }

  // ===================================================================================================================
  // The run
  // ===================================================================================================================

  #run<R>(handling: Effect.Effect<unknown, McpError.McpError, R>): Effect.Effect<unknown, McpError.McpError, R> {
    return Effect.withFiber((outer) => {
      const parent = Context.get(outer.context, Scheduler.Scheduler)
      const scheduler = this.#scheduler = new RunScheduler(parent, () => this.#check())
      this.#dispatcher = outer.currentDispatcher
      return Effect.callback<unknown, McpError.McpError>((resume) => {
        this.#resume = resume
        // The outer fiber runs in the context of the handler.
        const context = trust<Context.Context<R>>(outer.context)
        const root = this.#root = Effect.runForkWith(context)(handling, { scheduler })
        root.addObserver((exit) => this.#finish(exit))
        return Effect.suspend(() => {
          this.#close()
          return Fiber.interrupt(root)
        })
      })
    })
  }

  /** Ends the run with the exit of its handler, unless it was cut before. */
  #finish(exit: Exit.Exit<unknown, McpError.McpError>): void {
    if (this.#isClosed) return
    this.#close()
    this.#resume?.(Exit.isSuccess(exit) ? exit : this.#failureOf(exit))
  }

  /** Ends the questions of the run. Detached fibers may wait for answers that no client will give. */
  #close(): void {
    this.#isClosed = true
    this.#progress = this.incoming?.highest ?? Number.NEGATIVE_INFINITY
    for (const fiber of this.#waiting) fiber.interruptUnsafe()
  }

  /** Looks in the next turn of the scheduler whether the run can go on. All microtasks are done then. */
  #check(): void {
    if (this.#isChecking || !this.#mayBeCut) return
    this.#isChecking = true
    this.#dispatcher?.scheduleTask(() => {
      this.#isChecking = false
      if (this.#mayBeCut && this.#scheduler?.isIdle === true) this.#suspend()
    }, 0)
  }

  get #mayBeCut(): boolean {
    return !this.#isClosed && this.#open.size > 0 && this.#digesting === 0 && (this.#steps?.running ?? 0) === 0
  }

  /** Cuts the run at its questions, or fails if the handler asks in a way that no client could answer. */
  #suspend(): void {
    const { maxRounds } = this.#dependencies
    const answered = Object.keys(this.#answered).filter((key) => !key.startsWith(visitPrefix))
    // A branch that waited for a timer before may be the first one to ask now. Its question is new, too.
    this.#untaken = answered.length > 0 && !answered.some((key) => this.#taken.has(key)) ? this.#state.untaken + 1 : 0
    if (this.#untaken > maxUntaken) {
      return this.#cut(failure(
        "it asks other questions in each run, and none of those that were answered: its questions depend on " +
          "something that changes between runs, such as the time; seal that thing with once"
      ))
    }
    if (this.#state.round >= maxRounds) {
      return this.#cut(failure(`it asks in more than ${maxRounds} rounds (\`limits.maxRounds\`)`))
    }
    const questions = [...this.#open].map(([key, { question }]) => [key, question] as const)
    this.#cut(this.#inputRequired(Object.fromEntries(questions)))
  }

  /** Ends the run because of a mistake in the program. */
  #fail(problem: string): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#cut(failure(problem))
      return Effect.interrupt
    })
  }

  /** Ends the run with this outcome, whatever its handler makes of its interruption. */
  #cut(outcome: Effect.Effect<unknown, McpError.McpError>): void {
    if (this.#isClosed) return
    this.#close()
    const root = this.#root
    root?.interruptUnsafe()
    const isEnded = root === undefined || root.pollUnsafe() !== undefined
    this.#resume?.(
      isEnded
        ? outcome
        : Effect.andThen(Effect.timeoutOption(Fiber.await(root), finalizersMillis), outcome)
    )
  }

  /** Returns the questions with the sealed state, which has all answers so far. */
  #inputRequired(questions: InputRequired.InputRequests): Effect.Effect<unknown, McpError.McpError> {
    return Effect.suspend(() => {
      const { settings } = this.#dependencies
      const state: RequestState.RequestState = {
        round: this.#state.round + 1,
        // An answer that no question took is kept: a race leaves one, and the next run may take it.
        answers: { ...this.#answered, ...Object.fromEntries(this.#taken), ...this.#state.answers },
        questions: { ...this.#state.questions, ...Object.fromEntries(this.#questions) },
        untaken: this.#untaken,
        steps: this.#steps === undefined ? this.#state.steps : Object.fromEntries(this.#steps.results),
        ...(Number.isFinite(this.#progress) ? { progress: this.#progress } : undefined),
        logs: this.#logs.counts
      }
      const sealed = RequestState.seal(settings, this.#owner, state)
      return Effect.catch(sealed, () => failure("its state could not be sealed")).pipe(
        Effect.flatMap((requestState) => {
          if (requestState === undefined) {
            return failure(
              `its state has more than ${settings.maxCharacters} characters (\`limits.maxRequestStateCharacters\`)`
            )
          }
          this.#isSuspended = true
          return Effect.succeed({ inputRequests: questions, requestState })
        })
      )
    })
  }

  /** The new answers to questions that earlier runs have asked. */
  get #answered(): { readonly [key: string]: unknown } {
    return Object.fromEntries(
      [...this.#responses].filter(([key]) => Object.hasOwn(this.#state.questions, key))
    )
  }

  /** Returns the failure of the handler in the terms of this revision. */
  #failureOf(exit: Exit.Failure<unknown, McpError.McpError>): Effect.Effect<unknown, McpError.McpError> {
    for (const reason of exit.cause.reasons) {
      if (Cause.isFailReason(reason)) {
        const pages = Elicitation.requiredUrls(reason.error)
        if (pages !== undefined && pages.length > 0) return this.#visit(pages, reason.error)
      }
      if (Cause.isDieReason(reason) && reason.defect instanceof RequestError.RequestError) {
        const error = reason.defect.reason
        if (error._tag === "MissingCapability") {
          return Effect.fail(McpError.missingCapability(this.#owner.method, Capabilities.ofPath(error.capability)))
        }
      }
    }
    return exit
  }

  /** Asks the user to visit these pages, because the handler has failed until then (ELI-14). */
  #visit(
    pages: ReadonlyArray<Elicitation.UrlParams>,
    error: McpError.McpError
  ): Effect.Effect<unknown, McpError.McpError> {
    if (this.#profile.capabilities.elicitation?.url === undefined) {
      return Effect.fail(McpError.missingCapability(this.#owner.method, { elicitation: { url: {} } }))
    }
    if (this.#state.round >= this.#dependencies.maxRounds) return Effect.fail(error)
    return Effect.flatMap(
      Effect.forEach(pages, (page) => {
        const question = ClientQuestion.make(
          ClientQuestion.elicitation,
          page,
          this.#profile,
          this.#dependencies.projection
        )
        return Effect.map(
          Effect.catch(
            RequestState.digest(this.#dependencies.settings, CanonicalJson.textOf(question)),
            () => Effect.fail(error)
          ),
          (digest) => ({ key: `${visitPrefix}${digest}.${this.#state.round + 1}`, digest, question })
        )
      }),
      (asked) => {
        const declined = [...this.#responses].some(([key, answer]) =>
          Object.hasOwn(this.#state.questions, key) && isDeclined(answer)
        )
        if (declined) return Effect.fail(error)
        for (const { digest, key } of asked) this.#questions.set(key, digest)
        return this.#inputRequired(Object.fromEntries(asked.map(({ key, question }) => [key, question])))
      }
    )
  }
}

const failure = (problem: string): Effect.Effect<never, McpError.McpError> => {
  const message = `the call cannot go on: ${problem}`
  return Effect.andThen(
    Effect.logError(message),
    Effect.fail(new McpError.McpError({ code: ErrorCode.InternalError, message }))
  )
}

const isDeclined = (answer: unknown): boolean =>
  typeof answer === "object" && answer !== null && "action" in answer && answer.action !== "accept"
