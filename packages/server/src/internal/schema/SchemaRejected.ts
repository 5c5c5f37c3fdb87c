/** The error of a schema that cannot describe a tool. */
import * as Data from "effect/Data"

/**
 * A schema that a tool cannot have, found when the tool is registered. `subject` names the use of the schema, such as
 * `the parameters of the tool "add"`. `path` leads from the schema to the part at fault.
 */
export class SchemaRejected extends Data.TaggedError("SchemaRejected")<{
  readonly subject: string
  readonly path: string
  /** The problem, and what to do. */
  readonly problem: string
}> {
  override get message(): string {
    return `${this.subject}${this.path === "" ? "" : ` at ${this.path}`}: ${this.problem}`
  }
}
