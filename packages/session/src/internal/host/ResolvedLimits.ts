/** The limits of a host, with the defaults. */

import * as Duration from "effect/Duration"
import type { Options } from "../../HostLimits.ts"
import * as NumericOption from "../NumericOption.ts"

/** All limits of a host, with durations in milliseconds. `Infinity` means no limit. */
export interface ResolvedLimits {
  readonly max: number
  readonly maxPerPrincipal: number
  readonly handshakeTimeout: number
  readonly idleTimeout: number
  readonly maxAge: number
  readonly anonymousEvictionTimeout: number
  readonly maxAnonymousEvictionsPerSecond: number
}

const { countFromZero, duration } = NumericOption

const settings: NumericOption.Settings<Options> = {
  max: [countFromZero, 10_000],
  maxPerPrincipal: [countFromZero, 1000],
  handshakeTimeout: [duration, "60 seconds"],
  idleTimeout: [duration, "30 minutes"],
  maxAge: [duration, Duration.infinity],
  anonymousEvictionTimeout: [duration, "5 minutes"],
  maxAnonymousEvictionsPerSecond: [countFromZero, 10]
}

/** Returns all limits, with the defaults. Throws an `InvalidOptionError` if a number is out of its range. */
export const resolve = (options: Options = {}): ResolvedLimits => {
  const limits = NumericOption.resolve(options, settings, "sessions.")
  return { ...limits, maxPerPrincipal: Math.min(limits.maxPerPrincipal, limits.max) }
}
