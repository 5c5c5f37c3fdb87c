/** The rounds of a call whose server answers with questions, in a revision without a handshake. */

import {
  Capabilities,
  type CloseReason,
  ErrorCode,
  Excerpt,
  InputRequired,
  JsonRpc,
  McpError,
  type Profile,
  ResultType,
  Sampling,
  TaskExtension
} from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import * as HandlerFiber from "../engine/HandlerFiber.ts"
import * as IncomingRequests from "../engine/IncomingRequests.ts"
import type { Call, LaterResult } from "../engine/Sender.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"

/** The session whose calls take several rounds. */
export interface InputRoundsRuntime {
  readonly inflight: IncomingRequests.IncomingRequests
  readonly limits: Pick<Limits, "maxIncomingRequests" | "maxRounds">
  readonly timer: { now(): number }
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** The client, whose handlers answer the questions. */
export interface InputRoundsOwner {
  readonly dispatch: Pick<Dispatch<unknown>, "prepare">
  /** Returns the server's profile, if the session has no handshake. */
  readonly modernServer: () => Profile.ServerProfile | undefined
  /** Returns the capabilities that the client declares in each request. */
  readonly declaredCapabilities: () => Capabilities.ClientCapabilities
  /** Whether the client has declared tasks. */
  readonly hasTasks: boolean
  /** Waits for the result of a call that became a task. */
  readonly finishTask: (created: unknown) => Effect.Effect<object, RequestError.RequestError>
  readonly contextOf: (
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ServerProfile
  ) => Context.Context<unknown>
}

/** Returns whether a result is a task, which the server makes for clients that have declared tasks. */
const isTask = ({ resultType }: { readonly resultType?: unknown }): boolean => resultType === TaskExtension.resultType

/** The number of questions of one round that are answered at the same time. */
const concurrency = 16

/** The pauses before a request is sent again only with a state, in milliseconds. They double from round to round. */
const pause = { first: 100, longest: 5_000 }

/** The characters of a server's key that an error shows. */
const shownCharacters = 64

const shown = (text: string): string => JSON.stringify(Excerpt.of(text, shownCharacters))

const invalid = (method: string, problem: string): RequestError.RequestError =>
  RequestError.make(method, { _tag: "InvalidResult", problem })

const overloaded = (why: string): McpError.McpError => McpError.received({ code: ErrorCode.Overloaded, message: why })

/**
 * Returns the request that revisions with a handshake have for a question. A page has an id there, which no message of
 * this revision refers to.
 */
const requestOf = (id: string, { method, params = {} }: InputRequired.InputRequest): JsonRpc.Request =>
  JsonRpc.request(
    id,
    method,
    trust<JsonRpc.Params>(
      method === "elicitation/create" && "mode" in params && params.mode === "url"
        ? { ...params, elicitationId: id }
        : params
    )
  )

/** Returns the capability that a question needs. */
const capabilityFor = (question: InputRequired.InputRequest): Capabilities.Path => {
  switch (question.method) {
    case "elicitation/create":
      return question.params.mode === "url" ? "elicitation.url" : "elicitation.form"
    case "sampling/createMessage":
      return Sampling.usesTools(question.params) ? "sampling.tools" : "sampling"
    case "roots/list":
      return "roots"
  }
}

const errorIn = (cause: Cause.Cause<McpError.McpError>): McpError.McpError => {
  const found: Result.Result<unknown, unknown> = Cause.findError(cause)
  // A handler that was not type-checked may fail with any value.
  return Result.isSuccess(found) && found.success instanceof McpError.McpError ? found.success : McpError.internalError
}

/** Reads the answers of a server without a handshake, and answers its questions. */
export class InputRounds {
  readonly #runtime: InputRoundsRuntime
  readonly #owner: InputRoundsOwner
  readonly #ended = Deferred.makeUnsafe<CloseReason.CloseReason>()
  #questions = 0

