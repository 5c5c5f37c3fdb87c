/** The runtime of one session: its connection, its tables, its handshake state, and its shutdown. */

import { CloseReason, type Handshake, type JsonRpc, type MethodDefinition, type Revision } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Limits } from "../../Limits.ts"
import { MemoryBudget } from "../../MemoryBudget.ts"
import type { InFlight, Session } from "../../Session.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { HandlerCutoff } from "../../Shutdown.ts"
import { type Connection, type Hooks, type Inbound, type StreamOrigin, Transport } from "../../Transport.ts"
import { TransportError } from "../../TransportError.ts"
import { compareAndSetUnsafe } from "../collections/compareAndSet.ts"
import type * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import * as SessionDuration from "../telemetry/SessionDuration.ts"
import { isBatch } from "./Batch.ts"
import { Capacity } from "./Capacity.ts"
import { IncomingRequests } from "./IncomingRequests.ts"
import { NotificationQueue } from "./NotificationQueue.ts"
import { Observers } from "./Observers.ts"
import { Outbox, type Overflow } from "./Outbox.ts"
import { PendingRequests } from "./PendingRequests.ts"
import { RateLimit } from "./RateLimit.ts"
import { Replies } from "./Replies.ts"
import { everything, Subscriptions } from "./Subscriptions.ts"
import { Timer } from "./Timer.ts"

/** The milliseconds that interrupted handlers have for their finalizers before the session closes. */
const cleanupMillis = 1000

/** The milliseconds that a session has after `gracefulCloseTimeout`, to clean up and to send waiting messages. */
const extraMillis = 3000

/**
 * The work that a shutdown waits for. `Graceful`: handlers and their replies. `DrainInbound`: notifications that have
 * arrived, because the peer reads no more replies. `Immediate`: none.
 */
export type ShutdownMode = "Graceful" | "DrainInbound" | "Immediate"

/** A state of either side. */
export type State = Handshake.ClientState | Handshake.ServerState | Handshake.SessionlessServerState

/** The handler of inbound frames. */
export interface InboundHandler {
  readonly deliver: (inbound: Inbound) => void
  /** Drops the requests of an origin whose stream has no reader left. */
  readonly abandon: (origin: StreamOrigin) => void
  /** Rejects the largest request in flight, to free memory. */
  readonly displaceLargest: () => void
}

/** The states of a session. Every machine has the last two, which the type parameter alone cannot express. */
type Reachable<S extends State> = S | Handshake.Closing | Handshake.Closed

/** The last step of a session that ends before its handshake is done. */
export type Abortion = Handshake.Step<Handshake.Closed, "Finish">

/** The handshake machine, as the runtime of either side uses it. */
export interface RoleMachine<S extends State> {
  readonly transition: <Tag extends Handshake.EventTag>(
    state: Reachable<S>,
    event: Handshake.EventOf<Tag>
  ) => Handshake.Outcome<Reachable<S>, Tag>
  /** Takes the last step of a session that has been closing. */
  readonly step: (
    state: Handshake.Closing,
    event: Handshake.EventOf<"Drained">
  ) => Handshake.Step<Handshake.Closed, "Finish">
}

/** The side of a session, client or server. */
export interface RoleDefinition<S extends State> {
  readonly role: MethodDefinition.Role
  readonly machine: RoleMachine<S>
  readonly initial: S
  readonly firstId: number
  /** The beginning of the ids of all requests; `undefined` if they are numbers. */
  readonly life?: string | undefined
  /**
   * Takes the step of a session that received no `initialize` in time. Returns `undefined` if it received one. Only
   * servers wait for it.
   */
  readonly timeOut?:
    | ((state: Reachable<S>, event: Handshake.EventOf<"Timeout">) => Abortion | undefined)
    | undefined
  /** Called after each change of state. */
  readonly onState?: ((state: S["_tag"]) => void) | undefined
  /** Called when the session starts to end. */
  readonly onEnd: (reason: CloseReason.CloseReason) => void
  /** Called when the session has ended, and its resources are released. */
  readonly onClosed?: ((reason: CloseReason.CloseReason) => void) | undefined
}

