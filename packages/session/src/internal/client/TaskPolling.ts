/** The polling of a task until it has ended (TSK-13, TKX-05). */

import { ErrorCode, type Task } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { RequestError } from "../../RequestError.ts"

/** The pause of a task that names none, the least and the longest one, in milliseconds. */
const defaultMillis = 1_000
const leastMillis = 100
const longestMillis = 3_600_000

/** The rejections in a row after which a request is not sent again. */
const mostRejections = 60

const isFinal = ({ status }: Task.Task): boolean => status !== "working" && status !== "input_required"

/** Waits until the next request for a state: as long as the server wishes, or until the session has closed. */
export const pause = (wished: number | undefined, closed: Effect.Effect<unknown>): Effect.Effect<void> =>
  Effect.asVoid(
    Effect.raceFirst(Effect.sleep(Math.min(Math.max(wished ?? defaultMillis, leastMillis), longestMillis)), closed)
  )

/** Returns whether the other side has too many requests now. The task goes on. */
const isOverloaded = ({ reason }: RequestError): boolean =>
  reason._tag === "ErrorResponse" && reason.error.code === ErrorCode.Overloaded

/** Sends a request, again after a pause if the other side has too many requests, but not without an end. */
export const patiently = <A, R>(
  request: Effect.Effect<A, RequestError, R>,
  wished: number | undefined,
  closed: Effect.Effect<unknown>,
  rejections = 0
): Effect.Effect<A, RequestError, R> =>
  Effect.catchIf(request, isOverloaded, (error) =>
    rejections + 1 >= mostRejections
      ? Effect.fail(error)
      : Effect.andThen(pause(wished, closed), patiently(request, wished, closed, rejections + 1)))

/** Streams the states of a task until it has ended. It relies on no notification (TSK-21). */
export const states = (
  state: Effect.Effect<Task.Task, RequestError>,
  closed: Effect.Effect<unknown>
): Stream.Stream<Task.Task, RequestError> =>
  Stream.paginate<Task.Task | undefined, Task.Task, RequestError>(undefined, (last) =>
    Effect.map(
      last === undefined
        ? patiently(state, undefined, closed)
        : Effect.andThen(pause(last.pollInterval, closed), patiently(state, last.pollInterval, closed)),
      (task) => [[task], isFinal(task) ? Option.none() : Option.some(task)] as const
    ))
