/**
 * The status of a supervised client: whether its server can be called now.
 */
import { CloseReason, type Profile } from "@effect-mcp/protocol"
import type { HandshakeError } from "@effect-mcp/session/HandshakeError"

/**
 * The reason why a server is down.
 *
 * - `ConnectFailed`: the last attempt to connect failed.
 * - `Ended`: the session ended. For a child process, `reason` has its exit and the last lines of its standard error.
 * - `Unresponsive`: the server did not answer a health check within `afterMillis`, and the client closed the session.
 * - `TargetFailed`: the Layer of the transport failed with `cause`.
 *
 * @category models
 */
export type Problem =
  | { readonly _tag: "ConnectFailed"; readonly error: HandshakeError }
  | { readonly _tag: "Ended"; readonly reason: CloseReason.CloseReason }
  | { readonly _tag: "Unresponsive"; readonly afterMillis: number }
  | { readonly _tag: "TargetFailed"; readonly cause: unknown }

/**
 * The status of a client.
 *
 * - `Connecting`: the client connects. `attempt` counts from 1, and starts again after a session that stood.
 * - `Ready`: a session is open with a server of this profile.
 * - `Down`: there is no session. The next attempt is due in `retryMillis`; `undefined` means that there is none,
 *   because the schedule has ended.
 *
 * @category models
 */
export type ServerStatus =
  | { readonly _tag: "Connecting"; readonly attempt: number }
  | { readonly _tag: "Ready"; readonly profile: Profile.ServerProfile }
  | {
    readonly _tag: "Down"
    readonly problem: Problem
    /** The number of attempts in a row without a session that stood. */
    readonly attempts: number
    readonly retryMillis: number | undefined
  }

const textOf = (cause: unknown): string => cause instanceof Error ? cause.message : String(cause)

/**
 * Returns a problem in the words of logs and errors.
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
export const describeProblem = (problem: Problem): string => {
  switch (problem._tag) {
    case "ConnectFailed":
      return problem.error.message
    case "Ended":
      return CloseReason.describe(problem.reason)
    case "Unresponsive":
      return `it did not answer a health check within ${problem.afterMillis} ms`
    case "TargetFailed":
      return textOf(problem.cause)
  }
}

/**
 * Returns a status in the words of logs and errors.
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
      return `connecting, attempt ${status.attempt}`
    case "Ready":
      return `ready: ${status.profile.info.name} ${status.profile.info.version}, ${status.profile.revision}`
    case "Down":
      return `down after ${status.attempts} ${status.attempts === 1 ? "attempt" : "attempts"}: ` +
        `${describeProblem(status.problem)}; ` +
        (status.retryMillis === undefined
          ? "no further attempt"
          : `the next attempt is due in ${status.retryMillis} ms`)
  }
}

/**
 * Returns the last lines of standard error of a child process that has ended, if its end is the problem.
 *
 * @example
 * ```ts
 * import { ServerStatus } from "@effect-mcp/client"
 *
 * export const lines = ServerStatus.stderr({
 *   _tag: "Ended",
 *   reason: { _tag: "PeerEnded", exit: { exitCode: 1, signal: undefined, stderr: ["no such table"] } }
 * }) // => ["no such table"]
 * ```
 *
 * @category accessors
 */
export const stderr = (problem: Problem): ReadonlyArray<string> => {
  const reason = problem._tag === "Ended"
    ? problem.reason
    : problem._tag === "ConnectFailed" && problem.error.reason._tag === "Closed"
    ? problem.error.reason.reason
    : undefined
  return reason?._tag === "PeerEnded" ? reason.exit?.stderr ?? [] : []
}
