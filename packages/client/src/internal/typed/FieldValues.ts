/** The arguments of a prompt, and the parameters of a template: values of fields that are sent as texts. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { trust } from "../trust.ts"
import { JsonCodec } from "./JsonCodec.ts"

/** The codec of fields. */
export class FieldValues {
  readonly #codec: JsonCodec

  constructor(fields: Schema.Struct.Fields) {
    this.#codec = new JsonCodec(Schema.Struct(fields))
  }

  /** Encodes the values. An undefined value, which JSON has as null, is absent. */
  encode(values: unknown): Effect.Effect<{ readonly [name: string]: unknown }, string, unknown> {
    return Effect.map(
      this.#codec.encode(values),
      (encoded) =>
        // The encoded form of a struct is an object.
        Object.fromEntries(Object.entries(trust<object>(encoded)).filter(([, value]) => value !== null))
    )
  }
}
