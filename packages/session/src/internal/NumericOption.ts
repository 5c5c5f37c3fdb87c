/** Checks of numbers and durations in options: counts, sizes, ports, timeouts. */
import * as Duration from "effect/Duration"
import { InvalidOptionError } from "../InvalidOptionError.ts"
import { trust } from "./trust.ts"

/** The values that an option accepts: numbers, or durations, which are checked in milliseconds. */
export interface Rule<Kind extends "Number" | "Duration"> {
  /** The type of the option. */
  readonly kind: Kind
  /** The accepted values in words, for the message of an {@link InvalidOptionError}. */
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

/** A duration of at least 0 that ends: nothing interrupts what it limits. */
export const finiteDuration: Rule<"Duration"> = {
  kind: "Duration",
  allowed: "a finite duration of at least 0",
  holds: (millis) => millis >= 0 && millis < Number.POSITIVE_INFINITY
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

/** Returns the value of an option as a number, in milliseconds if it is a duration. Throws if its rule rejects it. */
const accepted = (option: string, given: unknown, { allowed, holds, kind }: Rule<"Number" | "Duration">): number => {
  const number = kind === "Duration" ? millisOf(given) : typeof given === "number" ? given : Number.NaN
  if (Number.isNaN(number) || !holds(number)) throw new InvalidOptionError({ option, given, allowed })
  return number
}

/**
 * Checks the numbers and durations of options. Throws an {@link InvalidOptionError} for the first one that its rule
 * does not accept. An option that is not set is not checked. `prefix` precedes the names of the options in messages,
 * such as `"limits."`.
 */
export const check = <Options extends object>(
  options: Options | undefined,
  rules: Rules<NoInfer<Options>>,
  prefix = ""
): void => {
  if (options === undefined) return
  const given = new Map<string, unknown>(Object.entries(options))
  for (const [name, rule] of Object.entries<Rule<"Number" | "Duration">>(rules)) {
    const value = given.get(name)
    if (value !== undefined) accepted(prefix + name, value, rule)
  }
}

/** The rules of a type of options, each with the default of its option. */
export type Settings<Options> = {
  readonly [Name in NumericName<Options>]: [Exclude<Options[Name], undefined>] extends [number]
    ? readonly [Rule<"Number">, number]
    : readonly [Rule<"Duration">, Duration.Input]
}

/**
 * Returns the numbers of options, or their defaults, with durations in milliseconds. Throws an {@link
 * InvalidOptionError} as `check` does.
 */
export const resolve = <Options extends object>(
  options: Options,
  settings: Settings<NoInfer<Options>>,
  prefix = ""
): { readonly [Name in NumericName<Options>]: number } => {
  const given = new Map<string, unknown>(Object.entries(options))
  const all = Object.entries<readonly [Rule<"Number" | "Duration">, unknown]>(settings)
  const numbers = all.map(([name, [rule, byDefault]]) => {
    const value = given.get(name)
    return [name, accepted(prefix + name, value === undefined ? byDefault : value, rule)]
  })
  // The settings have exactly the names of the result.
  return trust<{ readonly [Name in NumericName<Options>]: number }>(Object.fromEntries(numbers))
}