/** The transport and the services of the program that makes a session. */
export interface Surroundings {
  readonly transport: Transport["Service"]
  /** The services of the handlers, and of everything else that the session runs. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
}

/** Returns the transport and the services of the program that makes the session. */
export const surroundings: Effect.Effect<Surroundings, never, Transport> = Effect.gen(function*() {
  return {
    transport: yield* Transport,
    context: yield* Effect.context<never>(),
    clock: yield* Clock.Clock
  }
})

/** Returns the close reason of a session that ends because of this error. */
export const reasonOf = (error: TransportError): CloseReason.CloseReason =>
  error.reason._tag === "PeerEnded"
    ? { _tag: "PeerEnded", exit: error.reason.exit }
    : { _tag: "TransportFailed", cause: error }

/** Returns the negotiated revision. */
const revisionOf = (state: State): Revision.Revision | undefined =>
  "profile" in state ? state.profile.revision : undefined

/** Waits for an effect, for a limited time. */
const within = (wait: Effect.Effect<unknown>, millis: number): Effect.Effect<void> =>
  Effect.asVoid(Effect.timeoutOption(Effect.interruptible(wait), Duration.millis(millis)))

/** The events that end a session in any state. */
type Ending = Handshake.EventOf<"Close" | "TransportEnded">

/** Returns whether an event begins the end of a session. It does not if the session is ending already. */
const beginsEnd = (action: Handshake.AnyActions["Close" | "TransportEnded"]): boolean => {
  switch (action) {
    case "End":
    case "Finish":
      return true
    case "Ignore":
      return false
  }
}

/** The arguments of the constructor. */
interface SessionRuntimeDependencies<S extends State> {
  readonly side: RoleDefinition<S>
  readonly surroundings: Surroundings
  readonly limits: Limits
  readonly observe: ((event: SessionEvent) => void) | undefined
  readonly connection: Connection
  readonly connectionScope: Scope.Closeable
}

/**
 * The state, the tables and the shutdown of one session. A process may have thousands of sessions, most of them idle,
 * so parts that a session may never need are made on demand.
 */
export class SessionRuntime<S extends State> {
  readonly role: MethodDefinition.Role
  readonly limits: Limits
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly connection: Connection
  readonly observe: ((event: SessionEvent) => void) | undefined
  /** The memory budget of the process. */
  readonly budget: MemoryBudget
  readonly bounds: SlidingBuffer.Bounds
  readonly timer: Timer
  readonly exchanges: PendingRequests
  readonly inflight: IncomingRequests
  readonly outbox: Outbox
  readonly replies: Replies
  readonly notifications: NotificationQueue
  readonly observers: Observers
  readonly subscriptions: Subscriptions
  /** Whether the session ends if it receives no `initialize` in time. Its peer may use it without a handshake. */
  needsHandshake = true
  readonly #side: RoleDefinition<S>
  readonly #state: Ref.Ref<Reachable<S>>
  readonly #closed = Deferred.makeUnsafe<CloseReason.CloseReason>()
  readonly #connectionScope: Scope.Closeable
  readonly #connectedAt: number
  #inbound: InboundHandler | undefined
  #reader: Fiber.Fiber<void> | undefined
  #malformedReplies: RateLimit | undefined
  #unmatchedWarnings: RateLimit | undefined
  /** The changes of state to emit later, see `deferEvents`. */
  #held: Array<SessionEvent> | undefined

