/** The tasks of a client, as its server uses them: questions that outlive their requests. */

import type { Elicitation, Sampling, Task } from "@effect-mcp/protocol"
import type { RequestError } from "@effect-mcp/session/RequestError"
import type { RequestOptions } from "@effect-mcp/session/RequestOptions"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Stream from "effect/Stream"

/**
 * Options of a question that becomes a task. The timeouts are those until the client has answered with the task. In a
 * handler that runs as a task itself, `onProgress` receives nothing.
 */
export interface QuestionTaskOptions extends RequestOptions {
  /** The lifetime that the server wishes for the task, from its creation. The client decides, and has a default. */
  readonly ttl?: Duration.Input
}

/** A task of the client, for one session. The task belongs to no session: another one asks for it by its id. */
export interface QuestionTask<A> {
  /** Identifies the task. Keep it to find the task again in another session. */
  readonly id: string
  /** Returns the state of the task. */
  readonly state: Effect.Effect<Task.Task, RequestError>
  /**
   * Streams the state of the task until it has ended. Between two requests it waits as long as the client wishes, and
   * at least 100 ms and at most 1 hour (TSK-13). It relies on no notification (TSK-21).
   */
  readonly states: Stream.Stream<Task.Task, RequestError>
  /**
   * Waits until the task has ended, and returns the answer. If the stream of the request is lost, it asks again. An
   * interruption ends nothing but the waiting.
   */
  readonly result: Effect.Effect<A, RequestError>
  /** Cancels the task, and returns its state. Fails with the client's error −32602 if it has ended. */
  readonly cancel: Effect.Effect<Task.Task, RequestError>
}

/**
 * The questions of a server that become tasks of its client. Only revision 2025-11-25 has them. A question fails with
 * `MissingCapability` if the client has not declared that it answers this kind as a task (TSK-02).
 */
export interface QuestionTasks {
  /** Requests input of the client's user as a task, and waits until the client has created the task. */
  readonly elicit: (
    params: Elicitation.ElicitParams,
    options?: QuestionTaskOptions
  ) => Effect.Effect<QuestionTask<Elicitation.ElicitResult>, RequestError>
  /** Requests a message of the client's model as a task, and waits until the client has created the task. */
  readonly createMessage: (
    params: Sampling.CreateMessageParams,
    options?: QuestionTaskOptions
  ) => Effect.Effect<QuestionTask<Sampling.CreateMessageResult>, RequestError>
  /**
   * Returns a task by its id, for example one of an earlier session. Without its question, the answer is checked
   * against the schema of the method only.
   */
  readonly of: {
    (id: string, method: "elicitation/create"): QuestionTask<Elicitation.ElicitResult>
    (id: string, method: "sampling/createMessage"): QuestionTask<Sampling.CreateMessageResult>
  }
}
