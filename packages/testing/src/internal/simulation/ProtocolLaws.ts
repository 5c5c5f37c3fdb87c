/** The laws that the messages of every session keep, whatever its programs are. */

import { JsonRpc } from "@effect-mcp/protocol"
import { memberOf } from "../arbitrary/jsonValues.ts"
import type { Violation } from "./Search.ts"
import * as Served from "./Served.ts"

/** A place in the journal, and the reason why a law does not hold there. */
export interface Finding {
  readonly place: number
  readonly problem: string
}

/** A law of one side of one session. */
export interface Law<Side = Served.Side, History = unknown> {
  readonly name: string
  /** Whether the law also holds if messages get lost, arrive twice, or overtake each other. */
  readonly lossy: boolean
  readonly findings: (side: Side, history: History) => Iterable<Finding>
}

/** Returns every law that does not hold, of those that the faults of the connections permit. */
export const violations = <Side extends Served.Side, History>(
  laws: ReadonlyArray<Law<Side, History>>,
  sides: ReadonlyArray<Side>,
  history: History,
  isLossy: boolean
): ReadonlyArray<Violation> =>
  sides.flatMap((side) =>
    laws.filter(({ lossy }) => lossy || !isLossy).flatMap(({ findings, name }) =>
      Array.from(findings(side, history), ({ problem }) => ({
        law: name,
        problem: `${side.side} ${side.session}: ${problem}`
      }))
    )
  )

const shown = (value: unknown): string => JSON.stringify(value)

/** Judges the messages of one stream of notifications. */
function* ofListen({ request, sent }: Served.Listen, isStalled: boolean): Generator<Finding> {
  const { cancelled, id, params, place: receivedAt, replied } = request
  const named = `the stream ${shown(id)}`
  const [first] = sent
  const urisIn = (message: unknown): ReadonlyArray<unknown> => {
    const uris = memberOf(message, "notifications", "resourceSubscriptions")
    return Array.isArray(uris) ? uris : []
  }
  const asked = urisIn(params)
  const served = urisIn(first?.message.params)
  if (first !== undefined && first.message.method !== "notifications/subscriptions/acknowledged") {
    yield { place: first.place, problem: `${named} begins with ${first.message.method}` }
  }
  if (served.some((uri) => !asked.includes(uri))) {
    yield { place: first?.place ?? receivedAt, problem: `${named} serves more than was asked for` }
  }
  for (const [index, { message, place }] of sent.entries()) {
    if (index > 0 && message.method === "notifications/subscriptions/acknowledged") {
      yield { place, problem: `${named} is acknowledged twice` }
    }
    const uri = message.params?.["uri"]
    if (message.method === "notifications/resources/updated" && !served.includes(uri)) {
      yield { place, problem: `${named} notifies of ${shown(uri)}, which it does not serve` }
    }
    // Messages from before the cancellation may have had to wait.
    if ((replied ?? place) < place || (!isStalled && (cancelled ?? place) < place)) {
      yield { place, problem: `${named} has ended, and sends ${message.method}` }
    }
  }
}

/** The requests before the end of a handshake. */
const handshake: ReadonlySet<string> = new Set(["initialize", "ping"])

