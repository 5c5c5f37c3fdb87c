/** Checks of schemas by Ajv that count the steps of compiling and of checking. */

import type { Check, JsonSchema } from "@effect-mcp/session/JsonSchemaValidator"
import * as UnsupportedSchemaError from "@effect-mcp/session/UnsupportedSchemaError"
import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import { _, Ajv2020, type KeywordCxt, MissingRefError, Name, str } from "ajv/dist/2020.js"
import type { AnySchemaObject, ErrorObject } from "ajv/dist/types/index.js"
import * as Result from "effect/Result"
import { DistinctValues } from "./DistinctValues.ts"
import * as LeftOut from "./LeftOut.ts"
import * as LinearPattern from "./LinearPattern.ts"
import * as OpenApiKeywords from "./OpenApiKeywords.ts"
import { UnsupportedPattern } from "./PatternSyntax.ts"
import * as Steps from "./Steps.ts"

/** A compiled regular expression. */
interface Pattern {
  readonly test: (text: string) => boolean
}

/** A draft of JSON Schema, with its URI in `$schema`. */
interface Dialect {
  readonly uri: string
  readonly Engine: typeof Ajv | typeof Ajv2019 | typeof Ajv2020
  /** For a draft without an engine of its own: the keywords of draft 07 that it does not have. */
  readonly without?: ReadonlyArray<string>
  /** The form of draft 04: the id of a schema is `id`, and exclusive bounds are flags of `minimum` and `maximum`. */
  readonly isDraft04?: boolean
}

const newest: Dialect = { uri: "https://json-schema.org/draft/2020-12/schema", Engine: Ajv2020 }

/** The keywords that draft 07 added to draft 06. */
const conditional: ReadonlyArray<string> = ["if", "then", "else"]

const dialects: ReadonlyArray<Dialect> = [
  newest,
  { uri: "https://json-schema.org/draft/2019-09/schema", Engine: Ajv2019 },
  { uri: "http://json-schema.org/draft-07/schema", Engine: Ajv },
  { uri: "http://json-schema.org/draft-06/schema", Engine: Ajv, without: conditional },
  {
    uri: "http://json-schema.org/draft-04/schema",
    Engine: Ajv,
    without: [...conditional, "$id", "const", "contains", "propertyNames", "exclusiveMinimum", "exclusiveMaximum"],
    isDraft04: true
  }
]

/** Returns the metaschema of draft 07 in the form of an older draft. It accepts boolean schemas. */
const olderMetaschema = (draft07: AnySchemaObject, { isDraft04, uri, without = [] }: Dialect): AnySchemaObject => {
  const kept = Object.entries<unknown>(draft07["properties"]).filter(([keyword]) => !without.includes(keyword))
  const flag = { type: "boolean" }
  const own = isDraft04 === true
    ? { id: { type: "string" }, exclusiveMinimum: flag, exclusiveMaximum: flag }
    : undefined
  return { ...draft07, $id: uri, properties: { ...Object.fromEntries(kept), ...own } }
}

/** The keywords that call the check of another schema. */
const referring: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "$recursiveRef"])

/** The keywords whose value has a schema, or a list of names, for each name. */
const tables: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "dependentRequired"
])

/** The keywords that apply schemas to the value itself. Each merges the evaluated names and items of these schemas. */
const inPlace: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", ...referring])

/** The keywords whose loops Ajv continues after a failure. The code for these has to drop errors. */
const persistent: ReadonlySet<string> = new Set(["contains", "patternProperties"])

/** The measured steps of a keyword for each item, name, or eight characters of the value. */
const perElement: Readonly<Record<string, number>> = {
  items: 4,
  additionalItems: 4,
  unevaluatedItems: 4,
  contains: 16,
  minLength: 2,
  maxLength: 2,
  minProperties: 8,
  maxProperties: 8,
  additionalProperties: 12,
  patternProperties: 12,
  propertyNames: 12,
  unevaluatedProperties: 12
}

/** Returns the measured steps of a keyword for each schema or name in the schema's value of it. */
const perChild = (keyword: string): number => keyword === "anyOf" || keyword === "oneOf" ? 16 : 4

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Returns the number of schemas or names in the value of a keyword. */
const childrenOf = (keyword: string, value: unknown): number => {
  if (Array.isArray(value)) return value.length
  if (!tables.has(keyword) || !isRecord(value)) return 0
  return Object.values(value).reduce((sum: number, entry) => sum + 1 + (Array.isArray(entry) ? entry.length : 0), 0)
}

