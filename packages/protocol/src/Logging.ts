/**
 * Log messages that a server sends its client.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta, RequestMeta } from "./Meta.ts"

/**
 * The severities, mildest first, as syslog names them.
 *
 * @category constants
 * @since 0.1.0
 */
export const levels = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const

/**
 * How severe a log message is.
 *
 * @category models
 * @since 0.1.0
 */
export type Level = (typeof levels)[number]

/**
 * The schema of a {@link Level}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const Level: Schema.Codec<Level> = Schema.Literals(levels)

/**
 * One log message. `data` is any JSON value; never put secrets into it (LOG-05).
 *
 * @category models
 * @since 0.1.0
 */
export interface LogMessageParams {
  readonly level: Level
  readonly data: unknown
  readonly logger?: string
  readonly _meta?: Meta
}

/**
 * The schema of {@link LogMessageParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const LogMessageParams: Schema.Codec<LogMessageParams> = Schema.Struct({
  level: Level,
  data: Schema.Unknown,
  logger: Schema.optionalKey(Schema.String),
  _meta: Schema.optionalKey(Meta)
})

/**
 * Is a message of this level to be sent where `threshold` is the mildest that is wanted (LOG-02)?
 *
 * @example
 * ```ts
 * import { Logging } from "@effect-mcp/protocol"
 *
 * export const answers = [Logging.isAtLeast("error", "warning"), Logging.isAtLeast("info", "warning")] // => [true, false]
 * ```
 *
 * @category ordering
 * @since 0.1.0
 */
export const isAtLeast = (level: Level, threshold: Level): boolean => levels.indexOf(level) >= levels.indexOf(threshold)

/**
 * The mildest level that a client wants to hear of (LOG-02).
 *
 * @category models
 * @since 0.1.0
 */
export interface SetLevelParams {
  readonly level: Level
  readonly _meta?: RequestMeta
}

/**
 * The schema of {@link SetLevelParams}.
 *
 * @category schemas
 * @since 0.1.0
 */
export const SetLevelParams: Schema.Codec<SetLevelParams> = Schema.Struct({
  level: Level,
  _meta: Schema.optionalKey(RequestMeta)
})
