/** A model of a session: the actions that its messages and its program demand. */

import { JsonRpc, type MethodDefinition, RequestId, Revision } from "@effect-mcp/protocol"
import { Faults } from "@effect-mcp/testing"
import { type Journal, ProtocolLaws } from "@effect-mcp/testing/internal"
import type { Command } from "./Command.ts"
import type { Era } from "./Conversation.ts"
import type { Entry, History } from "./History.ts"

/**
 * One side of a session, derived from the messages between it and its transport and from the actions of its program.
 * The model contains messages only: no table and no state of the runtime.
 */
export interface Side {
  readonly session: number
  readonly side: MethodDefinition.Role
  readonly entries: ReadonlyArray<Placed>
  /** The requests of this side's program. */
  readonly requests: ReadonlyArray<ProgramRequest>
  /** The requests that this side has sent. */
  readonly outbound: ReadonlyArray<Outbound>
  /** The cancellations that this side has sent for requests that it has not sent. */
  readonly strayCancels: ReadonlyArray<Placed>
  /** The requests that this side received. */
  readonly inbound: ReadonlyArray<Inbound>
  /** The replies of this side to no request, or to a request that was answered or cancelled. */
  readonly strayReplies: ReadonlyArray<Placed>
  readonly handlers: ReadonlyArray<Handler>
  /** The streams of notifications that the client has opened at this side. */
  readonly listens: ReadonlyArray<Listen>
  /** The log messages that this side received, and those that its program received. */
  readonly logs: { readonly received: ReadonlyArray<Log>; readonly handled: ReadonlyArray<Log> }
  /**
   * The place at which this side's handshake was complete. Before it only the handshake, pings and requests that carry
   * their client may have an effect. Without a handshake, a client is open after the answer to `server/discover`, and a
   * server from the beginning.
   */
  readonly opened: number | undefined
  /** The place at which this side began to close, and the place at which its connection was lost. */
  readonly closing: number | undefined
  /** The state of the session in the quiet moment before the end, and after the end. */
  readonly quiet: Inspected | undefined
  readonly end: Inspected | undefined
  /** Whether nothing happened to this session that could keep a request from its response. */
  readonly intact: boolean
  /** Whether nothing happened to it except that its own server closed it gracefully. */
  readonly orderly: boolean
  /** Whether nothing happened to it except once that its server closed it, or that its client stopped sending. */
  readonly graceful: boolean
}

/** An entry, and its index in the history. */
export interface Placed extends Entry {
  readonly place: number
}

type Inspected = Extract<Entry["event"], { readonly _tag: "Inspected" }>

/** A request of a program, and its end. */
export interface ProgramRequest {
  readonly nonce: number
  readonly what: string
  readonly deadline: number
  readonly total: number | undefined
  readonly probe: boolean
  readonly place: number
  readonly at: number
  readonly ended: { readonly place: number; readonly at: number; readonly end: Journal.End } | undefined
  readonly endings: number
  readonly steps: ReadonlyArray<Step>
}

/** Returns whether a request may end by its deadline on an undisturbed connection. */
export const mayTimeOut = ({ deadline, total }: ProgramRequest): boolean =>
  Math.min(deadline, total ?? Number.POSITIVE_INFINITY) < 5000

/** The commands by which the program itself interrupts calls. */
const isInterruption = (command: Command) => command._tag === "Interrupt" || command._tag === "CallAndInterrupt"

/** Returns whether the program of this side interrupts a call. */
export const interrupts = ({ conversation }: History): boolean => conversation.commands.some(isInterruption)

/** The states in which a session serves. */
export const serving: ReadonlySet<string> = new Set(["Operating", "Modern"])

/** The code of the error of a request that is one too many. */
export const overloaded = -31010

/** A step of progress, as the caller or as this side received it. */
export interface Step {
  readonly at: number
  readonly progress: number
}

/** A request that was sent, and the responses to it. */
export interface Outbound {
  readonly id: JsonRpc.Request["id"]
  readonly method: string
  readonly params: JsonRpc.Params
  /** The number of the call, for a call of a tool. */
  readonly nonce: unknown
  readonly place: number
  readonly responses: ReadonlyArray<
    { readonly place: number; readonly at: number; readonly response: JsonRpc.Response }
  >
  /** The number of cancellations. */
  readonly cancels: number
  /** The place of the first, or of the end of its stream before its response, which cancels it without a handshake. */
  readonly cancelled: number | undefined
  /** The steps of progress that increase, and arrived before the first response. */
  readonly steps: ReadonlyArray<Step>
}

