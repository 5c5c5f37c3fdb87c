/**
 * The status of a supervised client: whether its server can be called now.
 *
 * @stability unstable
 */
import { CloseReason, type Profile } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { HandshakeError } from "@effect-mcp/session/HandshakeError"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as PlainText from "./PlainText.ts"

/**
 * The reason why a server is down.
 *
 * - `ConnectFailed`: the last attempt to connect failed.
 * - `Ended`: the session ended. For a child process, `reason` has its exit.
 * - `Unresponsive`: the server did not answer a health check within `afterMillis`, and the client closed the session.
 * - `HealthCheckFailed`: a health check could not be sent, or its response could not be read, and the client closed the
 *   session.
 * - `TargetFailed`: the Layer of the transport, or a function of the options, failed with `cause`.
 * - `Stopped`: the scope of the client has closed.
 *
 * @category models
 */
export type Problem =
  | { readonly _tag: "ConnectFailed"; readonly error: HandshakeError }
  | { readonly _tag: "Ended"; readonly reason: CloseReason.CloseReason }
  | { readonly _tag: "Unresponsive"; readonly afterMillis: number }
  | { readonly _tag: "HealthCheckFailed"; readonly error: RequestError }
  | { readonly _tag: "TargetFailed"; readonly cause: unknown }
  | { readonly _tag: "Stopped" }

/**
 * The status of a client.
 *
 * - `Connecting`: the client connects. `attempt` counts from 1, and starts again after a session that stood. `problem`
 *   is the last reason why the server was down. `stray` is the beginning of the first text of the server that is no
 *   message.
 * - `Authorizing`: a person has to authorize the client, which then connects. `since` is the time at which the wait
 *   began, in milliseconds since 1970. `url` is the page to visit, and `code` the code to enter there, if they are
 *   known. `isQueued` states that the authorization at another server is shown first.
 * - `Ready`: a session is open with a server of this profile. `fellBack` states why the client guessed that the server
 *   needs a handshake: the server was silent, and may support a newer revision if it was only slow, or it sent an error
 *   without an id.
 * - `Closing`: the session has begun to close. Calls wait for the next one.
 * - `Down`: there is no session. The next attempt is due in `retryMillis`; `undefined` means that there is none,
 *   because the schedule or the client has ended.
 *
 * @category models
 */
export type ServerStatus =
  | { readonly _tag: "Connecting"; readonly attempt: number; readonly problem?: Problem; readonly stray?: string }
  | {
    readonly _tag: "Authorizing"
    readonly url: string | undefined
    readonly code: string | undefined
    readonly since: number
    readonly isQueued?: true
  }
  | { readonly _tag: "Ready"; readonly profile: Profile.ServerProfile; readonly fellBack?: string }
  | { readonly _tag: "Closing" }
  | {
    readonly _tag: "Down"
    readonly problem: Problem
    /** The number of attempts in a row without a session that stood. */
    readonly attempts: number
    readonly retryMillis: number | undefined
    /** The last lines of standard error of a child process: at most 20, of 1,000 characters each. */
    readonly stderr: ReadonlyArray<string>
  }

/**
 * Returns whether a status is the last one: the client does not connect again.
 *
 * @example
 * ```ts
 * import { ServerStatus } from "@effect-mcp/client"
 *
 * export const connecting = ServerStatus.isFinal({ _tag: "Connecting", attempt: 2 }) // => false
 * ```
 *
 * @category guards
 */
export const isFinal = (status: ServerStatus): boolean => status._tag === "Down" && status.retryMillis === undefined

/** The greatest length of a URL in a message: an authorization request has long parameters. */
const maxUrl = 4_096

/** The greatest length of a code in a message: usual ones have eight characters. */
const maxCode = 64

const textOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

