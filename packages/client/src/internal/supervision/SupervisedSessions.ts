/** The sessions with one server, one after the other: their supervisor, board, lists and watched resources. */

import type * as ClientSession from "@effect-mcp/session/ClientSession"
import type * as RequestError from "@effect-mcp/session/RequestError"
import type * as SessionEvent from "@effect-mcp/session/SessionEvent"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import type * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type * as McpCall from "../../McpCall.ts"
import type { ServerUnavailableError } from "../../ServerUnavailableError.ts"
import * as ListChanges from "../lists/ListChanges.ts"
import type * as ListReading from "../lists/ListReading.ts"
import { ServerLists } from "../lists/ServerLists.ts"
import * as Calls from "./Calls.ts"
import { CallsInFlight } from "./CallsInFlight.ts"
import * as Reconnection from "./Reconnection.ts"
import { ReconnectPause } from "./ReconnectPause.ts"
import { StatusBoard } from "./StatusBoard.ts"
import { StderrLines } from "./StderrLines.ts"
import * as Supervisor from "./Supervisor.ts"
import { defaultWaitTimeout } from "./WaitingTime.ts"
import { WatchedResources } from "./WatchedResources.ts"

type Session = ClientSession.ClientSessionShape

const defaults = {
  steadyAfter: Duration.seconds(10),
  health: { interval: Duration.seconds(30), timeout: Duration.seconds(10) }
}

/** Options of the supervision. */
export interface Options {
  /**
   * The delays between attempts to connect. A schedule that ends ends the attempts. It begins anew after a session that
   * stood for `steadyAfter`. Default: from half a second to 30 seconds, with jitter, without an end.
   */
  readonly reconnect?: Schedule.Schedule<unknown>
  /** The time after which a session counts as one that stood. Default 10 seconds. */
  readonly steadyAfter?: Duration.Input
  /** The time that calls wait for a server that is down. Default 10 seconds. */
  readonly waitTimeout?: Duration.Input
  /**
   * Checks that the server still answers, because a transport cannot tell of a server that hangs, or of an HTTP server
   * that is gone. `false` checks nothing. Default: every 30 seconds, and the server has 10 seconds to answer.
   */
  readonly healthCheck?: false | { readonly interval?: Duration.Input; readonly timeout?: Duration.Input }
}

/** The server of the sessions. */
export interface Dependencies {
  readonly name: string
  /** Opens a session, whose events are observed, in the scope of the caller. */
  readonly connect: (
    observe: (event: SessionEvent.SessionEvent) => void
  ) => Effect.Effect<Session, unknown, Scope.Scope>
  /** Sets again what belongs to a session and not to the client, before calls use the session. */
  readonly prepare: (session: Session) => Effect.Effect<void>
  /** The bounds of each list. */
  readonly bounds: ListReading.Bounds
  /** The lines of the child process, if the server is one. */
  readonly stderr?: StderrLines
}

/** The sessions with one server. */
export interface SupervisedSessions {
  readonly board: StatusBoard
  readonly lists: ServerLists
  readonly watched: WatchedResources
  /** Returns the session that was opened last, which may have ended; `undefined` before the first one. */
  readonly current: () => Session | undefined
  /** Waits for a session, by default as long as the client does. Fails at once while no wait would help. */
  readonly ready: (waitTimeout?: Duration.Input) => Effect.Effect<Session, ServerUnavailableError>
  /** Connects again now, if the client pauses before its next attempt. */
  readonly retry: Effect.Effect<void>
  /** Sends a call in the present session, or in the next one. `before` runs before each attempt. */
  readonly send: <A, R, E = never>(
    options: McpCall.CallOptions<R>,
    isRepeatable: (lost: Session) => Effect.Effect<boolean>,
    call: (session: Session) => Effect.Effect<A, RequestError.RequestError, R>,
    before?: Effect.Effect<void, E>
  ) => Effect.Effect<A, McpCall.CallError | E, R>
}

const healthOf = ({ healthCheck }: Options): Supervisor.SupervisorDependencies["health"] =>
  healthCheck === false ? undefined : {
    intervalMillis: Duration.toMillis(healthCheck?.interval ?? defaults.health.interval),
    timeoutMillis: Duration.toMillis(healthCheck?.timeout ?? defaults.health.timeout)
  }

