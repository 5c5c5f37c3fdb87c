/**
 * What there is to do about one request, on its way: a fiber, and a scope that lives as long as the request, not as long as a session.
 */

import { JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as IncomingRequests from "./IncomingRequests.ts"

/** How a handler has ended. */
export type Ending = Exit.Exit<unknown, McpError.McpError>

/** What starts the fibers of a session, or of a server. */
export interface Runtime {
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void>
}

/** Starts it. `then` is told how it has ended, when all that it has acquired is released. */
export const start = <R>(
  handling: Effect.Effect<unknown, McpError.McpError, R | Scope.Scope>,
  context: Context.Context<R>,
  runtime: Runtime,
  then: (ending: Ending) => void
): Fiber.Fiber<unknown, McpError.McpError> => {
  const scope = Scope.makeUnsafe()
  const fiber = Effect.runForkWith(Context.add(context, Scope.Scope, scope))(handling)
  fiber.addObserver((exit) => leave(scope, exit, runtime, then))
  return fiber
}

/** Closes the scope of a handler that has ended. Nearly all have acquired nothing, and need no fiber for that. */
const leave = (
  scope: Scope.Closeable,
  ending: Ending,
  runtime: Runtime,
  then: (ending: Ending) => void
): void => {
  const closing = Scope.closeUnsafe(scope, ending)
  if (closing === undefined) return then(ending)
  runtime.fork(Effect.uninterruptible(closing)).addObserver((closed) =>
    then(Exit.isFailure(closed) ? brokenOff(ending, closed.cause) : ending)
  )
}

/** A scope that did not close in good order spoils whatever its handler ended with; of that nothing is lost. */
const brokenOff = <A, E>(exit: Exit.Exit<A, E>, closing: Cause.Cause<never>): Exit.Exit<never> => {
  const { reasons } = Exit.isFailure(exit) ? Cause.combine(exit.cause, closing) : closing
  return Exit.failCause(
    Cause.fromReasons(
      reasons.flatMap((reason) => Cause.isFailReason(reason) ? Cause.die(reason.error).reasons : [reason])
    )
  )
}

/**
 * Hands over the reply to a request, which is claimed already: at once, or, after a step of its progress, in the
 * scheduler's next turn. Some clients deal with a response before the notifications that came in one piece with it, and
 * know nothing of its progress by then. So does the official TypeScript SDK (its issue 2580), which loses the last
 * step.
 */
export const handOver = (served: IncomingRequests.Served, runtime: Runtime, hand: () => void): void => {
  if (!IncomingRequests.hasReported(served)) return hand()
  runtime.fork(Effect.andThen(Effect.yieldNow, Effect.sync(hand)))
}

/** The error a handler chose to answer with, if it chose one. */
const answerTo = (cause: Cause.Cause<McpError.McpError>): McpError.McpError | undefined => {
  const found: Result.Result<unknown, unknown> = Cause.findError(cause)
  // What is not written in TypeScript may fail with anything.
  return Result.isSuccess(found) && found.success instanceof McpError.McpError ? found.success : undefined
}

/** What went wrong with a handler that its peer will not be told. One that was interrupted because nobody waits has done nothing wrong. */
export const failureOf = (ending: Ending, awaited: boolean): Cause.Cause<McpError.McpError> | undefined =>
  Exit.isSuccess(ending) || answerTo(ending.cause) !== undefined || (Cause.hasInterruptsOnly(ending.cause) && !awaited)
    ? undefined
    : ending.cause

/** What the peer is told about it. */
export const response = (id: RequestId.RequestId, ending: Ending): JsonRpc.Response =>
  Exit.isSuccess(ending)
    ? JsonRpc.success(id, ending.value)
    : JsonRpc.failure(id, answerTo(ending.cause) ?? McpError.internalError)
