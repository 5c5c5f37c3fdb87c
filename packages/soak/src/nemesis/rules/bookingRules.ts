/** The rules of bookings: calls of the tool `book`, which survive their processes where the stores keep calls. */
import type { Exchange, History } from "../History.ts"
import * as Message from "../Message.ts"
import { isLost, isToldNothing } from "./callRules.ts"
import { type Call, callsOf, type Final, isStoreAway, livesOf, ofOwnersIn, once } from "./Facts.ts"
import type { Violation } from "./Violation.ts"

/** An answer of the client to the question of a booking. */
interface Answer {
  readonly seat: unknown
  readonly exchange: Exchange
}

interface Question {
  readonly id: Message.Id | undefined
  readonly at: number
}

/** A booking, and what its client did meanwhile. */
export interface Booking {
  readonly call: Call
  readonly city: string
  readonly questions: ReadonlyArray<Question>
  readonly answers: ReadonlyArray<Answer>
  /** The time at which the first answer was accepted; infinite without one. */
  readonly acceptedAt: number
  readonly progress: ReadonlyArray<{ readonly step: number; readonly at: number }>
  /** The final response with a result. */
  readonly result: Final | undefined
  /** The final response that says that the outcome is unknown. */
  readonly unknown: Final | undefined
  /** The time at which the client ended the session, or sent the cancellation of the call. */
  readonly withdrawnAt: number
  /** The time at which its client knew its end, or that of its last request. */
  readonly endedAt: number
}

/** Returns the members of a record in a record; an empty one if there is none. */
const within = (value: unknown, name: string): Message.Json => {
  const inner = Message.isJson(value) ? value[name] : undefined
  return Message.isJson(inner) ? inner : {}
}

const seatIn = (sent: string | undefined): unknown => {
  const message = Message.parse(sent ?? "")
  return within(message?.result, "content")["seat"]
}

/** Returns the bookings of a history. */
export const bookingsOf = once((history: History): ReadonlyArray<Booking> => {
  const lives = livesOf(history)
  const sent = history.exchanges.filter(({ purpose }) => purpose === "answer")
    .map((exchange) => ({ exchange, id: Message.parse(exchange.sent ?? "")?.id, seat: seatIn(exchange.sent) }))
  return callsOf(history).filter(({ request }) => Message.toolOf(request) === "book").map((call): Booking => {
    const { cancellations, events, exchanges, finals, request, session } = call
    const messages = events.flatMap(({ at, data }) => {
      const message = Message.parse(data)
      return message === undefined ? [] : [{ at, message }]
    })
    const questions = messages.filter(({ message }) => message.method === "elicitation/create")
      .map(({ at, message }) => ({ at, id: message.id }))
    const answers = sent.filter(({ exchange, id }) =>
      exchange.session === session && questions.some((question) => question.id === id)
    )
    const accepted = answers.filter(({ exchange: { status } }) => status === 202)
      .map(({ exchange: { endedAt = Number.POSITIVE_INFINITY } }) => endedAt)
    const withdrawn = cancellations.map(({ startedAt }) => startedAt)
    return {
      call,
      city: String(Message.argumentOf(request, "city")),
      questions,
      answers,
      acceptedAt: Math.min(...accepted, Number.POSITIVE_INFINITY),
      progress: messages.filter(({ message }) => message.method === "notifications/progress")
        .map(({ at, message }) => ({ at, step: Number(message.params["progress"]) })),
      result: finals.find(({ message }) => message.result !== undefined),
      unknown: finals.find(({ message }) => Message.saysOutcomeUnknown(message)),
      withdrawnAt: Math.min(...withdrawn, lives.get(session)?.endingSince ?? Number.POSITIVE_INFINITY),
      endedAt: Math.min(
        ...finals.map(({ at }) => at),
        Math.max(...exchanges.map(({ endedAt = Number.POSITIVE_INFINITY }) => endedAt))
      )
    }
  })
})

const violation = (rule: string, { call, city }: Booking, problem: string): Violation => ({
  rule,
  problem: `booking ${call.id} of ${city}: ${problem}`,
  exchanges: call.exchanges
})

/** Returns whether a process can have been lost in this time. A process that is killed is lost at once. */
const isDuring = ({ at, kind, until }: History["faults"][number], from: number, to: number): boolean =>
  at <= to && (kind === "kill" ? at : until) >= from

/** The number of times that a booking is started at most. */
const maxStarts = 5

/**
 * A booking that has begun never ends as *outcome unknown*, unless it was started too often. Its stream begins first: a
 * process that the database leaves between the two may not have stored the call.
 */
export const goesOn = (history: History): ReadonlyArray<Violation> =>
  !history.isDurable ? [] : bookingsOf(history).filter((booking) => {
    const { call: { events, post }, progress, unknown, withdrawnAt } = booking
    if (unknown === undefined || unknown.at >= withdrawnAt) return false
    const hasBegun = progress.length > 0 ||
      (events.some(({ id }) => id !== undefined) && !isStoreAway(history.faults, post.startedAt, unknown.at))
    if (!hasBegun) return false
    const ends = ofOwnersIn(history).filter((fault) => isDuring(fault, post.startedAt, unknown.at))
    return ends.length < maxStarts
  }).map((booking) => violation("booking-goes-on", booking, "the outcome is unknown"))

