/** The outgoing messages of a session, in order, and with back-pressure. */

import { type CloseReason, JsonRpc } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { Limits } from "../../Limits.ts"
import * as MemoryBudget from "../../MemoryBudget.ts"
import type { Connection, Outbound, StreamOrigin } from "../../Transport.ts"
import * as TransportError from "../../TransportError.ts"
import { SyncEffect } from "../collections/SyncEffect.ts"
import { trust } from "../trust.ts"
import type { Batch } from "./Batch.ts"
import { type Entry, Lane, type Sending } from "./Lane.ts"
import type { Timer } from "./Timer.ts"
import * as Weight from "./Weight.ts"

/** Returns the error of a failed send, even if a transport should not fail with it. */
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

/** Runs the transport's function for a message. An exception must not stop the messages after it. */
const given = <E>(make: () => Effect.Effect<void, E>): Effect.Effect<void, E> => {
  try {
    return make()
  } catch (thrown) {
    return Effect.die(thrown)
  }
}

const repliesIn = ({ last, message }: Outbound): number => !last ? 0 : JsonRpc.isBatch(message) ? message.length : 1

/** The session of the outbox. */
export interface OutboxDependencies {
  readonly budget: MemoryBudget.MemoryBudget
  readonly connection: Connection
  readonly limits: Limits
  readonly timer: Timer
  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E>
  /** Called when the peer has taken no bytes for the write timeout. */
  stalled(): void
  /** Called when more replies wait than the limits allow. */
  overflowed(overflow: Overflow): void
}

/** The number of the waiting replies, and the limit that they exceed. */
export type Overflow = Pick<
  CloseReason.CloseReason & { readonly _tag: "RepliesOverflow" },
  "waiting" | "bytes" | "limit"
>

const peerEnded = (): Exit.Exit<never, TransportError.TransportError> =>
  Exit.fail(TransportError.make({ _tag: "PeerEnded", exit: undefined }))

/**
 * The messages that wait to be sent, in order. One message at a time is with the transport. If the transport has a
 * stream for each origin, it is one message for each of these. A fiber runs only while the transport makes a message
 * wait.
 *
 * To add a message never suspends. Requests are bounded by the fibers that wait for their responses, and senders of
 * notifications wait for room. Replies are bounded by number and bytes, because the peer decides how many requests it
 * sends: a peer that sends requests and does not read the replies loses its session. What the transport takes at once
 * is not weighed.
 */
export class Outbox {
  readonly #session: OutboxDependencies
  /** The lanes on which messages wait or are sent. The key of the lane without an origin is the session. */
  #lanes: Map<StreamOrigin, Lane> | undefined
  #ready: Set<Lane> | undefined
  /**
   * The streams of requests, until each ends by itself, or until the time that it may still take after its response.
   */
  #streams: Map<Fiber.Fiber<unknown, unknown>, number> | undefined
  #idle: Array<Deferred.Deferred<void>> | undefined
  /** The messages that the transport makes wait, those included that have failed and cannot be interrupted. */
  #sending = 0
  #failed = 0
  #waiting = 0
  #pumping = false
  #stopped = false
  #replies = 0
  /** The bytes of the waiting messages, also within the transport, and those of the replies among them. */
  #bytes = 0
  #replyBytes = 0
  /** The bytes that the budget is charged for replies that wait for the rest of their batches. */
  #collectedCharge = 0
  #account: MemoryBudget.Account | undefined

  constructor(session: OutboxDependencies) {
    this.#session = session
  }

