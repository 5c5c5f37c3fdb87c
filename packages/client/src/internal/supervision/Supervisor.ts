/** The fiber that keeps a client connected: it opens sessions, watches them, and opens the next one after a delay. */

import { Revision } from "@effect-mcp/protocol"
import type * as ClientSession from "@effect-mcp/session/ClientSession"
import { HandshakeError } from "@effect-mcp/session/HandshakeError"
import type { RequestError } from "@effect-mcp/session/RequestError"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import type * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as PlainText from "../../PlainText.ts"
import * as ServerStatus from "../../ServerStatus.ts"
import * as PermanentProblem from "../PermanentProblem.ts"
import * as Calls from "./Calls.ts"
import type { CallsInFlight } from "./CallsInFlight.ts"
import * as Reconnection from "./Reconnection.ts"
import type { ReconnectPause } from "./ReconnectPause.ts"
import type { StatusBoard } from "./StatusBoard.ts"
import type { StderrLines } from "./StderrLines.ts"

type Session = ClientSession.ClientSessionShape

/** The parts of a client that its supervisor uses. */
export interface SupervisorDependencies {
  readonly server: string
  readonly board: StatusBoard
  readonly inFlight: CallsInFlight
  /** The lines of the child process, if the server is one. */
  readonly stderr: StderrLines
  /** Opens a session in the scope of the caller. */
  readonly connect: Effect.Effect<Session, unknown, Scope.Scope>
  /** Prepares a new session before calls use it. */
  readonly opened: (session: Session) => Effect.Effect<void>
  readonly schedule: Schedule.Schedule<unknown>
  readonly pause: ReconnectPause
  /** The time after which a session has stood: then the schedule begins anew. */
  readonly steadyMillis: number
  /** The interval of health checks and the time that a server has to answer one; `undefined` for no checks. */
  readonly health: { readonly intervalMillis: number; readonly timeoutMillis: number } | undefined
}

const problemIn = (cause: Cause.Cause<unknown>): ServerStatus.Problem => {
  const found = Cause.findError(cause)
  if (Result.isFailure(found)) return { _tag: "TargetFailed", cause: Cause.squash(cause) }
  return found.success instanceof HandshakeError
    ? { _tag: "ConnectFailed", error: found.success }
    : { _tag: "TargetFailed", cause: found.success }
}

/** Returns whether the error of a health check shows that the server answers, or that the session ends by itself. */
const isAlive = (error: RequestError): boolean =>
  Calls.isAnswer(error) || Calls.awaitsPerson(error) || error.reason._tag === "WrongState" ||
  error.reason._tag === "Closed"

/** Checks a session again and again until its server does not answer, and returns this problem. */
const watch = (
  session: Session,
  inFlight: CallsInFlight,
  { intervalMillis, timeoutMillis }: NonNullable<SupervisorDependencies["health"]>
): Effect.Effect<ServerStatus.Problem> => {
  const options = { timeout: timeoutMillis }
  // Revision 2026-07-28 has no ping. Every server answers this request.
  const asked = Revision.isModern(session.profile.revision)
    ? Effect.asVoid(session.request("server/discover", {}, options))
    : session.ping(options)
  const check: Effect.Effect<ServerStatus.Problem> = Effect.andThen(
    Effect.sleep(intervalMillis),
    // A server with one thread answers no check during a call. The call has a deadline of its own.
    Effect.flatMap(inFlight.oldestAnswered, (isAnswered) => isAnswered === true ? check : ask)
  )
  const ask = Effect.matchEffect(asked, {
    onSuccess: () => check,
    onFailure: (error) =>
      isAlive(error)
        ? check
        : Effect.succeed<ServerStatus.Problem>(
          error.reason._tag === "Timeout"
            ? { _tag: "Unresponsive", afterMillis: timeoutMillis }
            : { _tag: "HealthCheckFailed", error }
        )
  })
  return check
}

