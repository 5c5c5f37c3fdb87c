/** The rules of sessions: who finds them, for how long, and what they keep. */
import type { Exchange, History } from "../History.ts"
import * as Message from "../Message.ts"
import { type Call, callsOf, faultsAt, isDisturbed, isStoreAway, type Life, livesOf, messagesOf } from "./Facts.ts"
import type { Violation } from "./Violation.ts"

/** The time in which a process answers, on a machine with other work. */
const answerMillis = 2900

/** Returns whether a response says that the outcome of its request is unknown. */
const isOutcomeUnknown = (exchange: Exchange): boolean =>
  messagesOf(exchange).some(({ message }) => Message.saysOutcomeUnknown(message))

/** Returns the session of its own principal that an exchange names. */
const ownLife = (lives: ReadonlyMap<string, Life>, { principal, session }: Exchange): Life | undefined => {
  const life = session === undefined ? undefined : lives.get(session)
  return life?.principal === principal ? life : undefined
}

/** The session of a client is found for as long as the client has not ended it. */
export const found = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  return history.exchanges.filter((exchange) => {
    const life = ownLife(lives, exchange)
    return life !== undefined && exchange.status === 404 && (exchange.endedAt ?? 0) < life.endingSince
  }).map((exchange) => ({ rule: "found", problem: `404 for a live session: ${exchange.body}`, exchanges: [exchange] }))
}

/** A session that was deleted is found nowhere. */
export const deleted = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  return history.exchanges.filter((exchange) => {
    const { endedAt = 0, startedAt, status } = exchange
    const life = ownLife(lives, exchange)
    // A process that does not reach the owner or the store does not know more than that.
    const isUnknown = (status === 503 || isOutcomeUnknown(exchange)) && isDisturbed(history.faults, startedAt, endedAt)
    return life !== undefined && startedAt > life.endedAt && status !== undefined && status !== 404 && !isUnknown
  }).map((exchange) => ({ rule: "deleted", problem: `${exchange.status} after DELETE`, exchanges: [exchange] }))
}

/** Returns what is compared of a response: all of it, without the id of its request. */
const answerOf = ({ body, retryAfter, status }: Exchange): string =>
  `${status} ${retryAfter ?? ""} ${body.replace(/"id":[^,}]+,?/, "")}`

/** The time that a request may wait longer than another one that was sent in the same moment. */
const waitMillis = 1500

const durationOf = ({ endedAt, startedAt }: Exchange): number => (endedAt ?? startedAt) - startedAt

/** Returns whether a process could not look into its store, or shut down: nothing else keeps it from the answer. */
const isUnable = (history: History, exchange: Exchange): boolean =>
  isDisturbed(faultsAt(history.faults, exchange), exchange.startedAt, exchange.endedAt ?? exchange.startedAt)

/** Returns the violations of requests that must not be distinguishable from those that name nothing. */
const alike = (
  history: History,
  rule: string,
  [named, unknown]: readonly [Exchange["purpose"], Exchange["purpose"]],
  isExcused: (exchange: Exchange, unavailable: ReadonlySet<string>) => boolean
): ReadonlyArray<Violation> => {
  const concerned = history.exchanges.filter(({ purpose }) => purpose === named || purpose === unknown)
  const terminations = history.faults.filter(({ kind }) => kind === "terminate")
  const rejections = new Map<string, string>()
  const unavailable = new Set<string>()
  for (const exchange of concerned) {
    if (exchange.purpose !== unknown || exchange.status === undefined) continue
    if (exchange.status !== 503) rejections.set(exchange.method, answerOf(exchange))
    // A process that shuts down has another text.
    else if (!isDisturbed(terminations, exchange.startedAt, exchange.endedAt ?? 0)) unavailable.add(answerOf(exchange))
  }
  return concerned.flatMap((exchange): ReadonlyArray<Violation> => {
    const { method, status } = exchange
    if (status === undefined || isExcused(exchange, unavailable)) return []
    const answer = answerOf(exchange)
    const expected = rejections.get(method) ?? answer
    const isRejected = rule === "foreign" ? status === 404 : status >= 400 && status < 500
    return isRejected && answer === expected && exchange.events.length === 0
      ? []
      : [{ rule, problem: `${method}: ${answer} in place of ${expected}`, exchanges: [exchange] }]
  })
}

