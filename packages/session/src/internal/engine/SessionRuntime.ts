/**
 * The runtime of one session: its connection, its tables and its handshake state.
 *
 * The declaration of each field of `SessionRuntime` states who writes it, and when it is empty or closed. These
 * invariants connect the fields:
 *
 * - **Steps.** The read loop calls `deliver`, the timer calls `expire`, and fibers of callers and handlers call the
 *   rest. A change of the state or of a table is one synchronous step, so no other code sees half of it. `deliver` and
 *   `expire` never suspend.
 * - **The state.** `Closing` and `Closed` have the close reason, and no other state has one. The machine leaves
 *   `Closing` only for `Closed`. The step that reaches the first of them begins the shutdown, so a session has one
 *   shutdown, with one reason.
 * - **A pending request** is in `exchanges` from its opening until the finalizer of its caller removes it. The outbox
 *   marks it as `handed` before it calls the transport. A response to a request that is not `handed` completes nothing.
 *   An entry of the outbox whose request is completed is not sent.
 * - **Progress** of a pending request waits in a mailbox, which ends before the response completes the request. The
 *   caller therefore receives the progress before the response, and none after it.
 * - **A request of the peer** is in `inflight` from the start of its handler until the handler has ended, and the
 *   transport has received the handler's reply. Whatever ends the request claims it first, and one claim succeeds. A
 *   claim for the reply keeps the id taken until the transport has the reply. Any other claim frees the id at once.
 * - **Deadlines** are fields of what they end: a pending request, a message or a stream in the outbox, and the wait for
 *   `initialize` here. Setting a deadline calls `timer.watch`, and so does making it earlier. Making it later does not:
 *   the timer then wakes too early, and `expire` returns the next deadline.
 * - **Memory** of messages that wait is charged to `budget`: by `inflight`, by `outbox`, and by each buffer with
 *   `bounds`. The part that took a charge releases it.
 * - **The end.** After the shutdown has begun, `exchanges` is closed, and no request of either side starts. The order
 *   of the shutdown is in `SessionShutdown.ts`. After it, the state is `Closed`, no event follows the event `Closed`,
 *   and no fiber is left but those that could not be interrupted. The event has the number of such handlers.
 */

import { CloseReason, type Handshake, type JsonRpc, type MethodDefinition, type Revision } from "@effect-mcp/protocol"
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Limits } from "../../Limits.ts"
import { MemoryBudget } from "../../MemoryBudget.ts"
import type { InFlight, Session } from "../../Session.ts"
import type { SessionEvent } from "../../SessionEvent.ts"
import { type Connection, type Hooks, type Inbound, type StreamOrigin, Transport } from "../../Transport.ts"
import { TransportError } from "../../TransportError.ts"
import { compareAndSetUnsafe } from "../collections/compareAndSet.ts"
import type * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import { thisPackage } from "../thisPackage.ts"
import { Capacity } from "./Capacity.ts"
import { IncomingRequests } from "./IncomingRequests.ts"
import { NotificationQueue } from "./NotificationQueue.ts"
import { Observers } from "./Observers.ts"
import { Outbox } from "./Outbox.ts"
import type { Overflow } from "./OutboxWeight.ts"
import { PendingRequests } from "./PendingRequests.ts"
import { RateLimit } from "./RateLimit.ts"
import { Replies } from "./Replies.ts"
import * as SessionDuration from "./SessionDuration.ts"
import * as SessionShutdown from "./SessionShutdown.ts"
import { everything, Subscriptions } from "./Subscriptions.ts"
import { Timer } from "./Timer.ts"

type ShutdownMode = SessionShutdown.ShutdownMode

/** A state of either side. */
export type State = Handshake.ClientState | Handshake.ServerState | Handshake.StatelessServerState

