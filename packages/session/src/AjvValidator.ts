/**
 * {@link JsonSchemaValidator} by [Ajv](https://ajv.js.org) 8, an optional peer dependency: install `ajv` where you use this. An
 * application that does not import this module pays nothing for it.
 *
 * Drafts 2020-12, 2019-09 and 07 are understood. Ajv turns a schema into code: checks are fast, but no schema can be compiled
 * where code generation is forbidden, as in Cloudflare Workers or by a page's content security policy; there every schema is
 * `Rejected`, with a problem that says so.
 *
 * Schemas may come from a hostile server. What is done about it:
 *
 * - A schema is compiled from a copy, in an instance of Ajv of its own: no `$id` can collide with that of another tool or server.
 * - Its size is limited. What it refers to is compiled once and never copied in, so the code grows with the size alone.
 * - A check follows only so many references; one that would follow them for ever, or exponentially often, is given up.
 * - `uniqueItems` takes time in proportion to the text of the items.
 * - What is nested deeper than the stack reaches is refused, the schema as well as the value.
 * - Checks are kept in a bounded table; Ajv's own tables go with the check they were made for.
 * - Properties are those of the value itself, so `required: ["toString"]` means what it says.
 * - `format` asserts nothing, as in draft 2020-12. `$async`, which only Ajv knows, is refused.
 *
 * What is not: a `pattern` may make JavaScript's regular expressions backtrack for hours. Where servers are not trusted, give
 * `regExp` an engine that takes linear time. That no schema breaks out of the code that is made of it is left to Ajv.
 *
 * Ajv departs from the drafts here and there: a `$dynamicRef` leads to the root of the schema only, and `unevaluatedItems` and
 * `unevaluatedProperties` do not see what `contains`, or an `if` alone, has looked at; a property named `__proto__` is not
 * checked; an empty `enum` is refused; `nullable`, which is OpenAPI's, counts; so does what stands beside a `$ref` in draft-07.
 *
 * @since 0.1.0
 */
import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import { _, Ajv2020, MissingRefError } from "ajv/dist/2020.js"
import type { AnySchemaObject, ErrorObject } from "ajv/dist/types/index.js"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as LeastRecentlyUsed from "./internal/LeastRecentlyUsed.ts"
import { type Check, type JsonSchema, JsonSchemaValidator, type Shape } from "./JsonSchemaValidator.ts"
import * as UnsupportedSchema from "./UnsupportedSchema.ts"

/**
 * A regular expression of whatever engine.
 *
 * @category models
 * @since 0.1.0
 */
export interface Pattern {
  readonly test: (text: string) => boolean
}

/**
 * What may be set; everything has a default.
 *
 * @category models
 * @since 0.1.0
 */
export interface Options {
  /** How many characters a schema may have as JSON text. Default 65,536; compiling as much takes some tenths of a second. */
  readonly maximumSize?: number
  /** How many references (`$ref` and its like) one check may follow. Default 1,000,000, which takes some hundredths of a second. */
  readonly maximumReferences?: number
  /** How many checks are kept; the one not used for longest makes room. Default 256, and no more than 16 of the largest. */
  readonly capacity?: number
  /**
   * Compiles `pattern` and the names of `patternProperties`, and throws where it cannot. Default: JavaScript's `RegExp`, with the
   * flag `u` where the pattern allows it.
   */
  readonly regExp?: (pattern: string) => Pattern
}

/** How many schemas of the largest size are kept: compiled, they take about thirty times as much memory as their text. */
const largestKept = 16

/** A draft of JSON Schema, by the name that `$schema` has for it. */
interface Dialect {
  readonly uri: string
  readonly Engine: typeof Ajv | typeof Ajv2019 | typeof Ajv2020
}

const newest: Dialect = { uri: "https://json-schema.org/draft/2020-12/schema", Engine: Ajv2020 }

