/**
 * {@link JsonSchemaValidator} by [Ajv](https://ajv.js.org) 8, an optional peer dependency: install `ajv` where you use
 * this. An application that does not import this module pays nothing for it.
 *
 * Drafts 2020-12, 2019-09 and 07 are understood. Ajv turns a schema into code: checks are fast, but no schema can be
 * compiled where code generation is forbidden, as in Cloudflare Workers or by a page's content security policy; there
 * every schema is `Rejected`, with a problem that says so.
 *
 * Schemas may come from a hostile server. The defaults bound what such a schema costs:
 *
 * - Each schema is compiled from a copy, in an instance of Ajv of its own. No `$id` can collide with that of another
 *   tool.
 * - Its size is limited, and so is the code that it becomes. A schema that refers to another one does not copy it.
 * - A check counts its steps: keywords evaluated, items and properties visited, states of a pattern reached. It ends
 *   with a problem after `maxSteps`, which take some tenths of a second.
 * - `pattern` and `patternProperties` are matched in linear time. Backreferences and groups with flags are refused.
 * - `enum`, `const` and `uniqueItems` compare canonical texts, in time proportional to the text of the value.
 * - A schema, or a value, that is nested deeper than the stack reaches fails.
 * - Compiled checks are kept in a bounded table. Ajv's own tables are dropped with the check that they were made for.
 * - Only a value's own properties count, so `required: ["toString"]` means what it says.
 * - `format` asserts nothing, as in draft 2020-12. `$async`, which only Ajv knows, is refused.
 *
 * That no schema breaks out of the code that Ajv makes of it is left to Ajv.
 *
 * Ajv departs from the drafts here and there: a `$dynamicRef` leads to the root of the schema only; `unevaluatedItems`
 * and `unevaluatedProperties` do not see what `contains`, or an `if` alone, has evaluated; a property named `__proto__`
 * is not checked; `nullable`, which is OpenAPI's, counts; so does what stands beside a `$ref` in draft-07.
 */
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as LeastRecentlyUsed from "./internal/collections/LeastRecentlyUsed.ts"
import * as CountedAjv from "./internal/schema/CountedAjv.ts"
import {
  type Check,
  type JsonSchema,
  JsonSchemaValidator,
  type JsonSchemaValidatorShape
} from "./JsonSchemaValidator.ts"
import * as NumericOption from "./NumericOption.ts"
import * as UnsupportedSchema from "./UnsupportedSchema.ts"

/**
 * A compiled regular expression of any engine.
 *
 * @category models
 */
export interface Pattern {
  readonly test: (text: string) => boolean
}

/**
 * What may be set; everything has a default.
 *
 * @category models
 */
export interface Options {
  /**
   * How many characters a schema may have as JSON text. Default 65,536; compiling as much takes some tenths of a
   * second.
   */
  readonly maxSchemaCharacters?: number
  /**
   * The most steps that one check may take: keywords evaluated, items and properties visited, states of a pattern
   * reached. A step is about ten nanoseconds. Default 20,000,000; a check that needs more fails with a problem that
   * says so.
   */
  readonly maxSteps?: number
  /**
   * How many checks are kept; the one not used for longest makes room. Default 256, and no more than 16 of the largest.
   */
  readonly maxChecks?: number
  /**
   * Compiles `pattern` and the names of `patternProperties`, and throws for patterns that it does not support. Default:
   * an engine that takes linear time and refuses backreferences. An engine that backtracks, such as JavaScript's
   * `RegExp`, lets a hostile server stop the program.
   */
  readonly regExp?: (pattern: string) => Pattern
}

/** How many steps compiling one schema may take; a step is about one character of generated code. */
const maxCompilationSteps = 10_000_000

/**
 * How many schemas of the largest size are kept: compiled, they take about thirty times as much memory as their text.
 */
const largestKept = 16

/** The schema as JSON text. */
const textOf = (schema: JsonSchema): Result.Result<string, UnsupportedSchema.UnsupportedSchemaReason> => {
  try {
    return Result.succeed(JSON.stringify(schema))
  } catch (thrown) {
    return Result.fail({ _tag: "Rejected", problem: `it cannot be written as JSON: ${CountedAjv.problemOf(thrown)}` })
  }
}

/**
 * A validator. It may serve any number of sessions; the checks it keeps are those of all of them.
 *
 * @example
 * ```ts
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
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
  NumericOption.check(options, {
    maxSchemaCharacters: NumericOption.count,
    maxSteps: NumericOption.count,
    maxChecks: NumericOption.countFromZero
  })
  const { maxChecks = 256, maxSchemaCharacters = 65_536, maxSteps = 20_000_000, regExp } = options
  const checkOf = CountedAjv.make({ maxCompilationSteps, maxSteps, regExp })
  const checks = LeastRecentlyUsed.make<Result.Result<Check, UnsupportedSchema.UnsupportedSchema>>({
    size: maxChecks,
    weight: largestKept * maxSchemaCharacters
  })

  return {
    compile: (schema) => {
      const text = textOf(schema)
      if (Result.isFailure(text)) return Result.fail(UnsupportedSchema.make(text.failure))
      const { length } = text.success
      if (length > maxSchemaCharacters) {
        return Result.fail(UnsupportedSchema.make({ _tag: "TooLarge", characters: length, limit: maxSchemaCharacters }))
      }
      const known = checks.get(text.success)
      if (known !== undefined) return known
      const made = Result.mapError(checkOf(text.success), UnsupportedSchema.make)
      checks.set(text.success, made, length)
      return made
    }
  }
}

/**
 * A validator as a Layer, for a program that chooses its validator where it chooses its transports.
 *
 * @example
 * ```ts
 * import { ClientSession, JsonSchemaValidator } from "@effect-mcp/session"
 * import * as AjvValidator from "@effect-mcp/session/AjvValidator"
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
