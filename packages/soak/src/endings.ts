/** All endings of sessions. */
import { TransportError } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { crashStatus } from "./crashStatus.ts"
import type { Ending, EndingContext } from "./Ending.ts"
import type { EndingName } from "./EndingName.ts"
import * as OpenSessions from "./openSessions.ts"
import type { Connection, Route } from "./Subject.ts"
import { unexpected } from "./Unexpected.ts"

/** Returns a small random number of calls. */
const someCalls = ({ chance }: EndingContext): number => Math.floor(chance * 4)

/** Creates an ending: a session is used until an event ends it. */
const after = <E>(
  description: string,
  endSession: (opened: OpenSessions.OpenSession) => Effect.Effect<unknown, E>,
  { calls = someCalls, slow = false, route = "direct" }: {
    readonly calls?: (context: EndingContext) => number
    readonly slow?: boolean
    readonly route?: Route
  } = {}
): Ending => ({
  description,
  slow,
  run: Effect.fnUntraced(function*(context) {
    const opened = yield* OpenSessions.open(context, route)
    const unanswered = yield* OpenSessions.callUnanswered(opened.session, calls(context))
    if (slow) yield* context.releaseSlot
    yield* endSession(opened)
    yield* OpenSessions.checkEnds(opened)
    yield* OpenSessions.expectFailures(unanswered)
  })
})

const noCalls = () => 0

/** Creates an ending by a fault of the connection. */
const fault = (name: "kill" | "destroy" | "reset" | "halfClose") => ({ connection }: OpenSessions.OpenSession) =>
  connection[name] ?? Effect.fail(unexpected(`the connection has no fault ${name}`))

/** The client connects and sends nothing. */
const silence: Ending = {
  description: "the client sends nothing",
  slow: true,
  run: Effect.fnUntraced(function*({ client, ending, releaseSlot, server }) {
    const { transport }: Connection = yield* server.dial(client, "direct", ending)
    yield* releaseSlot
    const exit = yield* transport.connect.pipe(
      Effect.flatMap((connection) => connection.run(() => {})),
      Effect.scoped,
      Effect.exit
    )
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    yield* OpenSessions.check(
      error === undefined || error instanceof TransportError.TransportError,
      () => `the connection ended with ${String(error)}`
    )
  })
}

const cancelHandshake: Ending = {
  description: "the client is interrupted during the handshake",
  run: Effect.fnUntraced(function*(context) {
    const { chance, client, ending, server, subject } = context
    const connection = yield* server.dial(client, "direct", ending)
    const opening = yield* Effect.forkChild(
      Effect.scoped(Effect.andThen(OpenSessions.connect(context, connection), Effect.never)),
      { startImmediately: true }
    )
    // Between two steps of the handshake, or some time later.
    if (chance < 0.5) yield* Effect.repeat(Effect.yieldNow, { times: Math.floor(chance * 60) })
    else yield* Effect.sleep((chance - 0.5) * 2 * (subject.handshakeMillis ?? 8))
    yield* Fiber.interrupt(opening)
    const exit = yield* Fiber.await(opening)
    yield* OpenSessions.check(
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause),
      () => `an interrupted handshake ended as ${exit}`
    )
  })
}

const cancelCall = after(
  "the client interrupts in-flight calls and continues",
  Effect.fnUntraced(function*({ context: { chance }, session }) {
    const calls = yield* Effect.forEach(
      [1, 2, 3],
      () => Effect.forkChild(session.callTool("wait"), { startImmediately: true })
    )
    if (chance < 0.7) yield* Effect.sleep(chance * 10)
    yield* Fiber.interruptAll(calls)
    for (const call of calls) {
      const exit = yield* Fiber.await(call)
      yield* OpenSessions.check(
        Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause),
        () => `an interrupted call ended as ${exit}`
      )
    }
    yield* session.ping()
  }),
  { calls: noCalls }
)

const timeout = after(
  "a call times out, and the client continues",
  Effect.fnUntraced(function*({ session }) {
    const error = yield* Effect.flip(session.callTool("wait", {}, { timeout: "20 millis" }))
    yield* OpenSessions.check(error.reason._tag === "Timeout", () => `a call with a timeout failed: ${error.message}`)
    yield* session.ping()
  }),
  { calls: noCalls }
)

