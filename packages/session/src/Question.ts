/**
 * Questions that a handler returns instead of asking them: the declarative form of `RequestContext.elicit` and its
 * neighbours. A handler that has no answer yet returns what it needs, and runs again with the answers.
 *
 * @stability unstable
 */
import * as Effect from "effect/Effect"
import { trust } from "./internal/trust.ts"
import type { QuestionOptions } from "./RequestContext.ts"

const TypeId = "~@effect-mcp/session/Question"

/**
 * A question to the client: its key, and the effect that asks it.
 *
 * @category models
 */
export interface Question<out A, out E = never, out R = never> {
  readonly [TypeId]: typeof TypeId
  readonly key: string
  readonly ask: Effect.Effect<A, E, R>
}

/**
 * The answers that a handler has.
 *
 * @category models
 */
export interface Answers {
  /** Returns the answer to a question, or `undefined` if the question was not asked yet. */
  readonly to: <A, E, R>(question: Question<A, E, R>) => A | undefined
}

const RequiredTypeId = "~@effect-mcp/session/Question/Required"

/**
 * The questions that a handler returns instead of a result.
 *
 * @category models
 */
export interface Required<out E = never, out R = never> {
  readonly [RequiredTypeId]: typeof RequiredTypeId
  readonly questions: ReadonlyArray<Question<unknown, E, R>>
}

/**
 * Creates a question. `ask` receives the options with its key, and passes them on to any function that asks, such as
 * `RequestContext.elicit` or `McpRequest.elicit`. Without the options, the client receives the question under a digest
 * of its text, and not under its key. The key is unique in the call.
 *
 * @example
 * ```ts
 * import { Question, RequestContext } from "@effect-mcp/session"
 *
 * export const folders = Question.make("folders", (options) => RequestContext.listRoots(options))
 * ```
 *
 * @category constructors
 */
export const make = <A, E, R>(
  key: string,
  ask: (options: QuestionOptions) => Effect.Effect<A, E, R>
): Question<A, E, R> => ({ [TypeId]: TypeId, key, ask: Effect.suspend(() => ask({ key })) })

/**
 * Creates what a handler returns if it needs these answers first.
 *
 * @example
 * ```ts
 * import { Question, RequestContext } from "@effect-mcp/session"
 *
 * const folders = Question.make("folders", (options) => RequestContext.listRoots(options))
 *
 * export const keys = Question.required(folders).questions.map(({ key }) => key) // => ["folders"]
 * ```
 *
 * @category constructors
 */
export const required = <const Questions extends ReadonlyArray<Question<unknown, unknown, unknown>>>(
  ...questions: Questions
): Required<Effect.Error<Questions[number]["ask"]>, Effect.Services<Questions[number]["ask"]>> => ({
  [RequiredTypeId]: RequiredTypeId,
  // The type of the result has the failures and the services of each question.
  questions: trust(questions)
})

type ErrorOf<A> = A extends Required<infer E, unknown> ? E : never

type ServicesOf<A> = A extends Required<unknown, infer R> ? R : never

const isRequired = (value: unknown): value is Required<unknown, unknown> =>
  typeof value === "object" && value !== null && RequiredTypeId in value

const shown = (keys: Iterable<string>): string => [...keys].map((key) => JSON.stringify(key)).join(", ")

/** Returns the mistake in the questions of a handler: two have one key, or all were answered before. */
const mistakeIn = (
  questions: ReadonlyArray<Question<unknown, unknown, unknown>>,
  answered: ReadonlyMap<string, unknown>
): string | undefined => {
  const keys = new Set(questions.map(({ key }) => key))
  if (keys.size < questions.length) return `two of the questions ${shown(keys)} have the same key`
  if (!questions.every(({ key }) => answered.has(key))) return undefined
  return keys.size === 0 ? "it has no questions" : `the handler has the answers to ${shown(keys)}, and needs them again`
}

/**
 * Runs a handler that returns its questions. As long as it does, the questions without an answer are asked together,
 * and the handler runs again with all answers. A question that fails, because the client cannot answer or the user
 * declines, fails the effect.
 *
 * It works with clients of every revision, in the handlers that may ask. The handler runs once more for each round of
 * questions that are asked together. In revision 2026-07-28 it also runs again for each earlier round. It therefore
 * does its work only after it has all answers, or seals its steps with `RequestContext.once`.
 *
 * @example
 * ```ts
 * import { Content } from "@effect-mcp/protocol"
 * import { Question, RequestContext, ServerSession } from "@effect-mcp/session"
 * import * as Effect from "effect/Effect"
 *
 * const sure = Question.make("sure", (options) =>
 *   RequestContext.elicit({
 *     message: "Delete everything?",
 *     requestedSchema: { type: "object", properties: {} }
 *   }, options))
 *
 * export const handlers = ServerSession.handlers({
 *   "tools/call": () =>
 *     Question.answering((answers) => {
 *       const answer = answers.to(sure)
 *       if (answer === undefined) return Effect.succeed(Question.required(sure))
 *       return Effect.succeed({ content: [Content.text(answer.action === "accept" ? "deleted" : "kept")] })
 *     }).pipe(Effect.orDie)
 * })
 * ```
 *
 * @category combinators
 */
export const answering = <Handled extends Effect.Effect<unknown, unknown, unknown>>(
  handler: (answers: Answers) => Handled
): Effect.Effect<
  Exclude<Effect.Success<Handled>, Required<unknown, unknown>>,
  Effect.Error<Handled> | ErrorOf<Effect.Success<Handled>>,
  Effect.Services<Handled> | ServicesOf<Effect.Success<Handled>>
> => {
  const run = (answered: ReadonlyMap<string, unknown>): Effect.Effect<unknown, unknown, unknown> =>
    Effect.flatMap(
      // The answer of a key is the result of the question with this key.
      Effect.suspend(() => handler({ to: ({ key }) => trust(answered.get(key)) })),
      (result): Effect.Effect<unknown, unknown, unknown> => {
        if (!isRequired(result)) return Effect.succeed(result)
        const mistake = mistakeIn(result.questions, answered)
        if (mistake !== undefined) return Effect.die(new Error(`Question.required: ${mistake}`))
        return Effect.flatMap(
          Effect.forEach(
            result.questions.filter(({ key }) => !answered.has(key)),
            ({ ask, key }) => Effect.map(ask, (answer) => [key, answer] as const),
            { concurrency: "unbounded" }
          ),
          (asked) => run(new Map([...answered, ...asked]))
        )
      }
    )
  // The type has the failures and services of the handler, and of the questions that it may return.
  return trust(run(new Map()))
}
