/** The error of a group that cannot be registered: a mistake in the program, so a defect. */

import * as Data from "effect/Data"

/** The error of a definition that cannot be served. */
export class RegistrationError extends Data.TaggedError("RegistrationError")<{
  readonly group: string
  readonly problem: string
}> {
  override get message(): string {
    return `the group "${this.group}" cannot be registered: ${this.problem}`
  }
}
