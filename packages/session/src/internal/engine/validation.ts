/** Validation of values off the wire. */

import { Excerpt } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { trust } from "../trust.ts"

/** A check of a value off the wire. */
export type Validate<A> = (value: unknown) => Result.Result<A, string>

const cache = new WeakMap<object, Validate<unknown>>()

/** The most characters of a mismatch: it names members of the value, and the peer chooses their names. */
const problemLength = 512

/**
 * Makes a check against a wire schema. It passes on the received object, and no copy: wire schemas have no
 * transformations, and members that this library does not know must survive. A mismatch is one line with a path, of at
 * most 512 characters.
 */
export const validate = <A>(schema: Schema.Codec<A>): Validate<A> => {
  const known = cache.get(schema)
  if (known !== undefined) return trust<Validate<A>>(known)
  // Valid values are the usual case. For them `is` is three times faster than decoding.
  const fits = Schema.is(schema)
  const decode = Schema.decodeUnknownResult(schema)
  const made: Validate<A> = (value) => {
    if (fits(value)) return Result.succeed(value)
    const decoded = decode(value)
    // What decodes without a transformation is of the decoded type itself.
    return Result.isSuccess(decoded)
      ? Result.succeed(trust<A>(value))
      : Result.fail(Excerpt.of(decoded.failure.message, problemLength).replaceAll(/\s+/g, " "))
  }
  cache.set(schema, made)
  return made
}