/** A request that was received: whether it exceeded the limit, and its outcome. */
export interface Inbound {
  readonly id: JsonRpc.Request["id"]
  readonly method: string
  readonly params: JsonRpc.Params
  readonly nonce: unknown
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
  readonly ended: { readonly place: number; readonly how: Journal.HandlerEnd } | undefined
}

/** A stream of notifications, as its server sent it. */
export interface Listen {
  readonly request: Inbound
  /** The notifications with its id, in order. */
  readonly sent: ReadonlyArray<{ readonly place: number; readonly message: JsonRpc.Notification }>
}

/** A log message. */
export interface Log {
  readonly place: number
  readonly data: unknown
}

type Writable<A> = { -readonly [Name in keyof A]: A[Name] }
const isResponse = (message: JsonRpc.Message): message is JsonRpc.Response => !("method" in message)

/** Returns a member of a value; `undefined` if the value has none. */
export const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? new Map<string, unknown>(Object.entries(value)).get(name)
    : undefined

/** The members of the metadata of revision 2026-07-28. */
export const metadata = {
  protocolVersion: "io.modelcontextprotocol/protocolVersion",
  clientCapabilities: "io.modelcontextprotocol/clientCapabilities"
}

/** The request that opens a stream of notifications. */
export const listen = "subscriptions/listen"

/** Returns whether a request carries its client. */
const carriesClient = ({ params }: JsonRpc.Request): boolean =>
  member(member(params, "_meta"), metadata.protocolVersion) !== undefined

const nonceIn = (request: JsonRpc.Request): unknown => member(member(request.params, "arguments"), "nonce")

const sent = (entry: Placed): JsonRpc.Message | undefined =>
  entry.event._tag === "Sent" ? entry.event.message : undefined

const received = (entry: Placed): JsonRpc.Message | undefined =>
  entry.event._tag === "Received" ? entry.event.message : undefined

const isNamed = (message: JsonRpc.Message | undefined, method: string): message is JsonRpc.Notification =>
  message !== undefined && JsonRpc.isNotification(message) && message.method === method

/** Returns whether a response has the id of its request as text. */
export const isTextual = ({ id }: Outbound, { response }: Outbound["responses"][number]): boolean => response.id !== id

/** Returns whether the server closes its session by itself, while it serves. */
const closesInside = ({ event }: Entry): boolean =>
  event._tag === "Commanded" && typeof event.command === "object" && "tool" in event.command &&
  event.command.tool === "close"

/** Returns whether the server closes its session, or the client ends its direction. */
const isGraceful = (entry: Entry): boolean => {
  if (closesInside(entry)) return true
  if (entry.event._tag !== "Commanded" || typeof entry.event.command === "string") return false
  const { command } = entry.event
  return (command._tag === "Close" && command.by === "server") ||
    (command._tag === "HalfClose" && command.by === "client")
}

/** Returns whether an event may keep a request from its response, or end a session early. */
const disturbs = (entry: Entry): boolean => {
  if (entry.event._tag !== "Commanded" || typeof entry.event.command === "string") return false
  const { command } = entry.event
  switch (command._tag) {
    case "Call":
    case "CallAndInterrupt":
      return command.tool === "close" || command.tool === "elicitClose"
    case "Close":
    case "Cut":
    case "HalfClose":
    case "FailWrite":
    case "Stall":
      return true
    case "Inject":
      // The peer has not sent the injected message, and does not expect its reply.
      return [
        "Cancel",
        "DuplicateRequest",
        "ForgedState",
        "Initialize",
        "Request",
        "RequestOfOtherEra",
        "RepeatedResponse",
        "Initialized"
      ].includes(command.what)
    default:
      return false
  }
}

const requestsOf = (entries: ReadonlyArray<Placed>): ReadonlyArray<ProgramRequest> => {
  const byNonce = new Map<number, Writable<ProgramRequest> & { steps: Array<Step> }>()
  for (const { at, event, place } of entries) {
    if (event._tag === "Started") {
      byNonce.set(event.nonce, { ...event, at, place, ended: undefined, endings: 0, steps: [] })
    } else if (event._tag === "Progressed") {
      byNonce.get(event.nonce)?.steps.push({ at, progress: event.progress })
    } else if (event._tag === "Ended") {
      const request = byNonce.get(event.nonce)
      if (request === undefined) continue
      request.endings++
      request.ended ??= { place, at, end: event.end }
    }
  }
  return [...byNonce.values()]
}

