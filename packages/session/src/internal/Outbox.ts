import { JsonRpc } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Connection, Origin, Outbound } from "../Transport.ts"
import * as TransportError from "../TransportError.ts"
import { Batch } from "./Batch.ts"
import type { Exchange } from "./Exchanges.ts"
import { Immediate } from "./Immediate.ts"
import type { Timer } from "./Timer.ts"
import { trust } from "./trust.ts"

/**
 * One message on its way out. `Handed` means that the transport has been given it, so a peer may have seen it.
 */
export interface Entry {
  readonly outbound: Outbound
  /** The exchange it opens, if it is a request. */
  readonly exchange: Exchange | undefined
  readonly done: (exit: Exit.Exit<void, TransportError.TransportError>) => void
  state: "Waiting" | "Handed" | "Withdrawn"
}

/**
 * What waits to be sent, in order. One message at a time is with the transport, or, where it has a stream for each origin, one
 * for each of them; a fiber runs only while the transport makes it wait. Nothing here ever suspends whoever puts a message in:
 * requests are bounded by the fibers that wait for their responses, senders of notifications wait for room, and a peer that
 * goes on asking but takes no replies is given up.
 */
export interface Outbox {
  readonly offer: (entry: Entry) => void
  /** Takes a message back that has not been handed over; `false` when it is too late for that. */
  readonly withdraw: (entry: Entry) => boolean
  /** Is there room for a message of someone who can wait, on the way to this origin? */
  readonly hasRoom: (via: Origin | undefined) => boolean
  /** Waits until everything offered so far has been handed over or has failed. */
  readonly flushed: Effect.Effect<void>
  /** The exchange of this stream is over; the stream may end by itself, but not stay for ever. */
  readonly release: (stream: Fiber.Fiber<unknown, unknown>) => void
  /** Reports a peer that takes no bytes, and says when there will be something to report. */
  readonly expire: (now: number) => number
  /** Gives up whatever is still with the transport. */
  readonly stop: () => void
}

export const entry = (
  outbound: Outbound,
  options: { readonly exchange?: Exchange; readonly done: Entry["done"] }
): Entry => ({
  outbound: outbound.via instanceof Batch ? { ...outbound, via: outbound.via.origin } : outbound,
  exchange: options.exchange,
  done: options.done,
  state: "Waiting"
})

/** What kept a message from being sent, even if it is no error that a transport should fail with. */
export const errorIn = (cause: Cause.Cause<TransportError.TransportError>): TransportError.TransportError => {
  const failure = Cause.squash(cause)
  return failure instanceof TransportError.TransportError
    ? failure
    : TransportError.make({ _tag: "WriteFailed", cause: failure })
}

/** What kept a message from being sent, whichever way the send ended. */
export const errorOf = (
  exit: Exit.Exit<void, TransportError.TransportError>
): TransportError.TransportError | undefined => Exit.isSuccess(exit) ? undefined : errorIn(exit.cause)

/** What a transport makes of a message. One that throws instead shall not stop what comes behind it. */
const given = <E>(make: () => Effect.Effect<void, E>): Effect.Effect<void, E> => {
  try {
    return make()
  } catch (thrown) {
    return Effect.die(thrown)
  }
}

/** Messages that take the same way, one at a time. */
class Lane {
  // A Set keeps the order and lets go of one in the middle at no cost.
  readonly waiting = new Set<Entry>()
  sending: { readonly fiber: Fiber.Fiber<void, TransportError.TransportError>; readonly since: number } | undefined
}

const repliesIn = ({ last, message }: Outbound): number => !last ? 0 : JsonRpc.isBatch(message) ? message.length : 1

const isRequest = (frame: JsonRpc.Frame): frame is JsonRpc.Request => "method" in frame && "id" in frame

