/** The rules of event streams: ids, order, gaps and ends. */
import type { History } from "../History.ts"
import * as Message from "../Message.ts"
import { bySession, callsOf, isStoreAway } from "./Facts.ts"
import type { Violation } from "./Violation.ts"

/** An event id stands for one event, at every process and in every response. */
export const eventIds = (history: History): ReadonlyArray<Violation> =>
  [...bySession(history).values()].flatMap((exchanges) => {
    const seen = new Map<string, string>()
    return exchanges.flatMap((exchange) =>
      exchange.events.flatMap(({ data, id }) => {
        if (id === undefined) return []
        const earlier = seen.get(id)
        seen.set(id, data)
        return earlier === undefined || earlier === data
          ? []
          : [{ rule: "event-ids", problem: `${id} is "${earlier}" and "${data}"`, exchanges: [exchange] }]
      })
    )
  })

/** Every event has an id, by which its client can resume the stream, unless a store could not store it. */
export const stored = (history: History): ReadonlyArray<Violation> =>
  history.exchanges.flatMap((exchange) => {
    const without = exchange.events.find(({ at, id }) =>
      id === undefined && !isStoreAway(history.faults, exchange.startedAt, at)
    )
    return without === undefined
      ? []
      : [{ rule: "stored", problem: `an event without an id: ${without.data.slice(0, 200)}`, exchanges: [exchange] }]
  })

/** No event comes twice in one response. */
export const eventsOnce = (history: History): ReadonlyArray<Violation> =>
  history.exchanges.flatMap((exchange) => {
    const ids = exchange.events.flatMap(({ id }) => id ?? [])
    const twice = ids.find((id, index) => ids.indexOf(id) !== index)
    return twice === undefined
      ? []
      : [{ rule: "events-once", problem: `${twice} came twice in one response`, exchanges: [exchange] }]
  })

/** The event after an event is always the same one: a stream that is resumed has no gap. */
export const noGap = (history: History): ReadonlyArray<Violation> =>
  [...bySession(history).values()].flatMap((exchanges) => {
    const next = new Map<string, string>()
    return exchanges.flatMap((exchange) => {
      let previous = exchange.lastEventId
      return exchange.events.flatMap(({ id }) => {
        const before = previous
        previous = id
        if (id === undefined || before === undefined) return []
        const earlier = next.get(before)
        next.set(before, id)
        return earlier === undefined || earlier === id
          ? []
          : [{ rule: "no-gap", problem: `after ${before} came ${earlier}, and now ${id}`, exchanges: [exchange] }]
      })
    })
  })

/** The steps of progress of the tool `slow`. */
const step = 100

/** The progress of a call does not go back, and no step is missing. */
export const progress = (history: History): ReadonlyArray<Violation> =>
  callsOf(history).filter(({ request }) => Message.toolOf(request) === "slow").flatMap(
    ({ events, finals, id, post, request }) => {
      const total = Number(Message.argumentOf(request, "ms"))
      let last = 0
      const wrong = events.flatMap(({ data, exchange }) => {
        const message = Message.parse(data)
        if (message?.method !== "notifications/progress") return []
        const before = last
        last = Number(message.params["progress"])
        return last === Math.min(before + step, total)
          ? []
          : [{ rule: "progress", problem: `call ${id}: ${last} after ${before}`, exchanges: [post, exchange] }]
      })
      const isMissing = last < total && finals.some(({ message }) => message.result !== undefined)
      return isMissing
        ? [...wrong, { rule: "progress", problem: `call ${id}: a result after ${last} of ${total}`, exchanges: [post] }]
        : wrong
    }
  )

/** Nothing follows the final response of a call. */
export const nothingAfterFinal = (history: History): ReadonlyArray<Violation> =>
  callsOf(history).flatMap(({ events, id }) => {
    const end = events.findIndex(({ data }) => {
      const message = Message.parse(data)
      return message !== undefined && Message.isResponseTo(message, id)
    })
    const later = end < 0 ? [] : events.slice(end + 1).filter(({ data }) => data !== "")
    return later.length === 0 ? [] : [{
      rule: "nothing-after-final",
      problem: `after the final response of call ${id} came ${later[0]?.data}`,
      exchanges: later.map(({ exchange }) => exchange)
    }]
  })