/** The question of a booking appears once, and is not cancelled. */
export const question = (history: History): ReadonlyArray<Violation> =>
  bookingsOf(history).flatMap((booking) => {
    const { call: { events }, questions, withdrawnAt } = booking
    if (questions.length > 1) {
      return [violation("booking-question", booking, `${questions.length} questions: ${questions.map(({ id }) => id)}`)]
    }
    const cancelled = events.find(({ at, data }) => {
      const message = Message.parse(data)
      return at < withdrawnAt && message?.method === "notifications/cancelled" &&
        questions.some(({ id }) => id === message.params["requestId"])
    })
    return cancelled === undefined || !history.isDurable
      ? []
      : [violation("booking-question", booking, "its question was cancelled")]
  })

const allSteps = [1, 2, 3]

/** The progress of a booking rises, and a result comes after all of its steps. */
export const progress = (history: History): ReadonlyArray<Violation> =>
  bookingsOf(history).flatMap((booking) => {
    const { call: { post }, endedAt, result } = booking
    const steps = booking.progress.map(({ step }) => step)
    const isRising = steps.every((step, index) => index === 0 || step > Number(steps[index - 1]))
    // A step that could not be stored is lost to a client that was not connected.
    const isWhole = result === undefined || steps.length === allSteps.length ||
      isStoreAway(history.faults, post.startedAt, endedAt)
    return isRising && isWhole ? [] : [violation("booking-progress", booking, `progress ${steps.join(", ")}`)]
  })

/** The seat of a booking is the one of the answer that was accepted first. */
export const seat = (history: History): ReadonlyArray<Violation> =>
  bookingsOf(history).flatMap((booking) => {
    const { acceptedAt, answers, city, result } = booking
    if (result === undefined || result.at >= booking.withdrawnAt) return []
    const returned = within(result.message.result, "structuredContent")
    const seats = answers.filter(({ exchange }) => exchange.startedAt < acceptedAt).map(({ seat }) => seat)
    return returned["city"] === city && seats.includes(returned["seat"])
      ? []
      : [violation("booking-seat", booking, `${result.text.slice(0, 300)} in place of ${seats.join(" or ")}`)]
  })

/** An answer that was accepted is not lost: the booking ends with it. */
export const answer = (history: History): ReadonlyArray<Violation> =>
  !history.isDurable ? [] : bookingsOf(history).filter((booking) => {
    const { acceptedAt, call, result, unknown, withdrawnAt } = booking
    return acceptedAt < Number.POSITIVE_INFINITY && result === undefined && withdrawnAt === Number.POSITIVE_INFINITY &&
      // The rule of outcomes is about these.
      unknown === undefined && !isLost(history, call) && !isToldNothing(call)
  }).map((booking) => violation("booking-answer", booking, "its answer was accepted, and it has no result"))

/** A booking that was cancelled before it was answered has no result. */
export const cancelled = (history: History): ReadonlyArray<Violation> =>
  bookingsOf(history).filter(({ answers, call, result }) => {
    const accepted = call.cancellations.some(({ endedAt = Number.POSITIVE_INFINITY, startedAt, status }) =>
      status === 202 && startedAt >= (call.events[0]?.at ?? Number.POSITIVE_INFINITY) &&
      answers.every(({ exchange }) => exchange.startedAt > endedAt)
    )
    return accepted && result !== undefined
  }).map((booking) => violation("booking-cancelled", booking, "it was cancelled, and has a result"))

/**
 * A booking with a result was charged once. It was charged again at most as often as its process was lost before the
 * client received the step of progress after the charge.
 */
export const charges = (history: History): ReadonlyArray<Violation> =>
  bookingsOf(history).flatMap((booking) => {
    const { call: { post }, city, endedAt, progress, result } = booking
    const count = history.charges[city] ?? 0
    const to = progress.find(({ step }) => step >= 2)?.at ?? endedAt
    const losses = history.isDurable
      ? ofOwnersIn(history).filter((fault) => isDuring(fault, post.startedAt, to)).length
      : 0
    const least = result === undefined || result.at >= booking.withdrawnAt ? 0 : 1
    return count >= least && count <= 1 + losses
      ? []
      : [violation("booking-charges", booking, `charged ${count} times, and its process was lost ${losses} times`)]
  })

/** The time within which a booking goes on after the loss of its process. */
export const failoverMillis = 5000

/** The time in which a client notices that its stream broke, and resumes it. */
const noticeMillis = 1000

/** The time for which a client of a booking waited after the loss of its process. */
export interface Failover {
  readonly booking: Booking
  readonly fault: History["faults"][number]
  /** The time to the first event of the resumed stream, or to the accepted answer; infinite without both. */
  readonly millis: number
}

