/** A model of a session: the actions that its messages and its program demand. */

import { JsonRpc, type MethodDefinition, RequestId, Revision } from "@effect-mcp/protocol"
import { Faults } from "@effect-mcp/testing"
import { type Journal, jsonValues, type ProtocolLaws, Served } from "@effect-mcp/testing/internal"
import type { Command } from "./Command.ts"
import type { Conversation, Era } from "./Conversation.ts"
import type { Commanded, Entry, History } from "./History.ts"

const { memberOf } = jsonValues

/**
 * One side of a session, derived from the messages between it and its transport and from the actions of its program.
 * The model contains messages only: no table and no state of the runtime.
 */
export interface Side extends Served.Side {
  readonly entries: ReadonlyArray<Placed>
  /** The requests of this side's program. */
  readonly requests: ReadonlyArray<ProgramRequest>
  /** The requests that this side has sent. */
  readonly outbound: ReadonlyArray<Outbound>
  /** The cancellations that this side has sent for requests that it has not sent. */
  readonly strayCancels: ReadonlyArray<Placed>
  /** The log messages that this side received, and those that its program received. */
  readonly logs: { readonly received: ReadonlyArray<Log>; readonly handled: ReadonlyArray<Log> }
  /**
   * The place at which this side's handshake was complete. Before it only the handshake, pings and requests that carry
   * their client may have an effect. Without a handshake, a client is open after the answer to `server/discover`, and a
   * server from the beginning.
   */
  readonly opened: number | undefined
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

/** A law of one side of one session of a conversation. */
export type Law = ProtocolLaws.Law<Side, History>

/** An entry, and its index in the history. */
export type Placed = Served.Placed<Commanded>

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

/** A log message. */
export interface Log {
  readonly place: number
  readonly data: unknown
}

/** Returns the number of the call that a request belongs to, for a call of a tool. */
export const nonceIn = ({ params }: { readonly params?: JsonRpc.Params }): unknown =>
  memberOf(params, "arguments", "nonce")

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
  const byNonce = new Map<number, Served.Writable<ProgramRequest> & { steps: Array<Step> }>()
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
  type Open = Served.Writable<Outbound> & {
    responses: Array<Outbound["responses"][number]>
    steps: Array<Outbound["steps"][number]>
  }
  const byId = new Map<unknown, Open>()
  for (const entry of entries) {
    const { at, place } = entry
    const outgoing = Served.sent(entry)
    const incoming = Served.received(entry)
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
    } else if (Served.isNamed(outgoing, "notifications/cancelled")) {
      const open = byId.get(outgoing.params?.["requestId"])
      if (open === undefined) strayCancels.push(entry)
      else {
        open.cancels++
        open.cancelled ??= place
      }
    } else if (Served.isNamed(incoming, "notifications/progress")) {
      const open = byId.get(incoming.params?.["progressToken"])
      const progress = incoming.params?.["progress"]
      if (open === undefined || open.responses.length > 0 || typeof progress !== "number") continue
      if (progress > (open.steps.at(-1)?.progress ?? Number.NEGATIVE_INFINITY)) open.steps.push({ at, progress })
    } else if (incoming !== undefined && Served.isResponse(incoming)) {
      const open = byId.get(incoming.id) ?? byId.get(RequestId.numberIn(incoming.id))
      open?.responses.push({ place, at, response: incoming })
    }
  }
  return { outbound: [...byId.values()], strayCancels }
}

const logsOf = (entries: ReadonlyArray<Placed>): Side["logs"] => ({
  received: entries.flatMap((entry) => {
    const incoming = Served.received(entry)
    return Served.isNamed(incoming, "notifications/message")
      ? [{ place: entry.place, data: memberOf(incoming.params, "data") }]
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
    const message = side === "client" ? Served.sent(entry) : Served.received(entry)
    const isFirst = message !== undefined && JsonRpc.isRequest(message) && message.method === first
    if (isFirst) ids.add(message.id)
    if (side === "server") return isFirst
    const response = Served.received(entry)
    if (response === undefined || !Served.isResponse(response) || JsonRpc.isFailure(response)) return false
    if (!ids.has(response.id) && !ids.has(RequestId.numberIn(response.id))) return false
    if (era === "Modern") {
      const versions = memberOf(response.result, "supportedVersions")
      return Array.isArray(versions) && versions.includes("2026-07-28")
    }
    const revision = memberOf(response.result, "protocolVersion")
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
  { era, form }: Conversation,
  entries: ReadonlyArray<Placed>,
  how: Pick<Side, "intact" | "orderly" | "graceful" | "isStalled">
): Side => {
  const opened = openedOf(side, era, entries)
  const quiet = inspectedAt(entries, "Quiet")
  return {
    ...Served.sideOf(session, side, entries, {
      form,
      isStalled: how.isStalled,
      recordsHandlers: true,
      quietAt: quiet === undefined ? undefined : entries.find(({ event }) => event === quiet)?.place,
      muteAfter: era === "Modern" && side === "client" ? opened : undefined
    }),
    entries,
    requests: requestsOf(entries),
    ...outboundOf(entries, era === "Modern"),
    logs: logsOf(entries),
    opened,
    quiet,
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
      isStalled: conversation.commands.some((command) => command._tag === "Stall" && command.session === session),
      graceful: !lossy && disturbances.length === 1 && disturbances.every(isGraceful)
    }
    return (["client", "server"] as const).map((side) =>
      sideOf(session, side, conversation, ours.filter((entry) => entry.side === side), how)
    )
  })
}
