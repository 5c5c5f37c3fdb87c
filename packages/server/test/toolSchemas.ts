/** The JSON Schemas of tools, and JSON values near those that a schema encodes. */
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as ToolCodec from "../src/internal/schema/ToolCodec.ts"

/** Prepares parameters that are expected to be suitable. */
export const input = <S extends Schema.Constraint>(schema: S, onExcessProperty: "ignore" | "error" = "ignore") =>
  Result.getOrThrow(ToolCodec.input(schema, { subject: "the parameters", onExcessProperty }))

/** Prepares a success that is expected to be suitable. */
export const output = <S extends Schema.Constraint>(schema: S) =>
  Result.getOrThrow(ToolCodec.output(schema, { subject: "the success" }))

/** Returns the JSON Schema of parameters. */
export const inputSchema = (schema: Schema.Constraint, onExcessProperty: "ignore" | "error" = "ignore") =>
  input(schema, onExcessProperty).jsonSchema

/** Returns the JSON Schema of the property `a` of parameters that have only this one. */
export const propertySchema = (schema: Schema.Top): unknown => {
  const { properties } = inputSchema(Schema.Struct({ a: schema }))
  return typeof properties === "object" && properties !== null && "a" in properties ? properties.a : undefined
}

/** Compiles a JSON Schema by a validator that is not the library's. */
export const validator = (schema: object): (value: unknown) => boolean =>
  new Ajv2020({ strict: false, validateFormats: false }).compile(schema)

/** Returns the message with which a schema is rejected as parameters. */
export const rejection = (schema: Schema.Top): string | undefined => {
  const made = ToolCodec.input(schema, { subject: "the parameters" })
  return Result.isFailure(made) ? made.failure.message : undefined
}
