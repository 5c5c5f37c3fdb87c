/** A failure of a tool's handler that has a text for the model, and no declared form. */

import * as Data from "effect/Data"

/** A failure whose message is sent with `isError`. Bridges use it for errors that their definitions do not declare. */
export class ToolMessage extends Data.TaggedError("ToolMessage")<{ readonly message: string }> {}