/**
 * To another principal a session is one that never existed: by its status, by its body, and by the time. The process
 * that is asked answers by itself. While its store is away, it has one 503 for both.
 */
export const foreign = (history: History): ReadonlyArray<Violation> => {
  const terminations = history.faults.filter(({ kind }) => kind === "terminate")
  const unknown = history.exchanges.filter(({ purpose }) => purpose === "unknown")
  const waits = history.exchanges.filter((exchange) => exchange.purpose === "foreign" && !isUnable(history, exchange))
    .flatMap((exchange): ReadonlyArray<Violation> => {
      // The request that its client sent to the same process in the same moment.
      const twin = unknown.find(({ number, process }) => number === exchange.number - 1 && process === exchange.process)
      const longer = twin === undefined ? 0 : durationOf(exchange) - durationOf(twin)
      return longer < waitMillis ? [] : [{
        rule: "foreign",
        problem: `${exchange.method}: waited ${Math.round(longer)} ms longer than a session that does not exist`,
        exchanges: [exchange]
      }]
    })
  return [
    ...waits,
    ...alike(
      history,
      "foreign",
      ["foreign", "unknown"],
      (exchange, unavailable) =>
        exchange.status === 503 && isUnable(history, exchange) && (
          unavailable.size === 0 || unavailable.has(answerOf(exchange)) ||
          isDisturbed(faultsAt(terminations, exchange), exchange.startedAt, exchange.endedAt ?? exchange.startedAt)
        )
    )
  ]
}

/** An event of another principal is one that never existed. */
export const foreignEvents = (history: History): ReadonlyArray<Violation> =>
  alike(history, "foreign-events", ["foreign-event", "unknown-event"], ({ endedAt, startedAt, status }) =>
    // The own session may be away, or may have been deleted meanwhile.
    status === 404 || status === 503 && isDisturbed(history.faults, startedAt, endedAt ?? startedAt))

/** The marks in the texts of a client, which name its session. */
const mark = /mark:([\w-]+):\d+/g

/** Returns the text with which a client marks what belongs to its session. */
export const markOf = (client: string, number: number): string => `mark:${client}:${number}`

/** All data that a client receives in its session belongs to the session. */
export const ownData = (history: History): ReadonlyArray<Violation> => {
  const owners = new Map<string, string>()
  for (const { purpose, sent = "", session = "" } of history.exchanges) {
    if (purpose === "call") {
      for (const [, client = ""] of sent.matchAll(mark)) owners.set(`${session} ${client}`, client)
    }
  }
  return history.exchanges.flatMap((exchange) => {
    const texts = [exchange.body, ...exchange.events.map(({ data }) => data)]
    const strange = texts.flatMap((text) => [...text.matchAll(mark)])
      .find(([, client]) => !owners.has(`${exchange.session} ${client}`))
    return strange === undefined
      ? []
      : [{ rule: "own-data", problem: `received ${strange[0]} of another session`, exchanges: [exchange] }]
  })
}

/** Returns the statuses that a request for a live session may get. */
const statusesOf = ({ lastEventId, purpose }: Exchange): ReadonlyArray<number> => {
  switch (purpose) {
    case "answer":
    case "cancel":
    case "ready":
      return [202]
    case "delete":
      return [200, 204]
    case "listen":
      // The server has not noticed yet that the connection of the stream broke; or the stream has ended.
      return lastEventId === undefined ? [200, 409] : [200, 405]
    case "duplicate":
      // Its body says that the id is in use; 409 is that of the call, which has ended meanwhile.
      return [200, 400]
    default:
      return [200]
  }
}

