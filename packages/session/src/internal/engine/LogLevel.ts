/** The level of the log messages that a client receives. */

import { Logging } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Handlers } from "../../Handlers.ts"

/**
 * The log level of a client. Until the client sets a level, all messages are sent (LOG-02, LOG-03). The handler that
 * sets it receives it as a service, so that the same handlers serve many sessions.
 */
export class LogLevel extends Context.Service<LogLevel, {
  threshold: Logging.Level
}>()("@effect-mcp/session/internal/LogLevel") {}

/** The method that sets the level. */
export const method = "logging/setLevel"

/** Makes the level of a client that has set none. */
export const make = (): LogLevel["Service"] => ({ threshold: "debug" })

/** Returns whether a message of this level is sent. */
export const admits = (current: LogLevel["Service"], level: Logging.Level): boolean =>
  Logging.isAtLeast(level, current.threshold)

/**
 * Adds a handler that sets the log level to the handlers of a server. It runs after the server's own handler, if there
 * is one. Without a session no level is stored: the level of one client must not suppress messages to another.
 */
export const settable = (
  handlers: Handlers<"client", unknown>,
  options: { readonly storesLevel: boolean }
): Handlers<"client", unknown> => {
  const given = handlers[method] ?? (() => Effect.succeed({}))
  return {
    ...handlers,
    [method]: (params) =>
      options.storesLevel
        ? Effect.tap(given(params), () =>
          Effect.map(LogLevel, (current) => {
            current.threshold = params.level
          }))
        : given(params)
  }
}
