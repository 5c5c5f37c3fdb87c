/** The level of the log messages that a client receives. */

import { Logging } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Handlers } from "../../Handlers.ts"

/**
 * The log level of a client: all messages are sent until it sets a level (LOG-02, LOG-03). It is a service of the one
 * handler that sets it, so that the same handlers serve many sessions.
 */
export class LogLevel extends Context.Service<LogLevel, {
  threshold: Logging.Level
}>()("@effect-mcp/session/internal/LogLevel") {}

/** The method that sets the level. */
export const method = "logging/setLevel"

export const make = (): LogLevel["Service"] => ({ threshold: "debug" })

/** Returns whether a message of this level is sent. */
export const admits = (current: LogLevel["Service"], level: Logging.Level): boolean =>
  Logging.isAtLeast(level, current.threshold)

/**
 * Adds a handler for the log level to those of a server that logs. It runs after the server's own handler, if there is
 * one. Without a session no level is remembered: the level of one client must not silence the messages to another.
 */
export const settable = (
  handlers: Handlers<"client", unknown>,
  options: { readonly remembers: boolean }
): Handlers<"client", unknown> => {
  const own = handlers[method] ?? (() => Effect.succeed({}))
  return {
    ...handlers,
    [method]: (params) =>
      options.remembers
        ? Effect.tap(own(params), () =>
          Effect.map(LogLevel, (current) => {
            current.threshold = params.level
          }))
        : own(params)
  }
}