export const make = (options: {
  readonly connection: Connection
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly timer: Timer
  readonly capacity: number
  readonly replyCapacity: number
  readonly writeMillis: number
  /** The peer has taken nothing for the write timeout. */
  readonly onStalled: () => void
  /** More replies wait than may. */
  readonly onOverflow: (replies: number) => void
}): Outbox => {
  const { capacity, connection, fork, onOverflow, onStalled, replyCapacity, timer, writeMillis } = options
  const standalone = new Lane()
  // Those of origins, while something is in them.
  const lanes = new Map<Origin, Lane>()
  const ready = new Set<Lane>()
  // Each until it ends by itself, or until the time it may still take behind its response.
  const streams = new Map<Fiber.Fiber<unknown, unknown>, number>()
  const idle: Array<Deferred.Deferred<void>> = []
  let sending = 0
  let waiting = 0
  let pumping = false
  let stopped = false
  let replies = 0

  /** A request with a stream of its own: the stream outlives the hand-over, and the next message does not wait for it. */
  const openStream = (
    entry: Entry,
    stream: Effect.Effect<void, TransportError.TransportError>
  ): void => {
    const fiber = fork(stream)
    if (entry.exchange !== undefined) entry.exchange.stream = fiber
    streams.set(fiber, Number.POSITIVE_INFINITY)
    fiber.addObserver((exit) => {
      streams.delete(fiber)
      entry.done(exit)
    })
  }

  /** The way of a message: that of its origin, where the transport has such. */
  const wayOf = ({ via }: Outbound): Origin | undefined => connection.settle === undefined ? undefined : via

  const laneOf = (entry: Entry): Lane => {
    const way = wayOf(entry.outbound)
    if (way === undefined) return standalone
    const found = lanes.get(way)
    if (found !== undefined) return found
    const lane = new Lane()
    lanes.set(way, lane)
    return lane
  }

  const hand = (entry: Entry): void => {
    entry.state = "Handed"
    if (entry.exchange !== undefined) entry.exchange.handed = true
    const message = entry.outbound.message
    if (connection.request !== undefined && isRequest(message)) {
      const { request } = connection
      return openStream(entry, given(() => request(message)))
    }
    const send = given(() => connection.send(entry.outbound))
    if (send instanceof Immediate) return entry.done(send.run())
    // Its types are those of the effect that it is.
    if (Exit.isExit(send)) return entry.done(trust<Exit.Exit<void, TransportError.TransportError>>(send))
    const fiber = fork(send)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return entry.done(exit)
    const since = timer.now()
    const lane = laneOf(entry)
    lane.sending = { fiber, since }
    sending++
    timer.watch(since + writeMillis)
    fiber.addObserver((exit) => {
      lane.sending = undefined
      sending--
      ready.add(lane)
      entry.done(exit)
      // A lane that nothing waits in is forgotten there, too.
      drop(lane, entry)
      pump()
    })
  }

  const drop = (lane: Lane, { outbound }: Entry) => {
    const way = wayOf(outbound)
    if (way !== undefined && lane.sending === undefined && lane.waiting.size === 0) lanes.delete(way)
  }

  const next = (lane: Lane): Entry | undefined => {
    for (const entry of lane.waiting) {
      lane.waiting.delete(entry)
      waiting--
      replies -= repliesIn(entry.outbound)
      return entry
    }
    return undefined
  }

  /** Hands over what waits in a lane, until the transport makes one of its messages wait. */
  const empty = (lane: Lane) => {
    while (lane.sending === undefined && !stopped) {
      const entry = next(lane)
      if (entry === undefined) return
      hand(entry)
      drop(lane, entry)
    }
  }

  /** `first` goes ahead of everything, since nothing waits then. */
  const pump = (first?: Entry): void => {
    // A send that completes at once comes back here by itself; the loop of the first call carries on.
    if (pumping) return
    pumping = true
    if (first !== undefined) hand(first)
    for (const lane of ready) {
      ready.delete(lane)
      empty(lane)
    }
    pumping = false
    if (idle.length > 0 && sending === 0 && (stopped || waiting === 0)) {
      for (const waiter of idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  const busy = function*(): Iterable<Lane> {
    yield standalone
    yield* lanes.values()
  }

  return {
    offer: (entry) => {
      if (stopped) {
        entry.done(Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined })))
        return
      }
      if (!pumping && sending === 0 && waiting === 0) return pump(entry)
      const lane = laneOf(entry)
      lane.waiting.add(entry)
      ready.add(lane)
      waiting++
      replies += repliesIn(entry.outbound)
      // What is put in while a message is being handed over goes out right behind it, however much it is.
      if (replies > replyCapacity && sending > 0) return onOverflow(replies)
      pump()
    },
    withdraw: (entry) => {
      if (entry.state !== "Waiting") return false
      entry.state = "Withdrawn"
      const lane = laneOf(entry)
      if (lane.waiting.delete(entry)) waiting--
      drop(lane, entry)
      return true
    },
    hasRoom: (via) => {
      if (waiting < capacity) return true
      const way = connection.settle === undefined ? undefined : via
      const lane = way === undefined ? standalone : lanes.get(way)
      // A way that is clogged does not stop the others.
      return lane !== standalone && (lane === undefined || lane.waiting.size === 0)
    },
    flushed: Effect.suspend(() => {
      if (stopped || (sending === 0 && waiting === 0 && !pumping)) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      idle.push(waiter)
      return Deferred.await(waiter)
    }),
    release: (stream) => {
      if (!streams.has(stream)) return
      const until = timer.now() + writeMillis
      streams.set(stream, until)
      timer.watch(until)
    },
    expire: (now) => {
      let stalled = Number.POSITIVE_INFINITY
      for (const lane of busy()) stalled = Math.min(stalled, (lane.sending?.since ?? stalled) + writeMillis)
      let next = stalled
      for (const [stream, until] of streams) {
        if (until > now) next = Math.min(next, until)
        else stream.interruptUnsafe()
      }
      if (stalled > now) return next
      onStalled()
      return Number.POSITIVE_INFINITY
    },
    stop: () => {
      // Whoever is told that a message was not sent may well end the session again.
      if (stopped) return
      stopped = true
      const all = [...busy()]
      for (const lane of all) lane.sending?.fiber.interruptUnsafe()
      for (const fiber of streams.keys()) fiber.interruptUnsafe()
      const gone = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
      for (const lane of all) {
        for (const entry of lane.waiting) {
          lane.waiting.delete(entry)
          waiting--
          entry.done(gone)
        }
      }
      pump()
    }
  }
}
