/**
 * Answers to the questions of servers: forms and pages for the user, messages of a model, and the roots of the client.
 * Each answer is a function or a value of the program, and a policy decides first whether a question is answered.
 *
 * @stability unstable
 */
import {
  type Elicitation,
  ElicitationContent,
  type ElicitationSchema,
  type McpError,
  type MethodTable,
  type Profile,
  type Roots,
  type Sampling
} from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { ClientRequestContext } from "@effect-mcp/session/ClientRequestContext"
import type * as Handlers from "@effect-mcp/session/Handlers"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import type * as SubscriptionRef from "effect/SubscriptionRef"

/**
 * The part that all questions have: the server, and the params of its request.
 *
 * @category models
 */
export interface Asked<Tag extends string, Params> {
  readonly _tag: Tag
  /** The name that the program gave to the client of the server. Show it to the user (ELI-16). */
  readonly server: string
  /** The profile of the server, with the name that it gives itself. */
  readonly profile: Profile.ServerProfile
  readonly params: Params
}

/**
 * A question for the user: an elicitation by form.
 *
 * @category models
 */
export interface FormQuestion extends Asked<"Form", Elicitation.FormParams> {}

/**
 * A page that the user is to visit: an elicitation by URL.
 *
 * @category models
 */
export interface UrlQuestion extends Asked<"Url", Elicitation.UrlParams> {}

/**
 * A request for a message of the client's model.
 *
 * @category models
 */
export interface SampleQuestion extends Asked<"Sample", Sampling.CreateMessageParams> {}

/**
 * A request for the client's roots.
 *
 * @category models
 */
export interface RootsQuestion extends Asked<"Roots", MethodTable.ParamsOf<"roots/list">> {}

/**
 * A question of a server.
 *
 * @category models
 */
export type Question = FormQuestion | UrlQuestion | SampleQuestion | RootsQuestion

/**
 * The problem of one field of a form, such as "is less than 18".
 *
 * @category models
 */
export interface FieldProblem {
  readonly field: string
  readonly problem: string
}

/** The most problems in the message of an error. The server chooses the number of fields. */
const describedProblems = 20

const describe = (problems: ReadonlyArray<FieldProblem>): string => {
  const described = problems.slice(0, describedProblems)
    .map(({ field, problem }) => `${Excerpt.name(field)} ${problem}`)
  const others = problems.length - described.length
  return Excerpt.line([...described, ...(others === 0 ? [] : [`and ${others} more`])].join("; "))
}

/**
 * The error of values that do not fit their form. The server does not receive the values.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 *
 * const error = new McpAnswers.InvalidAnswerError({
 *   server: "booking",
 *   problems: [{ field: "age", problem: "is less than 18" }]
 * })
 *
 * export const message = error.message
 * // => "the answer to a form of the server \"booking\" does not fit it, and was not sent: \"age\" is less than 18"
 * ```
 *
 * @category errors
 */
export class InvalidAnswerError extends Data.TaggedError("InvalidAnswerError")<{
  readonly server: string
  /** The problems, in the order of the form's fields. There is at least one. */
  readonly problems: ReadonlyArray<FieldProblem>
}> {
  override get message(): string {
    return `the answer to a form of the server ${Excerpt.name(this.server)} does not fit it, and was not sent: ` +
      describe(this.problems)
  }
}

/** The services that each answer has: the request of the server, and a scope that closes after the answer. */
type Provided = ClientRequestContext | Scope.Scope

/**
 * A model that answers servers, with what it can do. `McpSampling.make` makes one from a `LanguageModel`.
 *
 * @category models
 */
export interface Sampler<out R = never> {
  readonly answer: (
    question: SampleQuestion
  ) => Effect.Effect<Sampling.CreateMessageResult, McpError.McpError, R | Provided>
  /** Whether servers may offer tools to the model (SMP-02). Default: no. */
  readonly tools?: boolean
}

/**
 * The roots of a client. The changes of a `SubscriptionRef` are sent to the servers.
 *
 * @category models
 */
export type RootsAnswer<R = never> =
  | ReadonlyArray<Roots.Root>
  | SubscriptionRef.SubscriptionRef<ReadonlyArray<Roots.Root>>
  | Effect.Effect<ReadonlyArray<Roots.Root>, McpError.McpError, R | Provided>
  | ((question: RootsQuestion) => Effect.Effect<ReadonlyArray<Roots.Root>, McpError.McpError, R | Provided>)

/**
 * The answers of a client. It declares the capabilities of those that are given, and rejects all other questions.
 *
 * An answer is interrupted when the server cancels its question. A server may ask several questions at once.
 *
 * @category models
 */
