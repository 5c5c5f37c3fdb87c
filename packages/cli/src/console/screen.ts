/**
 * The place where the console prints, asks and shows progress. Everything that is printed passes `PlainText`, so that
 * no text of a server is interpreted by the terminal.
 */
import type * as Prompt from "effect/cli/Prompt"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { QuitError } from "effect/Terminal"

/** The screen, and the person in front of it. */
export class Screen extends Context.Service<Screen, {
  /** Prints a result. */
  readonly print: (text: string) => Effect.Effect<void>
  /** Prints a note on what happens beside: a log message, a change, a reconnect. */
  readonly note: (text: string) => Effect.Effect<void>
  /** Draws a line below everything that is printed, or removes it. */
  readonly setBar: (line: string | undefined) => Effect.Effect<void>
  /** The number of columns. */
  readonly columns: () => number
  /** Whether a person can be asked. */
  readonly canAsk: boolean
  /** Runs a prompt. It fails when the person leaves it with the escape key or Ctrl-C. */
  readonly ask: <A>(prompt: Prompt.Prompt<A>) => Effect.Effect<A, QuitError>
  /** Has the person to itself: the prompts of another effect wait until this one has ended. */
  readonly exclusively: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /**
   * Runs a prompt while nothing else is to be done. It makes room for every other prompt, and returns after it. Ctrl-C
   * leaves it, and the escape key does not.
   */
  readonly askIdle: <A>(prompt: Prompt.Prompt<A>) => Effect.Effect<A, QuitError>
  /** Runs an effect until it ends or the person presses Ctrl-C, which interrupts it. */
  readonly untilCancelled: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<Option.Option<A>, E, R>
}>()("@effect-mcp/cli/console/Screen") {}
