/** The rounds of a call whose server answers with questions, in a revision without a handshake. */

import {
  Capabilities,
  ErrorCode,
  InputRequired,
  JsonRpc,
  McpError,
  type Profile,
  Sampling,
  TaskExtension
} from "@effect-mcp/protocol"
import { Excerpt, ResultType } from "@effect-mcp/protocol/internal"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import type { Limits } from "../../Limits.ts"
import * as RequestError from "../../RequestError.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import type { Dispatch } from "../engine/Dispatch.ts"
import * as HandlerFiber from "../engine/HandlerFiber.ts"
import * as IncomingRequests from "../engine/IncomingRequests.ts"
import type { AttemptLayer } from "../engine/Layers.ts"
import type { Call } from "../engine/RequestSender.ts"
import { validate } from "../engine/validation.ts"
import * as Weight from "../engine/Weight.ts"
import { trust } from "../trust.ts"
import type { CallBounds } from "./CallBounds.ts"

/** The session whose calls take several rounds. */
export interface InputRoundsRuntime {
  readonly inflight: IncomingRequests.IncomingRequests
  readonly limits: Pick<Limits, "maxIncomingRequests" | "maxRounds">
  readonly timer: { now(): number }
  emit(event: SessionEvent): void
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
}

/** The client, whose handlers answer the questions. */
export interface InputRoundsDependencies {
  readonly server: Profile.ServerProfile
  readonly dispatch: Pick<Dispatch<unknown>, "prepare">
  readonly bounds: CallBounds
  /** The types of results that the client knows. */
  readonly resultTypes: ReadonlySet<string>
  /** The capabilities that the client declares in each request. */
  readonly declared: Capabilities.ClientCapabilities
  readonly contextOf: (
    request: IncomingRequests.IncomingRequest,
    message: JsonRpc.Request,
    profile: Profile.ServerProfile
  ) => Context.Context<unknown>
}

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
    // The params of each method are an object, which has no index signature in its type.
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
  readonly #dependencies: InputRoundsDependencies
  #questions = 0

  constructor(runtime: InputRoundsRuntime, dependencies: InputRoundsDependencies) {
    this.#runtime = runtime
    this.#dependencies = dependencies
  }

  /** Sends a request again with the answers to the questions of the server, until it has a result. */
  readonly layer: AttemptLayer = (send) => (call) => {
    const attempt = <R>(
      call: Call<R>,
      rounds: number
    ): Effect.Effect<JsonRpc.Success, RequestError.RequestError, R> =>
      Effect.flatMap(send(call), (answer) => {
        const type = this.#typeOf(call, answer.result)
        if (type === "complete") return Effect.succeed(answer)
        const required = this.#judge(call, answer.result, type, rounds)
        if (Result.isFailure(required)) return Effect.fail(invalid(call.row.name, required.failure))
        if (call.options.questions === "program") {
          return Effect.fail(
            RequestError.make(call.row.name, { _tag: "InputRequired", required: required.success })
          )
        }
        const retry = this.#dependencies.bounds.within(call, this.#retry(call.row.name, required.success, rounds))
        return Effect.flatMap(retry, (retry) =>
          Effect.mapError(
            attempt({ ...call, params: repeated(call.params, retry), isHeld: false }, rounds + 1),
            afterAnswers
          ))
      })
    return attempt(call, 0)
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
    questions: ReadonlyArray<readonly [key: string, question: InputRequired.InputRequest]>
  ): Effect.Effect<NonNullable<InputRequired.Retry["inputResponses"]>, RequestError.RequestError> {
    return Effect.map(
      Effect.forEach(
        questions,
        ([key, question]) => Effect.map(this.#answer(method, key, question), (answer) => [key, answer] as const),
        { concurrency }
      ),
      (answers) => Object.fromEntries(answers)
    )
  }

  /** Returns the type of a result; `undefined` for one that is not known (MSG-19). */
  #typeOf({ takesTask }: Call<unknown>, result: unknown): string | undefined {
    if (typeof result !== "object" || result === null) return "complete"
    const type = ResultType.of(result, this.#dependencies.resultTypes)
    // The caller of a call that becomes a task reads the task itself.
    if (type === TaskExtension.resultType) return takesTask ? "complete" : undefined
    return type
  }

  /** Returns the questions and the state of an answer, or the reason why the answer is invalid. */
  #judge(
    { row: { name } }: Call<unknown>,
    result: unknown,
    type: string | undefined,
    rounds: number
  ): Result.Result<InputRequired.InputRequiredResult, string> {
    if (type === undefined) return Result.fail(unknownType(result))
    if (!InputRequired.methods.has(name)) {
      return Result.fail(`the server asks questions in answer to ${name}, which must have a result`)
    }
    const { maxRounds } = this.#runtime.limits
    if (rounds >= maxRounds) {
      return Result.fail(
        `the server has asked ${maxRounds} times, and asks again; set limits.maxRounds to allow more`
      )
    }
    const required = validate(InputRequired.InputRequiredResult)(result)
    if (Result.isFailure(required)) return required
    const problem = this.tooMany(Object.keys(required.success.inputRequests ?? {}).length)
    return problem === undefined ? required : Result.fail(problem)
  }

  #retry(
    method: string,
    { inputRequests = {}, requestState }: InputRequired.InputRequiredResult,
    rounds: number
  ): Effect.Effect<InputRequired.Retry, RequestError.RequestError> {
    const state = requestState === undefined ? {} : { requestState }
    const questions = Object.entries(inputRequests)
    if (questions.length === 0) {
      // Without a pause, a server that sheds load this way would be asked as fast as it answers.
      const millis = Math.min(pause.first * 2 ** rounds, pause.longest)
      return Effect.as(Effect.sleep(Duration.millis(millis)), state)
    }
    return Effect.map(this.answers(method, questions), (inputResponses) => ({ inputResponses, ...state }))
  }

  /** Runs the handler of one question. It counts as a request of the server in flight. */
  #answer(
    asking: string,
    key: string,
    question: InputRequired.InputRequest
  ): Effect.Effect<{ readonly [name: string]: unknown }, RequestError.RequestError> {
    return Effect.callback((resume) => {
      const { method } = question
      const fail = (error: RequestError.RequestError) => resume(Effect.fail(error))
      const failed = (error: McpError.McpError) =>
        fail(RequestError.make(asking, { _tag: "QuestionFailed", method, error }))
      const problem = this.#undeclared(question)
      const message = requestOf(`question-${++this.#questions}`, question)
      const { bounds, contextOf, dispatch, server } = this.#dependencies
      const prepared = dispatch.prepare(message, server, true)
      if (problem !== undefined || Result.isFailure(prepared)) {
        const why = problem ?? (Result.isFailure(prepared) ? prepared.failure.message : "")
        return fail(invalid(asking, `the server's question ${shown(key)} cannot be answered: ${why}`))
      }
      const { inflight } = this.#runtime
      const request = IncomingRequests.make(message, undefined, Weight.of(question), undefined)
      const full = inflight.open(request)
      if (full !== undefined) return failed(overloaded(full))
      request.fiber = HandlerFiber.start(
        prepared.success,
        contextOf(request, message, server),
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
            if (bounds.hasEnded) return
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
    return Capabilities.declares(this.#dependencies.declared, needed)
      ? undefined
      : `${question.method} needs the capability ${JSON.stringify(needed)}, which this client has not declared`
  }
}

const unknownType = (result: unknown): string => {
  const type = Predicate.isObject(result) ? result["resultType"] : undefined
  return typeof type === "string" ? `resultType ${shown(type)} is not known` : "resultType is not a text"
}

/** Returns the error of a round after the first one. The server has received the call, even if not its last round. */
const afterAnswers = (error: RequestError.RequestError): RequestError.RequestError => {
  const { method, reason } = error
  switch (reason._tag) {
    case "Closed":
      return RequestError.make(method, { ...reason, isSent: true })
    case "SendFailed":
      return RequestError.make(method, { _tag: "OutcomeUnknown", error: reason.error })
    default:
      return error
  }
}

/** Returns the params of a request that is sent again. Nothing of an earlier round is sent (MRTR-15, MRTR-18). */
const repeated = (params: object, retry: InputRequired.Retry): object => {
  const { inputResponses: _, requestState: __, ...given }: InputRequired.Retry = params
  return { ...given, ...retry }
}