export interface Answers<R = never> {
  /**
   * Answers a form: with {@link accept}, {@link decline} or {@link cancel}. Content that does not fit the form is not
   * sent: the error is logged, and the server receives −31011.
   */
  readonly elicit?: (
    question: FormQuestion
  ) => Effect.Effect<Elicitation.ElicitResult, McpError.McpError | InvalidAnswerError, R | Provided>
  /**
   * Asks the user for consent to open a page, and opens it: answers {@link consent}, {@link decline} or {@link cancel}.
   * The page must not be opened before (ELI-11). A URL that does not begin with `http://` or `https://`, or has user
   * information, backslashes, control characters or invisible characters, is rejected with −32602 before `approve`.
   * `url` is as a browser opens it: the name of a host with letters of other scripts begins with `xn--`. A page at this
   * machine or in its network (`http://127.0.0.1:8080/`) is not rejected: show the whole URL.
   */
  readonly elicitUrl?: (
    question: UrlQuestion
  ) => Effect.Effect<Elicitation.ElicitResult, McpError.McpError, R | Provided>
  /**
   * Answers with a message of a model: by a function, or by a {@link Sampler} if servers may offer tools. Without
   * `approve`, a server is answered 60 times at once, and then once per second; of these, 4 run at once, and the others
   * wait. A request beyond that is rejected with −31010.
   */
  readonly sample?: Sampler<R>["answer"] | Sampler<R>
  /** Answers with the folders that servers may use: `file://` URIs (ROOT-03). */
  readonly roots?: RootsAnswer<R>
  /**
   * Decides whether a question is answered, before any of these answers runs. This is the place to ask a person. A
   * question that is not approved is declined (elicitations), rejected with −1 (sampling, SMP-06), or answered with no
   * roots. Default: every question is answered.
   */
  readonly approve?: (question: Question) => Effect.Effect<boolean, McpError.McpError, R | Provided>
}

/** The services that one answer needs. */
type NeededBy<Answer> = Answer extends Effect.Effect<infer _A, infer _E, infer R> ? R
  : Answer extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
  : Answer extends { readonly answer: (...args: never) => Effect.Effect<infer _A, infer _E, infer R> } ? R
  : never

/**
 * The services that answers need, without those that every answer has.
 *
 * @category models
 */
export type ServicesOf<A> = {
  [Name in keyof A]-?: Exclude<NeededBy<NonNullable<A[Name]>>, Provided>
}[keyof A]

/** The method that each answer serves. */
interface MethodOf {
  readonly elicit: "elicitation/create"
  readonly elicitUrl: "elicitation/create"
  readonly sample: "sampling/createMessage"
  readonly roots: "roots/list"
}

/** The methods of the answers that are given for sure. */
type MethodsOf<A> = {
  [Name in keyof MethodOf]: A extends { readonly [Given in Name]: {} } ? MethodOf[Name] : never
}[keyof MethodOf]

/** A type that no record with an answer of another name satisfies, so that a misspelled name does not compile. */
type Only<A> = { readonly [Name in Exclude<keyof A, keyof Answers>]: "is no answer" }

/** A type that no handlers satisfy that serve a method of these answers, because they would pass by `approve`. */
type HandlersBeside<H, A> =
  & Handlers.Only<H, "server">
  & {
    readonly [Method in Extract<keyof H, MethodsOf<A>>]: "is answered by the option answers"
  }

/**
 * A type that no options satisfy with a misspelled answer, or with handlers of a method that these answers serve.
 *
 * @category models
 */
export interface Checked<H, A> {
  readonly handlers?: HandlersBeside<H, A>
  readonly answers?: Only<A>
}

/**
 * Returns answers unchanged. Their types are checked here, and not where they are used.
 *
 * @example
 * ```ts
 * import { McpAnswers, McpClient, McpTarget } from "@effect-mcp/client/node"
 * import * as Effect from "effect/Effect"
 *
 * const answers = McpAnswers.make({
 *   elicit: (question) =>
 *     Effect.gen(function*() {
 *       yield* Effect.logInfo(`${question.server} asks: ${question.params.message}`)
 *       return yield* McpAnswers.accept(question, { sure: true })
 *     }),
 *   roots: [{ uri: "file:///home/ada/notes" }],
 *   approve: ({ server }) => Effect.succeed(server === "files")
 * })
 *
 * export const client = McpClient.layer(McpTarget.command("node", ["files.mjs"]), {
 *   info: { name: "app", version: "1.0.0" },
 *   name: "files",
 *   answers
 * })
 * ```
 *
 * @category constructors
 */
export const make = <const A extends Answers<unknown>>(answers: A & Only<A>): A => answers

