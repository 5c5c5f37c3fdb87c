/**
 * A model of the requests that one side of a session has received, with their outcomes and streams of notifications.
 *
 * It is derived from messages, and from the handlers that ran if they are recorded.
 */
import { JsonRpc, type MethodDefinition, RequestMetadata } from "@effect-mcp/protocol"
import { memberOf } from "../arbitrary/jsonValues.ts"
import type { Entry, HandlerEnd } from "./Journal.ts"
import type { Setting } from "./Setting.ts"

/** An entry, and its index in the journal. */
export interface Placed<Command = unknown> extends Entry<Command> {
  readonly place: number
}

/** A request that was received: whether it exceeded the limit, and its outcome. */
export interface Inbound {
  readonly id: JsonRpc.Request["id"]
  readonly method: string
  readonly params: JsonRpc.Params
  /** Whether it carries its client, and needs no handshake. */
  readonly isModern: boolean
  readonly place: number
  /** Another request with the same id was in flight. */
  readonly duplicate: boolean
  readonly cancelled: number | undefined
  readonly replied: number | undefined
  readonly reply: JsonRpc.Response | undefined
  /** The place at which the transport had finished with the reply. */
  readonly taken: number | undefined
}

/** A run of a handler. */
export interface Handler {
  readonly id: JsonRpc.Request["id"]
  readonly nonce: unknown
  readonly place: number
  readonly ended: { readonly place: number; readonly how: HandlerEnd } | undefined
}

/** A stream of notifications, as its server sent it. */
export interface Listen {
  readonly request: Inbound
  /** The notifications with its id, in order. */
  readonly sent: ReadonlyArray<{ readonly place: number; readonly message: JsonRpc.Notification }>
}

/** The properties of a session that its messages do not show. */
export interface Circumstances {
  readonly form: Setting["form"]
  /** Whether the journal contains the runs of handlers. */
  readonly recordsHandlers: boolean
  /** Whether messages had to wait for a stalled wire. */
  readonly isStalled: boolean
  /** The place of a moment at which all is answered that can be; `undefined` if there is none. */
  readonly quietAt: number | undefined
  /** The place after which this side replies to no request, because it is a client without a handshake. */
  readonly muteAfter?: number | undefined
}

/** One side of a session. */
export interface Side extends Circumstances {
  readonly session: number
  readonly side: MethodDefinition.Role
  readonly entries: ReadonlyArray<Placed>
  /** The requests that this side received. */
  readonly inbound: ReadonlyArray<Inbound>
  /** The replies of this side to no request, or to a request that was answered or cancelled. */
  readonly strayReplies: ReadonlyArray<Placed>
  readonly handlers: ReadonlyArray<Handler>
  /** The streams of notifications that the client has opened at this side. */
  readonly listens: ReadonlyArray<Listen>
  /** The place at which this side began to close, or at which its connection was lost. */
  readonly closing: number | undefined
}

/** A type whose members can be written. */
export type Writable<A> = { -readonly [Name in keyof A]: A[Name] }

/** The request that opens a stream of notifications. */
export const listen = "subscriptions/listen"

/** Returns whether an entry is the begin of the end of a session. */
export const isClosing = ({ event }: Entry<unknown>): boolean =>
  event._tag === "SessionEvent" && event.detail._tag === "StateChanged" &&
  (event.detail.to === "Closing" || event.detail.to === "Closed")

/** Returns the id of the stream that a notification belongs to. */
export const subscriptionIn = ({ params }: JsonRpc.Notification): unknown =>
  memberOf(params, "_meta", RequestMetadata.keys.subscriptionId)

/** Returns the message of an entry, if this side has sent it. */
export const sent = ({ event }: Entry<unknown>): JsonRpc.Message | undefined =>
  event._tag === "Sent" ? event.message : undefined

/** Returns the message of an entry, if this side has received it. */
export const received = ({ event }: Entry<unknown>): JsonRpc.Message | undefined =>
  event._tag === "Received" ? event.message : undefined

/** Returns whether a message is a notification of a method. */
export const isNamed = (message: JsonRpc.Message | undefined, method: string): message is JsonRpc.Notification =>
  message !== undefined && JsonRpc.isNotification(message) && message.method === method

/** Returns whether a message is a response. */
export const isResponse = (message: JsonRpc.Message): message is JsonRpc.Response => !("method" in message)

