/** A command with its input drawn: all that a conversation needs of it, with the types of input and result erased. */
import type { ClientSession } from "@effect-mcp/session"
import type * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"

/** A command of one conversation. */
export interface Action<Model, out R> {
  readonly input: unknown
  /** Returns whether the precondition holds. */
  readonly isAllowed: (model: Model) => boolean
  /** Returns the model after the command, if its result is unknown. */
  readonly next: (model: Model) => Model
  readonly run: (client: ClientSession.ClientSessionShape) => Effect.Effect<Outcome<Model>, never, R>
}

/** The end of a command: with a result, which a model can judge, or with a failure. */
export type Outcome<Model> = Returned<Model> | { readonly _tag: "Failed"; readonly cause: Cause.Cause<unknown> }

/** The result of a command. */
export interface Returned<Model> {
  readonly _tag: "Returned"
  readonly result: unknown
  /** Returns what is wrong with the result, if the command took effect in this model. */
  readonly problem: (model: Model) => string | undefined
  readonly next: (model: Model) => Model
}
