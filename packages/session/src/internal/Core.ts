import { CloseReason, type Handshake, type JsonRpc, type Method, type Revision } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Ref from "effect/Ref"
import * as Scope from "effect/Scope"
import type * as Stream from "effect/Stream"
import type { Limits } from "../Limits.ts"
import type { InFlight, Session } from "../Session.ts"
import type { SessionEvent } from "../SessionEvent.ts"
import { type Connection, type Inbound, type Origin, Transport } from "../Transport.ts"
import { TransportError } from "../TransportError.ts"
import { Batch } from "./Batch.ts"
import * as Capacity from "./Capacity.ts"
import * as Exchanges from "./Exchanges.ts"
import * as Inflight from "./Inflight.ts"
import { modifyUnsafe } from "./modify.ts"
import * as NotificationQueue from "./NotificationQueue.ts"
import * as Observers from "./Observers.ts"
import * as Outbox from "./Outbox.ts"
import * as Replies from "./Replies.ts"
import * as SessionDuration from "./SessionDuration.ts"
import * as Subscriptions from "./Subscriptions.ts"
import * as Timer from "./Timer.ts"

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
  readonly abandon: (origin: Origin) => void
}

/**
 * What every part of a session works on: its state, its tables, and its end. One session has one, in one scope.
 */
export interface Core<S extends State> {
  readonly role: Method.Role
  readonly limits: Limits
  readonly context: Context.Context<never>
  readonly fork: <A, E>(effect: Effect.Effect<A, E>) => Fiber.Fiber<A, E>
  readonly connection: Connection
  readonly timer: Timer.Timer
  readonly exchanges: Exchanges.Exchanges
  readonly inflight: Inflight.Inflight
  readonly outbox: Outbox.Outbox
  readonly replies: Replies.Replies
  readonly notifications: NotificationQueue.NotificationQueue
  readonly observers: Observers.Observers
  readonly subscriptions: Subscriptions.Subscriptions
  readonly emit: Observers.Observers["emit"]
  readonly state: () => S
  /** Lets an event happen: the handshake machine judges it and moves. */
  readonly happen: (event: Handshake.Event) => Handshake.Outcome<S>
  /** Does something whose changes of state are told only when it is done. */
  readonly quietly: (action: () => void) => void
  /** Begins to end the session; what is in flight may finish. */
  readonly end: (
    event: Handshake.EventOf<"Close" | "TransportEnded" | "Timeout" | "ReceiveInitializeFailure">,
    mercy?: Mercy
  ) => void
  /** One frame could not be sent; some failures are the connection's, and end the session. */
  readonly failedToSend: (frame: JsonRpc.Frame, error: TransportError) => void
  /** The connection broke: nothing more can be said. */
  readonly broken: (error: TransportError) => void
  /** Begins to read. Called once, when everything that `deliver` needs stands. */
  readonly read: (reader: Reader) => void
  readonly closed: Effect.Effect<CloseReason.CloseReason>
}

/**
 * What distinguishes the two sides.
 */