  constructor({ connection, connectionScope, limits, observe, side, surroundings }: SessionRuntimeDependencies<S>) {
    this.role = side.role
    this.limits = limits
    this.context = surroundings.context
    this.clock = surroundings.clock
    this.connection = connection
    this.observe = observe
    this.budget = Context.get(surroundings.context, MemoryBudget)
    this.bounds = { capacity: limits.maxNotifications, bytes: limits.maxNotificationBytes, budget: this.budget }
    this.#side = side
    this.#state = Ref.makeUnsafe<Reachable<S>>(side.initial)
    this.#connectionScope = connectionScope
    this.timer = new Timer(this)
    this.exchanges = new PendingRequests(side.firstId, side.life)
    this.inflight = new IncomingRequests(
      new Capacity(limits, this.budget.open({ yields: () => this.#inbound?.displaceLargest() }))
    )
    this.outbox = new Outbox(this)
    this.replies = new Replies(this)
    this.notifications = new NotificationQueue(this)
    this.observers = new Observers(this)
    this.subscriptions = new Subscriptions(this.bounds)
    this.#connectedAt = this.timer.now()
    if (limits.initializeTimeout !== Number.POSITIVE_INFINITY) {
      this.timer.watch(this.#connectedAt + limits.initializeTimeout)
    }
  }

  /** Bounds the error replies to malformed frames, so that two peers cannot exchange them without end. */
  get malformedReplies(): RateLimit {
    return this.#malformedReplies ??= new RateLimit(this.limits.maxMalformedRepliesPerSecond)
  }

  /** Bounds the warnings about responses that match no request. */
  get unmatchedWarnings(): RateLimit {
    return this.#unmatchedWarnings ??= new RateLimit(this.limits.maxMalformedRepliesPerSecond)
  }

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }

  emit(event: SessionEvent): void {
    this.observers.emit(event)
  }

  state(): Reachable<S> {
    return Ref.getUnsafe(this.#state)
  }

  /** Applies an event to the handshake machine, and moves to the next state. */
  apply<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<Reachable<S>, Tag> {
    const before = this.state()
    const outcome = this.#side.machine.transition(before, event)
    if (outcome._tag === "Moved") this.commit(before, outcome.state)
    return outcome
  }

  /** Moves to the state that a step leads to. Returns `false` if the session has left the state of that step. */
  commit(from: Reachable<S>, to: Reachable<S>): boolean {
    if (!compareAndSetUnsafe(this.#state, from, to)) return false
    if (from._tag === to._tag) return true
    this.#side.onState?.(to._tag)
    const event: SessionEvent = { _tag: "StateChanged", from: from._tag, to: to._tag }
    if (this.#held === undefined) this.emit(event)
    else this.#held.push(event)
    return true
  }

  /**
   * Runs an action, and emits the changes of state that it causes after it. Without this, the messages that an observer
   * sends on a change of state would precede those of the action.
   */
  deferEvents(action: () => void): void {
    const events: Array<SessionEvent> = this.#held = []
    action()
    this.#held = undefined
    for (const event of events) this.emit(event)
  }

  /** Starts to close the session. Requests in flight may finish. */
  end(event: Ending, mode: ShutdownMode = "Graceful"): void {
    const before = this.state()
    if (beginsEnd(this.apply(event).action)) this.#shutDown(event.reason, revisionOf(before), mode)
    else this.#hasten(event, mode)
  }

  /** Closes a session that received no `initialize` within this time. Does nothing if it received one. */
  timeOut(afterMillis: number): void {
    const before = this.state()
    const step = this.#side.timeOut?.(before, { _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis } })
    if (step !== undefined) this.abort(before, step)
  }

  /** Closes a session at once, by the step that ends its handshake. Does nothing if it has left the state `from`. */
  abort(from: Reachable<S>, { state }: Abortion): void {
    if (this.commit(from, state)) this.#shutDown(state.reason, undefined, "Immediate")
  }

  /** Reports a frame that could not be sent. If the connection has failed, ends the session. */
  failedToSend(frame: JsonRpc.Frame, error: TransportError): void {
    this.emit({ _tag: "SendFailed", method: "method" in frame ? frame.method : undefined, error })
    if (error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded") this.broken(error)
  }

  /** Ends the session, because the connection is broken. */
  broken(error: TransportError): void {
    this.end({ _tag: "TransportEnded", reason: reasonOf(error) }, "Immediate")
  }

  /** Ends the session, because the peer reads no bytes. */
  stalled(): void {
    this.end(
      { _tag: "TransportEnded", reason: { _tag: "PeerStalled", afterMillis: this.limits.writeTimeout } },
      "Immediate"
    )
  }

  /** Ends the session, because the peer sends requests and reads no replies. */
  overflowed(overflow: Overflow): void {
    this.end({ _tag: "TransportEnded", reason: { _tag: "RepliesOverflow", ...overflow } }, "Immediate")
  }

  /** Logs an exception of an observer. */
  observerThrew(thrown: unknown): void {
    this.fork(Effect.logError("a session's observer threw", thrown))
  }

  /** Ends everything whose deadline has passed, and returns the next deadline. */
  expire(now: number): number {
    return Math.min(this.exchanges.expire(now), this.outbox.expire(now), this.#expireInitialize(now))
  }

  /** Starts the read loop. Called once, when everything that `deliver` needs has been made. */
  read(inbound: InboundHandler): void {
    this.#inbound = inbound
    const hooks: Hooks = {
      abandon: (origin) => inbound.abandon(origin),
      report: (event) => this.emit(event)
    }
    const reading = Effect.suspend(() => this.connection.run((frame) => inbound.deliver(frame), hooks))
    // Yields first, so that the program receives the session before the first frame is delivered.
    this.#reader = this.fork(
      Effect.matchCause(Effect.andThen(Effect.yieldNow, reading), {
        onSuccess: ({ exit, writable }) =>
          this.end(
            { _tag: "TransportEnded", reason: { _tag: "PeerEnded", exit } },
            writable ? "Graceful" : "DrainInbound"
          ),
        onFailure: (cause) => {
          const failure = Cause.squash(cause)
          if (failure instanceof TransportError) this.broken(failure)
          else this.end({ _tag: "TransportEnded", reason: { _tag: "TransportFailed", cause: failure } }, "Immediate")
        }
      })
    )
  }

  /** Waits until the session has closed, and returns the reason. */
  get closed(): Effect.Effect<CloseReason.CloseReason> {
    return Deferred.await(this.#closed)
  }

  /** Closes the session, and waits until it has closed. */
  get close(): Effect.Effect<CloseReason.CloseReason> {
    return Effect.suspend(() => {
      this.end({ _tag: "Close", reason: CloseReason.requested })
      return this.closed
    })
  }

  #expireInitialize(now: number): number {
    if (this.state()._tag !== "AwaitingInitialize" || !this.needsHandshake) return Number.POSITIVE_INFINITY
    const deadline = this.#connectedAt + this.limits.initializeTimeout
    if (deadline > now) return deadline
    this.timeOut(this.limits.initializeTimeout)
    return Number.POSITIVE_INFINITY
  }

  /**
   * Interrupts all handlers. Their requests get no reply, and the other requests of their batches do not wait for them.
   */
  #interruptAll(): void {
    for (const { origin } of this.inflight.interruptAll()) if (isBatch(origin)) this.replies.settle(origin)
  }

  #shutDown(reason: CloseReason.CloseReason, revision: Revision.Revision | undefined, mode: ShutdownMode): void {
    this.exchanges.close(reason)
    this.#side.onEnd(reason)
    // An observer of the fiber reports the end, and not the fiber itself, so that nothing of the session is left then.
    this.fork(Effect.uninterruptible(this.#teardown(reason, revision))).addObserver(() => {
      this.#side.onClosed?.(reason)
      Deferred.doneUnsafe(this.#closed, Exit.succeed(reason))
    })
    if (mode !== "Graceful") this.#stop(mode)
  }

  /** Moves to `Closed`, unless the session was closed before its handshake was done. */
  #finish(): void {
    const state: State = this.state()
    if (state._tag === "Closing") this.commit(state, this.#side.machine.step(state, { _tag: "Drained" }).state)
  }

  #stop(mode: ShutdownMode): void {
    this.#interruptAll()
    if (mode === "Immediate") this.notifications.stop()
    this.outbox.stop()
  }

  /**
   * Shortens a shutdown that has begun. An end with another mode does so, and so does a close by this side after an end
   * by the peer.
   */
  #hasten(event: Ending, mode: ShutdownMode): void {
    const state: State = this.state()
    if (!("reason" in state)) return
    if (mode !== "Graceful") return this.#stop(mode)
    if (event._tag !== "Close" || state.reason._tag === "Requested") return
    this.#interruptAll()
    this.notifications.stop()
  }

  #unfinished() {
    const method = this.notifications.unfinished()
    return method === undefined ? this.inflight.unfinished() : [...this.inflight.unfinished(), { method, count: 1 }]
  }

  #teardown(reason: CloseReason.CloseReason, revision: Revision.Revision | undefined): Effect.Effect<void> {
    const { connection, context, inflight, limits, notifications, outbox, timer } = this
    const finishMillis = reason._tag === "PeerEnded" && connection.halfCloseMillis !== undefined
      ? Math.min(limits.gracefulCloseTimeout, connection.halfCloseMillis)
      : limits.gracefulCloseTimeout
    const handled = Effect.andThen(inflight.drained, notifications.drained)
    const handledOrCutOff = Effect.raceFirst(handled, Context.get(context, HandlerCutoff))
    // Most sessions end while nothing is in flight, and then need no clock.
    const isBusy = () => inflight.size > 0 || !notifications.isIdle
    return Effect.gen({ self: this }, function*() {
      const began = timer.now()
      if (isBusy()) yield* within(handledOrCutOff, finishMillis)
      this.#interruptAll()
      notifications.stop()
      if (isBusy()) yield* within(handled, cleanupMillis)
      // Before the transport closes, all of this takes at most three seconds longer than `gracefulCloseTimeout`.
      const left = limits.gracefulCloseTimeout + extraMillis - (timer.now() - began)
      if (!outbox.isIdle) yield* within(outbox.flushed, Math.max(Math.min(limits.gracefulCloseTimeout, left), 0))
      outbox.stop()
      timer.stop()
      this.#reader?.interruptUnsafe()
      connection.onSessionEnd?.(reason)
      yield* Scope.close(this.#connectionScope, Exit.void)
      if (this.#reader !== undefined && this.#reader.pollUnsafe() === undefined) {
        yield* within(Fiber.await(this.#reader), cleanupMillis)
      }
      this.#finish()
      const millis = timer.now() - this.#connectedAt
      yield* SessionDuration.record({ role: this.role, reason, revision, millis })
      this.emit({ _tag: "Closed", reason, unfinished: this.#unfinished() })
      this.observers.end()
      this.subscriptions.end()
    })
  }
}

/** The members of a runtime that both sides use. */
export type AnySessionRuntime = Pick<
  SessionRuntime<State>,
  | "apply"
  | "budget"
  | "closed"
  | "connection"
  | "context"
  | "emit"
  | "exchanges"
  | "failedToSend"
  | "inflight"
  | "limits"
  | "outbox"
  | "state"
  | "timer"
>

/** Connects. Leaving the scope closes the session, and waits until it has closed. */
export const make = Effect.fnUntraced(function*<S extends State>(
  side: RoleDefinition<S>,
  options: Surroundings & {
    readonly limits: Limits
    readonly observe: ((event: SessionEvent) => void) | undefined
  }
): Effect.fn.Return<SessionRuntime<S>, TransportError, Scope.Scope> {
  const { limits, observe, transport } = options
  const connectionScope = Scope.makeUnsafe()
  let runtime: SessionRuntime<S> | undefined
  yield* Effect.addFinalizer((exit) => runtime === undefined ? Scope.close(connectionScope, exit) : runtime.close)
  const connection = yield* Scope.provide(transport.connect, connectionScope).pipe(
    Effect.onError((cause) => Scope.close(connectionScope, Exit.failCause(cause)))
  )
  runtime = new SessionRuntime({ side, surroundings: options, limits, observe, connection, connectionScope })
  // The scope of the session may have been closed while the transport connected.
  if (connectionScope.state._tag === "Closed") yield* runtime.close
  return runtime
})

/** Returns the numbers of pending requests and of requests in flight. */
export const inFlight = <S extends State>({ exchanges, inflight }: SessionRuntime<S>): Effect.Effect<InFlight> =>
  Effect.sync(() => ({ sent: exchanges.size, served: inflight.size }))

/** Streams every message of the peer unchanged. */
export const messages = <S extends State>({ subscriptions }: SessionRuntime<S>): Stream.Stream<JsonRpc.Message> =>
  subscriptions.follow(everything)

/** Returns the members that the sessions of both sides share. */
export const session = <S extends State>(runtime: SessionRuntime<S>): Session<Reachable<S>> => ({
  state: Effect.sync(() => runtime.state()),
  inFlight: inFlight(runtime),
  events: runtime.observers.events,
  messages: messages(runtime),
  close: runtime.close,
  closed: runtime.closed
})
