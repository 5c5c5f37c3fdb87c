/** What endings have in common: a session that is used, and comes to its end. */
import { CloseReason } from "@effect-mcp/protocol"
import { ClientSession, Transport } from "@effect-mcp/session"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Occasion } from "./Ending.ts"
import * as Hosted from "./Hosted.ts"
import type { Expected, FarSide, Line, Reason, Way } from "./Subject.ts"
import { type Unexpected, unexpected } from "./Unexpected.ts"

/** Fails if this is not so. */
export const check = (isSo: boolean, otherwise: () => string): Effect.Effect<void, Unexpected> =>
  isSo ? Effect.void : Effect.suspend(() => Effect.fail(unexpected(otherwise())))

const checkReason = (side: string, reason: Reason, expected: Expected["client" | "server"], said = "") =>
  check(
    [expected].flat().includes(reason),
    () => `the ${side}'s session ended as ${reason}, not as ${[expected].flat().join(" or ")}${said}`
  )

/** Shakes hands over a line. */
export const connect = ({ client, tally }: Occasion, { transport }: Line) =>
  ClientSession.make({ info: { name: client, version: "1.0.0" }, limits: Hosted.limits }).pipe(
    Effect.provideService(Transport.Transport, transport),
    Effect.tap((session) => Effect.sync(() => tally.add(session)))
  )

/** A session that operates, and both of its sides. */
export interface Opened {
  readonly occasion: Occasion
  readonly line: Line
  readonly session: ClientSession.Shape
  /** `undefined` where the server is not expected to say anything of its end. */
  readonly farSide: FarSide | undefined
  /** Closes the client's scope, in which there is nothing but the session. */
  readonly leave: Effect.Effect<void>
}

/** A little of everything that a session can do. */
const use = Effect.fnUntraced(function*({ occasion: { chance, subject }, session }: Opened) {
  const value = Math.floor(chance * 1000)
  const echoed = yield* session.callTool("echo", { value })
  yield* check(
    JSON.stringify(echoed.structuredContent) === JSON.stringify({ value }),
    () => `echoed ${JSON.stringify(echoed)}`
  )
  if (chance < 0.5) {
    let steps = 0
    yield* session.callTool("steps", { count: 3 }, { onProgress: () => Effect.sync(() => void steps++) })
    yield* check(steps === 3, () => `${steps} steps of progress instead of 3`)
  } else if (subject.asks !== false) {
    yield* session.callTool("ask")
  }
})

/** Opens a session and uses it a little. */
export const open = Effect.fnUntraced(function*(occasion: Occasion, way: Way = "direct") {
  const line = yield* occasion.server.dial(occasion.client, way, occasion.ending)
  const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
  const session = yield* Scope.provide(connect(occasion, line), scope)
  const opened: Opened = {
    occasion,
    line,
    session,
    farSide: occasion.expected.server === undefined ? undefined : yield* line.farSide,
    leave: Scope.close(scope, Exit.void)
  }
  // One that expires in any case may do so amid its use, where the machine is busy. How it ended is seen to as always.
  yield* occasion.expected.terms === "ageing"
    ? Effect.catchTag(use(opened), "RequestError", () => Effect.void)
    : use(opened)
  return opened
})

/** The server's session has ended, if it has one. */
export const farEnd = ({ farSide }: Opened): Effect.Effect<void, Unexpected> =>
  farSide === undefined ? Effect.void : Effect.asVoid(farSide.closed)

/** Both sides have ended as they were to, and nothing is in flight any more. */
export const ended = Effect.fnUntraced(function*(opened: Opened) {
  const { farSide, leave, occasion: { expected }, session } = opened
  if (expected.client === "Requested") yield* leave
  const reason = yield* session.closed
  yield* checkReason("client", reason._tag, expected.client, `: ${CloseReason.describe(reason)}`)
  yield* leave
  const { sent, served } = yield* session.inFlight
  yield* check(sent === 0 && served === 0, () => `${sent} requests wait and ${served} are served after the end`)
  if (farSide !== undefined) yield* checkReason("server", yield* farSide.closed, expected.server)
  return reason
})

/** A call that is in flight. */
export type Call = Fiber.Fiber<Exit.Exit<unknown, unknown>>

/** Calls a tool that never answers, so often. */
export const callInVain = (session: ClientSession.Shape, times: number) =>
  Effect.forEach(
    Array.from({ length: times }),
    () => Effect.forkScoped(Effect.exit(session.callTool("wait")), { startImmediately: true })
  )

/** What never was to be answered has failed: no call hangs, whatever has become of its session. */
export const inVain = (calls: ReadonlyArray<Call>) =>
  Effect.forEach(calls, (call) =>
    Effect.flatMap(Fiber.join(call), (exit) =>
      check(
        Exit.isFailure(exit) && !Cause.hasInterrupts(exit.cause),
        () => `a call in flight ended as ${exit}`
      )), { discard: true })
