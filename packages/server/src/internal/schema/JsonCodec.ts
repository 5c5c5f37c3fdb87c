/** Conversions between JSON and the values of a schema, prepared once. */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import { trust } from "../trust.ts"
import * as Misfit from "./Misfit.ts"

/** The conversions of one schema. Their services are those of the schema. */
export interface JsonCodec {
  readonly decode: (json: unknown) => Effect.Effect<unknown, Misfit.Misfit, unknown>
  /** Dies if the value is none of the schema's: only a defect of the program can produce one. */
  readonly encode: (value: unknown) => Effect.Effect<unknown, never, unknown>
}

/** A schema whose type the compiler no longer knows. */
type Erased = Schema.Codec<unknown, unknown, unknown, unknown>

/**
 * Prepares the conversions. Both go through `Schema.toCodecJson`, which is the form that the JSON Schema describes:
 * a plain `encode` would send `NaN` as null, and a bigint not at all.
 */
export const make = (schema: Schema.Constraint, options?: SchemaAST.ParseOptions): JsonCodec => {
  const codec = trust<Erased>(Schema.toCodecJson(trust<Erased>(schema)))
  const decode = Schema.decodeUnknownEffect(codec, { errors: "all", ...options })
  const encode = Schema.encodeUnknownEffect(codec)
  return {
    decode: (json) => Effect.mapError(decode(json), ({ issue }) => Misfit.ofIssue(issue, json, "the value")),
    encode: (value) => Effect.orDie(encode(value))
  }
}
