/** The rule of recovery, and its measurement. */
import type { Fault, FaultKind, History } from "../History.ts"
import * as Message from "../Message.ts"
import { callsOf, livesOf } from "./Facts.ts"
import type { Violation } from "./Violation.ts"

/** The time within which every session is served again after a fault. */
export const recoveryMillis = 5000

/** The time that a session was not served after a fault. */
export interface Recovery {
  readonly fault: Fault
  readonly session: string
  /** The time from the fault to the first success of a call that was sent after it; infinite if there was none. */
  readonly millis: number
}

/** Returns how long each session was not served after each fault, unless another fault came before it was served. */
export const recoveriesOf = (history: History): ReadonlyArray<Recovery> => {
  const successes = callsOf(history).flatMap(({ finals, post, request, session }) => {
    const result = finals.find(({ message }) => message.result !== undefined)
    return Message.toolOf(request) !== "echo" || result === undefined
      ? []
      : [{ session, startedAt: post.startedAt, at: result.at }]
  })
  const end = Math.max(...history.exchanges.map(({ endedAt }) => endedAt ?? 0), 0)
  return history.faults.filter(({ kind }) => kind !== "busy" && kind !== "lease").flatMap((fault) => {
    const from = fault.recoversFrom
    const others = history.faults.filter((other) => other !== fault && other.until >= from)
    const disturbedAt = Math.min(...others.map(({ at }) => at), Number.POSITIVE_INFINITY)
    return [...livesOf(history).values()]
      .filter(({ endingSince, openedAt }) => openedAt < fault.at && endingSince > from + recoveryMillis)
      .flatMap(({ session }) => {
        const times = successes.filter((success) => success.session === session && success.startedAt >= from)
          .map(({ at }) => at - from)
        const millis = Math.min(...times, Number.POSITIVE_INFINITY)
        const isKnown = from + Math.min(millis, recoveryMillis) < Math.min(disturbedAt, end)
        return isKnown ? [{ fault, session, millis }] : []
      })
  })
}

/** Every session is served again soon after a fault. */
export const recovery = (history: History): ReadonlyArray<Violation> =>
  recoveriesOf(history).filter(({ millis }) => millis > recoveryMillis).map(({ fault, millis, session }) => ({
    rule: "recovery",
    problem: `${session} was not served for ${Math.round(millis)} ms after ${fault.kind} of ${fault.target} at ` +
      `${Math.round(fault.recoversFrom)}`,
    exchanges: []
  }))

/** The recoveries from one kind of fault, in milliseconds. */
export interface Summary {
  readonly kind: FaultKind
  readonly count: number
  readonly median: number
  readonly longest: number
}

/** Returns the recoveries by the kinds of their faults. */
export const summariesOf = (history: History): ReadonlyArray<Summary> => {
  const recoveries = recoveriesOf(history)
  return [...new Set(recoveries.map(({ fault }) => fault.kind))].map((kind) => {
    const sorted = recoveries.filter(({ fault }) => fault.kind === kind).map(({ millis }) => Math.round(millis))
      .toSorted((one, other) => one - other)
    return { kind, count: sorted.length, median: sorted[sorted.length >> 1] ?? 0, longest: sorted.at(-1) ?? 0 }
  })
}
