/**
 * The port for checks of values against JSON Schemas of the peer, such as the output schemas of tools. `AjvValidator`
 * of `@effect-mcp/json-schema` implements it.
 *
 * @stability unstable
 */
import * as Context from "effect/Context"
import type * as Result from "effect/Result"
import type { UnsupportedSchemaError } from "./UnsupportedSchemaError.ts"

/**
 * A JSON Schema as it was received: any object.
 *
 * @category models
 */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/**
 * Checks one value. Returns `undefined` if the value matches the schema. Otherwise returns one line with the problem
 * and its place, such as `must be number at ["temperature"]`. Never throws, and never changes the value.
 *
 * @category models
 */
export type Check = (value: unknown) => string | undefined

/**
 * A validator.
 *
 * @category models
 */
export interface JsonSchemaValidatorShape {
  /**
   * Compiles a schema to a check, or returns why it cannot. The schema can be hostile: compiling it never throws, never
   * fetches anything, and does not affect the check of another schema, even one with the same `$id`. A schema without
   * `$schema` is read as draft 2020-12 (MSG-32), in which `format` asserts nothing. Compiling the same schema again is
   * cheap. A failure can have the check of the `rest` of the schema, for a caller that accepts an incomplete check.
   */
  readonly compile: (schema: JsonSchema) => Result.Result<Check, UnsupportedSchemaError>
}

/**
 * Checks values against JSON Schemas. `JsonSchemaValidatorSuite` of `@effect-mcp/testing/vitest` tests an
 * implementation.
 *
 * A session does not look for this service. A client takes its validator as an option, so that a validator that a
 * program provides for another purpose decides nothing about an untrusted server. The service is for programs that pass
 * one validator to several places.
 *
 * @example
 * ```ts
 * import { JsonSchemaValidator } from "@effect-mcp/session"
 * import * as Result from "effect/Result"
 *
 * // Accepts every value for a schema that the other validator cannot compile.
 * export const lenient = (
 *   strict: JsonSchemaValidator.JsonSchemaValidatorShape
 * ): JsonSchemaValidator.JsonSchemaValidatorShape => ({
 *   compile: (schema) => Result.orElse(strict.compile(schema), () => Result.succeed(() => undefined))
 * })
 * ```
 *
 * @category services
 */
export class JsonSchemaValidator
  extends Context.Service<JsonSchemaValidator, JsonSchemaValidatorShape>()("@effect-mcp/session/JsonSchemaValidator")
{}
