/**
 * The laws that every server keeps: they judge the messages of each connection.
 */
import { JsonRpc, RequestMetadata } from "@effect-mcp/protocol"
import type { Entry } from "./Journal.ts"

/** A law that does not hold in a conversation, and why. */
export interface Violation {
  readonly law: string
  readonly problem: string
}

/** A connection between one client and the server, as far as the laws need it. */
export interface Connection {
  readonly id: number
  /** Whether a fault may have kept a message of it from its receiver, or may have ended it. */
  readonly isDisturbed: () => boolean
  /** Whether messages waited for a stalled wire. */
  readonly isStalled: () => boolean
}

/** A request that the server received. */
interface Received {
  readonly method: string
  count: number
  replies: number
  cancelledAt: number | undefined
  progress: number
  /** Whether it opened a stream of notifications, whose reply comes at its end. */
  isStream: boolean
}

/** Returns the id of the stream that a notification belongs to. */
export const subscriptionIn = ({ params }: JsonRpc.Notification): unknown => {
  const meta = params?.["_meta"]
  return typeof meta === "object" && meta !== null && RequestMetadata.keys.subscriptionId in meta
    ? meta[RequestMetadata.keys.subscriptionId]
    : undefined
}

const shown = (value: unknown): string => JSON.stringify(value)

/** Judges the messages that the server of a connection received and sent. */
const ofServer = (
  { isDisturbed, isStalled }: Connection,
  entries: ReadonlyArray<Entry>,
  isLossy: boolean
): ReadonlyArray<Violation> => {
  const found: Array<Violation> = []
  const requests = new Map<unknown, Received>()
  const unwritable = new Set<unknown>()
  let initialized = false

  const reply = (at: number, { id }: JsonRpc.Response) => {
    // A server that cannot read a request does not know its id.
    if (id === undefined || id === null) return
    const request = requests.get(id)
    const law = "law 5: every request gets exactly one reply"
    if (request === undefined) {
      found.push({ law, problem: `the server replied to id ${shown(id)}, and received no such request` })
    } else if (++request.replies > request.count) {
      found.push({ law, problem: `the server replied ${request.replies} times to ${request.method} (id ${shown(id)})` })
    } else if (request.cancelledAt !== undefined && request.cancelledAt < at && !isStalled()) {
      found.push({ law, problem: `the server replied to ${request.method} (id ${shown(id)}) after its cancellation` })
    }
  }

  const progress = (params: JsonRpc.Params | undefined, stream: unknown) => {
    const { progress: step, progressToken: token } = params ?? {}
    const request = requests.get(token)
    const law = "law 4: progress grows, belongs to a request in flight and takes its stream"
    if (request === undefined) {
      found.push({ law, problem: `the server sent progress of token ${shown(token)}, which no request has` })
    } else if (request.replies >= request.count) {
      found.push({ law, problem: `the server sent progress of ${request.method} (id ${shown(token)}) after its reply` })
    } else if (typeof step !== "number" || step <= request.progress) {
      const problem = `progress of ${request.method} (id ${shown(token)}) went from ${request.progress} to ${
        shown(step)
      }`
      found.push({ law, problem })
    } else if (stream !== undefined && stream !== token) {
      found.push({ law, problem: `progress of id ${shown(token)} was sent on the stream of id ${shown(stream)}` })
    } else {
      request.progress = step
    }
  }

  const subscription = (message: JsonRpc.Notification) => {
    const id = subscriptionIn(message)
    if (id === undefined) return
    const law = "[SUB-02] a stream of notifications begins with its acknowledgement"
    const request = requests.get(id)
    const isAcknowledgement = message.method === "notifications/subscriptions/acknowledged"
    if (request === undefined) {
      found.push({ law, problem: `the server sent ${message.method} on the stream ${shown(id)}, which is not open` })
    } else if (request.isStream === isAcknowledgement) {
      const place = isAcknowledgement ? "in the middle of" : "at the beginning of"
      found.push({ law, problem: `the server sent ${message.method} ${place} the stream ${shown(id)}` })
    } else {
      request.isStream = true
    }
  }

  for (const { at, event } of entries) {
    if (event._tag === "Unwritable") unwritable.add(event.id)
    if (event._tag === "StreamLeft") {
      const left = requests.get(event.id)
      if (left !== undefined) left.cancelledAt ??= at
    }
    if (event._tag === "Received") {
      const { message } = event
      if (JsonRpc.isRequest(message)) {
        const known = requests.get(message.id)
        if (known === undefined) {
          const { method } = message
          requests.set(message.id, {
            method,
            count: 1,
            replies: 0,
            cancelledAt: undefined,
            progress: Number.NEGATIVE_INFINITY,
            isStream: false
          })
        } else {
          known.count++
        }
      } else if ("method" in message) {
        initialized ||= message.method === "notifications/initialized"
        const cancelled = requests.get(message.params?.["requestId"])
        if (message.method === "notifications/cancelled" && cancelled !== undefined) cancelled.cancelledAt ??= at
      }
    } else if (event._tag === "Sent") {
      const { message, stream } = event
      if (!("method" in message)) {
        reply(at, message)
        continue
      }
      if (message.method === "notifications/progress") progress(message.params, stream)
      if (JsonRpc.isNotification(message)) subscription(message)
      // A lossy wire can lose the notification, so that the server never learns of it.
      if (!initialized && !isLossy && JsonRpc.isRequest(message) && message.method !== "ping") {
        found.push({
          law: "law 6: before the handshake only it has an effect",
          problem: `the server sent ${message.method} before it received notifications/initialized`
        })
      }
    }
  }

  if (!isDisturbed() && !isLossy) {
    for (const [id, { cancelledAt, count, isStream, method, replies }] of requests) {
      if (cancelledAt === undefined && replies < count && !isStream && !unwritable.has(id)) {
        found.push({
          law: "law 5: every request gets exactly one reply",
          problem: `the server did not reply to ${method} (id ${shown(id)})`
        })
      }
    }
  }
  return found
}

const repeatedIds = (side: Entry["side"], entries: ReadonlyArray<Entry>): ReadonlyArray<Violation> => {
  const law = "[MSG-05] no id is used twice"
  const ids = new Set<unknown>()
  return entries.flatMap(({ event }) => {
    if (event._tag !== "Sent" || !JsonRpc.isRequest(event.message)) return []
    const { id } = event.message
    const isRepeated = ids.has(id)
    ids.add(id)
    return isRepeated
      ? [{ law, problem: `the ${side} used id ${shown(id)} twice` }]
      : []
  })
}

/** Judges all messages of a conversation, before its sessions are closed. */
export const violations = (
  connections: ReadonlyArray<Connection>,
  entries: ReadonlyArray<Entry>,
  isLossy: boolean
): ReadonlyArray<Violation> =>
  connections.flatMap((connection) => {
    const of = (side: Entry["side"]) =>
      entries.filter((entry) => entry.session === connection.id && entry.side === side)
    return [
      ...ofServer(connection, of("server"), isLossy),
      ...repeatedIds("server", of("server")),
      ...repeatedIds("client", of("client"))
    ]
  })