const dialects: ReadonlyArray<Dialect> = [
  newest,
  { uri: "https://json-schema.org/draft/2019-09/schema", Engine: Ajv2019 },
  { uri: "http://json-schema.org/draft-07/schema", Engine: Ajv }
]

/** The keywords that lead to a schema elsewhere. */
const referring = ["$ref", "$dynamicRef", "$recursiveRef"]

/** Counts down the references that a check may still follow. */
interface Budget {
  left: number
  readonly spend: () => void
}

/** A check has followed as many references as it may. */
class ReferencesExhausted extends Error {}

const budgetOf = (): Budget => {
  const budget: Budget = {
    left: 0,
    spend: () => {
      if (--budget.left < 0) throw new ReferencesExhausted()
    }
  }
  return budget
}

/** Lets every reference that is followed spend from this budget. */
const spending = (ajv: Ajv, budget: Budget): void => {
  for (const keyword of referring) {
    const definition = ajv.getKeyword(keyword)
    if (typeof definition !== "object" || !("code" in definition)) continue
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      ...definition,
      code: (context, type) => {
        context.gen.code(_`${context.gen.scopeValue("obj", { ref: budget })}.spend()`)
        definition.code(context, type)
      }
    })
  }
}

const isRecord = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** A value as JSON text that is the same for values that are the same, whatever the order of their members. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isRecord(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([one], [other]) => one < other ? -1 : 1))
      : member)

/** Ajv compares every item with every other, which takes a server's four megabytes of small objects the better part of an hour. */
const distinctly = (ajv: Ajv): void => {
  ajv.removeKeyword("uniqueItems")
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    error: { message: "must NOT have duplicate items" },
    validate: (wanted: boolean, items: ReadonlyArray<unknown>) =>
      !wanted || new Set(items.map(canonical)).size === items.length
  })
}

const javascript = (pattern: string): Pattern => {
  try {
    return new RegExp(pattern, "u")
  } catch {
    // The flag forbids `[\\w-.]` and the like, which come from servers in other languages.
    return new RegExp(pattern)
  }
}

/** Ajv tells patterns apart by what they are as strings, which an engine need not know. */
const engineOf = (regExp: (pattern: string) => Pattern) =>
  Object.assign((pattern: string) => {
    const compiled = regExp(pattern)
    return { test: (text: string) => compiled.test(text), toString: () => pattern }
  }, { code: "regExp" })