  offer(entry: Entry): void {
    if (this.#stopped) return entry.done(peerEnded())
    if (!this.#pumping && this.#sending === 0 && this.#waiting === 0) return this.#pump(entry)
    const lane = this.#laneOf(entry)
    if (lane.sending?.state === "Failed") return entry.done(this.#streamStalled())
    lane.waiting.add(entry)
    this.#waiting++
    this.#makeReady(lane)
    this.#replies += repliesIn(entry.outbound)
    // Messages that are added during a hand-over are sent right after it, however many they are.
    if (lane.sending === undefined) return this.#pump()
    this.#weigh(entry)
    this.#judgeEntry(entry)
  }

  /** Counts a reply that waits for the rest of its batch, as so many others do, itself included. */
  collect(batch: Batch, reply: JsonRpc.Response, collected: number): void {
    if (this.#stopped) return
    const weight = this.#weightOf(reply)
    const charge = this.#charge(weight)
    if (this.#stopped) return this.#release(charge)
    batch.weight += weight
    batch.charge += charge
    this.#collectedCharge += charge
    this.#count(weight, true)
    this.#judge(weight, charge, collected)
  }

  /** The replies of a batch no longer wait for each other. */
  gather(batch: Batch): void {
    if (this.#stopped) return
    this.#count(-batch.weight, true)
    this.#collectedCharge -= batch.charge
    this.#release(batch.charge)
    batch.weight = batch.charge = 0
  }

  /** Takes a message back that has not been handed over; `false` when it is too late for that. */
  withdraw(entry: Entry): boolean {
    if (entry.state !== "Waiting") return false
    entry.state = "Withdrawn"
    const lane = this.#lanes?.get(this.#laneKeyOf(entry.outbound.replyTo))
    if (lane?.waiting.delete(entry) === true) {
      this.#waiting--
      this.#replies -= repliesIn(entry.outbound)
      this.#unweigh(entry)
      this.#drop(lane, entry)
    }
    return true
  }

  /** Is there room for a message of someone who can wait, on the way to this origin? */
  hasRoom(replyTo: StreamOrigin | undefined): boolean {
    const { budget, limits: { maxOutgoingBytes, maxOutgoingMessages } } = this.#session
    const isScarce = this.#waiting > 0 && MemoryBudget.isScarce(budget)
    if (this.#waiting < maxOutgoingMessages && this.#bytes < maxOutgoingBytes && !isScarce) return true
    // A way that is clogged does not stop the others.
    const key = this.#laneKeyOf(replyTo)
    return key !== this.#session && (this.#lanes?.get(key)?.waiting.size ?? 0) === 0
  }

  /** Is there nothing to be handed over? */
  get isIdle(): boolean {
    return this.#stopped || (this.#sending === this.#failed && this.#waiting === 0 && !this.#pumping)
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
  releaseStream(stream: Fiber.Fiber<unknown, unknown>): void {
    if (this.#streams?.has(stream) !== true) return
    const { limits, timer } = this.#session
    const until = timer.now() + limits.writeTimeout
    this.#streams.set(stream, until)
    timer.watch(until)
  }

  /**
   * Gives up what the peer has not taken in time, and says when there will be something to give up. A stream that takes
   * nothing costs itself alone; where there is one stream for everything it costs the session.
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

  /** The messages that the transport makes wait, but for those that were given up already. */
  #lanesSending(): ReadonlyArray<{ readonly lane: Lane; readonly sending: Sending }> {
    return Array.from(this.#lanes?.values() ?? []).flatMap((lane) =>
      lane.sending?.state !== "Sending" ? [] : [{ lane, sending: lane.sending }]
    )
  }

  /**
   * Gives up a message whose stream takes nothing. The transport breaks the stream off, and fails what comes after it
   * or keeps it.
   */
  #abort(lane: Lane, sending: Sending): void {
    const { entry, fiber } = sending
    sending.state = "GivenUp"
    this.#session.connection.stalled?.(entry.outbound.replyTo)
    if (lane.sending === sending) fiber.interruptUnsafe()
    if (lane.sending !== sending) return
    // It cannot be interrupted at once. Until it has ended, whatever takes this way fails.
    sending.state = "Failed"
    this.#failed++
    this.#unweigh(entry)
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

  /** Gives up whatever is still with the transport. */
  stop(): void {
    // The callback of a message that was not sent may end the session again.
    if (this.#stopped) return
    this.#stopped = true
    const lanes = Array.from(this.#lanes?.values() ?? [])
    for (const { sending } of lanes) sending?.fiber.interruptUnsafe()
    for (const fiber of this.#streams?.keys() ?? []) fiber.interruptUnsafe()
    this.#release(this.#collectedCharge)
    for (const { waiting } of lanes) {
      for (const entry of waiting) {
        waiting.delete(entry)
        this.#waiting--
        this.#unweigh(entry)
        entry.done(peerEnded())
      }
    }
    this.#pump()
  }

  /**
   * Gives the peer up if there are too many replies without this one, which has to wait. One of any size may wait while
   * the others take less than the limit, or alone. If the process is short of memory, the peer is given up that leaves
   * most of it unread.
   */
  #judge(weight: number, charge: number, waiting: number): void {
    const { maxOutgoingBytes, maxOutgoingReplies } = this.#session.limits
    const bytes = this.#replyBytes
    if (waiting > maxOutgoingReplies) this.#session.overflowed({ waiting, bytes, limit: "maxOutgoingReplies" })
    else if (bytes - weight >= maxOutgoingBytes) this.#session.overflowed({ waiting, bytes, limit: "maxOutgoingBytes" })
    else if (charge < weight && bytes > weight) this.#yield(waiting)
  }

  #weightOf(message: JsonRpc.Frame): number {
    return Weight.outgoing(message, this.#session.limits.maxOutgoingBytes)
  }

  /** Charges the budget of the process, and returns the bytes charged: all of them or none. */
  #charge(weight: number): number {
    this.#account ??= this.#session.budget.open({ isUnread: true, yields: () => this.#yield(this.#replies) })
    return this.#account.take(weight) ? weight : 0
  }

  #release(charge: number): void {
    this.#account?.release(charge)
  }

  /** The process is short of memory, and this peer leaves most of it unread. */
  #yield(waiting: number): void {
    this.#session.overflowed({ waiting, bytes: this.#bytes, limit: "MemoryBudget" })
  }

  #count(weight: number, isReply: boolean): void {
    this.#bytes += weight
    if (isReply) this.#replyBytes += weight
  }

  /** Counts a message that has to wait. */
  #weigh(entry: Entry): void {
    if (entry.charge !== undefined) return
    entry.weight ??= this.#weightOf(entry.outbound.message)
    entry.charge = 0
    this.#count(entry.weight, entry.outbound.last)
    const charge = this.#charge(entry.weight)
    // Others may have yielded, and what they told of it may have stopped this outbox.
    if (entry.charge === undefined) this.#release(charge)
    else entry.charge = charge
  }

  #unweigh(entry: Entry): void {
    const { charge, weight = 0 } = entry
    if (charge === undefined) return
    entry.charge = undefined
    this.#release(charge)
    this.#count(-weight, entry.outbound.last)
  }

  /** Gives the peer up if this message is one reply too many that has to wait. */
  #judgeEntry({ charge = 0, outbound, weight = 0 }: Entry): void {
    if (outbound.last) this.#judge(weight, charge, this.#replies)
  }

  /** The way of a message: that of its origin, where the transport has such. */
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

  /** Forgets a lane in which nothing is any more. */
  #drop(lane: Lane, { outbound: { replyTo } }: Entry): void {
    const key = this.#laneKeyOf(replyTo)
    // The way that all take is taken again and again.
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
    this.#replies -= repliesIn(entry.outbound)
    this.#unweigh(entry)
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
    if (this.#idle !== undefined && this.#sending === this.#failed && (this.#stopped || this.#waiting === 0)) {
      for (const waiter of this.#idle.splice(0)) Deferred.doneUnsafe(waiter, Exit.void)
    }
  }

  #hand(entry: Entry): void {
    const { connection, limits, timer } = this.#session
    entry.state = "Handed"
    if (entry.exchange !== undefined) entry.exchange.handed = true
    const message = entry.outbound.message
    if (connection.request !== undefined && JsonRpc.isRequest(message)) {
      return this.#openStream(entry, given(() => connection.request?.(message) ?? Effect.void))
    }
    const send = given(() => connection.send(entry.outbound))
    if (send instanceof SyncEffect) return entry.done(send.run())
    if (Exit.isExit(send)) return entry.done(Exit.asVoid(trust<Exit.Exit<void, TransportError.TransportError>>(send)))
    const fiber = this.#session.fork(send)
    const exit = fiber.pollUnsafe()
    if (exit !== undefined) return entry.done(exit)
    const lane = this.#laneOf(entry)
    const sending: Sending = { entry, fiber, since: timer.now(), state: "Sending" }
    lane.sending = sending
    this.#sending++
    // From now on whatever takes this way waits.
    this.#weigh(entry)
    for (const waiting of lane.waiting) this.#weigh(waiting)
    timer.watch(sending.since + limits.writeTimeout)
    fiber.addObserver((exit) => this.#finish(lane, sending, exit))
    this.#judgeEntry(entry)
  }

  #finish(lane: Lane, sending: Sending, exit: Exit.Exit<void, TransportError.TransportError>): void {
    const { entry, state } = sending
    lane.sending = undefined
    this.#makeReady(lane)
    this.#sending--
    if (state === "Failed") this.#failed--
    else {
      this.#unweigh(entry)
      entry.done(state === "GivenUp" && Exit.hasInterrupts(exit) ? this.#streamStalled() : exit)
    }
    this.#drop(lane, entry)
    this.#pump()
  }

  /**
   * Sends a request with a stream of its own. The stream outlives the hand-over, and the next message does not wait for
   * it.
   */
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
