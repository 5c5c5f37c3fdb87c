/**
 * The port through which values are checked against JSON Schemas that come off the wire, such as the output schemas of tools.
 * A session knows no validator of its own: one stands behind this port, `AjvValidator` or yours.
 */
import * as Context from "effect/Context"
import type * as Result from "effect/Result"
import type { UnsupportedSchema } from "./UnsupportedSchema.ts"

/**
 * A JSON Schema as it was received: an object, whatever is in it.
 *
 * @category models
 */
export interface JsonSchema {
  readonly [keyword: string]: unknown
}

/**
 * Checks one value: `undefined` if it fits, otherwise one line that says what does not, and where, like
 * `must be number at ["temperature"]`. It never throws, and never alters the value.
 *
 * @category models
 */
export type Check = (value: unknown) => string | undefined

/**
 * What a validator does.
 *
 * @category models
 */
export interface JsonSchemaValidatorShape {
  /**
   * Makes a check of a schema, or says why it cannot. The schema may be hostile: compiling it never throws, never fetches
   * anything, and leaves no trace in the check of another schema, one with the same `$id` included. Without `$schema` it is
   * read as draft 2020-12 (MSG-32), in which `format` asserts nothing. Compiling the same schema again is cheap.
   */
  readonly compile: (schema: JsonSchema) => Result.Result<Check, UnsupportedSchema>
}

/**
 * Checks values against JSON Schemas. `JsonSchemaValidatorLaws` of `@effect-mcp/testing` judges an implementation.
 *
 * A session does not look for this service: a client is given its validator as an option, so that one provided for something else
 * decides nothing about an untrusted server. The service is for programs that pass one validator around.
 *
 * @example
 * ```ts
 * import { JsonSchemaValidator } from "@effect-mcp/session"
 * import * as Result from "effect/Result"
 *
 * // Lets pass what another validator cannot check, instead of refusing it.
 * export const lenient = (strict: JsonSchemaValidator.JsonSchemaValidatorShape): JsonSchemaValidator.JsonSchemaValidatorShape => ({
 *   compile: (schema) => Result.orElse(strict.compile(schema), () => Result.succeed(() => undefined))
 * })
 * ```
 *
 * @category services
 */
export class JsonSchemaValidator
  extends Context.Service<JsonSchemaValidator, JsonSchemaValidatorShape>()("@effect-mcp/session/JsonSchemaValidator")
{}
