/** The log messages that arrive before the response to `initialize` (INIT-10). */

import type { Handshake, JsonRpc } from "@effect-mcp/protocol"
import * as SlidingBuffer from "../collections/SlidingBuffer.ts"
import type { SessionRuntime } from "../engine/SessionRuntime.ts"
import * as Weight from "../engine/Weight.ts"

/** The receivers of notifications. */
export interface Notifications {
  /** Delivers a notification to its handler and to the streams that follow it. */
  deliverNotification(message: JsonRpc.Notification, bytes: number | undefined): void
  /** Reports a notification that has no effect. */
  ignoreNotification(method: string, problem: string): void
}

/** A log message that arrived before the session was established, and the bytes that it arrived in. */
interface KeptLog {
  readonly message: JsonRpc.Notification
  readonly bytes: number | undefined
}

/** The bounds of the log messages that a client keeps until its session is established. Few servers log so early. */
const keptBounds = { capacity: 256, bytes: 1_048_576 }

const receiveLog: Handshake.EventOf<"ReceiveLog"> = { _tag: "ReceiveLog" }

/** Keeps log messages until the session is established, and delivers them before anything else (law 6). */
export class EarlyLogs {
  readonly #runtime: Pick<SessionRuntime<Handshake.ClientState>, "apply" | "budget" | "state">
  readonly #notifications: Notifications
  #kept: SlidingBuffer.SlidingBuffer<KeptLog> | undefined

  constructor(
    runtime: Pick<SessionRuntime<Handshake.ClientState>, "apply" | "budget" | "state">,
    notifications: Notifications
  ) {
    this.#runtime = runtime
    this.#notifications = notifications
  }

  /** Handles a log message of any time. */
  receive(message: JsonRpc.Notification, bytes: number | undefined): void {
    switch (this.#action()) {
      case "Keep":
        return this.#keep(message, bytes)
      case "Deliver":
        return this.#notifications.deliverNotification(message, bytes)
      case "Ignore":
        return this.#notifications.ignoreNotification(
          message.method,
          `not expected while ${this.#runtime.state()._tag}`
        )
    }
  }

  /** Delivers the kept messages, because the session is established. */
  deliver(): void {
    this.#take(({ bytes, message }) => this.receive(message, bytes))
  }

  /** Drops the kept messages, because the session ends before it is established. */
  drop(): void {
    this.#take(({ message }) =>
      this.#notifications.ignoreNotification(message.method, "the session closed before the response to initialize")
    )
  }

  #action(): "Keep" | "Deliver" | "Ignore" {
    const outcome = this.#runtime.apply(receiveLog)
    return outcome._tag === "RemoteViolation" ? "Ignore" : outcome.action
  }

  #keep(message: JsonRpc.Notification, bytes: number | undefined): void {
    this.#kept ??= SlidingBuffer.make({ ...keptBounds, budget: this.#runtime.budget })
    if (this.#kept.offer({ message, bytes }, Weight.received(message, bytes))) return
    this.#notifications.ignoreNotification(
      message.method,
      `more than ${keptBounds.capacity} log messages, or ${keptBounds.bytes} bytes, ` +
        "before the response to initialize; the oldest was dropped"
    )
  }

  #take(take: (log: KeptLog) => void): void {
    const kept = this.#kept
    this.#kept = undefined
    for (let next = kept?.shift(); next !== undefined; next = kept?.shift()) {
      kept?.release(next)
      take(next.item)
    }
  }
}
