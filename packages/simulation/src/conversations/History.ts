/** The complete record of a simulated conversation. */
import type { Journal as Recorded } from "@effect-mcp/testing/internal"
import type { Command } from "./Command.ts"
import type { Conversation } from "./Conversation.ts"

/**
 * A command of the conversation or of the simulation. Every conversation ends with three commands of the simulation:
 * in `Quiet` all wires recover and messages in transit arrive; in `Probe` both sides of each session send a request, to
 * see whether the session still works; in `End` both sides are closed.
 */
export type Commanded = Command | "Quiet" | "Probe" | "End"

/** An event of a conversation. */
export type Event = Recorded.Event<Commanded>

/** An event with its time and place. */
export type Entry = Recorded.Entry<Commanded>

/** The events, and the resources that were left after the end. */
export interface History {
  readonly conversation: Conversation
  readonly entries: ReadonlyArray<Entry>
  /** The fibers that were alive at the end. */
  readonly fibersLeft: number
  /** The greatest number of requests of the peer that a session served at the same time. */
  readonly incoming: number
}
