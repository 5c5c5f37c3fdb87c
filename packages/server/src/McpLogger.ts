/**
 * A logger that sends what handlers log to the client whose request they serve.
 *
 * @stability unstable
 */
import type { Logging } from "@effect-mcp/protocol"
import { RequestContext } from "@effect-mcp/session/RequestContext"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"

const levelOf = (level: LogLevel.LogLevel): Logging.Level => {
  switch (level) {
    case "Fatal":
      return "critical"
    case "Error":
      return "error"
    case "Warn":
      return "warning"
    case "Info":
      return "info"
    default:
      return "debug"
  }
}

/** Returns the parts of a message that are for clients. */
const dataOf = (message: unknown): unknown => {
  const parts = (Array.isArray(message) ? message : [message]).filter((part) => !(part instanceof Error))
  return parts.length === 1 ? parts[0] : parts
}

/** The number of messages of each session that may wait for room in its outbox. */
const maxWaiting = 100

/** The number of messages that wait, by the session, or by the request if it has no session. */
const waiting = new WeakMap<object, number>()

/** Sends a message, unless too many wait already. */
const send = (request: RequestContext["Service"], message: Logging.LogMessageParams): void => {
  const key = request.session ?? request
  const count = waiting.get(key) ?? 0
  if (count >= maxWaiting) return
  waiting.set(key, count + 1)
  // The messages enter the outbox in the order in which they are logged, because a fork starts at once.
  Effect.runFork(Effect.ensuring(
    Effect.ignoreCause(request.log(message)),
    Effect.sync(() => waiting.set(key, (waiting.get(key) ?? 1) - 1))
  ))
}

/**
 * Adds the logger. Messages that `Effect.log` and its relatives log while a request is served are sent to its client,
 * too, if their level is at least the one that the client has set (LOG-02). Messages outside of a request stay where
 * they are.
 *
 * While the outbox of a session is full, 100 messages more may wait for its client. Further ones are dropped.
 *
 * Errors and causes are not sent, because they may contain details of the server that are not for clients. Neither is
 * a value that JSON cannot carry.
 *
 * @example
 * ```ts
 * import { McpGroup, McpLogger } from "@effect-mcp/server"
 * import * as Tool from "effect/ai/Tool"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const Reports = McpGroup.make("reports", Tool.make("report"))
 *
 * export const ReportsLive = Reports.toLayer((handlers) =>
 *   handlers.tool("report", () => Effect.logInfo("the report is written"))
 * ).pipe(Layer.provide(McpLogger.layer))
 * ```
 *
 * @category layers
 */
export const layer: Layer.Layer<never> = Logger.layer([
  Logger.make(({ fiber, logLevel, message }) => {
    const request = Context.getOption(fiber.context, RequestContext)
    if (Option.isNone(request)) return
    send(request.value, { level: levelOf(logLevel), data: dataOf(message) })
  })
], { mergeWithExisting: true })