export interface Side<S extends State> {
  readonly role: Method.Role
  readonly transition: (state: S, event: Handshake.Event) => Handshake.Outcome<S>
  readonly initial: S
  readonly firstId: number
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

/**
 * Connects. Leaving the scope closes the session and waits until it has closed.
 */
export const make = Effect.fnUntraced(function*<S extends State>(
  side: Side<S>,
  options: Surroundings & {
    readonly limits: Limits
    readonly observe: ((event: SessionEvent) => void) | undefined
  }
): Effect.fn.Return<Core<S>, TransportError, Scope.Scope> {
  const { clock, context, limits, transport } = options
  const fork = Effect.runForkWith(context)
  const connectionScope = yield* Scope.fork(yield* Effect.scope)
  const connection = yield* Scope.provide(transport.connect, connectionScope).pipe(
    Effect.onError((cause) => Scope.close(connectionScope, Exit.failCause(cause)))
  )

  const stateRef = Ref.makeUnsafe<S>(side.initial)
  const closed = Deferred.makeUnsafe<CloseReason.CloseReason>()
  const bounds = { capacity: limits.notifications, bytes: limits.notificationBytes }
  const observers = Observers.make({
    bounds,
    observe: options.observe,
    onThrow: (thrown) => {
      fork(Effect.logError("a session's observer threw", thrown))
    }
  })
  const subscriptions = Subscriptions.make(bounds)
  const exchanges = Exchanges.make(side.firstId)
  const inflight = Inflight.make(Capacity.make({ requests: limits.incoming, bytes: limits.incomingBytes }))
  const notifications = NotificationQueue.make({ fork, bounds })

  // What an observer does about a change of state must not come before what changed it is on its way.
  let held: Array<SessionEvent> | undefined
  const announce = (event: SessionEvent) => held === undefined ? observers.emit(event) : held.push(event)
  const quietly = (action: () => void) => {
    const events: Array<SessionEvent> = held = []
    action()
    held = undefined
    events.forEach(observers.emit)
  }

  const happen = (event: Handshake.Event) => {
    const before = Ref.getUnsafe(stateRef)
    const outcome = modifyUnsafe<S, Handshake.Outcome<S>>(stateRef, (state) => {
      const outcome = side.transition(state, event)
      return [outcome, outcome._tag === "Moved" ? outcome.state : state]
    })
    if (outcome._tag === "Moved" && outcome.state._tag !== before._tag) {
      announce({ _tag: "StateChanged", from: before._tag, to: outcome.state._tag })
    }
    return outcome
  }

  const timer = Timer.make({
    clock,
    fork,
    expire: (now) => Math.min(exchanges.expire(now), outbox.expire(now), opening(now))
  })
  const connectedAt = timer.now()
  const openBy = connectedAt + limits.opening
  const opening = (now: number): number => {
    if (Ref.getUnsafe(stateRef)._tag !== "Opening") return Number.POSITIVE_INFINITY
    if (openBy > now) return openBy
    end({ _tag: "Timeout", reason: { _tag: "HandshakeTimeout", afterMillis: limits.opening } }, "None")
    return Number.POSITIVE_INFINITY
  }

  const onOverflow = (waiting: number) =>
    end({ _tag: "TransportEnded", reason: { _tag: "RepliesOverflow", waiting } }, "None")

  const outbox = Outbox.make({
    connection,
    fork,
    timer,
    capacity: limits.outgoing,
    replyCapacity: limits.replies,
    writeMillis: limits.write,
    onStalled: () =>
      end({ _tag: "TransportEnded", reason: { _tag: "PeerStalled", afterMillis: limits.write } }, "None"),
    onOverflow
  })

  const failedToSend: Core<S>["failedToSend"] = (frame, error) => {
    observers.emit({ _tag: "SendFailed", method: "method" in frame ? frame.method : undefined, error })
    if (error.reason._tag === "WriteFailed" || error.reason._tag === "PeerEnded") broken(error)
  }
  const replies = Replies.make({
    connection,
    outbox,
    capacity: limits.replies,
    onFailed: failedToSend,
    onOverflow
  })

  /** None of them gets a reply any more; what is in one batch with them need not wait for theirs. */
  const interruptAll = () => {
    for (const { origin } of inflight.interruptAll()) if (origin instanceof Batch) replies.settle(origin)
  }

  const giveUp = (mercy: Mercy) => {
    interruptAll()
    if (mercy === "None") notifications.stop()
    outbox.stop()
  }

  /** It is ending already. An end without mercy hurries it, and so does this side's wish after the peer's has been granted. */
  const hurry = (event: { readonly _tag: string }, mercy: Mercy) => {
    const state = Ref.getUnsafe(stateRef)
    if (!("reason" in state)) return
    if (mercy !== "Finish") return giveUp(mercy)
    if (event._tag !== "Close" || state.reason._tag === "Requested") return
    interruptAll()
    notifications.stop()
  }

  const end: Core<S>["end"] = (event, mercy = "Finish") => {
    const before = Ref.getUnsafe(stateRef)
    const outcome = happen(event)
    if (outcome._tag !== "Moved" || (outcome.does !== "End" && outcome.does !== "Finish")) {
      hurry(event, mercy)
      return
    }
    exchanges.close(event.reason)
    side.onEnd(event.reason)
    // Told by whoever watches the fiber, not by the fiber: when the end is known, nothing of the session is left.
    fork(Effect.uninterruptible(teardown(event.reason, revisionOf(before)))).addObserver(() => {
      side.onClosed?.(event.reason)
      Deferred.doneUnsafe(closed, Exit.succeed(event.reason))
    })
    if (mercy !== "Finish") giveUp(mercy)
  }

  const handled = Effect.andThen(inflight.drained, notifications.drained)

  const unfinished = () => {
    const method = notifications.unfinished()
    return method === undefined ? inflight.unfinished() : [...inflight.unfinished(), { method, count: 1 }]
  }

  const teardown = Effect.fnUntraced(function*(
    reason: CloseReason.CloseReason,
    revision: Revision.Revision | undefined
  ) {
    const began = timer.now()
    yield* within(handled, limits.gracefulClose)
    interruptAll()
    notifications.stop()
    yield* within(handled, cleanupMillis)
    // Before the transport's own ladder, all of it together takes no more than three seconds beyond what handlers have.
    const left = limits.gracefulClose + beyondMillis - (timer.now() - began)
    yield* within(outbox.flushed, Math.max(Math.min(limits.gracefulClose, left), 0))
    outbox.stop()
    timer.stop()
    reader?.interruptUnsafe()
    yield* Scope.close(connectionScope, Exit.void)
    if (reader !== undefined) yield* within(Fiber.await(reader), cleanupMillis)
    happen({ _tag: "Drained" })
    yield* SessionDuration.record({ role: side.role, reason, revision, millis: timer.now() - connectedAt })
    observers.emit({ _tag: "Closed", reason, unfinished: unfinished() })
    observers.end()
    subscriptions.end()
  })

  const broken = (error: TransportError) => end({ _tag: "TransportEnded", reason: reasonOf(error) }, "None")

  let reader: Fiber.Fiber<void> | undefined
  const read: Core<S>["read"] = ({ abandon, deliver }) => {
    // Yields first, so that whoever made the session has it before its first frame is delivered.
    reader = fork(
      Effect.matchCause(Effect.andThen(Effect.yieldNow, connection.run(deliver, { abandon, report: observers.emit })), {
        onSuccess: ({ exit, writable }) =>
          end({ _tag: "TransportEnded", reason: { _tag: "PeerEnded", exit } }, writable ? "Finish" : "Listen"),
        onFailure: (cause) => {
          const failure = Cause.squash(cause)
          if (failure instanceof TransportError) broken(failure)
          else end({ _tag: "TransportEnded", reason: { _tag: "TransportFailed", cause: failure } }, "None")
        }
      })
    )
  }

  const core: Core<S> = {
    role: side.role,
    limits,
    context,
    fork,
    connection,
    timer,
    exchanges,
    inflight,
    outbox,
    replies,
    notifications,
    observers,
    subscriptions,
    emit: observers.emit,
    state: () => Ref.getUnsafe(stateRef),
    happen,
    quietly,
    end,
    failedToSend,
    broken,
    read,
    closed: Deferred.await(closed)
  }

  yield* Effect.addFinalizer(() => {
    end({ _tag: "Close", reason: CloseReason.requested })
    return core.closed
  })
  if (limits.opening !== Number.POSITIVE_INFINITY) timer.watch(openBy)

  return core
})

/** How much is in flight now. */
export const inFlight = <S extends State>({ exchanges, inflight }: Core<S>): Effect.Effect<InFlight> =>
  Effect.sync(() => ({ sent: exchanges.size(), served: inflight.size() }))

/** Everything the peer sends, as it came. */
export const messages = <S extends State>(core: Core<S>): Stream.Stream<JsonRpc.Message> =>
  core.subscriptions.follow(Subscriptions.everything)

/** Ends the session, and waits until it has ended. */
export const close = <S extends State>(core: Core<S>): Effect.Effect<CloseReason.CloseReason> =>
  Effect.suspend(() => {
    core.end({ _tag: "Close", reason: CloseReason.requested })
    return core.closed
  })

/**
 * What both sides offer of their session.
 */
export const session = <S extends State>(core: Core<S>): Session<S> => ({
  state: Effect.sync(core.state),
  inFlight: inFlight(core),
  events: core.observers.events,
  messages: messages(core),
  close: close(core),
  closed: core.closed
})