/**
 * Lists the problems of the content of a form: fields that are missing, values that do not match their fields, and
 * values that belong to no field.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 * import type { ElicitationSchema } from "@effect-mcp/protocol"
 *
 * const form: ElicitationSchema.ElicitationSchema = {
 *   type: "object",
 *   properties: { age: { type: "integer", minimum: 18 }, name: { type: "string" } },
 *   required: ["name"]
 * }
 *
 * export const problems = McpAnswers.check(form, { age: 17 })
 * // => [{ field: "age", problem: "is less than 18" }, { field: "name", problem: "is missing" }]
 * ```
 *
 * @category guards
 */
export const check = (
  { properties, required = [] }: ElicitationSchema.ElicitationSchema,
  content: ElicitationContent.ElicitationContent
): ReadonlyArray<FieldProblem> => {
  // Not `includes`: 24,000 required fields would take 3 seconds.
  const needed = new Set(required)
  const ofForm = Object.entries(properties).flatMap(([field, schema]): ReadonlyArray<FieldProblem> => {
    const value = Object.hasOwn(content, field) ? content[field] : undefined
    if (value === undefined) return needed.has(field) ? [{ field, problem: "is missing" }] : []
    const checked = ElicitationContent.check({ type: "object", properties: { [field]: schema } }, { [field]: value })
    // The check begins its message with the name of the field.
    return Result.isSuccess(checked)
      ? []
      : [{ field, problem: checked.failure.slice(JSON.stringify(field).length).trimStart() }]
  })
  const unknown = Object.keys(content).filter((field) => !Object.hasOwn(properties, field))
  return [...ofForm, ...unknown.map((field) => ({ field, problem: "is no field of the form" }))]
}

/**
 * The values of a form by the names of its fields. A field without a value is left out.
 *
 * @category models
 */
export interface FormValues {
  readonly [field: string]: ElicitationContent.ElicitationContent[string] | undefined
}

/**
 * Answers a form with values. Fields without a value get the default of the form, if it has one (ELI-08). Fails with
 * {@link InvalidAnswerError}, which names the fields, if the values do not fit the form (ELI-07): the program can ask
 * its user again.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const answers = McpAnswers.make({
 *   elicit: (question) =>
 *     McpAnswers.accept(question, { name: "Ada", guests: 3 }).pipe(
 *       Effect.catchTag("InvalidAnswerError", ({ problems }) =>
 *         Effect.as(Effect.logWarning(problems.map(({ field }) => field)), McpAnswers.cancel))
 *     )
 * })
 * ```
 *
 * @category answers
 */
export const accept = (
  { params, server }: FormQuestion,
  values: FormValues = {}
): Effect.Effect<Elicitation.ElicitResult, InvalidAnswerError> =>
  Effect.suspend(() => {
    const given = Object.entries(values).flatMap(([field, value]) =>
      value === undefined ? [] : [[field, value] as const]
    )
    const content = ElicitationContent.withDefaults(params.requestedSchema, Object.fromEntries(given))
    const problems = check(params.requestedSchema, content)
    return problems.length === 0
      ? Effect.succeed({ action: "accept", content })
      : Effect.fail(new InvalidAnswerError({ server, problems }))
  })

/**
 * The answer of a user who agrees to open a page.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const answers = (
 *   ask: (question: string) => Effect.Effect<boolean>,
 *   open: (url: string) => Effect.Effect<void>
 * ) =>
 *   McpAnswers.make({
 *     elicitUrl: ({ params, server }) =>
 *       Effect.flatMap(ask(`${server}: ${params.message} Open ${params.url}?`), (agrees) =>
 *         agrees ? Effect.as(open(params.url), McpAnswers.consent) : Effect.succeed(McpAnswers.decline))
 *   })
 * ```
 *
 * @category answers
 */
export const consent: Elicitation.ElicitResult = { action: "accept" }

/**
 * The answer of a user who declines.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * export const answers = McpAnswers.make({ elicit: () => Effect.succeed(McpAnswers.decline) })
 * ```
 *
 * @category answers
 */
export const decline: Elicitation.ElicitResult = { action: "decline" }

/**
 * The answer of a user who makes no choice, such as one who closes the dialog.
 *
 * @example
 * ```ts
 * import { McpAnswers } from "@effect-mcp/client"
 * import * as Effect from "effect/Effect"
 *
 * // This program has no user who could answer.
 * export const answers = McpAnswers.make({ elicit: () => Effect.succeed(McpAnswers.cancel) })
 * ```
 *
 * @category answers
 */
export const cancel: Elicitation.ElicitResult = { action: "cancel" }
