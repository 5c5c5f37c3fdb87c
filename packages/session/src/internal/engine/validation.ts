/** The validation of received values against schemas. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { trust } from "../trust.ts"
import * as TypeGuard from "./TypeGuard.ts"

/** A check of a received value. */
export type Validate<A> = (value: unknown) => Result.Result<A, string>

const cache = new WeakMap<object, Validate<unknown>>()

/** The maximum length of a problem in characters. It contains names of members, which the peer chooses. */
const maxProblemCharacters = 512

/**
 * Makes a check against a schema of the wire. It returns the received object and not a copy: these schemas have no
 * transformations, and unknown members are kept. A problem is one line with a path, of at most 512 characters.
 */
export const validate = <A>(schema: Schema.Codec<A>): Validate<A> => {
  // The check of a schema is stored under this schema.
  const known = cache.get(schema)
  if (known !== undefined) return trust<Validate<A>>(known)
  // Made with the first value, because a program receives few kinds of messages.
  let fits: ((value: unknown) => value is A) | undefined
  const made: Validate<A> = (value) => {
    fits ??= TypeGuard.make(schema)
    if (fits(value)) return Result.succeed(value)
    const decoded = Schema.decodeUnknownResult(schema)(value)
    // Without transformations, a value that can be decoded has the decoded type.
    return Result.isSuccess(decoded)
      ? Result.succeed(trust<A>(value))
      : Result.fail(Excerpt.of(decoded.failure.message, maxProblemCharacters).replaceAll(/\s+/g, " "))
  }
  cache.set(schema, made)
  return made
}