/** A request for a live session gets the status of its kind, or 503 while there is a fault. */
export const statuses = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  // A call that is cancelled before its stream has begun has no response, and 202 in place of it.
  const cancelledCalls = callsOf(history).filter(({ cancellations }) => cancellations.length > 0)
  const cancelled = new Set(cancelledCalls.map(({ post }) => post))
  // A request that resumed the stream just before the cancellation may arrive after it, when the stream has ended.
  const resumed = new Set(
    cancelledCalls.flatMap(({ cancellations, exchanges }) =>
      exchanges.filter(({ endedAt = 0 }) => cancellations.some(({ startedAt }) => startedAt <= endedAt))
    )
  )
  const away = new Set<Exchange["purpose"]>(["foreign", "unknown", "foreign-event", "unknown-event"])
  return history.exchanges.flatMap((exchange) => {
    const { endedAt = 0, purpose, retryAfter, startedAt, status } = exchange
    const life = ownLife(lives, exchange)
    const isOver = life !== undefined && endedAt >= life.endingSince
    if (away.has(purpose) || status === undefined || isOver || statusesOf(exchange).includes(status)) return []
    // The rule `found` is about 404.
    if (status === 404 || status === 202 && cancelled.has(exchange)) return []
    if (status === 405 && resumed.has(exchange)) return []
    const isDuring = isDisturbed(history.faults, startedAt, endedAt)
    if (isDuring && isOutcomeUnknown(exchange)) return []
    if (status === 503 && retryAfter !== undefined && isDuring) return []
    // A booking begins after it was stored.
    const tool = Message.toolOf(Message.parse(exchange.sent ?? "") ?? Message.nothing)
    if (status === 429 && retryAfter !== undefined && tool === "book") {
      if (isStoreAway(history.faults, startedAt, endedAt)) return []
    }
    // A stream with an event that could not be stored cannot be resumed.
    if ((status === 400 || status === 405) && purpose === "resume" && isStoreAway(history.faults, startedAt, endedAt)) {
      return []
    }
    const problem = status === 503
      ? `503 ${isDuring ? "without Retry-After" : "without a fault"}`
      : `status ${status}`
    return [{
      rule: "statuses",
      problem: `${purpose}: ${problem}: ${exchange.body.slice(0, 200)}`,
      exchanges: [exchange]
    }]
  })
}

/** While there is no fault, no connection breaks, no request waits for its response, and no stream for its events. */
export const connections = (history: History): ReadonlyArray<Violation> =>
  history.exchanges.flatMap((exchange) => {
    const { ending, endedAt = 0, purpose, startedAt, status } = exchange
    const isHung = ending === "abandoned" && status === undefined && endedAt - startedAt >= answerMillis
    // The tool reports its progress all the time.
    const isSilent = ending === "abandoned" && status === 200 &&
      Message.toolOf(Message.parse(exchange.sent ?? "") ?? Message.nothing) === "slow"
    if (!isHung && !isSilent && ending !== "broken" && ending !== "refused") return []
    const problem = isHung ? "no response" : isSilent ? "a response without events" : ending
    return isDisturbed(history.faults, startedAt, endedAt)
      ? []
      : [{ rule: "connections", problem: `${purpose}: ${problem}`, exchanges: [exchange] }]
  })

/** Returns the final result of a call, which its client received first. */
const resultOf = ({ finals }: Call) => finals.find(({ message }) => message.result !== undefined)

/** The time within which subscribers learn of a change, or learn of it after a fault. */
const updateMillis = 3000
const lateUpdateMillis = 10_000

/** Returns the time by which subscribers have learned of a change: after the last of the faults that follow it. */
const dueOf = (faults: History["faults"], touchedAt: number): number => {
  let due = touchedAt + updateMillis
  for (;;) {
    const later = faults.filter((fault) => isDisturbed([fault], touchedAt, due))
      .map(({ until }) => until + lateUpdateMillis)
    const next = Math.max(due, ...later)
    if (next === due) return due
    due = next
  }
}

