/** The forms of the schemas that programs elicit. Each schema is prepared once. */

import { ElicitationSchema } from "@effect-mcp/protocol"
import type * as Schema from "effect/Schema"
import { trust } from "../trust.ts"
import * as JsonCodec from "./JsonCodec.ts"

/** The form of a schema, and its conversions. */
export interface PreparedForm {
  readonly form: ElicitationSchema.ElicitationSchema
  readonly codec: JsonCodec.JsonCodec
}

const forms = new WeakMap<Schema.Constraint, PreparedForm>()

/** Returns the form of a schema. */
export const of = (schema: Schema.Constraint): PreparedForm => {
  const existing = forms.get(schema)
  if (existing !== undefined) return existing
  // `Constraint` has no other members than a schema.
  const prepared = { form: ElicitationSchema.fromSchema(trust<Schema.Top>(schema)), codec: JsonCodec.make(schema) }
  forms.set(schema, prepared)
  return prepared
}