/** Returns the requests that were received, and the replies to other requests. */
const inboundOf = (entries: ReadonlyArray<Placed>, { isStalled, recordsHandlers }: Circumstances) => {
  const all: Array<Writable<Inbound>> = []
  const strayReplies: Array<Placed> = []
  const runs = new Map<number, Writable<Inbound>>()
  const running = new Set<Inbound>()
  /** The requests whose handler has asked a question, or has opened a stream. Their outcome is not decided. */
  const undecided = new Set<Inbound>()
  /** The cancellations of requests whose outcome may have been decided. */
  const doubtful = new Map<Writable<Inbound>, Placed>()
  /** Whether the session ends, which decides the outcome of its streams. */
  let ends = false
  const waiting = (id: unknown) =>
    all.filter((inbound) => inbound.id === id && inbound.replied === undefined && inbound.cancelled === undefined)
  const first = (id: unknown) => waiting(id).find(({ duplicate }) => !duplicate)
  const cancel = (served: Writable<Inbound> | undefined, entry: Placed) => {
    if (served === undefined) return
    // After its handler has ended, the outcome of a request is decided, sent or not.
    if (running.has(served) || (served.method === listen && undecided.has(served) && !ends)) {
      served.cancelled = entry.place
    } else if ((undecided.has(served) || !recordsHandlers) && !doubtful.has(served)) doubtful.set(served, entry)
  }
  /** Returns whether a reply is later than a cancellation. At the same time, it may have been under way. */
  const isLate = (served: Writable<Inbound>, at: number) =>
    !recordsHandlers && !isStalled && (doubtful.get(served)?.at ?? at) < at

  for (const entry of entries) {
    const { event, place } = entry
    const outgoing = sent(entry)
    const incoming = received(entry)
    ends ||= isClosing(entry)
    if (incoming !== undefined && JsonRpc.isRequest(incoming)) {
      const { id, method, params = {} } = incoming
      const duplicate = first(id) !== undefined
      all.push({
        id,
        method,
        params,
        isModern: RequestMetadata.isIn(params["_meta"]),
        place,
        duplicate,
        cancelled: undefined,
        replied: undefined,
        reply: undefined,
        taken: undefined
      })
    } else if (event._tag === "HandlerStarted") {
      const served = first(event.id)
      if (served === undefined) continue
      runs.set(event.run, served)
      running.add(served)
    } else if (event._tag === "ReplyHandedOver") {
      const served = all.find(({ id, replied, taken }) =>
        id === event.id && replied !== undefined && taken === undefined
      )
      if (served !== undefined) served.taken = place
    } else if (event._tag === "HandlerEnded") {
      const served = runs.get(event.run)
      if (served === undefined) continue
      running.delete(served)
      if (served.isModern && (event.how === "Interrupted" || served.method === listen)) undecided.add(served)
    } else if (isNamed(incoming, "notifications/cancelled")) {
      cancel(first(incoming.params?.["requestId"]), entry)
    } else if (event._tag === "StreamLeft") {
      for (const number of event.received) {
        const left = all[number]
        if (left !== undefined && first(left.id) === left) cancel(left, entry)
      }
    } else if (outgoing !== undefined && isResponse(outgoing) && outgoing.id !== undefined && outgoing.id !== null) {
      const rejected = JsonRpc.isFailure(outgoing) ? waiting(outgoing.id).find(({ duplicate }) => duplicate) : undefined
      // Each ping is answered at once, whatever is in flight.
      const answered = rejected ?? first(outgoing.id) ?? waiting(outgoing.id).find(({ method }) => method === "ping")
      if (answered === undefined || isLate(answered, entry.at)) strayReplies.push(entry)
      if (answered !== undefined) {
        answered.replied = place
        answered.reply = outgoing
      }
    }
  }
  for (const [served, { place }] of doubtful) if (served.replied === undefined) served.cancelled ??= place
  return { inbound: all, strayReplies }
}

/** Returns the streams of notifications that were requested, with what was sent on each. */
const listensOf = (inbound: ReadonlyArray<Inbound>, entries: ReadonlyArray<Placed>): ReadonlyArray<Listen> => {
  const requests = inbound.filter(({ isModern, method }) => isModern && method === listen)
  return requests.map((request) => ({
    request,
    sent: entries.flatMap((entry) => {
      const message = sent(entry)
      if (message === undefined || !JsonRpc.isNotification(message)) return []
      if (subscriptionIn(message) !== request.id) return []
      const owner = requests.findLast(({ id, place }) => id === request.id && place < entry.place)
      return owner === request ? [{ place: entry.place, message }] : []
    })
  }))
}

const handlersOf = (entries: ReadonlyArray<Placed>): ReadonlyArray<Handler> => {
  const byRun = new Map<number, Writable<Handler>>()
  for (const { event, place } of entries) {
    if (event._tag === "HandlerStarted") {
      byRun.set(event.run, { id: event.id, nonce: event.nonce, place, ended: undefined })
    } else if (event._tag === "HandlerEnded") {
      const handler = byRun.get(event.run)
      if (handler !== undefined) handler.ended = { place, how: event.how }
    }
  }
  return [...byRun.values()]
}

/** Returns one side of a session, from its entries. */
export const sideOf = (
  session: number,
  side: MethodDefinition.Role,
  entries: ReadonlyArray<Placed>,
  circumstances: Circumstances
): Side => {
  const received = inboundOf(entries, circumstances)
  return {
    ...circumstances,
    session,
    side,
    entries,
    ...received,
    handlers: handlersOf(entries),
    listens: listensOf(received.inbound, entries),
    closing: entries.find(isClosing)?.place
  }
}