  constructor(runtime: InputRoundsRuntime, owner: InputRoundsOwner) {
    this.#runtime = runtime
    this.#owner = owner
  }

  /** Fails the calls whose questions are being answered, because the session ends. */
  end(reason: CloseReason.CloseReason): void {
    Deferred.doneUnsafe(this.#ended, Exit.succeed(reason))
  }

  /**
   * Returns `undefined` for a result, and otherwise makes the additions with which the request is sent again, or the
   * result of a call that became a task.
   */
  next(
    call: Call,
    { result }: JsonRpc.Success
  ): Effect.Effect<InputRequired.Retry | LaterResult, RequestError.RequestError> | undefined {
    const server = this.#owner.modernServer()
    if (server === undefined || typeof result !== "object" || result === null) return undefined
    const type = ResultType.of(result)
    if (type === "complete") return undefined
    if (this.#owner.hasTasks && call.method === "tools/call" && isTask(result)) {
      return call.takesTask
        ? undefined
        : this.#inTime(call, Effect.map(this.#owner.finishTask(result), (later) => ({ later })))
    }
    const required = this.#judge(call, result, type)
    if (Result.isFailure(required)) return Effect.fail(invalid(call.method, required.failure))
    return call.isAnsweredByProgram
      ? Effect.fail(RequestError.make(call.method, { _tag: "InputRequired", required: required.success }))
      : this.#inTime(call, this.#retry(call, server, required.success))
  }

  /** Returns the problem of a server that asks this many questions at once, if they are too many. */
  tooMany(asked: number): string | undefined {
    const { maxIncomingRequests } = this.#runtime.limits
    return asked > maxIncomingRequests
      ? `the server asks ${asked} questions at once; ` +
        `set limits.maxIncomingRequests to allow more than ${maxIncomingRequests}`
      : undefined
  }

  /** Answers questions by the handlers of the session. `method` is that of the request that they belong to. */
  answers(
    method: string,
    server: Profile.ServerProfile,
    questions: ReadonlyArray<readonly [key: string, question: InputRequired.InputRequest]>
  ): Effect.Effect<NonNullable<InputRequired.Retry["inputResponses"]>, RequestError.RequestError> {
    return Effect.map(
      Effect.forEach(
        questions,
        ([key, question]) =>
          Effect.map(this.#answer({ method }, server, key, question), (answer) => [key, answer] as const),
        { concurrency }
      ),
      (answers) => Object.fromEntries(answers)
    )
  }

  /** Returns the questions and the state of an answer, or the reason why the answer is invalid. */
  #judge(
    call: Call,
    result: { readonly resultType?: unknown },
    type: string | undefined
  ): Result.Result<InputRequired.InputRequiredResult, string> {
    if (type === undefined) {
      const { resultType } = result
      return Result.fail(
        typeof resultType === "string" ? `resultType ${shown(resultType)} is not known` : "resultType is not a text"
      )
    }
    if (!InputRequired.methods.has(call.method)) {
      return Result.fail(`the server asks questions in answer to ${call.method}, which must have a result`)
    }
    const { maxRounds } = this.#runtime.limits
    if (++call.rounds > maxRounds) {
      return Result.fail(
        `the server has asked ${maxRounds} times, and asks again; set limits.maxRounds to allow more`
      )
    }
    const required = validate(InputRequired.InputRequiredResult)(result)
    if (Result.isFailure(required)) return required
    const problem = this.tooMany(Object.keys(required.success.inputRequests ?? {}).length)
    return problem === undefined ? required : Result.fail(problem)
  }

  /** Fails a call at its deadline, or at the end of the session. */
  #inTime<A>(
    call: Call,
    effect: Effect.Effect<A, RequestError.RequestError>
  ): Effect.Effect<A, RequestError.RequestError> {
    const closed = Effect.flatMap(
      Deferred.await(this.#ended),
      (reason) => Effect.fail(RequestError.make(call.method, { _tag: "Closed", reason, isSent: true }))
    )
    const open = Effect.raceFirst(effect, closed)
    if (call.deadline === Number.POSITIVE_INFINITY) return open
    return Effect.timeoutOrElse(open, {
      duration: Duration.millis(Math.max(call.deadline - this.#runtime.timer.now(), 0)),
      orElse: () =>
        Effect.fail(
          RequestError.make(call.method, {
            _tag: "Timeout",
            afterMillis: Math.round((call.deadline - call.startedAt) * 1000) / 1000
          })
        )
    })
  }

  #retry(
    call: Call,
    server: Profile.ServerProfile,
    { inputRequests = {}, requestState }: InputRequired.InputRequiredResult
  ): Effect.Effect<InputRequired.Retry, RequestError.RequestError> {
    const state = requestState === undefined ? {} : { requestState }
    const questions = Object.entries(inputRequests)
    if (questions.length === 0) {
      // Without a pause, a server that sheds load this way would be asked as fast as it answers.
      const millis = Math.min(pause.first * 2 ** (call.rounds - 1), pause.longest)
      return Effect.as(Effect.sleep(Duration.millis(millis)), state)
    }
    return Effect.map(
      this.answers(call.method, server, questions),
      (inputResponses) => ({ inputResponses, ...state })
    )
  }

  /** Runs the handler of one question. It counts as a request of the server in flight. */
  #answer(
    call: Pick<Call, "method">,
    server: Profile.ServerProfile,
    key: string,
    question: InputRequired.InputRequest
  ): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    return Effect.callback((resume) => {
      const { method } = question
      const fail = (error: RequestError.RequestError) => resume(Effect.fail(error))
      const failed = (error: McpError.McpError) =>
        fail(RequestError.make(call.method, { _tag: "QuestionFailed", method, error }))
      const problem = this.#undeclared(question)
      const message = requestOf(`question-${++this.#questions}`, question)
      const prepared = this.#owner.dispatch.prepare(message, server, true)
      if (problem !== undefined || Result.isFailure(prepared)) {
        const why = problem ?? (Result.isFailure(prepared) ? prepared.failure.message : "")
        return fail(invalid(call.method, `the server's question ${shown(key)} cannot be answered: ${why}`))
      }
      const { inflight } = this.#runtime
      const request = IncomingRequests.make(message, undefined, Weight.of(question), undefined)
      const full = inflight.open(request)
      if (full !== undefined) return failed(overloaded(full))
      request.fiber = HandlerFiber.start(
        prepared.success,
        this.#owner.contextOf(request, message, server),
        this.#runtime,
        (exit) => {
          const claimed = inflight.claimForReply(request)
          request.ended = true
          const cause = HandlerFiber.failureOf(exit, claimed)
          if (cause !== undefined) {
            this.#runtime.emit({ _tag: "HandlerFailed", method, cause })
            this.#runtime.fork(Effect.logError(`the handler of ${method} failed`, cause))
          }
          inflight.release(request)
          // A handler that another end has claimed was interrupted: for memory, unless the call has ended already.
          if (!claimed) {
            if (Deferred.isDoneUnsafe(this.#ended)) return
            return failed(overloaded("the handler was interrupted, because the memory budget is exhausted"))
          }
          // The result was checked against the schema of the method.
          if (Exit.isSuccess(exit)) resume(Effect.succeed(trust<{ readonly [name: string]: unknown }>(exit.value)))
          else failed(errorIn(exit.cause))
        }
      )
      if (request.ended) request.fiber.interruptUnsafe()
      return Effect.sync(() => {
        if (inflight.claim(request)) IncomingRequests.interrupt(request)
      })
    })
  }

  /** Returns the problem of a question that needs a capability that this client has not declared (MRTR-06). */
  #undeclared(question: InputRequired.InputRequest): string | undefined {
    const needed = capabilityFor(question)
    return Capabilities.declares(this.#owner.declaredCapabilities(), needed)
      ? undefined
      : `${question.method} needs the capability ${JSON.stringify(needed)}, which this client has not declared`
  }
}
