/** The fiber of one request's handler, and its scope, which lives as long as the request. */

import { JsonRpc, McpError, type RequestId } from "@effect-mcp/protocol"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as Scope from "effect/Scope"
import * as IncomingRequests from "./IncomingRequests.ts"

/** The exit of a handler. */
export type HandlerExit = Exit.Exit<unknown, McpError.McpError>

/** The program that serves one request. */
export type Handling<R> = Effect.Effect<unknown, McpError.McpError, R | Scope.Scope>

/** The session, or the server, that starts the fiber. */
export interface HandlerFiberDependencies {
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void>
}

/** Starts a handler. Calls `then` with its exit, after everything that it has acquired is released. */
export const start = <R>(
  handling: Handling<R>,
  context: Context.Context<R>,
  runtime: HandlerFiberDependencies,
  then: (ending: HandlerExit) => void
): Fiber.Fiber<unknown, McpError.McpError> => {
  const scope = Scope.makeUnsafe()
  const fiber = Effect.runForkWith(Context.add(context, Scope.Scope, scope))(handling)
  fiber.addObserver((exit) => leave(scope, exit, runtime, then))
  return fiber
}

/** Closes the scope of a handler that has ended. Nearly all have acquired nothing, and need no fiber for that. */
const leave = (
  scope: Scope.Closeable,
  ending: HandlerExit,
  runtime: HandlerFiberDependencies,
  then: (ending: HandlerExit) => void
): void => {
  const closing = Scope.closeUnsafe(scope, ending)
  if (closing === undefined) return then(ending)
  runtime.fork(Effect.uninterruptible(closing)).addObserver((closed) =>
    then(Exit.isFailure(closed) ? brokenOff(ending, closed.cause) : ending)
  )
}

/** Combines the exit of a handler with the failure of its scope. Nothing of either is lost. */
const brokenOff = <A, E>(exit: Exit.Exit<A, E>, closing: Cause.Cause<never>): Exit.Exit<never> => {
  const { reasons } = Exit.isFailure(exit) ? Cause.combine(exit.cause, closing) : closing
  return Exit.failCause(
    Cause.fromReasons(
      reasons.flatMap((reason) => Cause.isFailReason(reason) ? Cause.die(reason.error).reasons : [reason])
    )
  )
}

/**
 * Hands over the reply to a request that is claimed: at once, or in the next turn of the scheduler if its handler has
 * reported progress. Some clients handle a response before the notifications that arrived in one piece with it, and no
 * longer know its progress then. The official TypeScript SDK does so (its issue 2580), and loses the last step.
 */
export const handOver = (
  served: IncomingRequests.IncomingRequest,
  runtime: HandlerFiberDependencies,
  hand: () => void
): void => {
  if (!IncomingRequests.hasReported(served)) return hand()
  runtime.fork(Effect.andThen(Effect.yieldNow, Effect.sync(hand)))
}

/** Returns the error that a handler has failed with. */
const answerTo = (cause: Cause.Cause<McpError.McpError>): McpError.McpError | undefined => {
  const found: Result.Result<unknown, unknown> = Cause.findError(cause)
  // A handler that is not written in TypeScript may fail with any value.
  return Result.isSuccess(found) && found.success instanceof McpError.McpError ? found.success : undefined
}

/**
 * Returns the failure of a handler that the peer is not told. A handler that was interrupted because no reply was
 * expected has not failed.
 */
export const failureOf = (ending: HandlerExit, awaited: boolean): Cause.Cause<McpError.McpError> | undefined =>
  Exit.isSuccess(ending) || answerTo(ending.cause) !== undefined || (Cause.hasInterruptsOnly(ending.cause) && !awaited)
    ? undefined
    : ending.cause

/** Makes the reply to a request from the exit of its handler. */
export const response = (id: RequestId.RequestId, ending: HandlerExit): JsonRpc.Response =>
  Exit.isSuccess(ending)
    ? JsonRpc.success(id, ending.value)
    : JsonRpc.failure(id, answerTo(ending.cause) ?? McpError.internalError)