const withoutScheme = (uri: string): string => uri.replace(/^https?:/, "").replace(/#$/, "")

const dialectOf = ({ $schema }: JsonSchema): Result.Result<Dialect, UnsupportedSchema.UnsupportedSchemaReason> => {
  if ($schema === undefined) return Result.succeed(newest)
  if (typeof $schema !== "string") return Result.fail({ _tag: "Rejected", problem: "$schema is no string" })
  const found = dialects.find(({ uri }) => withoutScheme(uri) === withoutScheme($schema))
  return found === undefined
    ? Result.fail({ _tag: "UnknownDialect", dialect: $schema, supported: dialects.map(({ uri }) => uri) })
    : Result.succeed(found)
}

/** The schema as JSON text. */
const textOf = (schema: JsonSchema): Result.Result<string, UnsupportedSchema.UnsupportedSchemaReason> => {
  try {
    return Result.succeed(JSON.stringify(schema))
  } catch (thrown) {
    return Result.fail({ _tag: "Rejected", problem: `it cannot be written as JSON: ${problemOf(thrown)}` })
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, " ")

const problemOf = (thrown: unknown): string => {
  if (thrown instanceof RangeError) return "the stack does not reach so deep"
  return oneLine(thrown instanceof Error ? thrown.message : String(thrown))
}

/** The steps to what an error is about, the property that should not be there included. */
const pathOf = ({ instancePath, params, propertyName }: ErrorObject): ReadonlyArray<string> => {
  const steps = instancePath.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  const unwanted: unknown = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? propertyName
  return typeof unwanted === "string" ? [...steps, unwanted] : steps
}

/** The error that the others led to; that a branch of `if` failed says less than how it did. */
const describe = (errors: ReadonlyArray<ErrorObject> | null | undefined): string => {
  const error = errors?.findLast(({ keyword }) => keyword !== "if")
  if (error === undefined) return "it does not fit"
  const path = pathOf(error).map((step) => `[${/^\d+$/.test(step) ? step : JSON.stringify(step)}]`).join("")
  return oneLine(`${error.message ?? error.keyword}${path === "" ? "" : ` at ${path}`}`)
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
 * @since 0.1.0
 */
export const make = (options: Options = {}): Shape => {
  const { capacity = 256, maximumReferences = 1_000_000, maximumSize = 65_536, regExp = javascript } = options
  const settings = {
    strict: false,
    validateFormats: false,
    ownProperties: true,
    // A schema that is referred to twice would be copied twice, and so on at every level.
    inlineRefs: false,
    // Shorter code is not worth three to ten times the time of making it.
    code: { optimize: false, regExp: engineOf(regExp) },
    logger: false
  } as const

  /** One instance for each dialect, which knows what a schema has to look like. Nothing is ever added to it. */
  const judges = new Map<Dialect, Ajv>()
  const judgeOf = (dialect: Dialect): Ajv => {
    const known = judges.get(dialect)
    if (known !== undefined) return known
    const made = new dialect.Engine({ logger: false, strict: false, validateFormats: false })
    judges.set(dialect, made)
    return made
  }

  const checkOf = (text: string): Result.Result<Check, UnsupportedSchema.UnsupportedSchemaReason> => {
    const schema: AnySchemaObject = JSON.parse(text)
    const dialect = dialectOf(schema)
    if (Result.isFailure(dialect)) return Result.fail(dialect.failure)
    try {
      const judge = judgeOf(dialect.success)
      if (!judge.validate(dialect.success.uri, schema)) {
        return Result.fail({ _tag: "Rejected", problem: `it is no schema: ${describe(judge.errors)}` })
      }
      const ajv = new dialect.success.Engine({ ...settings, validateSchema: false })
      const budget = budgetOf()
      spending(ajv, budget)
      distinctly(ajv)
      const validate = ajv.compile(schema)
      if ("$async" in validate) return Result.fail({ _tag: "Rejected", problem: "$async is not supported" })
      return Result.succeed((value) => {
        budget.left = maximumReferences
        try {
          return validate(value) ? undefined : describe(validate.errors)
        } catch (thrown) {
          return thrown instanceof ReferencesExhausted
            ? `the check was given up after ${maximumReferences} references`
            : `the check failed: ${problemOf(thrown)}`
        }
      })
    } catch (thrown) {
      return Result.fail(
        thrown instanceof MissingRefError
          ? { _tag: "UnresolvedReference", reference: thrown.missingRef }
          : { _tag: "Rejected", problem: problemOf(thrown) }
      )
    }
  }

  const checks = LeastRecentlyUsed.make<Result.Result<Check, UnsupportedSchema.UnsupportedSchema>>({
    size: capacity,
    weight: largestKept * maximumSize
  })

  return {
    compile: (schema) => {
      const text = textOf(schema)
      if (Result.isFailure(text)) return Result.fail(UnsupportedSchema.make(text.failure))
      const { length } = text.success
      if (length > maximumSize) {
        return Result.fail(UnsupportedSchema.make({ _tag: "TooLarge", characters: length, limit: maximumSize }))
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
 * ).pipe(Layer.provide(AjvValidator.layer({ maximumSize: 16_384 })))
 * ```
 *
 * @category layers
 * @since 0.1.0
 */
export const layer = (options?: Options): Layer.Layer<JsonSchemaValidator> =>
  Layer.sync(JsonSchemaValidator, () => make(options))
