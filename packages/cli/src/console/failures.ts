/**
 * The failures of commands, in the words of the console.
 */
import { type McpCall, ServerStatus } from "@effect-mcp/client"
import * as PlainText from "@effect-mcp/client/PlainText"
import type * as CloseReason from "@effect-mcp/protocol/CloseReason"
import { HandshakeError } from "@effect-mcp/session/HandshakeError"
import type { TransportError } from "@effect-mcp/session/TransportError"
import * as Data from "effect/Data"
import type { QuitError } from "effect/Terminal"
import type { InvalidArgumentsError } from "./arguments.ts"
import type { NoServer } from "./server.ts"

/** The error of a command that names something that the server does not have. */
export class Unknown extends Data.TaggedError("Unknown")<{
  readonly kind: string
  readonly name: string
  readonly known: ReadonlyArray<string>
}> {
  override get message(): string {
    const { kind, known, name } = this
    return `the server has no ${kind} ${JSON.stringify(name)}; it has ${known.length === 0 ? "none" : known.join(", ")}`
  }
}

/** The error of a command that the console does not know, or that lacks a word. */
export class InvalidCommand extends Data.TaggedError("InvalidCommand")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

/** A failure of a command. */
export type Failure =
  | McpCall.CallError
  | InvalidArgumentsError
  | InvalidCommand
  | NoServer
  | QuitError
  | TransportError
  | Unknown

/** The members in which an error has the one that caused it. */
const members = ["status", "problem", "error", "reason", "cause"]

/** Returns whether a failure was caused by the authorization, so that a sign-in may help. */
const isAboutAuthorization = (failure: unknown): boolean =>
  typeof failure === "object" && failure !== null && "_tag" in failure &&
  (failure._tag === "AuthorizationFailed" || failure._tag === "Unauthenticated" ||
    members.some((name) => isAboutAuthorization(Reflect.get(failure, name))))

const advice = "; the command login signs in, and so do the options --sign-in and --tokens"

/** Returns a failure in words, with the ways to sign in if that may help. */
export const describe = (failure: Failure): string => wordsOf(failure) + (isAboutAuthorization(failure) ? advice : "")

/** Returns a reason without the lines of standard error, which the console has shown before. */
const withoutStderr = (reason: CloseReason.CloseReason): CloseReason.CloseReason =>
  reason._tag === "PeerEnded" && reason.exit !== undefined
    ? { ...reason, exit: { ...reason.exit, stderr: [] } }
    : reason

const problemOf = (problem: ServerStatus.Problem): string => {
  if (problem._tag === "Ended") {
    return ServerStatus.describeProblem({ ...problem, reason: withoutStderr(problem.reason) })
  }
  if (problem._tag !== "ConnectFailed" || problem.error.reason._tag !== "Closed") {
    return ServerStatus.describeProblem(problem)
  }
  const { reason } = problem.error
  const error = new HandshakeError({ reason: { ...reason, reason: withoutStderr(reason.reason) } })
  return ServerStatus.describeProblem({ ...problem, error })
}

const wordsOf = (failure: Failure): string => {
  switch (failure._tag) {
    case "QuitError":
      return "cancelled"
    case "ServerUnavailableError": {
      const { server, status, unreachable } = failure
      const problem = unreachable === undefined
        ? status._tag === "Down" ? problemOf(status.problem) : undefined
        : PlainText.text(unreachable.message)
      return problem !== undefined
        ? `could not connect to ${PlainText.line(server)}: ${problem}`
        : `${PlainText.line(server)} is not available: ${ServerStatus.describe(status)}`
    }
    default:
      return failure.message
  }
}