/** Returns the number of items, of names and their text, or of groups of eight characters. */
const sizeOf = (value: unknown): number => {
  if (typeof value === "string") return value.length >> 3
  if (Array.isArray(value)) return value.length
  if (!isRecord(value)) return 0
  let names = 0
  let text = 0
  for (const name in value) {
    names++
    text += name.length >> 6
  }
  // An object of many names is scattered over the heap. Each name takes several times as long.
  return text + (names > 1024 ? 4 * names : names)
}

/** The functions that generated code calls to spend steps. */
interface Meter {
  /** Spends a fixed number of steps. */
  readonly spend: (steps: number) => void
  /** Spends a fixed number of steps, and a number for each element of the value. */
  readonly measure: (steps: number, each: number, value: unknown) => void
  /** Spends the steps of writing a path with these names. */
  readonly path: (...names: ReadonlyArray<unknown>) => void
}

const meterOf = (steps: Steps.Steps): Meter => ({
  spend: (count) => steps.spend(count),
  measure: (count, each, value) => steps.spend(count + each * sizeOf(value)),
  path: (...names) => steps.spend(names.reduce<number>((sum, name) => sum + (sizeOf(name) >> 1), 0))
})

/** Returns the number of names that are evaluated so far at this place of the schema. */
const evaluatedIn = ({ props }: KeywordCxt["it"]): number =>
  isRecord(props) && !(props instanceof Name) ? Object.keys(props).length : 0

const errors = new Name("errors")
const errorList = new Name("vErrors")

/** Generates the code that spends the steps of a keyword, before the code of the keyword. */
const charge = (context: KeywordCxt, meter: Meter, unevaluated: boolean): void => {
  const { data, gen, it, keyword } = context
  const schema: unknown = context.schema
  const counter = gen.scopeValue("obj", { ref: meter })
  const children = childrenOf(keyword, schema)
  const fixed = 8 + perChild(keyword) * children
  if (referring.has(keyword)) {
    // When the called check fails, Ajv copies the errors so far.
    gen.code(_`${counter}.spend(${fixed + 24} + (${errors} >> 2))`)
    // The path to the value is written for the call, with names of any length.
    const names = it.dataPathArr.filter((step) => typeof step !== "number" && Object.keys(step.names).length > 0)
    if (names.length > 0) gen.code(_`${counter}.path(...${names.reduce((list, name) => _`${list}, ${name}`, _`[`)}])`)
  }
  const loops = keyword === "patternProperties" ? children : 1
  const comparisons = keyword === "unevaluatedProperties" ? evaluatedIn(it) >> 2 : 0
  const each = (perElement[keyword] ?? 0) * loops + comparisons + (unevaluated && inPlace.has(keyword) ? 12 : 0)
  gen.code(each === 0 ? _`${counter}.spend(${fixed})` : _`${counter}.measure(${fixed}, ${each}, ${data})`)
}

/**
 * Bounds the number of errors. Errors below a keyword that reports only itself have no content. A loop that continues
 * after failures keeps the first error; without this, `contains` made a million errors for a million items.
 */
const dropErrors = (context: KeywordCxt): void => {
  const { gen, keyword } = context
  const subschema = context.subschema.bind(context)
  const most = persistent.has(keyword) ? gen.const("most", _`${errors} + 1`) : undefined
  context.subschema = (application, valid) => {
    const made = subschema(
      application.compositeRule === true ? { ...application, createErrors: false } : application,
      valid
    )
    if (most !== undefined) {
      gen.if(_`${errors} > ${most}`, () => {
        gen.assign(_`${errorList}.length`, most)
        gen.assign(errors, most)
      })
    }
    return made
  }
}

/**
 * Returns the greatest number of names that Ajv joins to one condition at this place of the schema. That takes time
 * proportional to the square of the number.
 */
const joinedIn = ({ it, keyword, parentSchema, schema }: KeywordCxt): number => {
  switch (keyword) {
    case "required":
      return schema.length < it.opts.loopRequired ? schema.length : 0
    case "dependencies":
    case "dependentRequired":
      return Math.max(0, ...Object.values<unknown>(schema).map((names) => childrenOf(keyword, names)))
    case "additionalProperties":
      return childrenOf("patternProperties", parentSchema["patternProperties"])
    case "unevaluatedProperties":
      return evaluatedIn(it)
    default:
      return 0
  }
}

/** Spends the steps of compiling a keyword, about one for each character of code. Generates no code. */
const chargeCompilation = (context: KeywordCxt, compiling: Steps.Steps): void => {
  const { it, keyword } = context
  const schema: unknown = context.schema
  const joined = joinedIn(context)
  compiling.spend((1 + childrenOf(keyword, schema)) * (64 + it.errSchemaPath.length) + 16 * joined * joined)
  // Each anchor becomes a function with the code of its whole schema.
  if (keyword === "$dynamicAnchor" || keyword === "$recursiveAnchor") compiling.spend(10_000)
  const merge = context.mergeEvaluated.bind(context)
  context.mergeEvaluated = (evaluated, toName) => {
    const { props } = evaluated
    const count = isRecord(props) && !(props instanceof Name) ? Object.keys(props).length : 0
    compiling.spend(64 * (evaluatedIn(it) + count))
    merge(evaluated, toName)
  }
}

/** Makes every keyword of an instance spend steps, when it is compiled and when it is evaluated. */
const countSteps = (
  ajv: Ajv,
  { compiling, leftOut, meter, unevaluated }: {
    readonly compiling: Steps.Steps
    readonly leftOut: LeftOut.LeftOut
    readonly meter: Meter
    readonly unevaluated: boolean
  }
): void => {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== "object" || !("code" in rule.definition)) continue
    const { definition } = rule
    const { code } = definition
    rule.definition = {
      ...definition,
      code: (context, type) => {
        chargeCompilation(context, compiling)
        if (leftOut(context)) return
        charge(context, meter, unevaluated)
        dropErrors(context)
        code(context, type)
      }
    }
  }
}

