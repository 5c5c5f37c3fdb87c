/** The outgoing messages of a session, in order, and with back-pressure. */

import { JsonRpc } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as MemoryBudget from "../../MemoryBudget.ts"
import type { Connection, StreamOrigin } from "../../Transport.ts"
import * as TransportError from "../../TransportError.ts"
import { SyncEffect } from "../collections/SyncEffect.ts"
import { trust } from "../trust.ts"
import type { Batch } from "./Batch.ts"
import { type Entry, Lane, type Sending } from "./Lane.ts"
import { OutboxWeight, type OutboxWeightDependencies } from "./OutboxWeight.ts"
import type { Timer } from "./Timer.ts"

/** Returns the error of a failed send, also for a transport that fails with something else. */
export const errorIn = (cause: Cause.Cause<TransportError.TransportError>): TransportError.TransportError => {
  const failure = Cause.squash(cause)
  return failure instanceof TransportError.TransportError
    ? failure
    : TransportError.make({ _tag: "WriteFailed", cause: failure })
}

/** Returns the error of a send, if it failed. */
export const errorOf = (
  exit: Exit.Exit<void, TransportError.TransportError>
): TransportError.TransportError | undefined => Exit.isSuccess(exit) ? undefined : errorIn(exit.cause)

/** Calls a function of the transport. An exception that it throws must not stop later messages. */
const callTransport = <E>(make: () => Effect.Effect<void, E>): Effect.Effect<void, E> => {
  try {
    return make()
  } catch (thrown) {
    return Effect.die(thrown)
  }
}

/** The session of the outbox. */
export interface OutboxDependencies extends OutboxWeightDependencies {
  readonly connection: Connection
  readonly timer: Timer
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Called when the peer has taken no bytes for the write timeout. */
  stalled(): void
}

const peerEnded = (): Exit.Exit<never, TransportError.TransportError> =>
  Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/**
 * The messages that wait to be sent, in order. The transport receives one message at a time, or, if it has a stream for
 * each origin, one for each stream. A fiber runs only while the transport makes a message wait.
 *
 * Adding a message never suspends. Requests are bounded by the fibers that wait for their responses. Senders of
 * notifications wait for room. Replies are bounded by number and bytes, because the peer decides how many requests it
 * sends: if a peer sends requests and does not read the replies, its session closes. A message that the transport
 * accepts at once is not weighed.
 */
export class Outbox {
  readonly #session: OutboxDependencies
  /** The lanes on which messages wait or are sent. The key of the lane without an origin is the session. */
  #lanes: Map<StreamOrigin, Lane> | undefined
  #ready: Set<Lane> | undefined
  /** The streams of requests, each with the time until which it may stay open after its response. */
  #streams: Map<Fiber.Fiber<unknown, unknown>, number> | undefined
  #idle: Array<Deferred.Deferred<void>> | undefined
  /** The number of messages that the transport makes wait. */
  #sending = 0
  /** The number of those among them that have failed, and whose fibers cannot be interrupted. */
  #failed = 0
  #waiting = 0
  #pumping = false
  #stopped = false
  /** The weight of the messages that wait. `undefined` until the first does. */
  #weight: OutboxWeight | undefined

  constructor(session: OutboxDependencies) {
    this.#session = session
  }

