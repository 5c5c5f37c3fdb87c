/**
 * A logger that sends what handlers log to the client whose request they serve.
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

/**
 * Adds the logger. Messages that `Effect.log` and its relatives log while a request is served are sent to its client,
 * too, if their level is at least the one that the client has set (LOG-02). Messages outside of a request stay where
 * they are.
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
    // The messages enter the outbox in the order in which they are logged, because a fork starts at once.
    Effect.runFork(Effect.ignoreCause(request.value.log({ level: levelOf(logLevel), data: dataOf(message) })))
  })
], { mergeWithExisting: true })
