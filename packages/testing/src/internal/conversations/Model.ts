/** A model of a session: the actions that its messages and its program demand. */

import { JsonRpc, type MethodDefinition, Revision } from "@effect-mcp/protocol"
import * as Faults from "../../Faults.ts"
import type { End, Entry, HandlerEnd, History } from "./History.ts"

/**
 * One side of a session, derived from the messages between it and its transport and from the actions of its program.
 * The model contains messages only: no table and no state of the runtime.
 */
export interface Side {
  readonly session: number
  readonly side: MethodDefinition.Role
  readonly entries: ReadonlyArray<Placed>
  /** The requests of this side's program. */
  readonly asked: ReadonlyArray<Asked>
  /** The requests that this side has sent. */
  readonly outbound: ReadonlyArray<Outbound>
  /** The cancellations that this side has sent for requests that it has not sent. */
  readonly strayCancels: ReadonlyArray<Placed>
  /** The requests that this side received. */
  readonly inbound: ReadonlyArray<Inbound>
  /** The replies of this side to no request, or to a request that was answered or cancelled. */
  readonly strayReplies: ReadonlyArray<Placed>
  readonly handlers: ReadonlyArray<Handler>
  /** The log messages that this side received, and those that its program received. */
  readonly logs: { readonly received: ReadonlyArray<Log>; readonly handled: ReadonlyArray<Log> }
  /**
   * The place at which this side's handshake was complete. Before it only the handshake and pings may have an effect.
   */
  readonly opened: number | undefined
  /** The place at which this side began to close, and the place at which its connection was lost. */
  readonly closing: number | undefined
  /** The state of the session in the quiet moment before the end, and after the end. */
  readonly quiet: Looked | undefined
  readonly end: Looked | undefined
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

type Looked = Extract<Entry["happening"], { readonly _tag: "Looked" }>

/** A request of a program, and its end. */
export interface Asked {
  readonly nonce: number
  readonly what: string
  readonly deadline: number
  readonly total: number | undefined
  readonly probe: boolean
  readonly place: number
  readonly at: number
  readonly ended: { readonly place: number; readonly at: number; readonly end: End } | undefined
  readonly endings: number
  readonly steps: ReadonlyArray<Step>
}

/** A step of progress, as the caller or as this side received it. */
export interface Step {
  readonly at: number
  readonly progress: number
}

/** A request that was sent, and the responses to it. */
export interface Outbound {
  readonly id: JsonRpc.Request["id"]
  readonly method: string
  /** The number of the call, for a call of a tool. */
  readonly nonce: unknown
  readonly place: number
  readonly responses: ReadonlyArray<
    { readonly place: number; readonly at: number; readonly response: JsonRpc.Response }
  >
  readonly cancels: number
  /** The steps of progress that increase, and arrived before the first response. */
  readonly steps: ReadonlyArray<Step>
}

/** A request that was received: whether it exceeded the limit, and its outcome. */
export interface Inbound {
  readonly id: JsonRpc.Request["id"]
  readonly method: string
  readonly nonce: unknown
  readonly place: number
  /** Another request with the same id was in flight. */
  readonly duplicate: boolean
  readonly cancelled: number | undefined
  readonly replied: number | undefined
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

/** A log message. */
export interface Log {
  readonly place: number
  readonly data: unknown
}

type Writable<A> = { -readonly [Name in keyof A]: A[Name] }
const isResponse = (message: JsonRpc.Message): message is JsonRpc.Response => !("method" in message)

const member = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? new Map<string, unknown>(Object.entries(value)).get(name)
    : undefined

const nonceIn = (request: JsonRpc.Request): unknown => member(member(request.params, "arguments"), "nonce")

const sent = (entry: Placed): JsonRpc.Message | undefined =>
  entry.happening._tag === "Sent" ? entry.happening.message : undefined

const received = (entry: Placed): JsonRpc.Message | undefined =>
  entry.happening._tag === "Received" ? entry.happening.message : undefined

const isNamed = (message: JsonRpc.Message | undefined, method: string): message is JsonRpc.Notification =>
  message !== undefined && JsonRpc.isNotification(message) && message.method === method

/** Returns whether the server closes its session by itself, while it serves. */
const closesInside = ({ happening }: Entry): boolean =>
  happening._tag === "Commanded" && typeof happening.command === "object" && "tool" in happening.command &&
  happening.command.tool === "close"

/** Returns whether the server closes its session, or the client ends its direction. */
const isGraceful = (entry: Entry): boolean => {
  if (closesInside(entry)) return true
  if (entry.happening._tag !== "Commanded" || typeof entry.happening.command === "string") return false
  const { command } = entry.happening
  return (command._tag === "Close" && command.by === "server") ||
    (command._tag === "HalfClose" && command.by === "client")
}

/** Returns whether an event may keep a request from its response, or end a session early. */
const disturbs = (entry: Entry): boolean => {
  if (entry.happening._tag !== "Commanded" || typeof entry.happening.command === "string") return false
  const { command } = entry.happening
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
      return ["Cancel", "DuplicateRequest", "Initialize", "Request", "RepeatedResponse", "Initialized"].includes(
        command.what
      )
    default:
      return false
  }
}

const askedOf = (entries: ReadonlyArray<Placed>): ReadonlyArray<Asked> => {
  const byNonce = new Map<number, Writable<Asked> & { steps: Array<Step> }>()
  for (const { at, happening, place } of entries) {
    if (happening._tag === "Started") {
      byNonce.set(happening.nonce, { ...happening, at, place, ended: undefined, endings: 0, steps: [] })
    } else if (happening._tag === "Stepped") {
      byNonce.get(happening.nonce)?.steps.push({ at, progress: happening.progress })
    } else if (happening._tag === "Ended") {
      const asked = byNonce.get(happening.nonce)
      if (asked === undefined) continue
      asked.endings++
      asked.ended ??= { place, at, end: happening.end }
    }
  }
  return [...byNonce.values()]
}

/** Returns the requests that were sent, and the cancellations of requests that were not. */
const outboundOf = (entries: ReadonlyArray<Placed>) => {
  const strayCancels: Array<Placed> = []
  type Open = Writable<Outbound> & {
    responses: Array<Outbound["responses"][number]>
    steps: Array<Outbound["steps"][number]>
  }
  const byId = new Map<unknown, Open>()
  for (const entry of entries) {
    const { at, place } = entry
    const said = sent(entry)
    const heard = received(entry)
    if (said !== undefined && JsonRpc.isRequest(said)) {
      const { id, method } = said
      byId.set(id, { id, method, nonce: nonceIn(said), place, responses: [], cancels: 0, steps: [] })
    } else if (isNamed(said, "notifications/cancelled")) {
      const open = byId.get(said.params?.["requestId"])
      if (open === undefined) strayCancels.push(entry)
      else open.cancels++
    } else if (isNamed(heard, "notifications/progress")) {
      const open = byId.get(heard.params?.["progressToken"])
      const progress = heard.params?.["progress"]
      if (open === undefined || open.responses.length > 0 || typeof progress !== "number") continue
      if (progress > (open.steps.at(-1)?.progress ?? Number.NEGATIVE_INFINITY)) open.steps.push({ at, progress })
    } else if (heard !== undefined && isResponse(heard)) {
      byId.get(heard.id)?.responses.push({ place, at, response: heard })
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
  const waiting = (id: unknown) =>
    all.filter((inbound) => inbound.id === id && inbound.replied === undefined && inbound.cancelled === undefined)
  const first = (id: unknown) => waiting(id).find(({ duplicate }) => !duplicate)

  for (const entry of entries) {
    const { happening, place } = entry
    const said = sent(entry)
    const heard = received(entry)
    if (heard !== undefined && JsonRpc.isRequest(heard)) {
      const { id, method } = heard
      const duplicate = first(id) !== undefined
      all.push({
        id,
        method,
        nonce: nonceIn(heard),
        place,
        duplicate,
        cancelled: undefined,
        replied: undefined,
        taken: undefined
      })
    } else if (happening._tag === "HandlerStarted") {
      const served = first(happening.id)
      if (served === undefined) continue
      runs.set(happening.run, served)
      running.add(served)
    } else if (happening._tag === "Taken") {
      const served = all.find(({ id, replied, taken }) =>
        id === happening.id && replied !== undefined && taken === undefined
      )
      if (served !== undefined) served.taken = place
    } else if (happening._tag === "HandlerEnded") {
      const served = runs.get(happening.run)
      if (served !== undefined) running.delete(served)
    } else if (isNamed(heard, "notifications/cancelled")) {
      const served = first(heard.params?.["requestId"])
      // After its handler has ended, the outcome of a request is decided, sent or not.
      if (served !== undefined && running.has(served)) served.cancelled = place
    } else if (said !== undefined && isResponse(said) && said.id !== undefined && said.id !== null) {
      const refused = JsonRpc.isFailure(said) ? waiting(said.id).find(({ duplicate }) => duplicate) : undefined
      // Each ping is answered at once, whatever is in flight.
      const answered = refused ?? first(said.id) ?? waiting(said.id).find(({ method }) => method === "ping")
      if (answered === undefined) strayReplies.push(entry)
      else answered.replied = place
    }
  }
  return { inbound: all, strayReplies }
}

const handlersOf = (entries: ReadonlyArray<Placed>): ReadonlyArray<Handler> => {
  const byRun = new Map<number, Writable<Handler>>()
  for (const { happening, place } of entries) {
    if (happening._tag === "HandlerStarted") {
      byRun.set(happening.run, { id: happening.id, nonce: happening.nonce, place, ended: undefined })
    } else if (happening._tag === "HandlerEnded") {
      const handler = byRun.get(happening.run)
      if (handler !== undefined) handler.ended = { place, how: happening.how }
    }
  }
  return [...byRun.values()]
}

const logsOf = (entries: ReadonlyArray<Placed>): Side["logs"] => ({
  received: entries.flatMap((entry) => {
    const heard = received(entry)
    return isNamed(heard, "notifications/message")
      ? [{ place: entry.place, data: member(heard.params, "data") }]
      : []
  }),
  handled: entries.flatMap(({ happening, place }) =>
    happening._tag === "Logged" ? [{ place, data: happening.data }] : []
  )
})

/**
 * Returns the place at which the handshake is complete: for a client at an acceptable response, for a server at its own
 * response.
 */
const openedOf = (side: MethodDefinition.Role, entries: ReadonlyArray<Placed>): number | undefined => {
  const asked = new Set<unknown>()
  return entries.find((entry) => {
    const asking = side === "client" ? sent(entry) : received(entry)
    const isFirst = asking !== undefined && JsonRpc.isRequest(asking) && asking.method === "initialize"
    if (isFirst) asked.add(asking.id)
    if (side === "server") return isFirst
    const answer = received(entry)
    if (answer === undefined || !isResponse(answer) || JsonRpc.isFailure(answer) || !asked.has(answer.id)) return false
    const revision = member(answer.result, "protocolVersion")
    return Revision.supported.some((supported) => supported === revision)
  })?.place
}

const lookedAt = (entries: ReadonlyArray<Placed>, when: Looked["when"]): Looked | undefined => {
  for (const { happening } of entries) if (happening._tag === "Looked" && happening.when === when) return happening
  return undefined
}

const sideOf = (
  session: number,
  side: MethodDefinition.Role,
  entries: ReadonlyArray<Placed>,
  how: Pick<Side, "intact" | "orderly" | "graceful">
): Side => ({
  session,
  side,
  entries,
  asked: askedOf(entries),
  ...outboundOf(entries),
  ...inboundOf(entries),
  handlers: handlersOf(entries),
  logs: logsOf(entries),
  opened: openedOf(side, entries),
  closing: entries.find(({ happening }) =>
    happening._tag === "Event" && happening.event._tag === "StateChanged" &&
    (happening.event.to === "Closing" || happening.event.to === "Closed")
  )?.place,
  quiet: lookedAt(entries, "Quiet"),
  end: lookedAt(entries, "End"),
  ...how
})

/** Returns both sides of every session of a history. */
export const sides = ({ conversation, entries }: History): ReadonlyArray<Side> => {
  const placed = entries.map((entry, place): Placed => ({ ...entry, place }))
  const held = placed.filter(({ happening }) => happening._tag !== "Commanded")
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
      sideOf(session, side, ours.filter((entry) => entry.side === side), how)
    )
  })
}
