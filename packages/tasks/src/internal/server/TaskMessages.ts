/** The log messages and the progress of a task, which wait until a client asks for its result. */

import type { Logging, Meta, Progress } from "@effect-mcp/protocol"
import { Weight } from "@effect-mcp/session/internal"
import { SlidingMailbox } from "@effect-mcp/session/internalEngine"
import type { MemoryBudget } from "@effect-mcp/session/MemoryBudget"
import type { RequestContext } from "@effect-mcp/session/RequestContext"
import type * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"

/** A message of a task. */
export type TaskMessage =
  | { readonly _tag: "Log"; readonly message: Omit<Logging.LogMessageParams, "_meta"> }
  | { readonly _tag: "Progress"; readonly step: Progress.Progress }

/** The bounds of the messages of one task. A slow client loses the oldest. */
const bounds = { capacity: 64, bytes: 65_536 }

/** The messages of a task that runs in this process. They are not stored, and end with the run. */
export class TaskMessages {
  /** The metadata of the call, and its session. The progress token means something in this session only. */
  readonly meta: Meta.RequestMeta | undefined
  readonly session: RequestContext["Service"]["session"]
  readonly #mailbox: SlidingMailbox.SlidingMailbox<TaskMessage>

  constructor({ meta, session }: Pick<RequestContext["Service"], "meta" | "session">, budget: MemoryBudget) {
    this.meta = meta
    this.session = session
    this.#mailbox = SlidingMailbox.make({ ...bounds, budget })
  }

  /** Adds a message. Returns `false` if older ones were dropped. */
  offer(message: TaskMessage): boolean {
    return this.#mailbox.offer(message, Weight.of(message, bounds.bytes))
  }

  /** Takes the oldest message. Waits until there is one, and fails after the end. */
  get take(): Effect.Effect<TaskMessage, Cause.Done> {
    return this.#mailbox.take
  }

  /** Ends the messages. Those that wait can still be taken. */
  end(): void {
    this.#mailbox.end()
  }

  /** Ends the messages, and drops those that wait. */
  close(): void {
    this.#mailbox.close()
  }
}
