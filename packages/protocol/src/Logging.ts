/**
 * Log messages from a server to its client.
 *
 * @stability unstable
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * The severities of syslog, least severe first.
 *
 * @category constants
 */
export const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/**
 * The severity of a log message.
 *
 * @category models
 */
export type Level = (typeof levels)[number]

/**
 * The schema of a {@link Level}.
 *
 * @category schemas
 */
export const Level: Schema.Codec<Level> = Schema.Literals(levels)

/**
 * The params of `notifications/message`. `data` is any JSON value; it must not contain secrets (LOG-05).
 *
 * @category models
 */
export interface LogMessageParams {
  readonly level: Level
  readonly data: unknown
  readonly logger?: string
  readonly _meta?: Meta
}

export const LogMessageParams: Schema.Codec<LogMessageParams> = Schema.Struct({
  level: Level,
  data: Schema.Unknown,
  logger: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Tests whether a level is at least as severe as a threshold (LOG-02).
 *
 * @example
 * ```ts
 * import { Logging } from "@effect-mcp/protocol"
 *
 * export const error = Logging.isAtLeast("error", "warning") // => true
 * export const info = Logging.isAtLeast("info", "warning") // => false
 * ```
 *
 * @category ordering
 */
export const isAtLeast = (level: Level, threshold: Level): boolean => levels.indexOf(level) >= levels.indexOf(threshold)

/**
 * The least severe level that a client wants to receive (LOG-02).
 *
 * @category models
 */
export interface SetLevelParams {
  readonly level: Level
  readonly _meta?: RequestMeta
}

export const SetLevelParams: Schema.Codec<SetLevelParams> = Schema.Struct({
  level: Level,
  _meta: Schema.optionalKey(RequestMeta)
})