/** Waits for the end of a session. Closes it if its server does not answer a health check. */
const ended = (
  session: Session,
  inFlight: CallsInFlight,
  health: SupervisorDependencies["health"]
): Effect.Effect<ServerStatus.Problem> => {
  const closed = Effect.map(session.closed, (reason): ServerStatus.Problem => ({ _tag: "Ended", reason }))
  if (health === undefined) return closed
  return Effect.flatMap(
    Effect.raceFirst(watch(session, inFlight, health), closed),
    // Closes it after the race. Otherwise the end of the session wins it, with a reason that says less.
    (problem) => Effect.as(problem._tag === "Ended" ? Effect.void : session.close, problem)
  )
}

/** Returns the last lines of standard error: those of the exit, or those that were read so far. */
const stderrOf = (problem: ServerStatus.Problem, soFar: ReadonlyArray<string>): ReadonlyArray<string> => {
  const reason = problem._tag === "Ended"
    ? problem.reason
    : problem._tag === "ConnectFailed" && problem.error.reason._tag === "Closed"
    ? problem.error.reason.reason
    : undefined
  return reason?._tag === "PeerEnded" ? reason.exit?.stderr ?? soFar : soFar
}

const isPowerOfTwo = (count: number): boolean => (count & (count - 1)) === 0

/** Keeps a client connected until it is interrupted, or until its schedule ends. */
export const run = Effect.fnUntraced(function*(dependencies: SupervisorDependencies): Effect.fn.Return<void> {
  const { board, connect, health, inFlight, opened, pause, schedule, server, stderr, steadyMillis } = dependencies
  let attempts = 0
  let last: ServerStatus.Problem | undefined
  /** The permanent problem of the last warning, if there has been no other problem after it. */
  let warned: string | undefined
  let delays = yield* Reconnection.begin(schedule)
  /** The times at which the session of the present attempt was opened, and at which it began to end. */
  let openedAt = Number.POSITIVE_INFINITY
  let leftAt = Number.POSITIVE_INFINITY

  const setLeftAt = Effect.map(Clock.currentTimeMillis, (now) => {
    leftAt = now
  })

  /** Opens a session, and waits for its end. */
  const attempt = Effect.acquireUseRelease(
    Scope.make(),
    (scope) =>
      Effect.gen(function*(): Effect.fn.Return<ServerStatus.Problem> {
        const connected = yield* Effect.exit(Scope.provide(connect, scope))
        if (Exit.isFailure(connected)) return problemIn(connected.cause)
        openedAt = yield* Clock.currentTimeMillis
        yield* opened(connected.value)
        yield* board.open(connected.value)
        // Closing a transport takes its time, in which the session does not stand.
        yield* Effect.forkChild(Effect.andThen(board.left, setLeftAt), { startImmediately: true })
        return yield* ended(connected.value, inFlight, health)
      }),
    (scope, exit) => Scope.close(scope, exit)
  )

  while (true) {
    const connecting = { _tag: "Connecting", attempt: attempts + 1 } as const
    board.set(last === undefined ? connecting : { ...connecting, problem: last })
    stderr.clear()
    openedAt = leftAt = Number.POSITIVE_INFINITY
    // A function of the program, such as a middleware, may die at any request. The client connects again then, too.
    const problem = yield* Effect.catchCause(attempt, (cause) => Effect.succeed(problemIn(cause)))
    last = problem
    if (Math.min(leftAt, yield* Clock.currentTimeMillis) - openedAt >= steadyMillis) {
      attempts = 0
      delays = yield* Reconnection.begin(schedule)
    }
    attempts++
    const retryMillis = yield* delays.next
    const down = { _tag: "Down", problem, attempts, retryMillis, stderr: stderrOf(problem, stderr.last) } as const
    board.set(down)
    const permanent = PermanentProblem.is(problem) ? ServerStatus.describeProblem(problem) : undefined
    const isKnown = permanent !== undefined && permanent === warned
    if (permanent === undefined) warned = undefined
    // A crash loop is visible, and its log stays short. A problem that lasts is logged once.
    if (isPowerOfTwo(attempts) && !isKnown) {
      warned = permanent
      // The server decides a part of the text.
      yield* Effect.logWarning(PlainText.line(`the server ${server} is ${ServerStatus.describe(down)}`))
    }
    if (retryMillis === undefined) return
    if (yield* pause.of(retryMillis)) {
      attempts = 0
      last = undefined
      delays = yield* Reconnection.begin(schedule)
    }
  }
})
