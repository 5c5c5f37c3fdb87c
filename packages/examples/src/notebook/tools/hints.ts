/**
 * The annotations of the tools. With `Strict`, a tool rejects arguments that it does not have.
 */
import * as Tool from "effect/ai/Tool"
import * as Context from "effect/Context"

const strict = Context.make(Tool.Strict, true)

/** The tool reads the notes. */
export const reading = strict.pipe(Context.add(Tool.Readonly, true), Context.add(Tool.OpenWorld, false))

/** The tool changes the notes. */
export const changing = strict.pipe(Context.add(Tool.Readonly, false), Context.add(Tool.OpenWorld, false))

/** The tool uses the model of the client. */
export const asking = strict.pipe(Context.add(Tool.Readonly, true), Context.add(Tool.OpenWorld, true))

/** The tool acts outside of the notebook. */
export const acting = strict.pipe(
  Context.add(Tool.Readonly, false),
  Context.add(Tool.Destructive, false),
  Context.add(Tool.OpenWorld, true)
)
