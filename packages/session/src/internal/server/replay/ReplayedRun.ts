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
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as RequestError from "../../../RequestError.ts"
import * as ClientQuestion from "../../engine/ClientQuestion.ts"
import type { IncomingRequest } from "../../engine/IncomingRequests.ts"
import * as OnceSteps from "../../engine/OnceSteps.ts"
import { type AnsweredQuestion, type JournalQuestion, QuestionJournal } from "./QuestionJournal.ts"
import * as RequestState from "./RequestState.ts"
import { RunFiber } from "./RunFiber.ts"
import { SentLogs } from "./SentLogs.ts"

/** The request of a run, and the server that serves it. */
export interface RunDependencies {
  readonly settings: RequestState.Settings
  readonly maxRounds: number
  readonly projection: RevisionProjection.Projection | undefined
}

/** A question without an answer, and the fibers that wait for it. */
interface Asked extends JournalQuestion {
  /** Resumes each of these fibers with another effect. */
  readonly waiting: Set<(next: Effect.Effect<unknown, RequestError.RequestError>) => void>
}

/** Asks in another way than by the result of the call. */
export type Ask = (
  method: string,
  params: object,
  key: string | undefined
) => Effect.Effect<unknown, RequestError.RequestError>

const noResponses: ReadonlyMap<string, unknown> = new Map()

/**
 * One run of a handler. When it asks, it waits; when nothing of it can go on without an answer, it is cut: its fibers
 * are interrupted, and the client receives all of its questions. The client repeats the request with the answers, and
 * another run takes them where this one asked. The journal of the call finds them.
 */
