/** The time that the options of a request allow. */

import * as Duration from "effect/Duration"
import type { Limits } from "../../Limits.ts"
import type { RequestOptions } from "../../RequestOptions.ts"

type Options = Pick<RequestOptions<never>, "timeout" | "totalTimeout" | "extendOnProgress">
type TimeLimits = Pick<Limits, "requestTimeout" | "requestTotalTimeout">

/** The deadline of a call, on the timer's clock. */
export interface Deadline {
  readonly startedAt: number
  readonly allowedMillis: number
  /** The latest deadline, if progress extends the deadline; `undefined` if it does not. */
  readonly extendsTo: number | undefined
  /** The time at which the call times out. */
  at: number
}

const allowedMillis = ({ timeout }: Options, { requestTimeout }: Pick<TimeLimits, "requestTimeout">): number =>
  timeout === undefined ? requestTimeout : Duration.toMillis(timeout)

const totalMillis = ({ extendOnProgress, totalTimeout }: Options, limits: TimeLimits, allowed: number): number => {
  if (totalTimeout !== undefined) return Duration.toMillis(totalTimeout)
  return extendOnProgress === true ? Math.max(limits.requestTotalTimeout, allowed) : Number.POSITIVE_INFINITY
}

/** Returns the deadline of a call that starts now; `undefined` if its options allow no time. */
export const make = (options: Options, limits: TimeLimits, startedAt: number): Deadline | undefined => {
  const allowed = allowedMillis(options, limits)
  const total = totalMillis(options, limits, allowed)
  if (Math.min(allowed, total) <= 0) return undefined
  return {
    startedAt,
    allowedMillis: allowed,
    extendsTo: options.extendOnProgress === true ? startedAt + total : undefined,
    at: startedAt + Math.min(allowed, total)
  }
}

/** The time that several requests of one call share. A server could make each of them last. */
export interface SharedTime {
  /** Returns the milliseconds since the call started. */
  readonly spent: () => number
  /** Returns the milliseconds that are left for one request. */
  readonly left: () => number
  /** The shorter of the two times that the options allow, in milliseconds. */
  readonly shortest: number
  /** Returns the times of another request: what is left of those that the options allow. */
  readonly options: () => { readonly timeout: Duration.Duration; readonly totalTimeout?: Duration.Duration }
}

/** Starts the time of a call that takes several requests. */
export const share = (
  options: Options | undefined,
  limits: Pick<TimeLimits, "requestTimeout">,
  timer: { now(): number }
): SharedTime => {
  const startedAt = timer.now()
  const allowed = allowedMillis(options ?? {}, limits)
  const total = options?.totalTimeout === undefined ? undefined : Duration.toMillis(options.totalTimeout)
  const left = (millis: number) => Math.max(millis - (timer.now() - startedAt), 0)
  return {
    spent: () => timer.now() - startedAt,
    left: () => left(allowed),
    shortest: Math.min(allowed, total ?? Number.POSITIVE_INFINITY),
    options: () => ({
      timeout: Duration.millis(left(allowed)),
      ...(total === undefined ? undefined : { totalTimeout: Duration.millis(left(total)) })
    })
  }
}
