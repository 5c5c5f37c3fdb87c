/**
 * The failures of commands, in the words of the console.
 */
import { type McpCall, ServerStatus } from "@effect-mcp/client"
import * as PlainText from "@effect-mcp/client/PlainText"
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

/** Returns a failure in words. */
export const describe = (failure: Failure): string => {
  switch (failure._tag) {
    case "QuitError":
      return "cancelled"
    case "ServerUnavailableError": {
      const { server, status, unreachable } = failure
      const problem = unreachable === undefined
        ? status._tag === "Down" ? ServerStatus.describeProblem(status.problem) : undefined
        : PlainText.text(unreachable.message)
      return problem !== undefined
        ? `could not connect to ${PlainText.line(server)}: ${problem}`
        : `${PlainText.line(server)} is not available: ${ServerStatus.describe(status)}`
    }
    default:
      return failure.message
  }
}
