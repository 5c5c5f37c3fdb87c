/** The error of a name that leads to an address that is not public. */
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"

/** Made while a connection is opened. Nothing was sent. */
export class ForbiddenAddress extends Data.TaggedError("ForbiddenAddress")<{ readonly address: string }> {
  override get message(): string {
    return `the name leads to ${this.address}`
  }
}

/** Finds the error among the causes of another one. */
export const find = (error: unknown): ForbiddenAddress | undefined => {
  if (error instanceof ForbiddenAddress) return error
  return Predicate.hasProperty(error, "cause") ? find(error.cause) : undefined
}
