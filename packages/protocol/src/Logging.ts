/**
 * Log messages that a server sends its client.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Meta } from "./Meta.ts"

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
