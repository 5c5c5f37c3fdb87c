/** The checker of a history. It imports nothing of the library. */
import type { Exchange, History } from "./History.ts"
import * as Bookings from "./rules/bookingRules.ts"
import * as Calls from "./rules/callRules.ts"
import * as Processes from "./rules/processRule.ts"
import * as Recovery from "./rules/recoveryRule.ts"
import * as Sessions from "./rules/sessionRules.ts"
import * as Streams from "./rules/streamRules.ts"
import type { Violation } from "./rules/Violation.ts"

const rules: ReadonlyArray<(history: History) => ReadonlyArray<Violation>> = [
  Calls.oneResponse,
  Calls.answered,
  Calls.ownResult,
  Calls.cancelled,
  Calls.duplicate,
  Calls.questionIds,
  Calls.questionsCancelled,
  Bookings.goesOn,
  Bookings.question,
  Bookings.progress,
  Bookings.seat,
  Bookings.answer,
  Bookings.cancelled,
  Bookings.charges,
  Bookings.failover,
  Streams.eventIds,
  Streams.stored,
  Streams.eventsOnce,
  Streams.noGap,
  Streams.progress,
  Streams.nothingAfterFinal,
  Sessions.found,
  Sessions.deleted,
  Sessions.foreign,
  Sessions.foreignEvents,
  Sessions.ownData,
  Sessions.statuses,
  Sessions.connections,
  Sessions.updates,
  Sessions.logLevels,
  Recovery.recovery,
  Processes.processes
]

/** Returns everything in a history that breaks a rule. */
export const check = (history: History): ReadonlyArray<Violation> => rules.flatMap((rule) => rule(history))

const time = (millis: number | undefined): string => millis === undefined ? "-" : (millis / 1000).toFixed(3)

const shownEvents = 6

/** Returns an exchange as a few lines. */
const exchangeText = (exchange: Exchange): string => {
  const { body, endedAt, ending, events, method, number, process, purpose, sent = "", session, startedAt, status } =
    exchange
  return [
    `  #${number} ${time(startedAt)}–${
      time(endedAt)
    } ${method} ${purpose} at ${process} in ${session}: ${status} ${ending}`,
    ...(exchange.lastEventId === undefined ? [] : [`    after ${exchange.lastEventId}`]),
    ...(sent === "" ? [] : [`    > ${sent.slice(0, 200)}`]),
    ...(body === "" ? [] : [`    < ${body.slice(0, 200)}`]),
    ...events.slice(-shownEvents).map(({ at, data, id }) => `    < ${time(at)} ${id}: ${data.slice(0, 160)}`)
  ].join("\n")
}

/** Returns the faults as lines. */
export const faultsText = ({ faults }: History): string =>
  faults.map(({ at, kind, moment = "", target, until }) => `  ${time(at)}–${time(until)} ${kind} ${target} ${moment}`)
    .join("\n")

const shownExchanges = 4

/** Returns a violation as text, with the exchanges to look at. */
export const violationText = ({ exchanges, problem, rule }: Violation): string =>
  [`${rule}: ${problem}`, ...exchanges.slice(0, shownExchanges).map(exchangeText)].join("\n")
