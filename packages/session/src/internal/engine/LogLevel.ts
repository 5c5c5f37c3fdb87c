import { Logging } from "@effect-mcp/protocol"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { Handlers } from "../../Handlers.ts"

/**
 * Which log messages a client wants to hear of: all, until it sets a level (LOG-02, LOG-03). It is a service of the one handler that
 * sets it, so that the same handlers serve many sessions.
 */
export class LogLevel extends Context.Service<LogLevel, {
  threshold: Logging.Level
}>()("@effect-mcp/session/internal/LogLevel") {}

/** The request that sets it. */
export const method = "logging/setLevel"

export const make = (): LogLevel["Service"] => ({ threshold: "debug" })

/** Does the client want to hear of a message of this level? */
export const admits = (current: LogLevel["Service"], level: Logging.Level): boolean =>
  Logging.isAtLeast(level, current.threshold)

/**
 * The handlers of a server that logs: they let its client set the level. Its own handler, if it has one, is asked first. Without a
 * session nobody is remembered: a level that one client sets must not silence what another wants to hear.
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
