import { CloseReason, type Handshake, JsonRpc, type MethodDefinition, type Revision } from "@effect-mcp/protocol"
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
import { compareAndSetUnsafe } from "../collections/modify.ts"
import type * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import * as SessionDuration from "../telemetry/SessionDuration.ts"
import { Batch } from "./Batch.ts"
import { Capacity } from "./Capacity.ts"
import { IncomingRequests, interrupt } from "./IncomingRequests.ts"
import { NotificationQueue } from "./NotificationQueue.ts"
import { Observers } from "./Observers.ts"
import { Outbox, type Overflow } from "./Outbox.ts"
import { PendingRequests } from "./PendingRequests.ts"
import { Replies } from "./Replies.ts"
import * as RequestRejections from "./RequestRejections.ts"
import { everything, Subscriptions } from "./Subscriptions.ts"
import { Timer } from "./Timer.ts"

/** How long interrupted handlers may take to clean up after themselves before the session closes without them. */
const cleanupMillis = 1000

/** How much longer than its handlers a session may take to clean up and to write what waits. */
const beyondMillis = 3000

/**
 * What an end leaves time for: `Finish` for handlers and their replies; `Listen` for what was told already, since there is
 * nobody left to reply to; `None` for nothing.
 */
export type Mercy = "Finish" | "Listen" | "None"

/**
 * The state of either side.
 */
export type State = Handshake.ClientState | Handshake.ServerState | Handshake.SessionlessServerState

/** What becomes of what comes in. */
export interface Reader {
  readonly deliver: (inbound: Inbound) => void
  /** Nobody will take what belongs to this origin any more. */
  readonly abandon: (origin: StreamOrigin) => void
}

/**
 * What distinguishes the two sides.
 */
export interface Side<S extends State> {
  readonly role: MethodDefinition.Role
  readonly transition: <Tag extends Handshake.EventTag>(
    state: S,
    event: Handshake.EventOf<Tag>
  ) => Handshake.Outcome<S, Tag>
  readonly initial: S
  readonly firstId: number
  /** The session is in another state. */
  readonly onState?: ((state: S["_tag"]) => void) | undefined
  /** The session begins to end. */
  readonly onEnd: (reason: CloseReason.CloseReason) => void
  /** The session has ended, and nothing of it is left. */
  readonly onClosed?: ((reason: CloseReason.CloseReason) => void) | undefined
}

/** What a session stands in. */
export interface Surroundings {
  readonly transport: Transport["Service"]
  /** The services of its handlers and of whatever else it runs. */
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
}

/** What surrounds whoever makes the session. */
export const surroundings: Effect.Effect<Surroundings, never, Transport> = Effect.gen(function*() {
  return {
    transport: yield* Transport,
    context: yield* Effect.context<never>(),
    clock: yield* Clock.Clock
  }
})

/** Why a session ends that has met this error. */
export const reasonOf = (error: TransportError): CloseReason.CloseReason =>
  error.reason._tag === "PeerEnded"
    ? { _tag: "PeerEnded", exit: error.reason.exit }
    : { _tag: "TransportFailed", cause: error }

/** What the two sides have agreed on, once they have. */
const revisionOf = (state: State): Revision.Revision | undefined =>
  "profile" in state ? state.profile.revision : undefined

/** Waits for something that may never come, but no longer than this. */
const within = (wait: Effect.Effect<unknown>, millis: number): Effect.Effect<void> =>
  Effect.asVoid(Effect.timeoutOption(Effect.interruptible(wait), Duration.millis(millis)))

/** What makes one session begin to end. */
type Ending = Handshake.EventOf<"Close" | "TransportEnded" | "Timeout" | "ReceiveInitializeFailure">

/** What a core stands on. */
interface Foundation<S extends State> {
  readonly side: Side<S>
  readonly surroundings: Surroundings
  readonly limits: Limits
  readonly observe: ((event: SessionEvent) => void) | undefined
  readonly connection: Connection
  readonly connectionScope: Scope.Closeable
}

/**
 * What every part of a session works on: its state, its tables, and its end. One session has one, in one scope. There may be
 * thousands in one process, most of which do nothing: what a session may never need is made when it does.
 */