/** Returns the requests that were sent, and the cancellations of requests that were not. */
const outboundOf = (entries: ReadonlyArray<Placed>, isModern: boolean) => {
  const strayCancels: Array<Placed> = []
  type Open = Writable<Outbound> & {
    responses: Array<Outbound["responses"][number]>
    steps: Array<Outbound["steps"][number]>
  }
  const byId = new Map<unknown, Open>()
  for (const entry of entries) {
    const { at, place } = entry
    const outgoing = sent(entry)
    const incoming = received(entry)
    if (outgoing !== undefined && JsonRpc.isRequest(outgoing)) {
      const { id, method, params = {} } = outgoing
      byId.set(id, {
        id,
        method,
        params,
        nonce: nonceIn(outgoing),
        place,
        responses: [],
        cancels: 0,
        cancelled: undefined,
        steps: []
      })
    } else if (entry.event._tag === "StreamLeft") {
      // In a session, only a message cancels a request.
      const open = byId.get(entry.event.id)
      if (isModern && open?.responses.length === 0) open.cancelled ??= place
    } else if (isNamed(outgoing, "notifications/cancelled")) {
      const open = byId.get(outgoing.params?.["requestId"])
      if (open === undefined) strayCancels.push(entry)
      else {
        open.cancels++
        open.cancelled ??= place
      }
    } else if (isNamed(incoming, "notifications/progress")) {
      const open = byId.get(incoming.params?.["progressToken"])
      const progress = incoming.params?.["progress"]
      if (open === undefined || open.responses.length > 0 || typeof progress !== "number") continue
      if (progress > (open.steps.at(-1)?.progress ?? Number.NEGATIVE_INFINITY)) open.steps.push({ at, progress })
    } else if (incoming !== undefined && isResponse(incoming)) {
      const open = byId.get(incoming.id) ?? byId.get(RequestId.numberIn(incoming.id))
      open?.responses.push({ place, at, response: incoming })
    }
  }
  return { outbound: [...byId.values()], strayCancels }
}

