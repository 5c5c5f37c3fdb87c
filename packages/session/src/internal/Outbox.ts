import { JsonRpc } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Connection, Outbound } from "../Transport.ts"
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
 * What waits to be sent, in order. One message at a time is with the transport; a fiber runs only while the transport
 * makes it wait. Nothing here ever suspends whoever puts a message in: requests are bounded by the fibers that wait for
 * their responses, senders of notifications wait for room, and a peer that goes on asking but takes no replies is given up.
 */
export interface Outbox {
  readonly offer: (entry: Entry) => void
  /** Takes a message back that has not been handed over; `false` when it is too late for that. */
  readonly withdraw: (entry: Entry) => boolean
  /** Is there room for a message of someone who can wait? */
  readonly hasRoom: () => boolean
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

/** What kept a message from being sent, whichever way the send ended. */
export const errorOf = (
  exit: Exit.Exit<void, TransportError.TransportError>
): TransportError.TransportError | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  const failure = Cause.squash(exit.cause)
  return failure instanceof TransportError.TransportError
    ? failure
    : TransportError.make({ _tag: "WriteFailed", cause: failure })
}

/** What a transport makes of a message. One that throws instead shall not stop what comes behind it. */
const given = <E>(make: () => Effect.Effect<void, E>): Effect.Effect<void, E> => {
  try {
    return make()
  } catch (thrown) {
    return Effect.die(thrown)
  }
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
  // A Set keeps the order and lets go of one in the middle at no cost.
  const waiting = new Set<Entry>()
  // Each until it ends by itself, or until the time it may still take behind its response.
  const streams = new Map<Fiber.Fiber<unknown, unknown>, number>()
  const idle: Array<Deferred.Deferred<void>> = []
  let sending: { readonly fiber: Fiber.Fiber<void, TransportError.TransportError>; readonly since: number } | undefined
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

  const finish = (entry: Entry, exit: Exit.Exit<void, TransportError.TransportError>) => {
    sending = undefined
    entry.done(exit)
    pump()
  }

  const next = (): Entry | undefined => {
    for (const entry of waiting) {
      waiting.delete(entry)
      replies -= repliesIn(entry.outbound)
      return entry
    }
    return undefined
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
    if (Exit.isExit(send)) return entry.done(Exit.asVoid(trust<Exit.Exit<void, TransportError.TransportError>>(send)))
    const fiber = fork(send)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return entry.done(exit)
    const since = timer.now()
    sending = { fiber, since }
    timer.watch(since + writeMillis)
    fiber.addObserver((exit) => finish(entry, exit))
  }

  /** `first` goes ahead of the queue, which is empty then. */
  const pump = (first?: Entry): void => {
    // A send that completes at once comes back here by itself; the loop of the first call carries on.
    if (pumping) return
    pumping = true
    if (first !== undefined) hand(first)
    while (waiting.size > 0 && sending === undefined && !stopped) {
      const entry = next()
      if (entry !== undefined) hand(entry)
    }
    pumping = false
    if (idle.length > 0 && sending === undefined && (stopped || waiting.size === 0)) {
      for (const waiter of idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  return {
    offer: (entry) => {
      if (stopped) {
        entry.done(Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined })))
        return
      }
      if (!pumping && sending === undefined && waiting.size === 0) return pump(entry)
      waiting.add(entry)
      replies += repliesIn(entry.outbound)
      // What is put in while a message is being handed over goes out right behind it, however much it is.
      if (replies > replyCapacity && sending !== undefined) return onOverflow(replies)
      pump()
    },
    withdraw: (entry) => {
      if (entry.state !== "Waiting") return false
      entry.state = "Withdrawn"
      waiting.delete(entry)
      return true
    },
    hasRoom: () => waiting.size < capacity,
    flushed: Effect.suspend(() => {
      if (stopped || (sending === undefined && waiting.size === 0 && !pumping)) return Effect.void
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
      const stalled = sending === undefined ? Number.POSITIVE_INFINITY : sending.since + writeMillis
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
      sending?.fiber.interruptUnsafe()
      for (const fiber of streams.keys()) fiber.interruptUnsafe()
      const gone = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
      for (const entry of waiting) {
        waiting.delete(entry)
        entry.done(gone)
      }
      pump()
    }
  }
}