/** These laws. */
export const laws: ReadonlyArray<Law> = [
  {
    name: "[MSG-05] no id is used twice",
    lossy: true,
    *findings({ entries }) {
      const ids = new Set<unknown>()
      for (const entry of entries) {
        const message = Served.sent(entry)
        if (message === undefined || !JsonRpc.isRequest(message)) continue
        if (ids.has(message.id)) yield { place: entry.place, problem: `id ${shown(message.id)} was used before` }
        ids.add(message.id)
      }
    }
  },
  {
    name: "[SHS-08] messages of a request use its stream",
    lossy: true,
    *findings({ entries, form, side }) {
      if (side !== "server" || form === "OneStream") return
      for (const { event, place } of entries) {
        if (event._tag !== "Sent" || !JsonRpc.isNotification(event.message)) continue
        const { message, stream } = event
        const { method, params } = message
        const of = method === "notifications/progress" ? params?.["progressToken"] : Served.subscriptionIn(message)
        if (of !== undefined && of !== stream) {
          yield { place, problem: `${method} of ${shown(of)} on the stream of ${shown(stream)}` }
        }
      }
    }
  },
  {
    name: "[SUB-02] a stream of notifications begins with its acknowledgement, and sends nothing after its end",
    lossy: true,
    *findings({ closing, entries, isStalled, listens, quietAt }) {
      for (const listen of listens) {
        const { cancelled, duplicate, id, place, replied } = listen.request
        if (duplicate) continue
        yield* ofListen(listen, isStalled)
        const isOver = cancelled !== undefined || replied !== undefined || closing !== undefined
        if (quietAt !== undefined && !isOver && place < quietAt && listen.sent.length === 0) {
          yield { place, problem: `the stream ${shown(id)} is not acknowledged` }
        }
      }
      for (const entry of entries) {
        const message = Served.sent(entry)
        if (message === undefined || !JsonRpc.isNotification(message)) continue
        const id = Served.subscriptionIn(message)
        if (id === undefined || listens.some(({ request }) => request.id === id && request.place < entry.place)) {
          continue
        }
        yield { place: entry.place, problem: `${message.method} belongs to the stream ${shown(id)}, which is not open` }
      }
    }
  },
  {
    name: "law 4: progress grows, and belongs to a request in flight",
    lossy: true,
    *findings({ entries, inbound, isStalled }) {
      const highest = new Map<Served.Inbound, number>()
      for (const entry of entries) {
        const message = Served.sent(entry)
        if (!Served.isNamed(message, "notifications/progress")) continue
        const { place } = entry
        const { progress, progressToken: token } = message.params ?? {}
        // Messages from before the cancellation may have had to wait.
        const served = inbound.findLast(({ cancelled, id, place: receivedAt, replied }) =>
          id === token && receivedAt < place && (replied ?? place) >= place &&
          (isStalled || (cancelled ?? place) >= place)
        )
        if (served === undefined) {
          yield { place, problem: `progress of ${shown(token)}, which is not being served` }
          continue
        }
        const before = highest.get(served) ?? Number.NEGATIVE_INFINITY
        if (typeof progress !== "number" || progress <= before) {
          yield {
            place,
            problem: `progress of ${served.method} (id ${shown(token)}) went from ${before} to ${shown(progress)}`
          }
        } else highest.set(served, progress)
      }
    }
  },
  {
    name: "law 5: every request gets exactly one reply, and none after its cancellation",
    lossy: true,
    *findings({ closing, entries, form, handlers, inbound, listens, muteAfter, quietAt, strayReplies }) {
      for (const { event, place } of strayReplies) {
        yield { place, problem: `a reply without an unanswered request: ${shown(event)}` }
      }
      if (quietAt === undefined || closing !== undefined && closing < quietAt) return
      const unwritable = new Set(entries.flatMap(({ event }) => event._tag === "Unwritable" ? [event.id] : []))
      for (const request of inbound) {
        const { cancelled, duplicate, id, method, place, replied } = request
        // An open stream has no reply yet.
        if (muteAfter !== undefined && place > muteAfter) continue
        if (!duplicate && listens.some((listen) => listen.request === request && listen.sent.length > 0)) continue
        // After the end of its stream, a reply that could not be written cannot be replaced.
        if (form === "StreamPerRequest" && unwritable.has(id)) continue
        if (place > quietAt || replied !== undefined || cancelled !== undefined) continue
        const isRunning = handlers.some((handler) => handler.id === id && (handler.ended?.place ?? quietAt) >= quietAt)
        if (!isRunning || duplicate) yield { place, problem: `${method} (id ${shown(id)}) has no reply` }
      }
    }
  },
  {
    name: "law 6: before the handshake, the server sends no requests except ping",
    lossy: false,
    *findings({ entries, side }) {
      if (side !== "server") return
      for (const entry of entries) {
        const incoming = Served.received(entry)
        if (Served.isNamed(incoming, "notifications/initialized")) return
        // A request also shows that the handshake is over: the notification may have got lost.
        if (incoming !== undefined && JsonRpc.isRequest(incoming) && !handshake.has(incoming.method)) return
        const message = Served.sent(entry)
        if (message === undefined || !JsonRpc.isRequest(message) || message.method === "ping") continue
        yield { place: entry.place, problem: `${message.method} was sent before notifications/initialized` }
      }
    }
  }
]
