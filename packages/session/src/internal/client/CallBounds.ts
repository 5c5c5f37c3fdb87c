/** The bounds of what a call does between its requests. */

import type { CloseReason } from "@effect-mcp/protocol"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as RequestError from "../../RequestError.ts"
import type { Call } from "../engine/RequestSender.ts"

/** The bounds of all calls of a session. */
export class CallBounds {
  readonly #timer: { now(): number }
  readonly #ended = Deferred.makeUnsafe<CloseReason.CloseReason>()

  constructor(timer: { now(): number }) {
    this.#timer = timer
  }

  /** Fails the calls that are between two requests, because the session ends. */
  end(reason: CloseReason.CloseReason): void {
    Deferred.doneUnsafe(this.#ended, Exit.succeed(reason))
  }

  /** Whether the session has begun to end. */
  get hasEnded(): boolean {
    return Deferred.isDoneUnsafe(this.#ended)
  }

  /** Fails at the deadline of a call, or at the end of the session. */
  within<A, R>(
    { deadline, row: { name } }: Call<unknown>,
    effect: Effect.Effect<A, RequestError.RequestError, R>
  ): Effect.Effect<A, RequestError.RequestError, R> {
    const closed = Effect.flatMap(
      Deferred.await(this.#ended),
      (reason) => Effect.fail(RequestError.make(name, { _tag: "Closed", reason, isSent: true }))
    )
    const open = Effect.raceFirst(effect, closed)
    if (deadline.at === Number.POSITIVE_INFINITY) return open
    return Effect.timeoutOrElse(open, {
      duration: Duration.millis(Math.max(deadline.at - this.#timer.now(), 0)),
      orElse: () =>
        Effect.fail(
          RequestError.make(name, {
            _tag: "Timeout",
            afterMillis: Math.round((deadline.at - deadline.startedAt) * 1000) / 1000
          })
        )
    })
  }
}
