import type { JsonRpc } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Connection, Outbound } from "../Transport.ts"
import * as TransportError from "../TransportError.ts"
import type { Exchange } from "./Exchanges.ts"
import type { Timer } from "./Timer.ts"

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
 * makes it wait. Nothing here ever suspends whoever puts a message in: replies, cancellations and pongs are bounded by the
 * requests in flight, requests by the fibers that wait for their responses, and senders of notifications wait for `room`.
 */
export interface Outbox {
  readonly offer: (entry: Entry) => void
  /** Takes a message back that has not been handed over; `false` when it is too late for that. */
  readonly withdraw: (entry: Entry) => boolean
  /** Is there room for a message of someone who can wait? */
  readonly hasRoom: () => boolean
  /** Waits until everything offered so far has been handed over or has failed. */
  readonly flushed: Effect.Effect<void>
  /** Reports a peer that takes no bytes, and says when there will be something to report. */
  readonly expire: (now: number) => number
  /** Gives up whatever is still with the transport. */
  readonly stop: () => void
}

export const entry = (
  outbound: Outbound,
  options: { readonly exchange?: Exchange; readonly done: Entry["done"] }
): Entry => ({ outbound, exchange: options.exchange, done: options.done, state: "Waiting" })

const isRequest = (message: JsonRpc.Message): message is JsonRpc.Request => "method" in message && "id" in message

export const make = (options: {
  readonly connection: Connection
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly timer: Timer
  readonly capacity: number
  readonly writeMillis: number
  readonly onStalled: () => void
}): Outbox => {
  const { capacity, connection, fork, onStalled, timer, writeMillis } = options
  const waiting: Array<Entry> = []
  const streams = new Set<Fiber.Fiber<void, TransportError.TransportError>>()
  const idle: Array<Deferred.Deferred<void>> = []
  let sending: { readonly fiber: Fiber.Fiber<void, TransportError.TransportError>; readonly since: number } | undefined
  let pumping = false
  let stopped = false

  /** A request with a stream of its own: the stream outlives the hand-over, and the next message does not wait for it. */
  const openStream = (
    entry: Entry,
    stream: Effect.Effect<void, TransportError.TransportError>
  ): void => {
    const fiber = fork(stream)
    if (entry.exchange !== undefined) entry.exchange.stream = fiber
    streams.add(fiber)
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

  const pump = (): void => {
    // A send that completes at once comes back here by itself; the loop of the first call carries on.
    if (pumping) return
    pumping = true
    while (sending === undefined && !stopped) {
      const entry = waiting.shift()
      if (entry === undefined) break
      if (entry.state === "Withdrawn") continue
      entry.state = "Handed"
      const message = entry.outbound.message
      if (connection.request !== undefined && isRequest(message)) {
        openStream(entry, connection.request(message))
        continue
      }
      const fiber = fork(connection.send(entry.outbound))
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) {
        entry.done(exit)
        continue
      }
      const since = timer.now()
      sending = { fiber, since }
      timer.watch(since + writeMillis)
      fiber.addObserver((exit) => finish(entry, exit))
    }
    pumping = false
    if (sending === undefined && (stopped || waiting.length === 0)) {
      for (const waiter of idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  return {
    offer: (entry) => {
      if (stopped) {
        entry.done(Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined })))
        return
      }
      waiting.push(entry)
      pump()
    },
    withdraw: (entry) => {
      if (entry.state !== "Waiting") return false
      entry.state = "Withdrawn"
      return true
    },
    hasRoom: () => waiting.length < capacity,
    flushed: Effect.suspend(() => {
      if (stopped || (sending === undefined && waiting.length === 0 && !pumping)) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      idle.push(waiter)
      return Deferred.await(waiter)
    }),
    expire: (now) => {
      if (sending === undefined) return Number.POSITIVE_INFINITY
      const at = sending.since + writeMillis
      if (at > now) return at
      onStalled()
      return Number.POSITIVE_INFINITY
    },
    stop: () => {
      stopped = true
      sending?.fiber.interruptUnsafe()
      for (const fiber of streams) fiber.interruptUnsafe()
      const gone = Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))
      for (const entry of waiting.splice(0)) if (entry.state === "Waiting") entry.done(gone)
      pump()
    }
  }
}
