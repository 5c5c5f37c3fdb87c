/** The calls and the sessions of a history: what the rules are about. */
import type { Exchange, Fault, History, Principal, ReceivedEvent } from "../History.ts"
import * as Message from "../Message.ts"

/** A final response to a call, as its client received it. */
export interface Final {
  readonly at: number
  readonly exchange: Exchange
  readonly eventId: string | undefined
  readonly text: string
  readonly message: Message.Message
}

/** A request with an id of its own, and everything that its client received for it. */
export interface Call {
  readonly session: string
  readonly id: Message.Id
  readonly request: Message.Message
  readonly post: Exchange
  /** The POST, and the requests that resumed or read again its stream. */
  readonly exchanges: ReadonlyArray<Exchange>
  /** The events of all of them in the order of their receipt; each event id once. */
  readonly events: ReadonlyArray<ReceivedEvent & { readonly exchange: Exchange }>
  readonly finals: ReadonlyArray<Final>
  /** The cancellations that its client sent. */
  readonly cancellations: ReadonlyArray<Exchange>
}

/** A session that a client opened. */
export interface Life {
  readonly session: string
  readonly principal: Principal
  readonly openedAt: number
  /** The time at which its client first sent DELETE. */
  readonly endingSince: number
  /** The time from which on its client knew that the session had ended. */
  readonly endedAt: number
}

/** Returns the messages of an exchange: those of its events, or its body. */
export const messagesOf = (exchange: Exchange): ReadonlyArray<Omit<Final, "exchange">> =>
  [
    ...exchange.events.map(({ at, data, id }) => ({ at, eventId: id, text: data })),
    ...(exchange.body === "" ? [] : [{ at: exchange.endedAt ?? 0, eventId: undefined, text: exchange.body }])
  ].flatMap((received) => {
    const message = Message.parse(received.text)
    return message === undefined ? [] : [{ ...received, message }]
  })

/** Returns the value at a key, which the function makes if there is none. */
const valueAt = <K, V>(map: Map<K, V>, key: K, make: () => V): V => {
  const existing = map.get(key)
  if (existing !== undefined) return existing
  const made = make()
  map.set(key, made)
  return made
}

/** Returns the events of these exchanges; each event id once. */
const eventsOf = (exchanges: ReadonlyArray<Exchange>): Call["events"] => {
  const seen = new Set<string>()
  return exchanges.flatMap((exchange) => exchange.events.map((event) => ({ ...event, exchange })))
    .toSorted((one, other) => one.at - other.at)
    .filter(({ id }) => {
      if (id === undefined) return true
      if (seen.has(id)) return false
      seen.add(id)
      return true
    })
}

/** Returns the exchanges by their sessions. */
export const bySession = ({ exchanges }: History): ReadonlyMap<string, ReadonlyArray<Exchange>> => {
  const sessions = new Map<string, Array<Exchange>>()
  for (const exchange of exchanges) {
    if (exchange.session !== undefined && exchange.purpose !== "foreign" && exchange.purpose !== "unknown") {
      valueAt(sessions, exchange.session, () => []).push(exchange)
    }
  }
  return sessions
}

/** Returns a function that derives a fact of a history once. */
export const once = <A>(derive: (history: History) => A): (history: History) => A => {
  const known = new WeakMap<History, A>()
  return (history) => {
    const existing = known.get(history)
    if (existing !== undefined) return existing
    const derived = derive(history)
    known.set(history, derived)
    return derived
  }
}

