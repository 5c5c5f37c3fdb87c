/** Open sessions: the part that all endings share, from the handshake to the checks after the end. */
import { CloseReason, Revision } from "@effect-mcp/protocol"
import { ClientSession, Transport, TransportError } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { EndingContext } from "./Ending.ts"
import * as Hosted from "./Hosted.ts"
import type { Connection, Expected, Reason, Route, ServerSide } from "./Subject.ts"
import { type Unexpected, unexpected } from "./Unexpected.ts"

/** Fails with a message unless a condition holds. */
export const check = (condition: boolean, problem: () => string): Effect.Effect<void, Unexpected> =>
  condition ? Effect.void : Effect.suspend(() => Effect.fail(unexpected(problem())))

const checkReason = (side: string, reason: Reason, expected: Expected["client" | "server"], detail = "") =>
  check(
    [expected].flat().includes(reason),
    () => `the ${side}'s session ended as ${reason}, expected ${[expected].flat().join(" or ")}${detail}`
  )

/** Opens a session over a connection. */
export const connect = ({ client, tally }: EndingContext, { transport }: Connection) =>
  ClientSession.make({ info: { name: client, version: "1.0.0" }, revisions: Revision.legacy, limits: Hosted.limits })
    .pipe(
      Effect.provideService(Transport.Transport, transport),
      Effect.tap((session) => Effect.sync(() => tally.add(session)))
    )

/** An operating session with both of its sides. */
export interface OpenSession {
  readonly context: EndingContext
  readonly connection: Connection
  readonly session: ClientSession.ClientSessionShape
  /** The server's side; `undefined` if the server is not expected to report its end. */
  readonly serverSide: ServerSide | undefined
  /** Closes the client's scope, which contains only the session. */
  readonly closeScope: Effect.Effect<void>
}

/** Uses the main features of a session. */
const use = Effect.fnUntraced(function*({ context: { chance, subject }, session }: OpenSession) {
  const value = Math.floor(chance * 1000)
  const echoed = yield* session.callTool("echo", { value })
  yield* check(
    JSON.stringify(echoed.structuredContent) === JSON.stringify({ value }),
    () => `echoed ${JSON.stringify(echoed)}`
  )
  if (chance < 0.5) {
    let steps = 0
    yield* session.callTool("steps", { count: 3 }, { onProgress: () => Effect.sync(() => void steps++) })
    yield* check(steps === 3, () => `${steps} progress notifications instead of 3`)
  } else if (subject.sendsRequests !== false) {
    yield* session.callTool("pingClient")
  }
})

/** Opens a session and uses its main features. */
export const open = Effect.fnUntraced(function*(context: EndingContext, route: Route = "direct") {
  const connection = yield* context.server.dial(context.client, route, context.ending)
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const session = yield* Scope.provide(connect(context, connection), scope)
  const opened: OpenSession = {
    context,
    connection,
    session,
    serverSide: context.expected.server === undefined ? undefined : yield* connection.serverSide,
    closeScope: Scope.close(scope, Exit.void)
  }
  // An ageing session may expire during its use on a busy machine. Its end is checked in any case.
  yield* context.expected.lifetime === "shortAge"
    ? Effect.catchTag(use(opened), "RequestError", () => Effect.void)
    : use(opened)
  return opened
})

/** Waits for the end of the server's session, if there is one, and checks its reason. */
export const serverEnded = ({ serverSide }: OpenSession): Effect.Effect<void, Unexpected> =>
  serverSide === undefined ? Effect.void : Effect.asVoid(serverSide.closed)

/**
 * Reports whether a session with a short idle timeout expired before its connection was broken. This happens on a busy
 * machine, and then the client cannot open a new session over the broken connection.
 */
const expiredEarly = ({ lifetime }: Expected, reason: CloseReason.CloseReason) =>
  lifetime === "shortIdle" && reason._tag === "TransportFailed" &&
  reason.cause instanceof TransportError.TransportError && reason.cause.reason._tag === "SessionLost"

/** Checks that both sides ended as expected, and that no request is in flight. */
export const checkEnds = Effect.fnUntraced(function*(opened: OpenSession) {
  const { serverSide, closeScope, context: { expected }, session } = opened
  if (expected.client === "Requested") yield* closeScope
  const reason = yield* session.closed
  if (!expiredEarly(expected, reason)) {
    yield* checkReason("client", reason._tag, expected.client, `: ${CloseReason.describe(reason)}`)
  }
  yield* closeScope
  const { sent, served } = yield* session.inFlight
  yield* check(sent === 0 && served === 0, () => `${sent} requests are pending and ${served} are handled after the end`)
  if (serverSide !== undefined) yield* checkReason("server", yield* serverSide.closed, expected.server)
  return reason
})

/** An in-flight call. */
export type Call = Fiber.Fiber<Exit.Exit<unknown, unknown>>

/** Starts calls of a tool that never returns. */
export const callUnanswered = (session: ClientSession.ClientSessionShape, times: number) =>
  Effect.forEach(
    Array.from({ length: times }),
    () => Effect.forkScoped(Effect.exit(session.callTool("wait")), { startImmediately: true })
  )

/** Checks that these calls failed: no call outlives its session. */
export const expectFailures = (calls: ReadonlyArray<Call>) =>
  Effect.forEach(calls, (call) =>
    Effect.flatMap(Fiber.join(call), (exit) =>
      check(
        Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause),
        () => `a call in flight ended as ${exit}`
      )), { discard: true })
