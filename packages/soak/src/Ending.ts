/** A way for a session to end. */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EndingName } from "./EndingName.ts"
import type { Expected, Server, Subject } from "./Subject.ts"
import type { Tally } from "./Tally.ts"

/** The input of an ending. */
export interface EndingContext {
  readonly subject: Subject
  readonly ending: EndingName
  /** The server, started with the expected lifetime of sessions. */
  readonly server: Server
  readonly expected: Expected
  /** The client's unique name. */
  readonly client: string
  /** A number of at least 0 and less than 1 for random choices of the ending. */
  readonly chance: number
  readonly tally: Tally
  /** Lets another session start. An ending calls it when the session only waits from now on. */
  readonly releaseSlot: Effect.Effect<void>
}

/** An ending. */
export interface Ending {
  /** A description of the event that ends the session. */
  readonly description: string
  /** Marks an ending that takes seconds or much CPU time. A plan has fewer of these. */
  readonly slow?: boolean
  /** Opens a session and ends it in this way. Fails if the outcome is not the expected one. */
  readonly run: (context: EndingContext) => Effect.Effect<void, unknown, Scope.Scope>
}
