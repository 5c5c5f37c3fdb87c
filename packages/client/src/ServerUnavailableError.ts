/**
 * The error of a call whose server is down.
 *
 * @stability unstable
 */
import { Excerpt } from "@effect-mcp/protocol/internal"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Data from "effect/Data"
import * as PermanentProblem from "./internal/PermanentProblem.ts"
import * as PlainText from "./PlainText.ts"
import * as ServerStatus from "./ServerStatus.ts"

const correctOrWait = "correct the cause, or set waitTimeout to wait longer"

const adviceFor = (status: ServerStatus.ServerStatus): string =>
  status._tag === "Down" && status.problem._tag === "Stopped"
    ? "call it while its scope is open"
    : ServerStatus.isFinal(status)
    ? "set reconnect to a schedule that goes on"
    : status._tag === "Down" && PermanentProblem.is(status.problem)
    ? "correct the cause"
    : status._tag === "Authorizing"
    ? "call it again after that, or set waitTimeout to wait longer"
    : status._tag === "Down" || (status._tag === "Connecting" && status.problem !== undefined)
    ? correctOrWait
    : "set waitTimeout to wait longer"

/**
 * The error of a call that found no session with its server. Nothing was sent. `waitedMillis` is the time that the call
 * waited for the server: less than its `waitTimeout` if the client does not connect again, or cannot connect before the
 * cause is corrected.
 *
 * @example
 * ```ts
 * import { ServerUnavailableError } from "@effect-mcp/client"
 *
 * const error = new ServerUnavailableError.ServerUnavailableError({
 *   server: "files",
 *   status: { _tag: "Connecting", attempt: 3 },
 *   waitedMillis: 10_000
 * })
 *
 * export const advice = error.message.split("; ").slice(1)
 * // => ["the call waited 10000 ms", "set waitTimeout to wait longer"]
 * ```
 *
 * @category errors
 */
export class ServerUnavailableError extends Data.TaggedError("ServerUnavailableError")<{
  readonly server: string
  readonly status: ServerStatus.ServerStatus
  readonly waitedMillis: number
  /** The last failure to connect, if the session is open. Over HTTP, a session outlives that its server is away. */
  readonly unreachable?: RequestError
}> {
  override get message(): string {
    const { server, status, unreachable, waitedMillis } = this
    const [problem, advice] = unreachable === undefined
      ? [ServerStatus.describe(status), adviceFor(status)]
      : [Excerpt.text(unreachable.message), correctOrWait]
    return `the server ${PlainText.json(server)} is not available: ${problem}; ` +
      `the call waited ${waitedMillis} ms; ${advice}`
  }
}