/**
 * Replaces the keywords for which Ajv compares values with each other. `uniqueItems` would compare all pairs of items,
 * which takes most of an hour for 4 MB of small objects. `enum` would list the names of a large object once for each of
 * its values.
 */
const compareByText = (ajv: Ajv, steps: Steps.Steps, compiling: Steps.Steps): void => {
  const replace = (
    definition: { readonly keyword: string; readonly schemaType?: "array" | "boolean"; readonly type?: "array" },
    message: string,
    make: (schema: unknown) => (value: unknown) => boolean
  ): void => {
    ajv.removeKeyword(definition.keyword)
    ajv.addKeyword({
      ...definition,
      error: { message },
      code: (context) => {
        const holds = context.gen.scopeValue("keyword", { ref: make(context.schema) })
        context.pass(_`${holds}(${context.data})`)
      }
    })
  }
  const oneOf = (wanted: ReadonlyArray<unknown>) => {
    const values = new DistinctValues()
    for (const value of wanted) values.add(value, compiling)
    return (value: unknown) => values.has(value, steps)
  }
  replace(
    { keyword: "enum", schemaType: "array" },
    "must be equal to one of the allowed values",
    (schema) => oneOf(Array.isArray(schema) ? schema : [])
  )
  replace({ keyword: "const" }, "must be equal to constant", (schema) => oneOf([schema]))
  replace(
    { keyword: "uniqueItems", schemaType: "boolean", type: "array" },
    "must NOT have duplicate items",
    (wanted) => (items) => {
      if (wanted !== true || !Array.isArray(items)) return true
      const distinct = new DistinctValues()
      for (const item of items) distinct.add(item, steps)
      return distinct.size === items.length
    }
  )
}

/** The bounds of draft 04, with the keywords of their flags, and the comparisons without the flag and with it. */
const draft04Bounds = [
  ["minimum", "exclusiveMinimum", { ok: ">=", fails: _`<` }, { ok: ">", fails: _`<=` }],
  ["maximum", "exclusiveMaximum", { ok: "<=", fails: _`>` }, { ok: "<", fails: _`>=` }]
] as const

/** Removes the keywords that the dialect does not have, and replaces those that have another meaning in it. */
const keepKeywords = (ajv: Ajv, { isDraft04, without = [] }: Dialect): void => {
  // Ajv rejects a schema with `id`, which only draft 04 has. It is an unknown keyword in the others.
  for (const keyword of ["id", ...without]) ajv.removeKeyword(keyword)
  if (isDraft04 !== true) return
  for (const [keyword, exclusive, included, excluded] of draft04Bounds) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      type: "number",
      schemaType: "number",
      error: {
        message: ({ parentSchema, schemaCode }) =>
          str`must be ${parentSchema?.[exclusive] === true ? excluded.ok : included.ok} ${schemaCode}`
      },
      code: (context) => {
        const { data, parentSchema, schemaCode } = context
        const { fails } = parentSchema[exclusive] === true ? excluded : included
        context.fail(_`${data} ${fails} ${schemaCode} || isNaN(${data})`)
      }
    })
  }
}

/** Returns an engine for Ajv. Ajv distinguishes compiled patterns by `toString`, which an engine may not implement. */
const engineOf = (regExp: (pattern: string) => Pattern) =>
  Object.assign((pattern: string) => {
    const compiled = regExp(pattern)
    return { test: (text: string) => compiled.test(text), toString: () => pattern }
  }, { code: "regExp" })