  /** Adds a message. It is sent at once if no other message waits. */
  offer(entry: Entry): void {
    if (this.#stopped) return entry.done(peerEnded())
    if (!this.#pumping && this.#sending === 0 && this.#waiting === 0) return this.#pump(entry)
    const lane = this.#laneOf(entry)
    if (lane.sending?.state === "Failed") return entry.done(this.#streamStalled())
    lane.waiting.add(entry)
    this.#waiting++
    this.#makeReady(lane)
    this.#weights.add(entry)
    // Messages that are added while another one is being sent are sent right after it, and need no weighing.
    if (lane.sending === undefined) return this.#pump()
    this.#weights.weigh(entry)
    this.#weights.check(entry)
  }

  /** Counts a reply that waits for the rest of its batch. `collected` is the number of such replies, with this one. */
  collect(batch: Batch, reply: JsonRpc.Response, collected: number): void {
    if (!this.#stopped) this.#weights.collect(batch, reply, collected)
  }

  /** Stops counting the replies of a batch, because they no longer wait for each other. */
  gather(batch: Batch): void {
    if (!this.#stopped) this.#weight?.gather(batch)
  }

  /** Withdraws a message. Returns `false` if the transport has already received it. */
  withdraw(entry: Entry): boolean {
    if (entry.state !== "Waiting") return entry.state === "Withdrawn"
    entry.state = "Withdrawn"
    const lane = this.#lanes?.get(this.#laneKeyOf(entry.outbound.replyTo))
    if (lane?.waiting.delete(entry) === true) {
      this.#waiting--
      this.#weights.remove(entry)
      this.#drop(lane, entry)
    }
    return true
  }

  /** Returns whether there is room for a message whose sender can wait, on the lane of this origin. */
  hasRoom(replyTo: StreamOrigin | undefined): boolean {
    const { budget, limits: { maxOutgoingBytes, maxOutgoingMessages } } = this.#session
    const isScarce = this.#waiting > 0 && MemoryBudget.isScarce(budget)
    if (this.#waiting < maxOutgoingMessages && (this.#weight?.bytes ?? 0) < maxOutgoingBytes && !isScarce) return true
    // A lane that is full does not block the others.
    const key = this.#laneKeyOf(replyTo)
    return key !== this.#session && (this.#lanes?.get(key)?.waiting.size ?? 0) === 0
  }

  /** Returns whether no message waits. */
  get isIdle(): boolean {
    return this.#stopped || (this.#sending === this.#failed && this.#waiting === 0 && !this.#pumping)
  }

  /** Waits until each message that was added so far has been sent or has failed. */
  get flushed(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.isIdle) return Effect.void
      const waiter = Deferred.makeUnsafe<void>()
      this.#idle ??= []
      this.#idle.push(waiter)
      return Deferred.await(waiter)
    })
  }

  /** Limits the time for which a stream may stay open after its exchange has ended. */
  releaseStream(stream: Fiber.Fiber<unknown, unknown>): void {
    if (this.#streams?.has(stream) !== true) return
    const { limits, timer } = this.#session
    const until = timer.now() + limits.writeTimeout
    this.#streams.set(stream, until)
    timer.watch(until)
  }

  /**
   * Aborts messages whose bytes the peer has not read in time, and returns the next deadline. If the transport has
   * several streams, only the stalled stream fails. If it has one, the session ends.
   */
  expire(now: number): number {
    const { connection, limits: { writeTimeout } } = this.#session
    for (const [stream, until] of this.#streams ?? []) {
      if (until <= now) stream.interruptUnsafe()
    }
    const stalled = this.#lanesSending().filter(({ sending }) => sending.since + writeTimeout <= now)
    if (stalled.length > 0 && connection.endExchange === undefined) {
      this.#session.stalled()
      return Number.POSITIVE_INFINITY
    }
    for (const { lane, sending } of stalled) this.#abort(lane, sending)
    let next = Number.POSITIVE_INFINITY
    for (const { sending } of this.#lanesSending()) next = Math.min(next, sending.since + writeTimeout)
    for (const until of this.#streams?.values() ?? []) if (until > now) next = Math.min(next, until)
    return next
  }

  /** Returns the messages that the transport makes wait, except those that are already aborted. */
  #lanesSending(): ReadonlyArray<{ readonly lane: Lane; readonly sending: Sending }> {
    return Array.from(this.#lanes?.values() ?? []).flatMap((lane) =>
      lane.sending?.state !== "Sending" ? [] : [{ lane, sending: lane.sending }]
    )
  }

  /**
   * Aborts a message whose stream is stalled. The transport breaks the stream, and fails later messages of the stream
   * or stores them.
   */
  #abort(lane: Lane, sending: Sending): void {
    const { entry, fiber } = sending
    sending.state = "Aborted"
    this.#session.connection.stalled?.(entry.outbound.replyTo)
    if (lane.sending === sending) fiber.interruptUnsafe()
    if (lane.sending !== sending) return
    // The fiber cannot be interrupted at once. Until it has ended, all messages on this lane fail.
    sending.state = "Failed"
    this.#failed++
    this.#weights.unweigh(entry)
    entry.done(this.#streamStalled())
    for (const waiting of lane.waiting) {
      this.#take(lane, waiting)
      waiting.done(this.#streamStalled())
    }
    this.#pump()
  }

  #streamStalled(): Exit.Exit<never, TransportError.TransportError> {
    return Exit.fail(TransportError.make({ _tag: "StreamStalled", afterMillis: this.#session.limits.writeTimeout }))
  }

  /** Interrupts the messages that the transport makes wait, and fails all others. */
  stop(): void {
    // The callback of a failed message may end the session, which calls this again.
    if (this.#stopped) return
    this.#stopped = true
    const lanes = Array.from(this.#lanes?.values() ?? [])
    for (const { sending } of lanes) sending?.fiber.interruptUnsafe()
    for (const fiber of this.#streams?.keys() ?? []) fiber.interruptUnsafe()
    this.#weight?.stop()
    for (const lane of lanes) {
      for (const entry of lane.waiting) {
        this.#take(lane, entry)
        entry.done(peerEnded())
      }
    }
    this.#pump()
  }

  get #weights(): OutboxWeight {
    return this.#weight ??= new OutboxWeight(this.#session)
  }

  /** Returns the key of a lane: the origin of the message, if the transport has a stream for each. */
  #laneKeyOf(replyTo: StreamOrigin | undefined): StreamOrigin {
    return this.#session.connection.endExchange === undefined || replyTo === undefined ? this.#session : replyTo
  }

  #laneOf({ outbound: { replyTo } }: Entry): Lane {
    const key = this.#laneKeyOf(replyTo)
    this.#lanes ??= new Map()
    const found = this.#lanes.get(key)
    if (found !== undefined) return found
    const lane = new Lane()
    this.#lanes.set(key, lane)
    return lane
  }

  /** Removes the lane of a message, if it is empty. */
  #drop(lane: Lane, { outbound: { replyTo } }: Entry): void {
    const key = this.#laneKeyOf(replyTo)
    // The lane without an origin is used again and again.
    if (key !== this.#session && lane.sending === undefined && lane.waiting.size === 0) this.#lanes?.delete(key)
  }

  #makeReady(lane: Lane): void {
    this.#ready ??= new Set()
    this.#ready.add(lane)
  }

  #next(lane: Lane): Entry | undefined {
    for (const entry of lane.waiting) {
      this.#take(lane, entry)
      return entry
    }
    return undefined
  }

  #take(lane: Lane, entry: Entry): void {
    lane.waiting.delete(entry)
    this.#waiting--
    this.#weights.remove(entry)
  }

  /** Sends the messages of a lane, until the transport makes one of them wait. */
  #empty(lane: Lane): void {
    while (lane.sending === undefined && !this.#stopped) {
      const entry = this.#next(lane)
      if (entry === undefined) return
      this.#hand(entry)
      this.#drop(lane, entry)
    }
  }

  /** Sends the messages of all ready lanes. `first` is given only if no message waits, and is sent first. */
  #pump(first?: Entry): void {
    // A message that is sent at once may add another, which calls this again. The loop of the first call sends it.
    if (this.#pumping) return
    this.#pumping = true
    if (first !== undefined) this.#hand(first)
    // The iteration of a Set includes elements that are added during it.
    for (const lane of this.#ready ?? []) {
      this.#ready?.delete(lane)
      this.#empty(lane)
    }
    this.#pumping = false
    if (this.#idle !== undefined && this.#sending === this.#failed && (this.#stopped || this.#waiting === 0)) {
      for (const waiter of this.#idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  #hand(entry: Entry): void {
    const { connection, limits, timer } = this.#session
    if (entry.exchange !== undefined && entry.exchange.outcome !== "Pending") {
      // Its caller was told that it is not sent, and may repeat it. The caller's fiber withdraws it later.
      entry.state = "Withdrawn"
      return
    }
    entry.state = "Handed"
    if (entry.exchange !== undefined) entry.exchange.handed = true
    const message = entry.outbound.message
    if (connection.request !== undefined && JsonRpc.isRequest(message)) {
      return this.#openStream(entry, callTransport(() => connection.request?.(message) ?? Effect.void))
    }
    const send = callTransport(() => connection.send(entry.outbound))
    if (send instanceof SyncEffect) return entry.done(send.run())
    // The guard loses the types of the effect.
    if (Exit.isExit(send)) return entry.done(Exit.asVoid(trust<Exit.Exit<void, TransportError.TransportError>>(send)))
    const fiber = this.#session.fork(send)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return entry.done(exit)
    const lane = this.#laneOf(entry)
    const sending: Sending = { entry, fiber, since: timer.now(), state: "Sending" }
    lane.sending = sending
    this.#sending++
    // From here on every message on this lane waits.
    this.#weights.weigh(entry)
    for (const waiting of lane.waiting) this.#weights.weigh(waiting)
    timer.watch(sending.since + limits.writeTimeout)
    fiber.addObserver((exit) => this.#finish(lane, sending, exit))
    this.#weights.check(entry)
  }

  #finish(lane: Lane, sending: Sending, exit: Exit.Exit<void, TransportError.TransportError>): void {
    const { entry, state } = sending
    lane.sending = undefined
    this.#makeReady(lane)
    this.#sending--
    if (state === "Failed") this.#failed--
    else {
      this.#weights.unweigh(entry)
      entry.done(state === "Aborted" && Exit.hasInterrupts(exit) ? this.#streamStalled() : exit)
    }
    this.#drop(lane, entry)
    this.#pump()
  }

  /** Sends a request on a new stream. The next message does not wait for the end of this stream. */
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
