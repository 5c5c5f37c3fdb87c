/** All the ways for a session to end. */
import { TransportError } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import { crashStatus } from "./crashStatus.ts"
import type { Ending, Occasion } from "./Ending.ts"
import type { EndingName } from "./EndingName.ts"
import * as Opened from "./opened.ts"
import type { Line, Way } from "./Subject.ts"
import { unexpected } from "./Unexpected.ts"

/** None, or a few, as chance has it. */
const someCalls = ({ chance }: Occasion): number => Math.floor(chance * 4)

/** A session that is used until this happens to it. */
const after = <E>(
  what: string,
  happens: (opened: Opened.Opened) => Effect.Effect<unknown, E>,
  { calls = someCalls, slow = false, way = "direct" }: {
    readonly calls?: (occasion: Occasion) => number
    readonly slow?: boolean
    readonly way?: Way
  } = {}
): Ending => ({
  what,
  slow,
  hold: Effect.fnUntraced(function*(occasion) {
    const opened = yield* Opened.open(occasion, way)
    const waiting = yield* Opened.callInVain(opened.session, calls(occasion))
    if (slow) yield* occasion.rest
    yield* happens(opened)
    yield* Opened.ended(opened)
    yield* Opened.inVain(waiting)
  })
})

const none = () => 0

/** One thing that can be done to a line. */
const fault = (name: "kill" | "destroy" | "reset" | "halfClose") => ({ line }: Opened.Opened) =>
  line[name] ?? Effect.fail(unexpected(`nothing can ${name} this line`))

/** Nothing but the connection, without a word. */
const silence: Ending = {
  what: "the client says nothing",
  slow: true,
  hold: Effect.fnUntraced(function*({ client, ending, rest, server }) {
    const { transport }: Line = yield* server.dial(client, "direct", ending)
    yield* rest
    const exit = yield* transport.connect.pipe(
      Effect.flatMap((connection) => connection.run(() => {})),
      Effect.scoped,
      Effect.exit
    )
    const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
    yield* Opened.check(
      error === undefined || error instanceof TransportError.TransportError,
      () => `the connection ended with ${String(error)}`
    )
  })
}

const cancelHandshake: Ending = {
  what: "whoever opens it is interrupted in the middle of the handshake",
  hold: Effect.fnUntraced(function*(occasion) {
    const { chance, client, ending, server, subject } = occasion
    const line = yield* server.dial(client, "direct", ending)
    const opening = yield* Effect.forkChild(
      Effect.scoped(Effect.andThen(Opened.connect(occasion, line), Effect.never)),
      { startImmediately: true }
    )
    // Between two steps of it, or a while later.
    if (chance < 0.5) yield* Effect.repeat(Effect.yieldNow, { times: Math.floor(chance * 60) })
    else yield* Effect.sleep((chance - 0.5) * 2 * (subject.handshakeMillis ?? 8))
    yield* Fiber.interrupt(opening)
    const exit = yield* Fiber.await(opening)
    yield* Opened.check(
      Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause),
      () => `a handshake that was interrupted ended as ${exit}`
    )
  })
}

const cancelCall = after(
  "the client interrupts calls in flight, and goes on",
  Effect.fnUntraced(function*({ occasion: { chance }, session }) {
    const calls = yield* Effect.forEach(
      [1, 2, 3],
      () => Effect.forkChild(session.callTool("wait"), { startImmediately: true })
    )
    if (chance < 0.7) yield* Effect.sleep(chance * 10)
    yield* Fiber.interruptAll(calls)
    for (const call of calls) {
      const exit = yield* Fiber.await(call)
      yield* Opened.check(
        Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause),
        () => `a call that was interrupted ended as ${exit}`
      )
    }
    yield* session.ping()
  }),
  { calls: none }
)

const deadline = after(
  "a call takes too long, and the client goes on",
  Effect.fnUntraced(function*({ session }) {
    const error = yield* Effect.flip(session.callTool("wait", {}, { timeout: "20 millis" }))
    yield* Opened.check(error.reason._tag === "Timeout", () => `a call with a deadline failed: ${error.message}`)
    yield* session.ping()
  }),
  { calls: none }
)