/** The time after a fault in which a change can be missed. */
const missedMillis = 1500

/** A change of a resource reaches all sessions that have subscribed to it, unless there is a fault at the same time. */
export const updates = (history: History): ReadonlyArray<Violation> => {
  const lives = livesOf(history)
  const calls = callsOf(history)
  const end = Math.max(...history.exchanges.map(({ endedAt }) => endedAt ?? 0), 0)
  const losing = history.faults.filter(({ kind }) => kind !== "busy" && kind !== "cut-peers" && kind !== "stall-peers")
  const subscriptions = calls.flatMap((call) => {
    const at = call.request.method === "resources/subscribe" ? resultOf(call)?.at : undefined
    // A store that is away does not keep it.
    return at === undefined || isStoreAway(history.faults, call.post.startedAt, at)
      ? []
      : [{ at, session: call.session, uri: call.request.params["uri"] }]
  })
  const received = history.exchanges.flatMap(({ events, session }) =>
    events.flatMap(({ at, data }) => {
      const message = Message.parse(data)
      return message?.method === "notifications/resources/updated" ? [{ at, session, uri: message.params["uri"] }] : []
    })
  )
  return calls.filter(({ request }) => Message.toolOf(request) === "touch").flatMap((touch) => {
    const uri = Message.argumentOf(touch.request, "uri")
    const touchedAt = resultOf(touch)?.at
    if (touchedAt === undefined) return []
    // A process can lose a change with its connections, and a session without an owner learns of none.
    if (isDisturbed(losing, touch.post.startedAt, touchedAt, missedMillis)) return []
    const until = dueOf(history.faults, touchedAt)
    if (until > end) return []
    return subscriptions.filter((subscription) => {
      const life = lives.get(subscription.session)
      return subscription.uri === uri && subscription.at < touch.post.startedAt && life !== undefined &&
        life.endingSince > until &&
        !received.some(({ at, session, uri }) =>
          session === subscription.session && uri === subscription.uri && at >= touch.post.startedAt &&
          at <= until
        )
    }).map(({ session }) => ({
      rule: "updates",
      problem: `session ${session} did not learn that ${String(uri)} changed at ${Math.round(touchedAt)}`,
      exchanges: [touch.post]
    }))
  })
}

const severities = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]

/** A session keeps the log level that its client has set: other messages stay away, and these come. */
export const logLevels = (history: History): ReadonlyArray<Violation> => {
  const calls = callsOf(history)
  const settings = calls.filter(({ request }) => request.method === "logging/setLevel")
  return calls.filter(({ request }) => Message.toolOf(request) === "log").flatMap((log) => {
    const result = resultOf(log)
    const earlier = settings.filter(({ post, session }) =>
      session === log.session && post.startedAt < log.post.startedAt
    )
    const set = earlier.at(-1)
    const setAt = set === undefined ? undefined : resultOf(set)?.at
    // The level is not known while it is being set, or if its client does not know whether it was set.
    if (result === undefined || set === undefined || setAt === undefined || setAt > log.post.startedAt) return []
    // A store that is away does not keep it.
    if (isStoreAway(history.faults, set.post.startedAt, setAt)) return []
    const level = String(Message.argumentOf(log.request, "level"))
    const least = String(set.request.params["level"])
    const text = Message.argumentOf(log.request, "text")
    const isExpected = severities.indexOf(level) >= severities.indexOf(least)
    const isReceived = log.events.some(({ data }) => {
      const message = Message.parse(data)
      return message?.method === "notifications/message" && message.params["data"] === text
    })
    return isExpected === isReceived ? [] : [{
      rule: "log-levels",
      problem: `${level} ${isReceived ? "came" : "did not come"}, and the level is ${least}`,
      exchanges: [log.post]
    }]
  })
}
