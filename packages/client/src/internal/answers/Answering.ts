/** The answers of one client, as the handlers and the capabilities of its sessions. */

import { type Capabilities, type Elicitation, ElicitationContent, McpError, Sampling } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import { ClientRequestContext } from "@effect-mcp/session/ClientRequestContext"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as Handlers from "@effect-mcp/session/Handlers"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as McpAnswers from "../../McpAnswers.ts"
import * as PlainText from "../../PlainText.ts"
import * as ServerLogs from "../logs/ServerLogs.ts"
import * as RootsSource from "./RootsSource.ts"
import * as SamplingLimit from "./SamplingLimit.ts"

type ServerHandlers = Handlers.Handlers<"server", unknown>
type Session = ClientSession.ClientSessionShape

/** The options of a session that answers add to. */
export interface AnsweringOptions {
  readonly handlers?: ServerHandlers
  readonly capabilities?: Capabilities.ClientCapabilities
}

/** The answers of one client. */
export interface Answering {
  readonly handlers: ServerHandlers
  readonly capabilities: Capabilities.ClientCapabilities
  /** Notifies a new session if it has received roots that have changed since. */
  readonly opened: (session: Session) => Effect.Effect<void>
  /** Notifies the session of the time of each change of the roots. */
  readonly follow: (session: () => Session | undefined) => Effect.Effect<void>
}

/** The error of a request for a message that was not approved (SMP-06). */
const userRejected = new McpError.McpError({ code: -1, message: "User rejected sampling request" })

/** Logs the problem of an answer. The server receives what has no words of the user, which is `sent`. */
const reject = (problem: string, sent: string): Effect.Effect<never, McpError.McpError> =>
  Effect.andThen(
    ServerLogs.within("answers", Effect.logError(Excerpt.line(problem))),
    Effect.fail(McpError.invalidAnswer(sent))
  )

/** Logs the problems of the fields of a form, which a program may word. The server receives the name of its field. */
const rejectFields = (
  { params }: McpAnswers.FormQuestion,
  { message, problems }: McpAnswers.InvalidAnswerError
): Effect.Effect<never, McpError.McpError> => {
  const own = problems.find(({ field }) => Object.hasOwn(params.requestedSchema.properties, field))
  return reject(
    message,
    own === undefined
      ? "it has a field that the form does not have"
      : `the value of ${JSON.stringify(Excerpt.of(own.field))} does not fit the form`
  )
}

/** Fails if an answer does not fit the form of its question. */
const checkForm = (
  { params, server }: McpAnswers.FormQuestion,
  result: Elicitation.ElicitResult
): Effect.Effect<Elicitation.ElicitResult, McpAnswers.InvalidAnswerError | McpError.McpError> => {
  if (result.action !== "accept") return Effect.succeed(result)
  const content = result.content ?? {}
  const problems = McpAnswers.check(params.requestedSchema, content)
  if (problems.length > 0) return Effect.fail(new McpAnswers.InvalidAnswerError({ server, problems }))
  // No content fits a form that requires a field which it does not have. The session would log each such answer.
  const checked = ElicitationContent.check(params.requestedSchema, content)
  return Result.isSuccess(checked)
    ? Effect.succeed(result)
    : reject(
      `the answer to a form of the server ${Excerpt.name(server)} was not sent: ${checked.failure}`,
      checked.failure
    )
}

/** Fails if a message is not allowed as the answer to its question. */
const checkSample = (
  { params, server }: McpAnswers.SampleQuestion,
  result: Sampling.CreateMessageResult
): Effect.Effect<Sampling.CreateMessageResult, McpError.McpError> => {
  const checked = Sampling.checkResult(params, result)
  return Result.isSuccess(checked)
    ? Effect.succeed(result)
    : reject(`the message for the server ${Excerpt.name(server)} was not sent: ${checked.failure}`, checked.failure)
}

/** The part of a question that does not depend on its kind. */
type Asker = Pick<McpAnswers.Question, "server" | "profile">

/** Makes a function that answers a question if it is approved. */
const answering =
  (server: string, approve: McpAnswers.Answers<unknown>["approve"]) =>
  <Question extends McpAnswers.Question, A>(
    ask: (asker: Asker) => Question,
    refused: Effect.Effect<A, McpError.McpError>,
    answer: (question: Question) => Effect.Effect<A, McpError.McpError, unknown>
  ): Effect.Effect<A, McpError.McpError, unknown> =>
    Effect.flatMap(ClientRequestContext, ({ profile }) => {
      const question = ask({ server, profile })
      return approve === undefined
        ? answer(question)
        : Effect.flatMap(approve(question), (isApproved) => isApproved ? answer(question) : refused)
    })

const declined = Effect.succeed(McpAnswers.decline)

/** Rejects a kind of elicitation for which no answer is given, as a session rejects an undeclared one (ELI-05). */
const notGiven = (mode: "form" | "url"): Effect.Effect<never, McpError.McpError> =>
  Effect.fail(McpError.invalidParams(`Elicitation by ${mode} is not supported`))

/**
 * Returns the problem of a page that no browser should open. Other schemes start programs, read files or run scripts.
 * User information hides the host, as in `https://example.com@other.example/`, and so do invisible characters.
 */