const crash: Ending = {
  what: "the server's process ends with an error in the middle of a call",
  hold: Effect.fnUntraced(function*(occasion) {
    const opened = yield* Opened.open(occasion)
    const waiting = yield* Opened.callInVain(opened.session, someCalls(occasion))
    yield* Effect.flip(opened.session.callTool("crash"))
    const reason = yield* Opened.ended(opened)
    yield* Opened.check(
      reason._tag === "PeerEnded" && reason.exit?.exitCode === crashStatus,
      () => `a crash was seen as ${JSON.stringify(reason)}`
    )
    yield* Opened.inVain(waiting)
  })
}

const halfClose: Ending = {
  what: "the client's sending ends in the middle of a call",
  slow: true,
  hold: Effect.fnUntraced(function*(occasion) {
    const opened = yield* Opened.open(occasion, "relayed")
    const { session } = opened
    const call = yield* Effect.forkChild(
      Effect.exit(session.callTool("steps", { count: 3, gapMillis: 10 }, { onProgress: () => Effect.void })),
      { startImmediately: true }
    )
    // Behind it, so that it is in flight at the server.
    yield* session.ping()
    yield* fault("halfClose")(opened)
    const exit = yield* Fiber.join(call)
    if (occasion.subject.answersHalfClosed === true) {
      yield* Opened.check(Exit.isSuccess(exit), () => `what was in flight at a half-close ended as ${exit}`)
    }
    yield* occasion.rest
    yield* Opened.ended(opened)
  })
}

/** How many sessions are open when a server goes. */
const openAtShutdown = 4

const shutdown: Ending = {
  what: "the server goes with sessions open, and is started anew",
  slow: true,
  hold: Effect.fnUntraced(function*(occasion) {
    const { client, subject } = occasion
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const server = yield* Scope.provide(subject.start("patient"), scope)
    const all = yield* Effect.forEach(
      Array.from({ length: openAtShutdown }, (_, index) => index),
      (index) =>
        Effect.gen(function*() {
          const opened = yield* Opened.open({ ...occasion, server, client: `${client}-${index}` })
          const calls = yield* Opened.callInVain(opened.session, index)
          return { opened, calls }
        }),
      { concurrency: "unbounded" }
    )
    yield* Scope.close(scope, Exit.void)
    for (const { calls } of all) yield* Opened.inVain(calls)
    // Clients that come back to it may leave in the middle of that.
    const anew = yield* server.again("patient")
    if (subject.survives === true) {
      const [survivor] = all
      yield* survivor?.opened.session.callTool("echo", { value: 1 }) ?? Effect.void
    }
    for (const { opened } of all) yield* Opened.ended(opened)
    const opened = yield* Opened.open({ ...occasion, server: anew })
    yield* opened.leave
    const left = yield* Effect.repeat(Effect.delay(anew.tables, "5 millis"), {
      times: 1000,
      while: (tables) => Object.values(tables).some((size) => size > 0)
    })
    yield* Opened.check(
      Object.values(left).every((size) => size === 0),
      () => `the new server still has ${JSON.stringify(left)}`
    )
  })
}

export const endings: Readonly<Record<EndingName, Ending>> = {
  "client-close": after("the client closes it", ({ session }) => session.close),
  "server-close": after("the server closes it", ({ farSide }) => farSide?.close ?? Effect.void),
  leave: after("the client leaves its scope with calls in flight", () => Effect.void, { calls: () => 3 }),
  "cancel-handshake": cancelHandshake,
  "cancel-call": cancelCall,
  deadline,
  kill: after("the server's process is killed", fault("kill")),
  crash,
  destroy: after(
    "the connection is destroyed",
    (opened) => Effect.andThen(fault("destroy")(opened), Opened.farEnd(opened)),
    { slow: true, way: "relayed" }
  ),
  reset: after(
    "the connection is reset",
    (opened) => Effect.andThen(fault("reset")(opened), Opened.farEnd(opened)),
    { slow: true, way: "relayed" }
  ),
  "half-close": halfClose,
  idle: after("nobody uses it any more", Opened.farEnd, { slow: true, calls: none }),
  age: after("it has become too old", Opened.farEnd, { slow: true }),
  silence,
  shutdown
}
