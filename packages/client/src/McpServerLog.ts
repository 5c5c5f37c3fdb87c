/**
 * Log messages of servers, in the log of the program.
 */
import { Excerpt, type Logging } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type * as LogLevel from "effect/LogLevel"
import * as PlainText from "./PlainText.ts"

/** The length of a message in the log, in UTF-16 units. A server may send megabytes. */
const maxLength = 4_096

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

/**
 * Logs a message of a server: a handler of `notifications/message` (LOG-02). The client annotates the logs of its
 * handlers with the name of its server, as `server`. Control characters of the message are escaped, and a message of
 * more than 4,096 characters is cut.
 *
 * @example
 * ```ts
 * import { McpClient, McpServerLog, McpTarget } from "@effect-mcp/client"
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
export const write = ({ data, level, logger }: Logging.LogMessageParams): Effect.Effect<void> =>
  Effect.suspend(() => {
    // Cut before it is escaped as well, because the server decides its length.
    const text = typeof data === "string" ? PlainText.text(Excerpt.of(data, maxLength)) : PlainText.json(data)
    const logged = Effect.logWithLevel(severities[level])(Excerpt.of(text, maxLength))
    return logger === undefined ? logged : Effect.annotateLogs(logged, "logger", PlainText.line(logger))
  })
