import { Excerpt } from "@effect-mcp/protocol"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { trust } from "../trust.ts"

/**
 * Checks a value off the wire.
 */
export type Validate<A> = (value: unknown) => Result.Result<A, string>

const cache = new WeakMap<object, Validate<unknown>>()

/** How long a mismatch may be, in characters: it names members of the value, and the peer has chosen their names. */
const problemLength = 512

/**
 * Checks values against a wire schema. It passes the received object on, not a copy: wire schemas have no transformations,
 * and members this library does not know must survive. A mismatch is one line with a path, of 512 characters at most.
 */
export const validate = <A>(schema: Schema.Codec<A>): Validate<A> => {
  const known = cache.get(schema)
  if (known !== undefined) return trust<Validate<A>>(known)
  // Saying yes is all that is needed, and where schemas are compiled three times faster than decoding.
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