export class ReplayedRun {
  /** The request of the run, when its handler starts. */
  incoming: IncomingRequest | undefined
  readonly #dependencies: RunDependencies
  readonly #owner: RequestState.Owner
  readonly #profile: Profile.ClientProfile
  #journal = new QuestionJournal({ state: RequestState.initial, responses: noResponses })
  #steps: OnceSteps.OnceSteps | undefined
  #logs = new SentLogs({})
  readonly #fiber = new RunFiber({
    isWaiting: () => this.#open.size > 0 && this.#digesting === 0 && (this.#steps?.running ?? 0) === 0,
    onStuck: () => this.#suspend(),
    onClose: () => {
      this.#progress = this.incoming?.highest ?? Number.NEGATIVE_INFINITY
    },
    outcomeOf: (exit) => Exit.isSuccess(exit) ? exit : this.#failureOf(exit)
  })
  /** The questions without an answer by their keys. */
  readonly #open = new Map<string, Asked>()
  /** The number of digests that are being made. The run is not cut meanwhile. */
  #digesting = 0
  /** The highest progress when the run ended. Its finalizers may report more, which is not sent. */
  #progress = Number.NEGATIVE_INFINITY
  #isSuspended = false
  #isAsking = false
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

  /** Whether the run was cut at its questions, so that another run goes on if the client answers. */
  get isAsking(): boolean {
    return this.#isAsking
  }

  /** Serves the request: its result is that of the handler, or an `InputRequiredResult`. */
  serve<R>(handling: Effect.Effect<unknown, McpError.McpError, R>): Effect.Effect<unknown, McpError.McpError, R> {
    if (!RequestState.isRetry(this.#owner.params)) return this.#fiber.run(handling)
    const restored = RequestState.restore(this.#dependencies.settings, this.#owner)
    return Effect.flatMap(
      Effect.mapError(restored, ({ code, message }) => new McpError.McpError({ code, message })),
      ({ responses, state }) => {
        this.#journal = new QuestionJournal({ responses, state })
        this.#logs = new SentLogs(state.logs)
        // Progress that the client has received is not sent again.
        if (this.incoming !== undefined && state.progress !== undefined) this.incoming.highest = state.progress
        return this.#fiber.run(handling)
      }
    )
  }

  /** Calls a function when the handler has ended. Its finalizers may run for longer than the reply waits for them. */
  whenEnded(then: () => void): void {
    this.#fiber.whenEnded(then)
  }

  /** Whether the call has no result yet. */
  get isOpen(): boolean {
    return !this.#fiber.isClosed
  }

  /** The questions of this run that have an answer, in the order in which it has asked them. */
  get answers(): ReadonlyArray<AnsweredQuestion> {
    return this.#journal.answers
  }

  /** The steps that must not run again. */
  get steps(): OnceSteps.OnceSteps {
    return this.#onceSteps
  }

  /** Ends the run with this result, while its handler goes on as a task, whose questions are asked by `ask`. */
  detach(result: object, ask: Ask): void {
    if (this.#fiber.isClosed) return
    this.#ask = ask
    this.#fiber.detach(Effect.succeed(result), () => {
      for (const { given, question: { method, params = {} }, waiting } of this.#open.values()) {
        for (const resume of waiting) resume(ask(method, params, given))
      }
      this.#open.clear()
    })
  }

  /**
   * Returns whether a notification of the handler is sent. After the cut none is, because the next run sends it in its
   * place. Log messages that earlier runs have sent are not sent again.
   */
  admits(message: JsonRpc.Notification): boolean {
    if (this.#fiber.isClosed) return false
    return message.method !== "notifications/message" || this.#logs.admits(message)
  }

  /** Runs a step that must not run again. */
  once(
    key: string,
    schemas: OnceSteps.StepSchemas,
    step: Effect.Effect<unknown, unknown>
  ): Effect.Effect<unknown, unknown> {
    return Effect.suspend(() => this.#fiber.isClosed ? Effect.interrupt : this.#onceSteps.run(key, schemas, step))
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
          if (this.#fiber.isClosed) return this.#ask?.(name, params, key) ?? Effect.interrupt
          const entered = this.#journal.enter(digest, key)
          return Result.isFailure(entered)
            ? this.#fail(entered.failure)
            : this.#answerTo(entered.success, known, question, params, key)
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
      changed: () => this.#fiber.check()
    }, Object.entries(this.#journal.state.steps))
  }

  #digestOf(question: InputRequired.InputRequest): Effect.Effect<string> {
    return Effect.suspend(() => {
      const digest = RequestState.digest(this.#dependencies.settings, CanonicalJson.textOf(question))
      this.#digesting++
      return Effect.catch(
        Effect.onExit(digest, () =>
          Effect.sync(() => {
            this.#digesting--
            this.#fiber.check()
          })),
        () => this.#fail("the seal of the server failed")
      )
    })
  }

  #answerTo(
    key: string,
    row: ClientQuestion.QuestionRow,
    question: InputRequired.InputRequest,
    params: object,
    given: string | undefined
  ): Effect.Effect<unknown, RequestError.RequestError> {
    const answer = this.#journal.take(key, { question, given })
    if (answer !== undefined) {
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
          this.#fiber.wait(fiber)
          this.#fiber.check()
          return Effect.sync(() => {
            this.#fiber.leave(fiber)
            asked.waiting.delete(resumeWith)
            // A question that lost a race is not asked.
            if (asked.waiting.size === 0 && !this.#fiber.isClosed) this.#open.delete(key)
          })
        })
      ))
    )
  }

  // ===================================================================================================================
  // The end of the run
  // ===================================================================================================================

  /** Cuts the run at its questions, or fails if the handler asks in a way that no client could answer. */
  #suspend(): void {
    const { maxRounds } = this.#dependencies
    if (this.#journal.isAimless) {
      return this.#fiber.cut(failure(
        "it asks other questions in each run, and none of those that were answered: its questions depend on " +
          "something that changes between runs, such as the time; seal that thing with once"
      ))
    }
    if (this.#journal.state.round >= maxRounds) {
      return this.#fiber.cut(failure(`it asks in more than ${maxRounds} rounds (\`limits.maxRounds\`)`))
    }
    const questions = [...this.#open].map(([key, { question }]) => [key, question] as const)
    this.#isAsking = true
    this.#fiber.cut(this.#inputRequired(Object.fromEntries(questions), this.#journal.untaken))
  }

  /** Ends the run because of a mistake in the program. */
  #fail(problem: string): Effect.Effect<never> {
    return Effect.suspend(() => {
      this.#fiber.cut(failure(problem))
      return Effect.interrupt
    })
  }

  /** Returns the questions with the sealed state, which has all answers so far. */
  #inputRequired(
    questions: InputRequired.InputRequests,
    untaken: number
  ): Effect.Effect<unknown, McpError.McpError> {
    return Effect.suspend(() => {
      const { settings } = this.#dependencies
      const state = this.#journal.next(untaken, {
        steps: this.#steps === undefined ? this.#journal.state.steps : Object.fromEntries(this.#steps.results),
        ...(Number.isFinite(this.#progress) ? { progress: this.#progress } : undefined),
        logs: this.#logs.counts
      })
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
    if (this.#journal.state.round >= this.#dependencies.maxRounds) return Effect.fail(error)
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
          (digest) => ({ digest, question })
        )
      }),
      (asked) => {
        if (this.#journal.isDeclined) return Effect.fail(error)
        const questions = asked.map(({ digest, question }) => [this.#journal.enterVisit(digest), question] as const)
        return this.#inputRequired(Object.fromEntries(questions), 0)
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