const crash: Ending = {
  description: "the server's process exits with an error during a call",
  run: Effect.fnUntraced(function*(context) {
    const opened = yield* OpenSessions.open(context)
    const unanswered = yield* OpenSessions.callUnanswered(opened.session, someCalls(context))
    yield* Effect.flip(opened.session.callTool("crash"))
    const reason = yield* OpenSessions.checkEnds(opened)
    yield* OpenSessions.check(
      reason._tag === "PeerEnded" && reason.exit?.exitCode === crashStatus,
      () => `a crash was reported as ${JSON.stringify(reason)}`
    )
    yield* OpenSessions.expectFailures(unanswered)
  })
}

const halfClose: Ending = {
  description: "the client's output ends during a call",
  slow: true,
  run: Effect.fnUntraced(function*(context) {
    const opened = yield* OpenSessions.open(context, "relayed")
    const { session } = opened
    const call = yield* Effect.forkChild(
      Effect.exit(session.callTool("steps", { count: 3, gapMillis: 10 }, { onProgress: () => Effect.void })),
      { startImmediately: true }
    )
    // A ping after the call, so that the call is in flight at the server.
    yield* session.ping()
    yield* fault("halfClose")(opened)
    const exit = yield* Fiber.join(call)
    if (context.subject.answersHalfClosed === true) {
      yield* OpenSessions.check(Exit.isSuccess(exit), () => `a request in flight at a half-close ended as ${exit}`)
    }
    yield* context.releaseSlot
    yield* OpenSessions.checkEnds(opened)
  })
}

/** The number of open sessions when a server shuts down. */
const openAtShutdown = 4

const shutdown: Ending = {
  description: "the server shuts down with open sessions and restarts",
  slow: true,
  run: Effect.fnUntraced(function*(context) {
    const { client, subject } = context
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const server = yield* Scope.provide(subject.start("unlimited"), scope)
    const all = yield* Effect.forEach(
      Array.from({ length: openAtShutdown }, (_, index) => index),
      (index) =>
        Effect.gen(function*() {
          const opened = yield* OpenSessions.open({ ...context, server, client: `${client}-${index}` })
          const calls = yield* OpenSessions.callUnanswered(opened.session, index)
          return { opened, calls }
        }),
      { concurrency: "unbounded" }
    )
    yield* Scope.close(scope, Exit.void)
    for (const { calls } of all) yield* OpenSessions.expectFailures(calls)
    // Reconnecting clients may close during the reconnection.
    const restarted = yield* server.restart("unlimited")
    if (subject.survivesRestart === true) {
      const [survivor] = all
      yield* survivor?.opened.session.callTool("echo", { value: 1 }) ?? Effect.void
    }
    for (const { opened } of all) yield* OpenSessions.checkEnds(opened)
    const opened = yield* OpenSessions.open({ ...context, server: restarted })
    yield* opened.closeScope
    const left = yield* Effect.repeat(Effect.delay(restarted.tables, "5 millis"), {
      times: 1000,
      while: (tables) => Object.values(tables).some((size) => size > 0)
    })
    yield* OpenSessions.check(
      Object.values(left).every((size) => size === 0),
      () => `the restarted server still has ${JSON.stringify(left)}`
    )
  })
}

export const endings: Readonly<Record<EndingName, Ending>> = {
  "client-close": after("the client closes the session", ({ session }) => session.close),
  "server-close": after("the server closes the session", ({ serverSide }) => serverSide?.close ?? Effect.void),
  "scope-close": after("the client closes its scope with in-flight calls", () => Effect.void, { calls: () => 3 }),
  "cancel-handshake": cancelHandshake,
  "cancel-call": cancelCall,
  timeout,
  kill: after("the server's process is killed", fault("kill")),
  crash,
  destroy: after(
    "the connection is destroyed",
    (opened) => Effect.andThen(fault("destroy")(opened), OpenSessions.serverEnded(opened)),
    { slow: true, route: "relayed" }
  ),
  reset: after(
    "the connection is reset",
    (opened) => Effect.andThen(fault("reset")(opened), OpenSessions.serverEnded(opened)),
    { slow: true, route: "relayed" }
  ),
  "half-close": halfClose,
  idle: after("the session is idle for too long", OpenSessions.serverEnded, { slow: true, calls: noCalls }),
  age: after("the session exceeds its maximum age", OpenSessions.serverEnded, { slow: true }),
  silence,
  shutdown
}
