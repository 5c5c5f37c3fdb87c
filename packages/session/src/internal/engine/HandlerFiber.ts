/** The fiber and the scope of the handler of one request. */

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

/** The runtime that starts the fiber. */
export interface HandlerFiberDependencies {
  fork(effect: Effect.Effect<void>): Fiber.Fiber<void>
}

/** Starts a handler. Calls `then` with its exit after all resources of the handler are released. */
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

/** Closes the scope of a handler that has ended. Most handlers acquire nothing, and then this needs no fiber. */
const leave = (
  scope: Scope.Closeable,
  ending: HandlerExit,
  runtime: HandlerFiberDependencies,
  then: (ending: HandlerExit) => void
): void => {
  const closing = Scope.closeUnsafe(scope, ending)
  if (closing === undefined) return then(ending)
  runtime.fork(Effect.uninterruptible(closing)).addObserver((closed) =>
    then(Exit.isFailure(closed) ? withFailedScope(ending, closed.cause) : ending)
  )
}

/** Combines the exit of a handler with the failure of its scope, and loses no cause of either. */
const withFailedScope = <A, E>(exit: Exit.Exit<A, E>, closing: Cause.Cause<never>): Exit.Exit<never> => {
  const { reasons } = Exit.isFailure(exit) ? Cause.combine(exit.cause, closing) : closing
  return Exit.failCause(
    Cause.fromReasons(
      reasons.flatMap((reason) => Cause.isFailReason(reason) ? Cause.die(reason.error).reasons : [reason])
    )
  )
}

/**
 * Sends the reply to a claimed request: at once, or in the next turn of the scheduler if its handler has reported
 * progress. Some clients process a response before the notifications that arrived in the same chunk, and then drop the
 * progress of the request. The official TypeScript SDK does so (its issue 2580), and loses the last step.
 */
export const sendReply = (
  request: IncomingRequests.IncomingRequest,
  runtime: HandlerFiberDependencies,
  send: () => void
): void => {
  if (!IncomingRequests.hasReported(request)) return send()
  runtime.fork(Effect.andThen(Effect.yieldNow, Effect.sync(send)))
}

/** Returns the error of a handler, if it has failed with an `McpError`. */
const errorOf = (cause: Cause.Cause<McpError.McpError>): McpError.McpError | undefined => {
  const found: Result.Result<unknown, unknown> = Cause.findError(cause)
  // A handler that was not type-checked may fail with any value.
  return Result.isSuccess(found) && found.success instanceof McpError.McpError ? found.success : undefined
}

/**
 * Returns the failure of a handler that its reply does not contain. A handler that was interrupted because its request
 * gets no reply has not failed.
 */
export const failureOf = (ending: HandlerExit, getsReply: boolean): Cause.Cause<McpError.McpError> | undefined =>
  Exit.isSuccess(ending) || (errorOf(ending.cause) !== undefined && !Cause.hasDies(ending.cause)) ||
    (Cause.hasInterruptsOnly(ending.cause) && !getsReply)
    ? undefined
    : ending.cause

/** Makes the reply to a request from the exit of its handler. `defect` is the error of one that has none of its own. */
export const response = (
  id: RequestId.RequestId,
  ending: HandlerExit,
  defect: McpError.McpError = McpError.internalError
): JsonRpc.Response =>
  Exit.isSuccess(ending)
    ? JsonRpc.success(id, ending.value)
    : JsonRpc.failure(id, errorOf(ending.cause) ?? defect)
