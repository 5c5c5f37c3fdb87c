import { JsonRpc } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Limits } from "../Limits.ts"
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

const repliesIn = ({ last, message }: Outbound): number => !last ? 0 : JsonRpc.isBatch(message) ? message.length : 1

const isRequest = (frame: JsonRpc.Frame): frame is JsonRpc.Request => "method" in frame && "id" in frame

/** Messages that take the same way, one at a time. */
class Lane {
  /** A Set keeps the order and lets go of one in the middle at no cost. */
  readonly waiting = new Set<Entry>()
  sending: { readonly fiber: Fiber.Fiber<void, TransportError.TransportError>; readonly since: number } | undefined
}

/** What an outbox needs of its session. */
export interface Sending {
  readonly connection: Connection
  readonly limits: Limits
  readonly timer: Timer
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** The peer has taken nothing for the write timeout. */
  stalled(): void
  /** More replies wait than may. */
  overflowed(replies: number): void
}

/**
 * What waits to be sent, in order. One message at a time is with the transport, or, where it has a stream for each origin, one
 * for each of them; a fiber runs only while the transport makes it wait. Nothing here ever suspends whoever puts a message in: requests are bounded by the fibers that wait for
 * their responses, senders of notifications wait for room, and a peer that goes on asking but takes no replies is given up.
 */
export class Outbox {
  readonly #session: Sending
  /** The ways on which something waits or is being sent; that of no origin is named by the session. */
  #lanes: Map<Origin, Lane> | undefined
  #ready: Set<Lane> | undefined
  /** Each until it ends by itself, or until the time it may still take behind its response. */
  #streams: Map<Fiber.Fiber<unknown, unknown>, number> | undefined
  #idle: Array<Deferred.Deferred<void>> | undefined
  #sending = 0
  #waiting = 0
  #pumping = false
  #stopped = false
  #replies = 0

  constructor(session: Sending) {
    this.#session = session
  }

