/** The rules of calls: what each of them gets, and whose it is. */
import type { History } from "../History.ts"
import * as Message from "../Message.ts"
import { type Call, callsOf, type Final, isDisturbed, isStoreAway, livesOf } from "./Facts.ts"
import type { Violation } from "./Violation.ts"

/** Returns the final responses that differ: one that is read again is the same. */
const distinct = (finals: ReadonlyArray<Final>): ReadonlyArray<Final> => [
  ...new Map(finals.map((final) => [final.eventId ?? final.exchange.number, final] as const)).values()
]

/** A call gets at most one final response, over all connections and resumptions. */
export const oneResponse = (history: History): ReadonlyArray<Violation> =>
  callsOf(history).filter(({ finals }) => distinct(finals).length > 1).map(({ finals, id }) => ({
    rule: "one-response",
    problem: `call ${id} got ${distinct(finals).length} final responses: ${
      finals.map(({ text }) => text).join(" and ")
    }`,
    exchanges: finals.map(({ exchange }) => exchange)
  }))

/** Returns whether the client of a call was told nothing, so that it could not learn more. */
export const isToldNothing = ({ events, exchanges, post }: Call): boolean => {
  if (events.some(({ id }) => id !== undefined)) return false
  return post.ending === "broken" || post.ending === "refused" || post.ending === "abandoned" || exchanges.length === 0
}

/**
 * Returns whether an event of a call could not be stored: it is lost to a client that was not connected, which learns
 * that by the status of its last request.
 */
export const isLost = (history: History, { exchanges, post }: Call): boolean => {
  const last = exchanges.at(-1)
  return last !== undefined && (last.status === 400 || last.status === 405) &&
    isStoreAway(history.faults, post.startedAt, last.endedAt ?? last.startedAt)
}

/** A call that a server has begun to answer ends with a final response, whatever happens. */
export const answered = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  return callsOf(history).filter((call) => {
    const { cancellations, finals, post, session } = call
    const isOver = lives.get(session)?.endingSince !== Number.POSITIVE_INFINITY
    const isRejected = post.status !== undefined && post.status !== 200
    if (isLost(history, call)) return false
    return finals.length === 0 && cancellations.length === 0 && !isOver && !isRejected && !isToldNothing(call)
  }).map(({ events, exchanges, id }) => ({
    rule: "answered",
    problem: `call ${id} never got a final response; its last event: ${events.at(-1)?.data}`,
    exchanges
  }))
}

/** Returns the problem of a result, by what its request asked for. */
const problemOf = ({ request }: Call, message: Message.Message): string | undefined => {
  const text = Message.textOf(message)
  switch (Message.toolOf(request)) {
    case "echo":
    case "log": {
      const sent = Message.argumentOf(request, "text")
      return text === sent ? undefined : `the text is not ${String(sent).slice(0, 80)}`
    }
    case "slow": {
      const sent = `${String(Message.argumentOf(request, "ms"))} ms`
      return text === sent ? undefined : `the text is not ${sent}`
    }
    case "ask": {
      const question = Message.argumentOf(request, "question")
      const returned = Message.isJson(message.result) ? message.result["structuredContent"] : undefined
      const { answer, question: asked } = Message.isJson(returned) ? returned : {}
      return asked === question && answer === answerTo(question)
        ? undefined
        : `the answer is not that to ${String(question)}`
    }
    default:
      return undefined
  }
}

/** Returns the one answer that the clients give to a question. */
export const answerTo = (question: unknown): string => `answer to ${String(question)}`

/** A final response is the result of this very call, or says that its outcome is unknown. */
export const ownResult = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  return callsOf(history).flatMap((call) =>
    call.finals.flatMap(({ at, exchange, message, text }) => {
      // A call whose session its client ends has an error that says so.
      const isOver = at >= (lives.get(call.session)?.endingSince ?? Number.POSITIVE_INFINITY)
      const isFailure = message.error !== undefined ||
        Message.isJson(message.result) && message.result["isError"] === true
      if (isOver && isFailure) return []
      // A booking begins after it was stored.
      const isRefused = message.error?.code === Message.overloaded && Message.toolOf(call.request) === "book"
      if (isRefused && isStoreAway(history.faults, call.post.startedAt, at)) return []
      const problem = message.error === undefined
        ? problemOf(call, message)
        : !Message.saysOutcomeUnknown(message)
        ? "an error that the tool does not have"
        : !Message.isJson(message.error.data) || message.error.data["outcome"] !== "unknown"
        ? "data.outcome is not unknown"
        : !isDisturbed(history.faults, call.post.startedAt, at)
        ? "the outcome is unknown, and there was no fault"
        : undefined
      return problem === undefined
        ? []
        : [{ rule: "own-result", problem: `call ${call.id}: ${problem}: ${text.slice(0, 300)}`, exchanges: [exchange] }]
    })
  )
}

