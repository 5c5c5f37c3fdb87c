/**
 * Log messages of servers, in the log of the program.
 *
 * @stability unstable
 */
import type { Logging } from "@effect-mcp/protocol"
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import * as JsonExcerpt from "./internal/logs/JsonExcerpt.ts"
import * as ServerLogs from "./internal/logs/ServerLogs.ts"

const severities: { readonly [Level in Logging.Level]: LogLevel.Severity } = {
  debug: "Debug",
  info: "Info",
  notice: "Info",
  warning: "Warn",
  error: "Error",
  critical: "Fatal",
  alert: "Fatal",
  emergency: "Fatal"
}

/** Logs a message that has room in the log. */
const logged = ({ data, level, logger }: Logging.LogMessageParams): Effect.Effect<void> =>
  Effect.suspend(() => {
    const text = typeof data === "string" ? Excerpt.line(data) : JsonExcerpt.of(data, Excerpt.loggedLength)
    const log = Effect.logWithLevel(severities[level])(text)
    return logger === undefined ? log : Effect.annotateLogs(log, "logger", Excerpt.line(logger, Excerpt.defaultLength))
  })

/**
 * Logs a message of a server: a handler of `notifications/message` (LOG-02). The client annotates the logs of its
 * handlers with the name of its server, as `server`. Control characters of the message are escaped, line breaks
 * included, so that a server cannot write lines of its own. A message of more than 4,096 characters is cut, as is a
 * `logger` of more than 128.
 *
 * A client logs 100 messages of its server at once, and then 50 per second. The others are left out, and a warning
 * has their number.
 *
 * @example
 * ```ts
 * import { McpClient, McpServerLog, McpTarget } from "@effect-mcp/client/node"
 *
 * export const files = McpClient.layer(McpTarget.command("node", ["files.mjs"]), {
 *   info: { name: "app", version: "1.0.0" },
 *   name: "files",
 *   handlers: { "notifications/message": McpServerLog.write }
 * })
 * ```
 *
 * @category handlers
 */
export const write = (message: Logging.LogMessageParams): Effect.Effect<void> =>
  // A message that the program does not log takes no room from those that it does.
  Effect.flatMap(
    LogLevel.isEnabled(severities[message.level]),
    (isEnabled) => isEnabled ? ServerLogs.within("messages", logged(message)) : Effect.void
  )
