import { Logging } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import type { Handlers } from "../Handlers.ts"

/**
 * Which log messages a client wants to hear of: all, until it sets a level (LOG-02, LOG-03).
 */
export interface LogLevel {
  /** The handlers of a server that logs: they let its client set the level. Its own handler, if it has one, is asked first. */
  readonly settableBy: (handlers: Handlers<"client", unknown>) => Handlers<"client", unknown>
  /** Does the client want to hear of a message of this level? */
  readonly admits: (level: Logging.Level) => boolean
}

/** Without a session nobody is remembered: a level that one client sets must not silence what another wants to hear. */
export const make = (options: { readonly remembers: boolean }): LogLevel => {
  let threshold: Logging.Level = "debug"
  return {
    settableBy: (handlers) => {
      const own = handlers["logging/setLevel"] ?? (() => Effect.succeed({}))
      return {
        ...handlers,
        "logging/setLevel": (params) =>
          Effect.tap(own(params), () =>
            Effect.sync(() => {
              if (options.remembers) threshold = params.level
            }))
      }
    },
    admits: (level) => Logging.isAtLeast(level, threshold)
  }
}