/** The handler of inbound frames. */
export interface InboundHandler {
  readonly deliver: (inbound: Inbound) => void
  /** Drops the requests of an origin whose stream has no reader left. */
  readonly abandon: (origin: StreamOrigin) => void
  /** Returns whether the session knows the request that a response answers, or that a notification cancels. */
  readonly knows: Required<Hooks>["knows"]
  /** Drops all requests, because the peer has lost its side of the session. */
  readonly abandonAll: () => void
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
  LoadedPackages.check(thisPackage)
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
 * The state and the tables of one session. A process may have thousands of sessions, most of them idle, so parts that a
 * session may never need are made on demand.
 */
export class SessionRuntime<S extends State> {
  readonly role: MethodDefinition.Role
  readonly limits: Limits
  /** The services of the program that made the session. Every fiber that the session starts has them. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  /** The connection that the transport has opened in `#connectionScope`. */
  readonly connection: Connection
  readonly observe: ((event: SessionEvent) => void) | undefined
  /** The memory budget of the process. */
  readonly budget: MemoryBudget
  /** The bounds of each buffer: notifications for handlers, events for a stream, messages for a stream. */
  readonly bounds: SlidingBuffer.Bounds
  /** The earliest deadline. Its fiber exists while there is one. The shutdown stops it. */
  readonly timer: Timer
  /**
   * The requests of this side without a response, by id: a `HashMap` of Deferreds in a `Ref`. The fiber of the caller
   * opens and removes them. The read loop, the timer, the outbox and the shutdown complete them, and the first
   * completion counts. No id is given twice. The first step of the shutdown closes the table: it fails all requests in
   * it, and no other can be opened.
   */
  readonly exchanges: PendingRequests
  /**
   * The requests of the peer whose handler or reply is not done, by id, with the fibers of their handlers. Only
   * `RequestServer` adds one. The shutdown waits until none is left, then claims and interrupts the rest.
   */
  readonly inflight: IncomingRequests
  /**
   * The messages that wait for the transport: those of callers and handlers, and replies. A caller that no longer waits
   * withdraws its message, unless the transport has it. The outbox is empty while the transport makes nothing wait. The
   * shutdown flushes it, then stops it.
   */
  readonly outbox: Outbox
  /** Passes replies to the outbox. It stores none: replies of a batch wait in the batch, which is their origin. */
  readonly replies: Replies
  /**
   * The notifications that wait for their handlers, which run one at a time. `InboundProcessor` adds to it. It is empty
   * while no handler runs. The shutdown waits for it, then drops the rest and interrupts the handler.
   */
  readonly notifications: NotificationQueue
  /** The streams of events. Each ends with its reader, and the last step of the shutdown ends all. */
  readonly observers: Observers
  /** The streams of the peer's messages. `InboundProcessor` writes them. They end in the same way. */
  readonly subscriptions: Subscriptions
  /**
   * Whether the session ends if it receives no `initialize` in time. Its peer may use it without a handshake: the first
   * request that does so sets this to `false`.
   */
  needsHandshake = true
  readonly #side: RoleDefinition<S>
  /** The state of the handshake. Only `commit` writes it, by compare-and-set. */
  readonly #state: Ref.Ref<Reachable<S>>
  /** Completed once, after the fiber of the shutdown has ended. */
  readonly #closed = Deferred.makeUnsafe<CloseReason.CloseReason>()
  /** The scope of the connection. After `make`, only the shutdown closes it. */
  readonly #connectionScope: Scope.Closeable
  readonly #connectedAt: number
  /** The receiver of inbound frames, and the fiber of the read loop: `undefined` until `read`. */
  #inbound: InboundHandler | undefined
  #reader: Fiber.Fiber<void> | undefined
  /** The actions that wait until the session reads; `undefined` from then on. */
  #waitsForReader: Array<() => void> | undefined = []
  #malformedReplies: RateLimit | undefined
  #unmatchedWarnings: RateLimit | undefined
  /** The changes of state to emit later. `undefined` except within `deferEvents`, which is one step. */
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
      report: (event) => {
        this.emit(event)
        // The peer waits for no answer to its earlier requests, and its new requests may have the same ids.
        if (event._tag === "SessionRenewed") inbound.abandonAll()
      },
      knows: (message) => inbound.knows(message)
    }
    const reading = Effect.suspend(() => {
      this.#begin()
      return this.connection.run((frame) => inbound.deliver(frame), hooks)
    })
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

  /**
   * Runs an action as soon as the session reads. Its reader begins after a turn of the scheduler, and on some platforms
   * the first response is quicker.
   */
  whenReading(action: () => void): void {
    if (this.#waitsForReader === undefined) action()
    else this.#waitsForReader.push(action)
  }

  #begin(): void {
    const waiting = this.#waitsForReader ?? []
    this.#waitsForReader = undefined
    if (waiting.length === 0) return
    // In this turn, the reader first delivers what has arrived before.
    this.fork(Effect.andThen(Effect.yieldNow, Effect.sync(() => waiting.forEach((action) => action()))))
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

  #shutDown(reason: CloseReason.CloseReason, revision: Revision.Revision | undefined, mode: ShutdownMode): void {
    this.connection.onSessionEnding?.(reason)
    // First, because these calls must not see the end of their questions.
    if (CloseReason.goesOnElsewhere(reason)) this.inflight.handOn()
    this.exchanges.close(reason)
    this.#side.onEnd(reason)
    const connected = { scope: this.#connectionScope, reader: () => this.#reader }
    const ending = Effect.andThen(SessionShutdown.run(this, connected, reason), this.#finish(reason, revision))
    // An observer of the fiber reports the end, and not the fiber itself, so that nothing of the session is left then.
    this.fork(Effect.uninterruptible(ending)).addObserver(() => {
      this.#side.onClosed?.(reason)
      Deferred.doneUnsafe(this.#closed, Exit.succeed(reason))
    })
    if (mode !== "Graceful") SessionShutdown.shorten(this, mode)
  }

  /**
   * Shortens a shutdown that has begun. An end with another mode does so, and so does a close by this side after an end
   * by the peer.
   */
  #hasten(event: Ending, mode: ShutdownMode): void {
    const state: State = this.state()
    if (!("reason" in state)) return
    if (mode !== "Graceful") return SessionShutdown.shorten(this, mode)
    if (event._tag === "Close" && state.reason._tag !== "Requested") SessionShutdown.interruptHandlers(this)
  }

  /** Moves to `Closed`, unless the session was closed before its handshake was done, and reports the end. */
  #finish(reason: CloseReason.CloseReason, revision: Revision.Revision | undefined): Effect.Effect<void> {
    return Effect.suspend(() => {
      const state: State = this.state()
      if (state._tag === "Closing") this.commit(state, this.#side.machine.step(state, { _tag: "Drained" }).state)
      const millis = this.timer.now() - this.#connectedAt
      return Effect.map(SessionDuration.record({ role: this.role, reason, revision, millis }), () => {
        this.emit({ _tag: "Closed", reason, unfinished: SessionShutdown.unfinished(this) })
        this.observers.end()
        this.subscriptions.end()
      })
    })
  }
}

/** The names of the members of a runtime that both sides use. */
export type SharedMember =
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
  | "whenReading"

/** The members of a runtime that both sides use. */
export type AnySessionRuntime = Pick<SessionRuntime<State>, SharedMember>

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
