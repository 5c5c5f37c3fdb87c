/** Requests of revision 2025-11-25 that become tasks of the peer, as the side that sends them uses them. */

import { type MethodDefinition, MethodTable, Task } from "@effect-mcp/protocol"
import { ProgressMailbox, ResendPolicy, TaskPolling, type TaskRequests } from "@effect-mcp/session/internalEngine"
import type { RequestError } from "@effect-mcp/session/RequestError"
import type { RequestOptions } from "@effect-mcp/session/RequestOptions"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schedule from "effect/Schedule"
import type * as Stream from "effect/Stream"
import * as TaskCreation from "./TaskCreation.ts"

/** The two requests of a method whose requests become tasks: the one that creates it, and the one for its result. */
export interface TaskRows<Params, Result> {
  readonly create: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Task.CreateTaskResult>
  readonly result: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Task.TaskParams, Result>
}

/** Returns the two requests of a method. */
export const rowsOf = <Params, Result>(
  row: MethodDefinition.RequestMethod<string, MethodDefinition.Sender, Params, Result>
): TaskRows<Params, Result> => ({
  create: { ...row, result: Task.CreateTaskResult },
  result: { ...MethodTable.requests["tasks/result"], result: row.result }
})

/** A task of the peer. */
export interface RequestedTask<A, R = never> {
  readonly id: string
  readonly state: Effect.Effect<Task.Task, RequestError>
  readonly states: Stream.Stream<Task.Task, RequestError>
  readonly result: Effect.Effect<A, RequestError, R>
  readonly cancel: Effect.Effect<Task.Task, RequestError>
}

/** The progress of a request, which continues while this side waits for the result of its task (PRG-08). */
interface FollowedProgress<R> {
  readonly token: number | string
  readonly onProgress: NonNullable<RequestOptions<R>["onProgress"]>
}

/** Checks a result beyond its schema. */
export type Checked<A> = <R>(received: Effect.Effect<A, RequestError, R>) => Effect.Effect<A, RequestError, R>

const { "tasks/cancel": cancelRow, "tasks/get": getRow } = MethodTable.requests

/** The pause before a request for a result is sent again, in milliseconds: its stream was lost, or there were many. */
const repeatMillis = 1_000

/** The tasks of the peer of one session. */
export class RequestedTasks {
  readonly #requests: TaskRequests.TaskRequests

  constructor(requests: TaskRequests.TaskRequests) {
    this.#requests = requests
  }

  /** Sends a request that becomes a task, and waits until the peer has created it (TSK-14). */
  create<Params extends object, A, R = never>(
    rows: TaskRows<Params, A>,
    params: Params,
    { ttl, ...options }: RequestOptions<R> & { readonly ttl?: Duration.Input | undefined },
    checked: Checked<A>
  ): Effect.Effect<RequestedTask<A, R>, RequestError, R> {
    return Effect.suspend(() => {
      let token: number | string = 0
      const task = ttl === undefined ? {} : { ttl: Duration.toMillis(ttl) }
      const created = this.#requests.request(rows.create, { ...params, task }, {
        ...options,
        onOpen: (id) => {
          token = id
        }
      })
      const { onProgress } = options
      return Effect.map(
        this.#requests.cancelsCreated === true
          ? created
          : TaskCreation.untilAnswered(created, ({ task }) => this.#cancel(task.taskId)),
        ({ task: { taskId } }) =>
          this.of(rows, taskId, checked, onProgress === undefined ? undefined : { token, onProgress })
      )
    })
  }

  /** Returns a task by its id. */
  of<A, R = never>(
    rows: Pick<TaskRows<never, A>, "result">,
    id: string,
    checked: Checked<A>,
    progress?: FollowedProgress<R>
  ): RequestedTask<A, R> {
    const { closed, request } = this.#requests
    const state = request(getRow, { taskId: id })
    const received = request(rows.result, { taskId: id }, { timeout: Duration.infinity })
    return {
      id,
      state,
      states: TaskPolling.states(state, closed),
      result: this.#following(
        progress,
        // A request for a result only waits, so the peer may carry it out twice. Nothing bounds the repetitions but the
        // end of the session: a task may take days, and a gateway may close the stream of each request that waits.
        Effect.retry(TaskPolling.patiently(checked(received), repeatMillis, closed), {
          while: ResendPolicy.isExchangeLost,
          schedule: Schedule.spaced(repeatMillis)
        })
      ),
      cancel: this.#cancel(id)
    }
  }

  #cancel(taskId: string): Effect.Effect<Task.Task, RequestError> {
    return this.#requests.request(cancelRow, { taskId })
  }

  /** Passes the progress of a request on, while an effect runs. */
  #following<A, R>(
    progress: FollowedProgress<R> | undefined,
    effect: Effect.Effect<A, RequestError, R>
  ): Effect.Effect<A, RequestError, R> {
    const { receiver } = this.#requests
    if (progress === undefined || receiver === undefined) return effect
    const { budget, exchanges, limits } = receiver
    return Effect.acquireUseRelease(
      Effect.sync(() => {
        const bounds = { capacity: limits.maxProgressSteps, bytes: limits.maxNotificationBytes, budget }
        const mailbox = ProgressMailbox.make(bounds)
        exchanges.follow(progress.token, mailbox)
        return mailbox
      }),
      (mailbox) =>
        Effect.flatMap(
          Effect.forkChild(mailbox.drain(progress.onProgress), { startImmediately: true }),
          (draining) =>
            // All progress before the result is delivered before it.
            Effect.tap(effect, () => Effect.andThen(Effect.sync(() => mailbox.end()), Fiber.join(draining)))
        ),
      (mailbox) =>
        Effect.sync(() => {
          exchanges.unfollow(progress.token)
          mailbox.close()
        })
    )
  }
}