/** A cancelled call does not go on: it gets no result that was made later. */
export const cancelled = (history: History): ReadonlyArray<Violation> =>
  callsOf(history).flatMap(({ cancellations, events, finals, id, post, request }) => {
    const ms = Number(Message.argumentOf(request, "ms"))
    // A cancellation that is sent before the call has begun can overtake it.
    const begunAt = events[0]?.at ?? Number.POSITIVE_INFINITY
    const inTime = cancellations.filter(({ endedAt, startedAt, status }) =>
      status === 202 && startedAt >= begunAt && endedAt !== undefined && endedAt < post.startedAt + ms
    )
    const results = finals.filter(({ message }) => message.result !== undefined)
    return inTime.length === 0 || results.length === 0 ? [] : [{
      rule: "cancelled",
      problem: `call ${id} was cancelled, and got a result: ${results[0]?.text}`,
      exchanges: [...inTime, ...results.map(({ exchange }) => exchange)]
    }]
  })

/** A second request with the id of a call that runs is rejected, and does not affect the call. */
export const duplicate = (history: History): ReadonlyArray<Violation> => {
  const calls = callsOf(history)
  return history.exchanges.filter(({ purpose }) => purpose === "duplicate").flatMap((exchange) => {
    const id = Message.parse(exchange.sent ?? "")?.id
    const call = calls.find((call) => call.session === exchange.session && call.id === id)
    const final = call?.finals.find(({ message }) => message.result !== undefined)
    const response = [...exchange.events.map(({ data }) => data), exchange.body].map(Message.parse)
      .find((message) => message !== undefined && id !== undefined && Message.isResponseTo(message, id))
    // A second request that is sent before the call has begun can overtake it.
    const hasBegun = call !== undefined && (call.events[0]?.at ?? Number.POSITIVE_INFINITY) <= exchange.startedAt
    const isRunning = hasBegun && final !== undefined && exchange.endedAt !== undefined && exchange.endedAt < final.at
    return isRunning && response?.result !== undefined
      ? [{ rule: "duplicate", problem: `id ${id} ran twice`, exchanges: [exchange, final.exchange] }]
      : []
  })
}

/** A question has an id of its own for as long as its session lives. */
export const questionIds = (history: History): ReadonlyArray<Violation> => {
  const seen = new Map<string, string>()
  return callsOf(history).flatMap(({ events, session }) =>
    events.flatMap(({ data, exchange }) => {
      const message = Message.parse(data)
      if (message?.method !== "elicitation/create" || message.id === undefined) return []
      const key = `${session} ${typeof message.id} ${message.id}`
      const question = String(message.params["message"])
      const earlier = seen.get(key)
      seen.set(key, question)
      return earlier === undefined || earlier === question
        ? []
        : [{ rule: "question-ids", problem: `${key} asked "${earlier}" and "${question}"`, exchanges: [exchange] }]
    })
  )
}

/** A question is cancelled before its call ends as *outcome unknown*. */
export const questionsCancelled = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  return callsOf(history).flatMap(({ events, finals, id, post, session }) => {
    // The client has ended the session itself, and its questions with it.
    const endingSince = lives.get(session)?.endingSince ?? Number.POSITIVE_INFINITY
    if (finals.some(({ at }) => at >= endingSince)) return []
    const messages = events.map(({ data }) => Message.parse(data))
    const end = messages.findIndex((message) => message !== undefined && Message.saysOutcomeUnknown(message))
    if (end < 0) return []
    const before = messages.slice(0, end)
    return before.flatMap((question, index) => {
      if (question?.method !== "elicitation/create") return []
      // A question without an event id is not in the store, so the process that ends the call does not know of it. The
      // rule `stored` reports it, unless the store was away.
      if (events[index]?.id === undefined) return []
      const isCancelled = before.some((message) =>
        message?.method === "notifications/cancelled" && message.params["requestId"] === question.id
      )
      return isCancelled
        ? []
        : [{
          rule: "questions-cancelled",
          problem: `question ${question.id} of call ${id} stays open`,
          exchanges: [post]
        }]
    })
  })
}