export class SessionRuntime<S extends State> {
  readonly role: MethodDefinition.Role
  readonly limits: Limits
  readonly context: Context.Context<never>
  readonly clock: Clock.Clock
  readonly connection: Connection
  readonly observe: ((event: SessionEvent) => void) | undefined
  /** What the process may hold for all of its peers. */
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
  readonly #side: Side<S>
  readonly #state: Ref.Ref<S>
  readonly #closed = Deferred.makeUnsafe<CloseReason.CloseReason>()
  readonly #connectionScope: Scope.Closeable
  readonly #connectedAt: number
  #reader: Fiber.Fiber<void> | undefined
  /** What an observer does about a change of state must not come before what changed it is on its way. */
  #held: Array<SessionEvent> | undefined

  constructor({ connection, connectionScope, limits, observe, side, surroundings }: Foundation<S>) {
    this.role = side.role
    this.limits = limits
    this.context = surroundings.context
    this.clock = surroundings.clock
    this.connection = connection
    this.observe = observe
    this.budget = Context.get(surroundings.context, MemoryBudget)
    this.bounds = { capacity: limits.maxNotifications, bytes: limits.maxNotificationBytes, budget: this.budget }
    this.#side = side
    this.#state = Ref.makeUnsafe<S>(side.initial)
    this.#connectionScope = connectionScope
    this.timer = new Timer(this)
    this.exchanges = new PendingRequests(side.firstId)
    this.inflight = new IncomingRequests(new Capacity(limits, this.budget.open({ yields: () => this.#yieldRequest() })))
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

  fork<A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> {
    return Effect.runForkWith(this.context)(effect)
  }

  emit(event: SessionEvent): void {
    this.observers.emit(event)
  }

  state(): S {
    return Ref.getUnsafe(this.#state)
  }

  /** Lets an event happen: the handshake machine judges it and moves. */
  happen<Tag extends Handshake.EventTag>(event: Handshake.EventOf<Tag>): Handshake.Outcome<S, Tag> {
    const before = this.state()
    const outcome = this.#side.transition(before, event)
    if (outcome._tag === "Moved") this.commit(before, outcome.state)
    return outcome
  }

  /** Moves to the state that a step led to. Returns `false` if the session is no longer in the state it started from. */
  commit(from: S, to: S): boolean {
    if (!compareAndSetUnsafe(this.#state, from, to)) return false
    if (from._tag === to._tag) return true
    this.#side.onState?.(to._tag)
    const event: SessionEvent = { _tag: "StateChanged", from: from._tag, to: to._tag }
    if (this.#held === undefined) this.emit(event)
    else this.#held.push(event)
    return true
  }

  /** Does something whose changes of state are told only when it is done. */
  quietly(action: () => void): void {
    const events: Array<SessionEvent> = this.#held = []
    action()
    this.#held = undefined
    for (const event of events) this.emit(event)
  }

  /** Begins to end the session; what is in flight may finish. */
  end(event: Ending, mercy: Mercy = "Finish"): void {
    const before = this.state()
    const outcome = this.happen(event)
    if (outcome._tag !== "Moved" || (outcome.action !== "End" && outcome.action !== "Finish")) {
      this.#hurry(event, mercy)
      return
    }
    this.exchanges.close(event.reason)
    this.#side.onEnd(event.reason)
    // Told by whoever watches the fiber, not by the fiber: when the end is known, nothing of the session is left.
    this.fork(Effect.uninterruptible(this.#teardown(event.reason, revisionOf(before)))).addObserver(() => {
      this.#side.onClosed?.(event.reason)
      Deferred.doneUnsafe(this.#closed, Exit.succeed(event.reason))
    })
    if (mercy !== "Finish") this.#giveUp(mercy)
  }

  /** One frame could not be sent; some failures are the connection's, and end the session. */
  failedToSend(frame: JsonRpc.Frame, error: TransportError): void {
    this.emit({ _tag: "SendFailed", method: "method" in frame ? frame.method : undefined, error })
    if (error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded") this.broken(error)
  }

  /** The connection broke: nothing more can be said. */
  broken(error: TransportError): void {
    this.end({ _tag: "TransportEnded", reason: reasonOf(error) }, "None")
  }

  /** The peer takes no bytes. */
  stalled(): void {
    this.end({ _tag: "TransportEnded", reason: { _tag: "PeerStalled", afterMillis: this.limits.writeTimeout } }, "None")
  }

  /** The peer asks on and on and takes no replies. */
  overflowed(overflow: Overflow): void {
    this.end({ _tag: "TransportEnded", reason: { _tag: "RepliesOverflow", ...overflow } }, "None")
  }

  /** An observer made a mistake. */
  observerThrew(thrown: unknown): void {
    this.fork(Effect.logError("a session's observer threw", thrown))
  }

  /** Ends what is due by now, and says when the next will be. */
  expire(now: number): number {
    return Math.min(this.exchanges.expire(now), this.outbox.expire(now), this.#expireOpening(now))
  }

  /** Begins to read. Called once, when everything that `deliver` needs stands. */
  read(reader: Reader): void {
    const hooks: Hooks = {
      abandon: (origin) => reader.abandon(origin),
      report: (event) => this.emit(event)
    }
    const reading = Effect.suspend(() => this.connection.run((inbound) => reader.deliver(inbound), hooks))
    // Yields first, so that whoever made the session has it before its first frame is delivered.
    this.#reader = this.fork(
      Effect.matchCause(Effect.andThen(Effect.yieldNow, reading), {
        onSuccess: ({ exit, writable }) =>
          this.end({ _tag: "TransportEnded", reason: { _tag: "PeerEnded", exit } }, writable ? "Finish" : "Listen"),
        onFailure: (cause) => {
          const failure = Cause.squash(cause)
          if (failure instanceof TransportError) this.broken(failure)
          else this.end({ _tag: "TransportEnded", reason: { _tag: "TransportFailed", cause: failure } }, "None")
        }
      })
    )
  }

  /** Waits until the session has ended, and says why. */
  get closed(): Effect.Effect<CloseReason.CloseReason> {
    return Deferred.await(this.#closed)
  }

  /** Ends the session, and waits until it has ended. */
  get close(): Effect.Effect<CloseReason.CloseReason> {
    return Effect.suspend(() => {
      this.end({ _tag: "Close", reason: CloseReason.requested })
      return this.closed
    })
  }

  /**
   * The process has no memory left, and the requests of this session hold most of it. The largest of them makes room.
   */
  #yieldRequest(): void {
    const served = this.inflight.claimLargest()
    if (served === undefined) return
    this.emit({ _tag: "Refused", method: served.method, id: served.id, code: RequestRejections.displaced.code })
    interrupt(served)
    this.replies.reply(JsonRpc.failure(served.id, RequestRejections.displaced), served.origin)
  }

  #expireOpening(now: number): number {
    if (this.state()._tag !== "AwaitingInitialize") return Number.POSITIVE_INFINITY
    const openBy = this.#connectedAt + this.limits.initializeTimeout
    if (openBy > now) return openBy
    this.end(
      { _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis: this.limits.initializeTimeout } },
      "None"
    )
    return Number.POSITIVE_INFINITY
  }

  /** None of them gets a reply any more; what is in one batch with them need not wait for theirs. */
  #interruptAll(): void {
    for (const { origin } of this.inflight.interruptAll()) if (origin instanceof Batch) this.replies.settle(origin)
  }

  #giveUp(mercy: Mercy): void {
    this.#interruptAll()
    if (mercy === "None") this.notifications.stop()
    this.outbox.stop()
  }

  /** It is ending already. An end without mercy hurries it, and so does this side's wish after the peer's has been granted. */
  #hurry(event: Ending, mercy: Mercy): void {
    const state: State = this.state()
    if (!("reason" in state)) return
    if (mercy !== "Finish") return this.#giveUp(mercy)
    if (event._tag !== "Close" || state.reason._tag === "Requested") return
    this.#interruptAll()
    this.notifications.stop()
  }

  #unfinished() {
    const method = this.notifications.unfinished()
    return method === undefined ? this.inflight.unfinished() : [...this.inflight.unfinished(), { method, count: 1 }]
  }

  #teardown(reason: CloseReason.CloseReason, revision: Revision.Revision | undefined): Effect.Effect<void> {
    const { context, inflight, limits, notifications, outbox, timer } = this
    const handled = Effect.andThen(inflight.drained, notifications.drained)
    const handledOrCutOff = Effect.raceFirst(handled, Context.get(context, HandlerCutoff))
    // Nearly all sessions end with nothing to wait for, and need no clock for that.
    const isBusy = () => inflight.size > 0 || !notifications.isIdle
    return Effect.gen({ self: this }, function*() {
      const began = timer.now()
      if (isBusy()) yield* within(handledOrCutOff, limits.gracefulCloseTimeout)
      this.#interruptAll()
      notifications.stop()
      if (isBusy()) yield* within(handled, cleanupMillis)
      // Before the transport's own ladder, all of it together takes no more than three seconds beyond what handlers have.
      const left = limits.gracefulCloseTimeout + beyondMillis - (timer.now() - began)
      if (!outbox.isIdle) yield* within(outbox.flushed, Math.max(Math.min(limits.gracefulCloseTimeout, left), 0))
      outbox.stop()
      timer.stop()
      this.#reader?.interruptUnsafe()
      this.connection.onSessionEnd?.(reason)
      yield* Scope.close(this.#connectionScope, Exit.void)
      if (this.#reader !== undefined && this.#reader.pollUnsafe() === undefined) {
        yield* within(Fiber.await(this.#reader), cleanupMillis)
      }
      this.happen({ _tag: "Drained" })
      const millis = timer.now() - this.#connectedAt
      yield* SessionDuration.record({ role: this.role, reason, revision, millis })
      this.emit({ _tag: "Closed", reason, unfinished: this.#unfinished() })
      this.observers.end()
      this.subscriptions.end()
    })
  }
}

/** What of a core does not depend on which side it is of. */
export type AnyCore = Pick<
  SessionRuntime<State>,
  | "budget"
  | "connection"
  | "context"
  | "emit"
  | "exchanges"
  | "failedToSend"
  | "happen"
  | "inflight"
  | "limits"
  | "outbox"
  | "state"
  | "timer"
>

/**
 * Connects. Leaving the scope closes the session and waits until it has closed.
 */
export const make = Effect.fnUntraced(function*<S extends State>(
  side: Side<S>,
  options: Surroundings & {
    readonly limits: Limits
    readonly observe: ((event: SessionEvent) => void) | undefined
  }
): Effect.fn.Return<SessionRuntime<S>, TransportError, Scope.Scope> {
  const { limits, observe, transport } = options
  const connectionScope = Scope.makeUnsafe()
  let core: SessionRuntime<S> | undefined
  yield* Effect.addFinalizer((exit) => core === undefined ? Scope.close(connectionScope, exit) : core.close)
  const connection = yield* Scope.provide(transport.connect, connectionScope).pipe(
    Effect.onError((cause) => Scope.close(connectionScope, Exit.failCause(cause)))
  )
  core = new SessionRuntime({ side, surroundings: options, limits, observe, connection, connectionScope })
  // The session's scope may have been closed while the connection was made.
  if (connectionScope.state._tag === "Closed") yield* core.close
  return core
})

/** How much is in flight now. */
export const inFlight = <S extends State>({ exchanges, inflight }: SessionRuntime<S>): Effect.Effect<InFlight> =>
  Effect.sync(() => ({ sent: exchanges.size, served: inflight.size }))

/** Everything the peer sends, as it came. */
export const messages = <S extends State>({ subscriptions }: SessionRuntime<S>): Stream.Stream<JsonRpc.Message> =>
  subscriptions.follow(everything)

/**
 * What both sides offer of their session.
 */
export const session = <S extends State>(core: SessionRuntime<S>): Session<S> => ({
  state: Effect.sync(() => core.state()),
  inFlight: inFlight(core),
  events: core.observers.events,
  messages: messages(core),
  close: core.close,
  closed: core.closed
})
