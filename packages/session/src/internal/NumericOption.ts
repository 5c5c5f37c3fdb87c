/** Checks of numbers and durations in options: counts, sizes, ports, timeouts. */
import * as Duration from "effect/Duration"
import { InvalidOption } from "../InvalidOption.ts"
import { trust } from "./trust.ts"

/** The values that an option accepts: numbers, or durations, which are checked in milliseconds. */
export interface Rule<Kind extends "Number" | "Duration"> {
  /** The type of the option. */
  readonly kind: Kind
  /** The accepted values in words, for the message of an {@link InvalidOption}. */
  readonly allowed: string
  /** Returns whether the option accepts a number, which is never `NaN`. */
  readonly holds: (value: number) => boolean
}

const isWholeFrom = (minimum: number) => (value: number): boolean =>
  value >= minimum && (Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY)

const whole = (minimum: number): Rule<"Number"> => ({
  kind: "Number",
  allowed: `a whole number of at least ${minimum}, or Infinity`,
  holds: isWholeFrom(minimum)
})

/** A count or a size of at least 1. `Infinity` means no limit. */
export const count: Rule<"Number"> = whole(1)

/** A count or a size of at least 0. `Infinity` means no limit. */
export const countFromZero: Rule<"Number"> = whole(0)

/** A TCP port. 0 stands for any free port. */
export const port: Rule<"Number"> = {
  kind: "Number",
  allowed: "a port from 0 to 65535",
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= 65_535
}

/** The permissions of a file, from `0o000` to `0o777`. */
export const fileMode: Rule<"Number"> = {
  kind: "Number",
  allowed: "permissions from 0 to 0o777",
  holds: (value) => Number.isInteger(value) && value >= 0 && value <= 0o777
}

/** The factor between two delays, at least 1. */
export const growth: Rule<"Number"> = {
  kind: "Number",
  allowed: "a finite number of at least 1",
  holds: (value) => value >= 1 && value < Number.POSITIVE_INFINITY
}

/** A duration of at least 0. An infinite one means no limit. */
export const duration: Rule<"Duration"> = {
  kind: "Duration",
  allowed: "a duration of at least 0",
  holds: (millis) => millis >= 0
}

/** The time between two recurring actions, such as pings. An infinite one switches them off. */
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
 * The rules of a type of options: one for each option that is a number or a duration. A missing rule does not compile.
 */
export type Rules<Options> = {
  readonly [Name in NumericName<Options>]: [Exclude<Options[Name], undefined>] extends [number] ? Rule<"Number">
    : Rule<"Duration">
}

/** Returns whether a duration has a `NaN`. Effect would read it as 0. */
const hasNaN = (input: unknown): boolean =>
  typeof input === "object" && input !== null
    ? Object.values(input).some((part) => Number.isNaN(part))
    : Number.isNaN(input)

/** Returns a duration in milliseconds, or `NaN` if the value is no duration. */
const millisOf = (input: unknown): number => {
  if (hasNaN(input)) return Number.NaN
  try {
    // `toMillis` throws if the value is no duration.
    return Duration.toMillis(trust<Duration.Input>(input))
  } catch {
    return Number.NaN
  }
}

/**
 * Checks the numbers and durations of options. Throws an {@link InvalidOption} for the first one that its rule does not
 * accept. An option that is not set is not checked. `prefix` precedes the names of the options in messages, such as
 * `"limits."`.
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
