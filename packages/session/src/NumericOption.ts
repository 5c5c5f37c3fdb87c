/**
 * Checks of the numbers and durations in options: counts, sizes, ports, deadlines. A number that makes no sense, such
 * as `NaN`, is a programmer's mistake. It is reported when a session, a server, a store or a transport is made, not
 * when the limit is reached.
 */
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import { trust } from "./internal/trust.ts"

/**
 * The defect of an option with a value that makes no sense.
 *
 * @example
 * ```ts
 * import { Limits, NumericOption } from "@effect-mcp/session"
 *
 * const messageOf = () => {
 *   try {
 *     return Limits.make({ maxIncomingRequests: Number("many") })
 *   } catch (error) {
 *     return error instanceof NumericOption.InvalidOption ? error.message : undefined
 *   }
 * }
 *
 * export const message = messageOf() // => "limits.maxIncomingRequests takes a whole number from 1 on or Infinity, not NaN"
 * ```
 *
 * @category errors
 */
export class InvalidOption extends Data.TaggedError("InvalidOption")<{
  /** The name of the option, after the names of the options that it is in. */
  readonly option: string
  readonly given: unknown
  /** The values that the option takes. */
  readonly allowed: string
}> {
  override get message(): string {
    const given = typeof this.given === "string" ? JSON.stringify(this.given) : String(this.given)
    return `${this.option} takes ${this.allowed}, not ${given}`
  }
}

/**
 * The values that an option takes: numbers, or durations, which are checked in milliseconds.
 *
 * @category models
 */
export interface Rule<Kind extends "Number" | "Duration"> {
  readonly kind: Kind
  /** The values in words, as they stand in the message of an {@link InvalidOption}. */
  readonly allowed: string
  /** Whether this number is one of them. It is never `NaN`. */
  readonly holds: (value: number) => boolean
}

const isWholeFrom = (least: number) => (value: number): boolean =>
  value >= least && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY)

const whole = (least: number): Rule<"Number"> => ({
  kind: "Number",
  allowed: `a whole number from ${least} on or Infinity`,
  holds: isWholeFrom(least)
})

/**
 * A count or a size of at least 1.
 *
 * @category constants
 */
export const count: Rule<"Number"> = whole(1)

/**
 * A count of which none is a sensible number.
 *
 * @category constants
 */
export const countFromZero: Rule<"Number"> = whole(0)

/**
 * A TCP port; 0 for any that is free.
 *
 * @category constants
 */
export const port: Rule<"Number"> = {
  kind: "Number",
  allowed: "a port from 0 to 65535",
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= 65_535
}

/**
 * The permissions of a file, from `0o000` to `0o777`.
 *
 * @category constants
 */
export const fileMode: Rule<"Number"> = {
  kind: "Number",
  allowed: "permissions from 0 to 0o777",
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= 0o777
}

/**
 * The factor of a delay that grows, or stays.
 *
 * @category constants
 */
export const growth: Rule<"Number"> = {
  kind: "Number",
  allowed: "a finite number from 1 on",
  holds: (value) => value >= 1 && value < Number.POSITIVE_INFINITY
}

/**
 * A duration from 0 on; an infinite one is no limit.
 *
 * @category constants
 */
export const duration: Rule<"Duration"> = {
  kind: "Duration",
  allowed: "a duration from 0 on",
  holds: (millis) => millis >= 0
}

/**
 * The time between two of many, such as pings. An infinite one means that there are none.
 *
 * @category constants
 */
export const interval: Rule<"Duration"> = {
  kind: "Duration",
  allowed: "a duration above 0",
  holds: (millis) => millis > 0
}

/** The names of the options that are numbers or durations. A `Duration.Input` may be a number, too. */
type NumericName<Options> = {
  readonly [Name in keyof Options]-?: number extends Options[Name] ? Name : never
}[keyof Options]

/**
 * A rule for each option that is a number or a duration. An option without a rule does not compile, so none is
 * forgotten.
 *
 * @category models
 */
export type Rules<Options> = {
  readonly [Name in NumericName<Options>]: [Exclude<Options[Name], undefined>] extends [number] ? Rule<"Number">
    : Rule<"Duration">
}

/** Is there a `NaN` in this duration? Effect takes it for 0. */
const hasNaN = (input: unknown): boolean =>
  typeof input === "object" && input !== null
    ? Object.values(input).some((part) => Number.isNaN(part))
    : Number.isNaN(input)

/** The duration in milliseconds; `NaN` if it is none. */
const millisOf = (input: unknown): number => {
  if (hasNaN(input)) return Number.NaN
  try {
    return Duration.toMillis(trust<Duration.Input>(input))
  } catch {
    return Number.NaN
  }
}

/**
 * Checks the numbers and durations of options; throws an {@link InvalidOption} for the first that makes no sense. An
 * option that is not set is not checked. `prefix` is what stands before the names of the options in the message, such
 * as `"limits."`.
 *
 * @example
 * ```ts
 * import { NumericOption } from "@effect-mcp/session"
 * import type * as Duration from "effect/Duration"
 *
 * interface Options {
 *   readonly bufferBytes?: number
 *   readonly flushWithin?: Duration.Input
 * }
 *
 * // What a transport of one's own does when it is made.
 * export const make = (options: Options = {}) => {
 *   NumericOption.check(options, { bufferBytes: NumericOption.count, flushWithin: NumericOption.duration })
 *   return { capacity: options.bufferBytes ?? 65_536 }
 * }
 * ```
 *
 * @category checks
 */
export const check = <Options extends object>(
  options: Options | undefined,
  rules: Rules<NoInfer<Options>>,
  prefix = ""
): void => {
  if (options === undefined) return
  const given = new Map<string, unknown>(Object.entries(options))
  for (const [name, { allowed, holds, kind }] of Object.entries<Rule<"Number" | "Duration">>(rules)) {
    const value = given.get(name)
    if (value === undefined) continue
    const number = kind === "Duration" ? millisOf(value) : typeof value === "number" ? value : Number.NaN
    if (Number.isNaN(number) || !holds(number)) {
      throw new InvalidOption({ option: prefix + name, given: value, allowed })
    }
  }
}