const pageProblem = (text: string): string | undefined => {
  if (!URL.canParse(text)) return "expected a URL"
  const url = new URL(text)
  if (url.protocol !== "https:" && url.protocol !== "http:") return "expected the scheme http or https"
  if (url.username !== "" || url.password !== "") return "expected a URL without user information"
  // A browser reads `https:evil` as a host, other programs as a path.
  if (!/^https?:\/\//i.test(text)) return "expected two slashes after the scheme"
  // Browsers read a backslash as a slash, other programs as a part of the user information.
  return text.includes("\\") || PlainText.line(text) !== text
    ? "expected a URL without backslashes, control characters and invisible characters"
    : undefined
}

/** Returns the handlers and the capabilities of answers. */
const serve = (
  server: string,
  { approve, elicit, elicitUrl, sample }: McpAnswers.Answers<unknown>,
  roots: RootsSource.RootsSource | undefined
): Required<AnsweringOptions> => {
  const answer = answering(server, approve)
  const elicited = (params: Elicitation.ElicitParams) => {
    // A person must not be asked by the policy about a question that nothing answers.
    if (params.mode === "url") {
      if (elicitUrl === undefined) return notGiven("url")
      const problem = pageProblem(params.url)
      return problem !== undefined
        ? Effect.fail(McpError.invalidParams(`Invalid params: url: ${problem}`))
        : answer(
          // The user sees the URL that a browser opens: the names of hosts of other scripts begin with `xn--`.
          (asker) => ({ _tag: "Url", params: { ...params, url: new URL(params.url).href }, ...asker }),
          declined,
          elicitUrl
        )
    }
    return elicit === undefined
      ? notGiven("form")
      : answer((asker) => ({ _tag: "Form", params, ...asker }), declined, (question) =>
        Effect.catch(
          Effect.flatMap(elicit(question), (result) => checkForm(question, result)),
          (error) => error._tag === "InvalidAnswerError" ? rejectFields(question, error) : Effect.fail(error)
        ))
  }
  const sampler = typeof sample === "function" ? { answer: sample } : sample
  // A program with a policy decides about each question itself.
  const bounded = approve === undefined ? SamplingLimit.make() : undefined
  return {
    handlers: {
      ...(elicit === undefined && elicitUrl === undefined ? {} : { "elicitation/create": elicited }),
      ...(sampler === undefined ? {} : {
        "sampling/createMessage": (params) => {
          const answered = answer(
            (asker) => ({ _tag: "Sample", params, ...asker }),
            Effect.fail(userRejected),
            (question) => Effect.flatMap(sampler.answer(question), (result) => checkSample(question, result))
          )
          return bounded === undefined ? answered : bounded(answered)
        }
      }),
      ...(roots === undefined ? {} : {
        "roots/list": (params) =>
          Effect.map(
            answer((asker) => ({ _tag: "Roots", params, ...asker }), Effect.succeed([]), roots.read),
            (list) => ({ roots: list })
          )
      })
    },
    capabilities: {
      ...(elicit === undefined && elicitUrl === undefined ? {} : {
        elicitation: { ...(elicit === undefined ? {} : { form: {} }), ...(elicitUrl === undefined ? {} : { url: {} }) }
      }),
      ...(sampler === undefined ? {} : { sampling: sampler.tools === true ? { tools: {} } : {} }),
      ...(roots === undefined ? {} : { roots: roots.followed === undefined ? {} : { listChanged: true } })
    }
  }
}

/** Adds handlers to given ones. Throws an error if both serve a method. */
const withHandlers = (given: ServerHandlers, own: ServerHandlers): ServerHandlers => {
  for (const method of Object.keys(own)) {
    if (!Object.hasOwn(given, method)) continue
    throw new Error(`the options handlers and answers of the client both serve ${method}; give one of them`)
  }
  return { ...given, ...own }
}

/** Adds capabilities to given ones, part by part. */
const withCapabilities = (
  given: Capabilities.ClientCapabilities,
  { elicitation, roots, sampling }: Capabilities.ClientCapabilities
): Capabilities.ClientCapabilities => ({
  ...given,
  ...(elicitation === undefined ? {} : { elicitation: { ...given.elicitation, ...elicitation } }),
  ...(sampling === undefined ? {} : { sampling: { ...given.sampling, ...sampling } }),
  ...(roots === undefined ? {} : { roots: { ...given.roots, ...roots } })
})

/** Adds the answers of a client to the options of its sessions. */
export const make = (
  server: string,
  answers: McpAnswers.Answers<unknown> = {},
  { capabilities = {}, handlers = {} }: AnsweringOptions
): Answering => {
  const roots = answers.roots === undefined ? undefined : RootsSource.make(answers.roots)
  const served = serve(server, answers, roots)
  const followed = roots?.followed
  return {
    handlers: withHandlers(handlers, served.handlers),
    capabilities: withCapabilities(capabilities, served.capabilities),
    // A session that is about to end needs no notification.
    opened: (session) =>
      Effect.suspend(() => followed?.isOutdated === true ? Effect.ignore(session.rootsListChanged) : Effect.void),
    follow: (session) =>
      followed === undefined ? Effect.void : Stream.runForEach(followed.changes, () =>
        Effect.suspend(() => {
          const present = session()
          return present === undefined ? Effect.void : Effect.ignore(present.rootsListChanged)
        }))
  }
}