const withoutScheme = (uri: string): string => uri.replace(/^https?:/, "").replace(/#$/, "")

const dialectOf = (
  { $schema }: JsonSchema
): Result.Result<Dialect, UnsupportedSchemaError.UnsupportedSchemaErrorReason> => {
  if ($schema === undefined) return Result.succeed(newest)
  if (typeof $schema !== "string") return Result.fail({ _tag: "Rejected", problem: "$schema must be a string" })
  const found = dialects.find(({ uri }) => withoutScheme(uri) === withoutScheme($schema))
  return found === undefined
    ? Result.fail({ _tag: "UnknownDialect", dialect: $schema, supported: dialects.map(({ uri }) => uri) })
    : Result.succeed(found)
}

/** Returns the metaschema of a dialect that has no engine of its own. */
const metaschemaOf = (engine: Ajv, dialect: Dialect): AnySchemaObject => {
  const draft07 = engine.getSchema("http://json-schema.org/draft-07/schema")?.schema
  return olderMetaschema(isRecord(draft07) ? draft07 : {}, dialect)
}

/** The number of characters at which a problem, and the path to it, are cut. */
const maxCharacters = 300

const cut = (text: string): string => text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text

const oneLine = (text: string): string => cut(text).replaceAll(/\s+/g, " ")

/** Returns the message of a thrown value as one line. */
export const problemOf = (thrown: unknown): string => {
  if (thrown instanceof RangeError) return "it is nested deeper than the stack allows"
  return oneLine(thrown instanceof Error ? thrown.message : String(thrown))
}

/** Returns the path to the place of an error, including the name of an unwanted property. */
const pathOf = ({ instancePath, params, propertyName }: ErrorObject): ReadonlyArray<string> => {
  const steps = instancePath.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"))
  const unwanted: unknown = params["additionalProperty"] ?? params["unevaluatedProperty"] ?? propertyName
  return typeof unwanted === "string" ? [...steps, unwanted] : steps
}

/**
 * Returns the last error in words. The error of an `if` is skipped, because the error of its branch is more precise.
 */
const describe = (found: ReadonlyArray<ErrorObject> | null | undefined): string => {
  const error = found?.findLast(({ keyword }) => keyword !== "if")
  if (error === undefined) return "does not match"
  const path = pathOf(error).map((step) => `[${/^\d+$/.test(step) ? step : JSON.stringify(cut(step))}]`).join("")
  const message = oneLine(error.message ?? error.keyword)
  return path === "" ? message : `${message} at ${oneLine(path)}`
}

/** Settings of a compiler of schemas. */
export interface Settings {
  /** The greatest number of steps of one check. */
  readonly maxSteps: number
  /** The greatest number of steps of compiling one schema. */
  readonly maxCompilationSteps: number
  /** The engine of patterns. Without one, `LinearPattern` compiles them. */
  readonly regExp: ((pattern: string) => Pattern) | undefined
}

/** Creates a compiler of schemas. It compiles each schema in an instance of Ajv of its own. */
export const make = ({ maxCompilationSteps, maxSteps, regExp }: Settings) => {
  /** One instance for each dialect, which checks schemas against its metaschema. No schema is added to it. */
  const metaschemaValidators = new Map<Dialect, Ajv>()
  const metaschemaValidatorOf = (dialect: Dialect): Ajv => {
    const known = metaschemaValidators.get(dialect)
    if (known !== undefined) return known
    const made = new dialect.Engine({ logger: false, strict: false, validateFormats: false })
    if (dialect.without !== undefined) made.addMetaSchema(metaschemaOf(made, dialect), dialect.uri, false)
    metaschemaValidators.set(dialect, made)
    return made
  }

  /** Returns a cache of compiled patterns: Ajv compiles a pattern once for each place that uses it. */
  const patternsOf = (steps: Steps.Steps, compiling: Steps.Steps, unsupported: Map<string, string>) => {
    const known = new Map<string, Pattern>()
    const compiled = (pattern: string): Pattern => {
      try {
        return regExp === undefined
          ? LinearPattern.compile(pattern, steps, compiling)
          : metered(regExp(pattern), steps)
      } catch (thrown) {
        if (thrown instanceof Steps.StepsExhausted || thrown instanceof RangeError) throw thrown
        unsupported.set(
          pattern,
          thrown instanceof UnsupportedPattern ? thrown.problem : "a syntax that is not that of ECMA-262"
        )
        return { test: () => true }
      }
    }
    return (pattern: string): Pattern => {
      const made = known.get(pattern) ?? compiled(pattern)
      known.set(pattern, made)
      return made
    }
  }

  /** Compiles a schema. Reports the patterns that are not supported, and accepts every text for them. */
  const compileBy = (
    dialect: Dialect,
    schema: AnySchemaObject,
    { compiling, leftOut, text, unsupported }: {
      readonly compiling: Steps.Steps
      readonly leftOut: LeftOut.LeftOut
      readonly text: string
      readonly unsupported: Map<string, string>
    }
  ): Check => {
    const steps = Steps.make()
    const ajv = new dialect.Engine({
      strict: false,
      validateFormats: false,
      validateSchema: false,
      ownProperties: true,
      // Inlined, the target of two references would be copied twice, at each level of references.
      inlineRefs: false,
      // Optimizing takes three to ten times the time of generating, for code that is a little shorter.
      code: { optimize: false, regExp: engineOf(patternsOf(steps, compiling, unsupported)) },
      ...dialect.isDraft04 === true ? { schemaId: "id" as const } : undefined,
      logger: false
    })
    // A schema can refer to its metaschema.
    const metaschema = dialect.without === undefined ? undefined : metaschemaValidatorOf(dialect).getSchema(dialect.uri)
    if (typeof metaschema?.schema === "object") ajv.addMetaSchema(metaschema.schema, dialect.uri, false)
    const unevaluated = text.includes("\"unevaluated")
    // Without this, every applicator collects evaluated names although no keyword reads them.
    if (!unevaluated) ajv.opts.unevaluated = false
    compareByText(ajv, steps, compiling)
    keepKeywords(ajv, dialect)
    countSteps(ajv, { compiling, leftOut, meter: meterOf(steps), unevaluated })
    const validate = ajv.compile(schema)
    if ("$async" in validate) throw new Error("$async is not supported")
    return (value) => {
      steps.refill(maxSteps)
      try {
        return validate(value) ? undefined : describe(validate.errors)
      } catch (thrown) {
        return thrown instanceof Steps.StepsExhausted
          ? `the check needs more than ${maxSteps} steps; set maxSteps to allow more`
          : `the check failed: ${problemOf(thrown)}`
      } finally {
        // Without this, the errors keep the checked value until the next check.
        validate.errors = null
      }
    }
  }

  const reasonOf = (thrown: unknown): UnsupportedSchemaError.UnsupportedSchemaErrorReason => {
    if (thrown instanceof MissingRefError) return { _tag: "UnresolvedReference", reference: thrown.missingRef }
    if (thrown instanceof Steps.StepsExhausted) {
      return { _tag: "Rejected", problem: `compiling it needs more than ${maxCompilationSteps} steps` }
    }
    return { _tag: "Rejected", problem: problemOf(thrown) }
  }

  return (text: string): Result.Result<Check, UnsupportedSchemaError.UnsupportedSchemaError> => {
    const schema: AnySchemaObject = JSON.parse(text)
    const dialect = dialectOf(schema)
    if (Result.isFailure(dialect)) return Result.fail(UnsupportedSchemaError.make(dialect.failure))
    try {
      const metaschema = metaschemaValidatorOf(dialect.success)
      if (!metaschema.validate(dialect.success.uri, schema)) {
        const problem = `it is no valid schema: ${describe(metaschema.errors)}`
        return Result.fail(UnsupportedSchemaError.make({ _tag: "Rejected", problem }))
      }
      OpenApiKeywords.remove(schema)
      // Compiling the rest spends from the same steps, so that it does not double the cost of a hostile schema.
      const compiling = Steps.make()
      compiling.refill(maxCompilationSteps)
      const unsupported = new Map<string, string>()
      const check = compileBy(dialect.success, schema, { compiling, leftOut: LeftOut.none, text, unsupported })
      // All are left out, and the error names the first one.
      for (const [pattern, problem] of unsupported) {
        const leftOut = LeftOut.of(schema, new Set(unsupported.keys()))
        const rest = compileBy(dialect.success, schema, { compiling, leftOut, text, unsupported: new Map() })
        return Result.fail(UnsupportedSchemaError.make({ _tag: "UnsupportedPattern", pattern, problem }, rest))
      }
      return Result.succeed(check)
    } catch (thrown) {
      return Result.fail(UnsupportedSchemaError.make(reasonOf(thrown)))
    }
  }
}

/** Spends the steps of matching by an engine that does not count them. */
const metered = (pattern: Pattern, steps: Steps.Steps): Pattern => ({
  test: (text) => {
    steps.spend(8 + text.length)
    return pattern.test(text)
  }
})