/** Returns the requests that were received, and the replies to other requests. */
const inboundOf = (entries: ReadonlyArray<Placed>) => {
  const all: Array<Writable<Inbound>> = []
  const strayReplies: Array<Placed> = []
  const runs = new Map<number, Writable<Inbound>>()
  const running = new Set<Inbound>()
  /** The requests whose handler has asked a question, or has opened a stream. Their outcome is not decided. */
  const undecided = new Set<Inbound>()
  /** The places of cancellations of requests whose outcome may have been decided. */
  const doubtful = new Map<Writable<Inbound>, number>()
  /** Whether the session ends, which decides the outcome of its streams. */
  let isClosing = false
  const waiting = (id: unknown) =>
    all.filter((inbound) => inbound.id === id && inbound.replied === undefined && inbound.cancelled === undefined)
  const first = (id: unknown) => waiting(id).find(({ duplicate }) => !duplicate)
  const cancel = (served: Writable<Inbound> | undefined, place: number) => {
    if (served === undefined) return
    // After its handler has ended, the outcome of a request is decided, sent or not.
    if (running.has(served) || (served.method === listen && undecided.has(served) && !isClosing)) {
      served.cancelled = place
    } else if (undecided.has(served) && !doubtful.has(served)) doubtful.set(served, place)
  }

  for (const entry of entries) {
    const { event, place } = entry
    const outgoing = sent(entry)
    const incoming = received(entry)
    if (incoming !== undefined && JsonRpc.isRequest(incoming)) {
      const { id, method, params = {} } = incoming
      const duplicate = first(id) !== undefined
      all.push({
        id,
        method,
        params,
        nonce: nonceIn(incoming),
        isModern: carriesClient(incoming),
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
      cancel(first(incoming.params?.["requestId"]), place)
    } else if (event._tag === "StreamLeft") {
      for (const number of event.received) {
        const left = all[number]
        if (left !== undefined && first(left.id) === left) cancel(left, place)
      }
    } else if (event._tag === "SessionEvent") {
      isClosing ||= event.detail._tag === "StateChanged" && ["Closing", "Closed"].includes(event.detail.to)
    } else if (outgoing !== undefined && isResponse(outgoing) && outgoing.id !== undefined && outgoing.id !== null) {
      const rejected = JsonRpc.isFailure(outgoing) ? waiting(outgoing.id).find(({ duplicate }) => duplicate) : undefined
      // Each ping is answered at once, whatever is in flight.
      const answered = rejected ?? first(outgoing.id) ?? waiting(outgoing.id).find(({ method }) => method === "ping")
      if (answered === undefined) strayReplies.push(entry)
      else {
        answered.replied = place
        answered.reply = outgoing
      }
    }
  }
  for (const [served, place] of doubtful) if (served.replied === undefined) served.cancelled ??= place
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
      if (ProtocolLaws.subscriptionIn(message) !== request.id) return []
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

const logsOf = (entries: ReadonlyArray<Placed>): Side["logs"] => ({
  received: entries.flatMap((entry) => {
    const incoming = received(entry)
    return isNamed(incoming, "notifications/message")
      ? [{ place: entry.place, data: member(incoming.params, "data") }]
      : []
  }),
  handled: entries.flatMap(({ event, place }) => event._tag === "Logged" ? [{ place, data: event.data }] : [])
})

/**
 * Returns the place at which the handshake is complete: for a client at an acceptable response, for a server at its own
 * response. A server without a handshake is open from the beginning.
 */
const openedOf = (side: MethodDefinition.Role, era: Era, entries: ReadonlyArray<Placed>): number | undefined => {
  if (era === "Modern" && side === "server") return -1
  const ids = new Set<unknown>()
  const first = era === "Modern" ? "server/discover" : "initialize"
  return entries.find((entry) => {
    const message = side === "client" ? sent(entry) : received(entry)
    const isFirst = message !== undefined && JsonRpc.isRequest(message) && message.method === first
    if (isFirst) ids.add(message.id)
    if (side === "server") return isFirst
    const response = received(entry)
    if (response === undefined || !isResponse(response) || JsonRpc.isFailure(response)) return false
    if (!ids.has(response.id) && !ids.has(RequestId.numberIn(response.id))) return false
    if (era === "Modern") {
      const versions = member(response.result, "supportedVersions")
      return Array.isArray(versions) && versions.includes("2026-07-28")
    }
    const revision = member(response.result, "protocolVersion")
    return Revision.legacy.some((supported) => supported === revision)
  })?.place
}

const inspectedAt = (entries: ReadonlyArray<Placed>, when: Inspected["when"]): Inspected | undefined => {
  for (const { event } of entries) if (event._tag === "Inspected" && event.when === when) return event
  return undefined
}

const sideOf = (
  session: number,
  side: MethodDefinition.Role,
  era: Era,
  entries: ReadonlyArray<Placed>,
  how: Pick<Side, "intact" | "orderly" | "graceful">
): Side => {
  const received = inboundOf(entries)
  return {
    session,
    side,
    entries,
    requests: requestsOf(entries),
    ...outboundOf(entries, era === "Modern"),
    ...received,
    handlers: handlersOf(entries),
    listens: listensOf(received.inbound, entries),
    logs: logsOf(entries),
    opened: openedOf(side, era, entries),
    closing: entries.find(({ event }) =>
      event._tag === "SessionEvent" && event.detail._tag === "StateChanged" &&
      (event.detail.to === "Closing" || event.detail.to === "Closed")
    )?.place,
    quiet: inspectedAt(entries, "Quiet"),
    end: inspectedAt(entries, "End"),
    ...how
  }
}

/**
 * Returns the requests that a call was sent as: one in a session, and otherwise one for each round. Their numbers are
 * those of the call.
 */
export const roundsOf = ({ outbound }: Side, nonce: number): ReadonlyArray<Outbound> =>
  outbound.filter((one) => one.nonce === nonce)

/** Returns both sides of every session of a history. */
export const sides = ({ conversation, entries }: History): ReadonlyArray<Side> => {
  const placed = entries.map((entry, place): Placed => ({ ...entry, place }))
  const held = placed.filter(({ event }) => event._tag !== "Commanded")
  return [...new Set(held.map(({ session }) => session))].flatMap((session) => {
    const ours = placed.filter((entry) => entry.session === session)
    const disturbances = ours.filter(disturbs)
    const lossy = Faults.isLossy(conversation.faults)
    const how = {
      intact: !lossy && disturbances.length === 0,
      orderly: !lossy && disturbances.every(closesInside),
      graceful: !lossy && disturbances.length === 1 && disturbances.every(isGraceful)
    }
    return (["client", "server"] as const).map((side) =>
      sideOf(session, side, conversation.era, ours.filter((entry) => entry.side === side), how)
    )
  })
}