/** Keeps a server connected until the scope closes. */
export const make = Effect.fnUntraced(function*(
  { bounds, connect, name, prepare, stderr = new StderrLines() }: Dependencies,
  options: Options
): Effect.fn.Return<SupervisedSessions, never, Scope.Scope> {
  const { waitTimeout: defaultWait = defaultWaitTimeout } = options
  const board = yield* StatusBoard.make(name)
  const inFlight = new CallsInFlight()
  const pause = new ReconnectPause()
  // Over HTTP without sessions, nothing else reports that the server was started again.
  const calls = new Calls.Calls(board, inFlight, () => lists.allChanged())
  // A fiber that `runSync` starts would keep the scheduler of that run, and ignore that of the program.
  const run = yield* FiberSet.makeRuntime()
  const fork = <A, E>(effect: Effect.Effect<A, E>): Fiber.Fiber<A, E> => run(effect)

  const send: SupervisedSessions["send"] = (
    { repeat, waitTimeout = defaultWait },
    isRepeatable,
    call,
    before = Effect.void
  ) =>
    calls.send(
      { waitTimeout, isRepeatable: repeat === undefined ? isRepeatable : () => Effect.succeed(repeat), before },
      call
    )
  const lists = new ServerLists({
    server: JSON.stringify(name),
    send: (read) => send({}, () => Effect.succeed(true), read),
    bounds,
    fork
  })
  const watched = new WatchedResources(board)

  let current: Session | undefined
  const prepareAll = (session: Session): Effect.Effect<void> =>
    Effect.andThen(Effect.sync(() => lists.allChanged()), prepare(session))
  /** Prepares a session again, whose server has lost its state, or may have lost messages. */
  const renew = (session: Session): Effect.Effect<void> => Effect.andThen(prepareAll(session), board.open(session))
  const observe = (event: SessionEvent.SessionEvent): void => {
    if (event._tag === "StateChanged" && (event.to === "Closing" || event.to === "Closed")) board.leave()
    if (event._tag === "StrayText") board.stray(event.text)
    if (event._tag === "AuthorizationAwaited") {
      const { _tag, ...awaited } = event
      board.authorizing(awaited)
    }
    // The handshake goes on in another connection.
    if (event._tag === "StateChanged" && event.from === "Idle") board.authorized()
    if (event._tag === "FellBack") board.fellBack(event.isGuess === true ? event.problem : undefined)
    if (event._tag === "StateChanged" && event.to === "Modern") board.fellBack(undefined)
    if (current === undefined) return
    // The transport has repeated the handshake.
    if (event._tag === "SessionRenewed") {
      watched.lost(current)
      fork(renew(current))
    }
    // Notifications may be lost with the standalone stream of HTTP, from its loss until it is open again.
    if (event._tag === "StreamLost" && event.method === undefined) lists.allChanged()
    if (event._tag === "StreamResumed" && event.method === undefined) fork(renew(current))
  }
  yield* Effect.forkScoped(
    Supervisor.run({
      server: JSON.stringify(name),
      board,
      inFlight,
      pause,
      stderr,
      connect: connect(observe),
      opened: (session) => {
        current = session
        fork(ListChanges.follow(session, (list) => lists.changed(list)))
        return prepareAll(session)
      },
      schedule: options.reconnect ?? Reconnection.defaultSchedule,
      steadyMillis: Duration.toMillis(options.steadyAfter ?? defaults.steadyAfter),
      health: healthOf(options)
    })
  )
  // The last finalizer, so that it is the first to run: a program that still uses the client waits for nothing.
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      board.set({ _tag: "Down", problem: { _tag: "Stopped" }, attempts: 0, retryMillis: undefined, stderr: [] })
      lists.end()
    })
  )
  const retry = Effect.sync(() => {
    // Calls wait from now on, also if the problem was one that no wait solves.
    if (pause.end()) board.set({ _tag: "Connecting", attempt: 1 })
  })
  const ready = (waitTimeout: Duration.Input = defaultWait) => calls.session(waitTimeout)
  return { board, lists, watched, current: () => current, ready, retry, send }
})
