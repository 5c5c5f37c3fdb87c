/** A way for a session to end. */
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { EndingName } from "./EndingName.ts"
import type { Expected, Server, Subject } from "./Subject.ts"
import type { Tally } from "./Tally.ts"

/** What an ending has to do with. */
export interface Occasion {
  readonly subject: Subject
  readonly ending: EndingName
  /** Under the terms that are expected. */
  readonly server: Server
  readonly expected: Expected
  /** The client's name; nobody else has it. */
  readonly client: string
  /** From 0, and less than 1: decides what the ending leaves to chance. */
  readonly chance: number
  readonly tally: Tally
  /** Lets another session begin, since this one has only to wait from now on. */
  readonly rest: Effect.Effect<void>
}

/** One ending. */
export interface Ending {
  /** What happens, in words. */
  readonly what: string
  /** It takes seconds, since something has to expire, or is a lot of work. Then there is less of it. */
  readonly slow?: boolean
  /** Opens a session, lets it come to this end, and fails if anything about that is not as expected. */
  readonly hold: (occasion: Occasion) => Effect.Effect<void, unknown, Scope.Scope>
}