/** Returns the calls of a history. */
export const callsOf = once((history: History): ReadonlyArray<Call> =>
  [...bySession(history)].flatMap(([session, exchanges]) => {
    /** The POST of the stream that an event belongs to. */
    const posts = new Map<string, Exchange>()
    const parts = new Map<Exchange, Array<Exchange>>()
    for (const exchange of exchanges) {
      const { ending, lastEventId, purpose } = exchange
      // The client sends a request again if no process listened.
      if (purpose === "call" && ending === "refused") continue
      const post = purpose === "call" ? exchange : lastEventId === undefined ? undefined : posts.get(lastEventId)
      if (post === undefined) continue
      valueAt(parts, post, () => []).push(exchange)
      for (const { id } of exchange.events) if (id !== undefined) posts.set(id, post)
    }
    const received = exchanges.filter(({ purpose }) => purpose !== "duplicate")
      .flatMap((exchange) => messagesOf(exchange).map((message) => ({ ...message, exchange })))
    const responses = new Map<Message.Id, Array<Final>>()
    for (const final of received) {
      const { error, id, method, result } = final.message
      if (id !== undefined && method === undefined && (result !== undefined || error !== undefined)) {
        valueAt(responses, id, () => []).push(final)
      }
    }
    const cancellations = new Map<unknown, Array<Exchange>>()
    for (const exchange of exchanges) {
      if (exchange.purpose !== "cancel") continue
      const cancelled = Message.parse(exchange.sent ?? "")?.params["requestId"]
      valueAt(cancellations, cancelled, () => []).push(exchange)
    }
    return [...parts].flatMap(([post, exchanges]): ReadonlyArray<Call> => {
      const request = Message.parse(post.sent ?? "")
      if (request?.id === undefined) return []
      const { id } = request
      // The body of an error such as 404 has the id of its request, and is no outcome of a call.
      const finals = (responses.get(id) ?? []).filter(({ eventId, exchange, message }) =>
        eventId !== undefined || exchange.status === 200 || Message.saysOutcomeUnknown(message)
      )
      return [{
        session,
        id,
        request,
        post,
        exchanges,
        events: eventsOf(exchanges),
        finals,
        cancellations: cancellations.get(id) ?? []
      }]
    })
  })
)

/** Returns the sessions that the clients of a history opened. */
export const livesOf = once(({ exchanges }: History): ReadonlyMap<string, Life> => {
  const lives = new Map<string, Life>()
  const deleting = exchanges.filter(({ purpose }) => purpose === "delete")
  for (const { ending, endedAt = 0, opened, principal, purpose, status } of exchanges) {
    if (purpose !== "open" || status !== 200 || ending !== "complete" || opened === undefined) continue
    const deletions = deleting.filter(({ session }) => session === opened)
    // After an attempt whose response was lost, 404 says the same.
    const ends = deletions.filter(({ status }) => status === 204 || status === 200 || status === 404)
      .map(({ endedAt }) => endedAt ?? Number.POSITIVE_INFINITY)
    lives.set(opened, {
      session: opened,
      principal,
      openedAt: endedAt,
      endingSince: Math.min(...deletions.map(({ startedAt }) => startedAt), Number.POSITIVE_INFINITY),
      endedAt: Math.min(...ends, Number.POSITIVE_INFINITY)
    })
  }
  return lives
})

/** The time after a fault for which its effects may last; what a process does after a wait is only late. */
const afterMillis = 5000
const afterBusyMillis = 1000

/** Returns whether a fault, or its effects, overlapped with this time. */
export const isDisturbed = (faults: ReadonlyArray<Fault>, from: number, to: number, after = afterMillis): boolean =>
  faults.some(({ at, kind, until }) => at <= to && until + (kind === "busy" ? afterBusyMillis : after) >= from)

/** The faults that a process does not notice before it needs another one. */
const ofPeers: ReadonlySet<Fault["kind"]> = new Set(["cut-peers", "stall-peers"])

/** Returns the faults that keep a process from answering without another process. */
export const faultsAt = (faults: ReadonlyArray<Fault>, { process }: Exchange): ReadonlyArray<Fault> => {
  const numberOf = (name: string) => name.split(".")[0]
  return faults.filter(({ kind, target }) =>
    !ofPeers.has(kind) && (target === "store" || target === "machine" || numberOf(target) === numberOf(process))
  )
}

/** The faults that keep a process from its stores. After a pause, the calls that were on their way have timed out. */
const ofStore: ReadonlySet<Fault["kind"]> = new Set(["cut-store", "stall-store", "restart-store", "lease", "pause"])

/** Returns the faults that can end the ownership of sessions, or lose a write of their owner. */
export const ofOwnersIn = ({ faults }: History): ReadonlyArray<Fault> =>
  faults.filter(({ kind }) => kind === "kill" || kind === "terminate" || ofStore.has(kind))

/** Returns whether a store was away, or its writes were late, in this time. */
export const isStoreAway = (faults: ReadonlyArray<Fault>, from: number, to: number): boolean =>
  isDisturbed(faults.filter(({ kind }) => ofStore.has(kind)), from, to)