/** Returns the process that has a session at a time, as its calls report it; `undefined` if it may have moved since. */
const ownerAt = (history: History, session: string, time: number): string | undefined => {
  const reports = callsOf(history).flatMap((call) => {
    const result = call.session === session
      ? call.finals.find(({ message }) => message.result !== undefined)
      : undefined
    if (result === undefined || result.at >= time) return []
    const tool = Message.toolOf(call.request)
    const pid = tool === "who"
      ? Message.textOf(result.message)
      : tool === "book"
      ? within(result.message.result, "structuredContent")["process"]
      : undefined
    return typeof pid === "string" ? [{ at: result.at, since: call.post.startedAt, pid }] : []
  })
  const last = reports.toSorted((one, other) => one.at - other.at).at(-1)
  if (last === undefined) return undefined
  const hasMoved = ofOwnersIn(history).some((fault) => fault.at < time && isDuring(fault, last.since, time))
  return hasMoved ? undefined : last.pid
}

/** Returns how long each booking waited after each loss of its process, unless another fault came meanwhile. */
export const failoversOf = (history: History): ReadonlyArray<Failover> => {
  if (!history.isDurable) return []
  const end = Math.max(...history.exchanges.map(({ endedAt }) => endedAt ?? 0), 0)
  return history.faults.filter(({ pid }) => pid !== undefined).flatMap((fault) => {
    const lostAt = fault.at
    const others = history.faults.filter((other) => other !== fault && other.until >= lostAt)
    const disturbedAt = Math.min(...others.map(({ at }) => at), Number.POSITIVE_INFINITY, end)
    return bookingsOf(history).flatMap((booking): ReadonlyArray<Failover> => {
      const { answers, call, endedAt, questions, withdrawnAt } = booking
      const isOpen = call.events.some(({ at, id }) => id !== undefined && at < lostAt) && endedAt > lostAt &&
        withdrawnAt > lostAt + failoverMillis
      if (!isOpen || ownerAt(history, call.session, lostAt) !== fault.pid) return []
      const resumptions = call.exchanges.filter(({ purpose, startedAt }) => purpose === "resume" && startedAt > lostAt)
      // The response can have been on its way.
      const [first] = resumptions
      if (first === undefined) return []
      const noticedAt = Math.max(
        first.startedAt < lostAt + noticeMillis ? lostAt : first.startedAt,
        // Nothing goes on while a process that is paused holds the lock of the store.
        fault.recoversFrom
      )
      const later = answers.filter(({ exchange }) => exchange.startedAt > lostAt)
      const [attempt] = later
      const streamedAt = Math.min(
        ...resumptions.filter(({ status }) => status === 200).map(({ respondedAt = Number.POSITIVE_INFINITY }) =>
          respondedAt
        ),
        Number.POSITIVE_INFINITY
      )
      const eventAt = Math.min(
        ...resumptions.flatMap(({ events }) => events.filter(({ data }) => data !== "").map(({ at }) => at)),
        Number.POSITIVE_INFINITY
      )
      const isAnswered = answers.some(({ exchange }) => exchange.startedAt <= lostAt)
      const isAsked = questions.some(({ at }) => at <= lostAt)
      const acceptedAt = Math.min(
        ...later.filter(({ exchange }) => exchange.status === 202).map(({ exchange }) => exchange.endedAt ?? end),
        Number.POSITIVE_INFINITY
      )
      const waits = [
        streamedAt - noticedAt,
        // Without an answer that was sent before, the question is open, and the stream has no event until its answer.
        isAsked && !isAnswered
          ? attempt === undefined ? 0 : Math.min(acceptedAt, eventAt) - Math.max(attempt.exchange.startedAt, noticedAt)
          : eventAt - noticedAt
      ]
      const millis = Math.max(...waits)
      const isKnown = millis <= failoverMillis || noticedAt + failoverMillis < disturbedAt
      return isKnown ? [{ booking, fault, millis }] : []
    })
  })
}

/** A booking goes on soon after the loss of its process. */
export const failover = (history: History): ReadonlyArray<Violation> =>
  failoversOf(history).filter(({ millis }) => millis > failoverMillis).map(({ booking, fault, millis }) =>
    violation(
      "booking-failover",
      booking,
      `it waited ${Math.round(millis)} ms after ${fault.kind} of ${fault.target} at ${Math.round(fault.at)}`
    )
  )

/** The fail-overs from one kind of fault, in milliseconds. */
export interface Summary {
  readonly fault: string
  readonly count: number
  readonly median: number
  readonly longest: number
}

/** Returns the fail-overs by the kinds of their faults, and all together. */
export const summariesOf = (history: History): ReadonlyArray<Summary> => {
  const failovers = failoversOf(history)
  const of = (fault: string, chosen: ReadonlyArray<Failover>): Summary => {
    const sorted = chosen.map(({ millis }) => Math.round(millis)).toSorted((one, other) => one - other)
    return { fault, count: sorted.length, median: sorted[sorted.length >> 1] ?? 0, longest: sorted.at(-1) ?? 0 }
  }
  const kinds = [...new Set(failovers.map(({ fault }) => fault.kind))]
  return [
    ...kinds.map((kind) => of(kind, failovers.filter(({ fault }) => fault.kind === kind))),
    of("all", failovers)
  ]
}