const problemOf = (problem: Problem): string => {
  switch (problem._tag) {
    case "ConnectFailed":
      return problem.error.message
    case "Ended":
      return CloseReason.describe(problem.reason)
    case "Unresponsive":
      return `it did not answer a health check within ${problem.afterMillis} ms`
    case "HealthCheckFailed":
      return `a health check failed: ${problem.error.message}`
    case "TargetFailed":
      return textOf(problem.cause)
    case "Stopped":
      return "the client has ended with its scope"
  }
}

/**
 * Returns a problem in the words of logs and errors. Text of the server is escaped as by `PlainText`. The standard
 * error of a child process has several lines. A text of more than 4,096 characters is cut.
 *
 * @example
 * ```ts
 * import { ServerStatus } from "@effect-mcp/client"
 *
 * export const words = ServerStatus.describeProblem({ _tag: "Unresponsive", afterMillis: 10_000 })
 * // => "it did not answer a health check within 10000 ms"
 * ```
 *
 * @category formatting
 */
export const describeProblem = (problem: Problem): string => Excerpt.text(problemOf(problem))

/** The words of lines that state a cause. Others of the last lines are often a stack trace. */
const decisive = /error|exception|fatal|panic|cannot|denied|not found|no such/i

/** Returns the line of standard error that probably states the cause, in words. */
const stderrLine = (stderr: ReadonlyArray<string>): string => {
  const lines = stderr.map((line) => line.trim()).filter((line) => line !== "")
  const line = lines.findLast((line) => decisive.test(line)) ?? lines.at(-1)
  return line === undefined ? "" : `; on its standard error: ${Excerpt.line(line, Excerpt.defaultLength)}`
}

/** The words before the lines of standard error in the description of an exit. One line is enough in a sentence. */
const beforeTail = "; last lines of stderr:\n"

const sentenceOf = (problem: Problem): string => describeProblem(problem).split(beforeTail)[0] ?? ""

/**
 * Returns a status in the words of logs and errors. `Down` has one line of standard error, which states the cause if
 * one does. Text of the server is escaped and cut, as by {@link describeProblem}.
 *
 * @example
 * ```ts
 * import { ServerStatus } from "@effect-mcp/client"
 *
 * export const words = ServerStatus.describe({ _tag: "Connecting", attempt: 2 }) // => "connecting, attempt 2"
 * ```
 *
 * @category formatting
 */
export const describe = (status: ServerStatus): string => {
  switch (status._tag) {
    case "Connecting":
      return [
        `connecting, attempt ${status.attempt}`,
        ...status.problem === undefined ? [] : [`the last problem: ${sentenceOf(status.problem)}`],
        ...status.stray === undefined
          ? []
          : [`the server has sent a text that is no message: ${PlainText.json(Excerpt.of(status.stray, 200))}`]
      ].join("; ")
    case "Authorizing":
      return `it requires that a person authorizes this client since ${new Date(status.since).toISOString()}` +
        (status.url === undefined ? "" : `; visit ${PlainText.line(Excerpt.of(status.url, maxUrl))}`) +
        (status.code === undefined ? "" : `, and enter ${PlainText.line(Excerpt.of(status.code, maxCode))}`) +
        (status.isQueued === true ? "; the authorization at another server is shown first" : "")
    case "Ready": {
      const { info: { name, version }, revision } = status.profile
      return `ready: ${Excerpt.line(name, Excerpt.defaultLength)} ${Excerpt.line(version, Excerpt.defaultLength)}, ` +
        revision + (status.fellBack === undefined ? "" : `, because ${Excerpt.line(status.fellBack, 200)}`)
    }
    case "Closing":
      return "its session is closing"
    case "Down": {
      return `down after ${status.attempts} ${status.attempts === 1 ? "attempt" : "attempts"}: ` +
        `${sentenceOf(status.problem)}${stderrLine(status.stderr)}; ` +
        (status.retryMillis === undefined
          ? "no further attempt"
          : `the next attempt is due in ${status.retryMillis} ms`)
    }
  }
}
