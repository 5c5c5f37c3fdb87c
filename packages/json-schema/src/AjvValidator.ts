/**
 * A {@link JsonSchemaValidator} by [Ajv](https://ajv.js.org) 8.
 *
 * It supports drafts 2020-12, 2019-09, 07, 06 and 04. Ajv turns a schema into code, so that checks are fast. No schema
 * can be compiled where code generation is forbidden, as in Cloudflare Workers or by the content security policy of a
 * page. There every schema is `Rejected`, with a problem that names the cause.
 *
 * A schema can be the attack of a hostile server. The defaults bound its cost:
 *
 * - Each schema is compiled from a copy, in an instance of Ajv of its own. Its `$id` cannot collide with the `$id` of
 *   another tool.
 * - The size of a schema is limited, and so is the code that Ajv generates from it. A reference does not copy its
 *   target.
 * - A check counts its steps: keywords evaluated, items and properties visited, states of a pattern reached. It ends
 *   with a problem after `maxSteps`, which take some tenths of a second.
 * - `pattern` and `patternProperties` are matched in linear time. Backreferences, groups with flags, and the syntax of
 *   other languages are rejected. The error has the `rest` of the check, which does not need these patterns: without
 *   the keywords that have them, without each `not`, `if`, `oneOf`, and `contains` with `maxContains`, that may depend
 *   on one, and without `unevaluatedItems` and `unevaluatedProperties`.
 * - `enum`, `const` and `uniqueItems` compare canonical texts, in time proportional to the text of the value.
 * - A schema or a value that is nested deeper than the stack allows fails.
 * - Compiled checks are kept in a bounded table. Ajv's own tables are dropped with the check that they belong to.
 * - Only own properties of a value count, so that `required: ["toString"]` is not met by every object.
 * - `format` asserts nothing, as in draft 2020-12. `$async`, an extension of Ajv, is rejected.
 *
 * This module relies on Ajv to escape schemas correctly in the code that it generates.
 *
 * Ajv differs from the drafts in these points: `$dynamicRef` refers to the root of the schema only; `unevaluatedItems`
 * and `unevaluatedProperties` ignore evaluations by `contains`, or by an `if` alone; a property named `__proto__` is
 * not checked; the keyword `nullable: true` of OpenAPI counts beside a `type`; in drafts 07, 06 and 04 the siblings of
 * a `$ref` count.
 *
 * @stability unstable
 */
import { LoadedPackages } from "@effect-mcp/protocol/internal"
import { LeastRecentlyUsed, NumericOption } from "@effect-mcp/session/internal"
import {
  type Check,
  type JsonSchema,
  JsonSchemaValidator,
  type JsonSchemaValidatorShape
} from "@effect-mcp/session/JsonSchemaValidator"
import * as UnsupportedSchemaError from "@effect-mcp/session/UnsupportedSchemaError"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as CountedAjv from "./internal/CountedAjv.ts"
import { thisPackage } from "./internal/thisPackage.ts"

/**
 * A compiled regular expression, of any engine.
 *
 * @category models
 */
export interface Pattern {
  readonly test: (text: string) => boolean
}

/**
 * Options for a validator.
 *
 * @category models
 */
export interface Options {
  /**
   * The greatest number of characters of a schema as JSON text. A longer schema is `TooLarge`. Default 65,536, which
   * take some tenths of a second to compile.
   */
  readonly maxSchemaCharacters?: number
  /**
   * The greatest number of steps of one check: keywords evaluated, items and properties visited, states of a pattern
   * reached. A step takes about ten nanoseconds. A check that needs more fails with a problem that names this limit.
   * Default 20,000,000.
   */
  readonly maxSteps?: number
  /**
   * The greatest number of compiled checks in the table. The least recently used one is dropped. Default 256. Of
   * schemas of the greatest size the table holds 16.
   */
  readonly maxChecks?: number
  /**
   * Compiles `pattern` and the names of `patternProperties`, and throws for patterns that it does not support. Default:
   * an engine that takes linear time and rejects backreferences. With an engine that backtracks, such as JavaScript's
   * `RegExp`, a hostile server can block the program.
   */
  readonly regExp?: (pattern: string) => Pattern
}

/** The greatest number of steps of compiling one schema. A step is about one character of generated code. */
const maxCompilationSteps = 10_000_000

/**
 * The number of schemas of the greatest size in the table. A compiled schema takes about thirty times the memory of
 * its text.
 */
const largestKept = 16

/** Returns the schema as JSON text. */
const textOf = (schema: JsonSchema): Result.Result<string, UnsupportedSchemaError.UnsupportedSchemaErrorReason> => {
  try {
    return Result.succeed(JSON.stringify(schema))
  } catch (thrown) {
    return Result.fail({ _tag: "Rejected", problem: `JSON cannot carry it: ${CountedAjv.problemOf(thrown)}` })
  }
}

/**
 * Creates a validator. Any number of sessions can use it, and share its table of compiled checks. Throws an
 * `InvalidOptionError` for a number that makes no sense.
 *
 * @example
 * ```ts
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import * as Result from "effect/Result"
 *
 * const validator = AjvValidator.make()
 * const check = Result.getOrThrow(validator.compile({ properties: { temperature: { type: "number" } } }))
 *
 * export const problem = check({ temperature: "hot" }) // => "must be number at [\"temperature\"]"
 * ```
 *
 * @category constructors
 */
export const make = (options: Options = {}): JsonSchemaValidatorShape => {
  LoadedPackages.check(thisPackage)
  NumericOption.check(options, {
    maxSchemaCharacters: NumericOption.count,
    maxSteps: NumericOption.count,
    maxChecks: NumericOption.countFromZero
  })
  const { maxChecks = 256, maxSchemaCharacters = 65_536, maxSteps = 20_000_000, regExp } = options
  const checkOf = CountedAjv.make({ maxCompilationSteps, maxSteps, regExp })
  const checks = LeastRecentlyUsed.make<Result.Result<Check, UnsupportedSchemaError.UnsupportedSchemaError>>({
    size: maxChecks,
    weight: largestKept * maxSchemaCharacters
  })

  return {
    compile: (schema) => {
      const text = textOf(schema)
      if (Result.isFailure(text)) return Result.fail(UnsupportedSchemaError.make(text.failure))
      const { length } = text.success
      if (length > maxSchemaCharacters) {
        return Result.fail(
          UnsupportedSchemaError.make({ _tag: "TooLarge", characters: length, limit: maxSchemaCharacters })
        )
      }
      const known = checks.get(text.success)
      if (known !== undefined) return known
      const made = checkOf(text.success)
      checks.set(text.success, made, length)
      return made
    }
  }
}

/**
 * Provides a validator, for programs that choose their validator where they choose their transports. A session does not
 * look for it: pass it to the option `validator` of the client.
 *
 * @example
 * ```ts
 * import { ClientSession, JsonSchemaValidator } from "@effect-mcp/session"
 * import { AjvValidator } from "@effect-mcp/json-schema"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const info = { name: "example", version: "1.0.0" }
 *
 * export const session = Layer.unwrap(
 *   Effect.map(JsonSchemaValidator.JsonSchemaValidator, (validator) => ClientSession.layer({ info, validator }))
 * ).pipe(Layer.provide(AjvValidator.layer({ maxSchemaCharacters: 16_384 })))
 * ```
 *
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<JsonSchemaValidator> =>
  Layer.sync(JsonSchemaValidator, () => make(options))