  offer(entry: Entry): void {
    if (this.#stopped) {
      entry.done(Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined })))
      return
    }
    if (!this.#pumping && this.#sending === 0 && this.#waiting === 0) return this.#pump(entry)
    const lane = this.#laneOf(entry)
    lane.waiting.add(entry)
    this.#waiting++
    this.#makeReady(lane)
    this.#replies += repliesIn(entry.outbound)
    // What is put in while a message is being handed over goes out right behind it, however much it is.
    if (this.#replies > this.#session.limits.replies && this.#sending > 0) {
      return this.#session.overflowed(this.#replies)
    }
    this.#pump()
  }

  /** Takes a message back that has not been handed over; `false` when it is too late for that. */
  withdraw(entry: Entry): boolean {
    if (entry.state !== "Waiting") return false
    entry.state = "Withdrawn"
    const lane = this.#lanes?.get(this.#wayOf(entry.outbound.via))
    if (lane?.waiting.delete(entry) === true) {
      this.#waiting--
      this.#drop(lane, entry)
    }
    return true
  }

  /** Is there room for a message of someone who can wait, on the way to this origin? */
  hasRoom(via: Origin | undefined): boolean {
    if (this.#waiting < this.#session.limits.outgoing) return true
    // A way that is clogged does not stop the others.
    const way = this.#wayOf(via)
    return way !== this.#session && (this.#lanes?.get(way)?.waiting.size ?? 0) === 0
  }

  /** Is there nothing to be handed over? */
  get isIdle(): boolean {
    return this.#stopped || (this.#sending === 0 && this.#waiting === 0 && !this.#pumping)
  }

  /** Waits until everything offered so far has been handed over or has failed. */
  get flushed(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isIdle) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#idle ??= []
      this.#idle.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** The exchange of this stream is over; the stream may end by itself, but not stay for ever. */
  release(stream: Fiber.Fiber<unknown, unknown>): void {
    if (this.#streams?.has(stream) !== true) return
    const { limits, timer } = this.#session
    const until = timer.now() + limits.write
    this.#streams.set(stream, until)
    timer.watch(until)
  }

  /** Reports a peer that takes no bytes, and says when there will be something to report. */
  expire(now: number): number {
    const { write } = this.#session.limits
    let stalled = Number.POSITIVE_INFINITY
    for (const { sending } of this.#lanes?.values() ?? []) {
      if (sending !== undefined) stalled = Math.min(stalled, sending.since + write)
    }
    let next = stalled
    for (const [stream, until] of this.#streams ?? []) {
      if (until > now) next = Math.min(next, until)
      else stream.interruptUnsafe()
    }
    if (stalled > now) return next
    this.#session.stalled()
    return Number.POSITIVE_INFINITY
  }

  /** Gives up whatever is still with the transport. */
  stop(): void {
    // Whoever is told that a message was not sent may well end the session again.
    if (this.#stopped) return
    this.#stopped = true
    const lanes = Array.from(this.#lanes?.values() ?? [])
    for (const { sending } of lanes) sending?.fiber.interruptUnsafe()
    for (const fiber of this.#streams?.keys() ?? []) fiber.interruptUnsafe()
    for (const { waiting } of lanes) {
      for (const entry of waiting) {
        waiting.delete(entry)
        this.#waiting--
        entry.done(Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined })))
      }
    }
    this.#pump()
  }

  /** The way of a message: that of its origin, where the transport has such. */
  #wayOf(via: Origin | undefined): Origin {
    return this.#session.connection.settle === undefined || via === undefined ? this.#session : via
  }

  #laneOf({ outbound: { via } }: Entry): Lane {
    const way = this.#wayOf(via)
    this.#lanes ??= new Map()
    const found = this.#lanes.get(way)
    if (found !== undefined) return found
    const lane = new Lane()
    this.#lanes.set(way, lane)
    return lane
  }

  /** Forgets a lane in which nothing is any more. */
  #drop(lane: Lane, { outbound: { via } }: Entry): void {
    const way = this.#wayOf(via)
    // The way that all take is taken again and again.
    if (way !== this.#session && lane.sending === undefined && lane.waiting.size === 0) this.#lanes?.delete(way)
  }

  #makeReady(lane: Lane): void {
    this.#ready ??= new Set()
    this.#ready.add(lane)
  }

  #next(lane: Lane): Entry | undefined {
    for (const entry of lane.waiting) {
      lane.waiting.delete(entry)
      this.#waiting--
      this.#replies -= repliesIn(entry.outbound)
      return entry
    }
    return undefined
  }

  /** Hands over what waits in a lane, until the transport makes one of its messages wait. */
  #empty(lane: Lane): void {
    while (lane.sending === undefined && !this.#stopped) {
      const entry = this.#next(lane)
      if (entry === undefined) return
      this.#hand(entry)
      this.#drop(lane, entry)
    }
  }

  /** `first` goes ahead of everything, since nothing waits then. */
  #pump(first?: Entry): void {
    // A send that completes at once comes back here by itself; the loop of the first call carries on.
    if (this.#pumping) return
    this.#pumping = true
    if (first !== undefined) this.#hand(first)
    // What is added to a Set while it is walked is walked, too.
    for (const lane of this.#ready ?? []) {
      this.#ready?.delete(lane)
      this.#empty(lane)
    }
    this.#pumping = false
    if (this.#idle !== undefined && this.#sending === 0 && (this.#stopped || this.#waiting === 0)) {
      for (const waiter of this.#idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  #hand(entry: Entry): void {
    const { connection, limits, timer } = this.#session
    entry.state = "Handed"
    if (entry.exchange !== undefined) entry.exchange.handed = true
    const message = entry.outbound.message
    if (connection.request !== undefined && isRequest(message)) {
      return this.#openStream(entry, given(() => connection.request?.(message) ?? Effect.void))
    }
    const send = given(() => connection.send(entry.outbound))
    if (send instanceof Immediate) return entry.done(send.run())
    if (Exit.isExit(send)) return entry.done(Exit.asVoid(trust<Exit.Exit<void, TransportError.TransportError>>(send)))
    const fiber = this.#session.fork(send)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return entry.done(exit)
    const since = timer.now()
    const lane = this.#laneOf(entry)
    lane.sending = { fiber, since }
    this.#sending++
    timer.watch(since + limits.write)
    fiber.addObserver((exit) => this.#finish(lane, entry, exit))
  }

  #finish(lane: Lane, entry: Entry, exit: Exit.Exit<void, TransportError.TransportError>): void {
    lane.sending = undefined
    this.#sending--
    this.#makeReady(lane)
    entry.done(exit)
    this.#drop(lane, entry)
    this.#pump()
  }

  /** A request with a stream of its own: the stream outlives the hand-over, and the next message does not wait for it. */
  #openStream(entry: Entry, stream: Effect.Effect<void, TransportError.TransportError>): void {
    const fiber = this.#session.fork(stream)
    if (entry.exchange !== undefined) entry.exchange.stream = fiber
    this.#streams ??= new Map()
    this.#streams.set(fiber, Number.POSITIVE_INFINITY)
    fiber.addObserver((exit) => {
      this.#streams?.delete(fiber)
      entry.done(exit)
    })
  }
}
