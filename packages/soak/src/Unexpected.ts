import * as Data from "effect/Data"

/** An outcome that differs from the expected one. */
export class Unexpected extends Data.TaggedError("Unexpected")<{ readonly what: string }> {
  override get message(): string {
    return this.what
  }
}

export const unexpected = (what: string): Unexpected => new Unexpected({ what })
