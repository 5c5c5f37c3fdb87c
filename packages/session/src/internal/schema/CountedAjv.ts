import { Ajv } from "ajv"
import { Ajv2019 } from "ajv/dist/2019.js"
import { _, Ajv2020, type KeywordCxt, MissingRefError, Name } from "ajv/dist/2020.js"
import type { AnySchemaObject, ErrorObject } from "ajv/dist/types/index.js"
import * as Result from "effect/Result"
import type { Check, JsonSchema } from "../../JsonSchemaValidator.ts"
import type { UnsupportedSchemaReason } from "../../UnsupportedSchema.ts"
import { DistinctValues } from "./CanonicalJson.ts"
import * as LinearPattern from "./LinearPattern.ts"
import { UnsupportedPattern } from "./PatternSyntax.ts"
import * as Steps from "./Steps.ts"

/** A compiled regular expression. */
interface Pattern {
  readonly test: (text: string) => boolean
}

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

/** The keywords that call the check of a schema elsewhere. */
const referring: ReadonlySet<string> = new Set(["$ref", "$dynamicRef", "$recursiveRef"])

/** The keywords whose value is a table with a schema, or a list of names, for each name. */
const tables: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "dependencies",
  "dependentSchemas",
  "dependentRequired"
])

/** The keywords that apply schemas to the value itself. Each merges what these have evaluated into what it has. */
const inPlace: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", ...referring])

/** The loops that Ajv goes on with after a failure, which therefore have to forget errors themselves. */
const persistent: ReadonlySet<string> = new Set(["contains", "patternProperties"])

/** The steps that a keyword takes for each item, name or eight characters of the value, as measured. */
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

/** The steps that a keyword takes for each of the schemas or names in its own value, as measured. */
const perChild = (keyword: string): number => keyword === "anyOf" || keyword === "oneOf" ? 16 : 4

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** The number of schemas or names that a keyword has in its value. */
const childrenOf = (keyword: string, value: unknown): number => {
  if (Array.isArray(value)) return value.length
  if (!tables.has(keyword) || !isRecord(value)) return 0
  return Object.values(value).reduce((sum: number, entry) => sum + 1 + (Array.isArray(entry) ? entry.length : 0), 0)
}

/** The number of items, of names and their text, or of eights of characters. */
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
  // A table of many names is scattered over the heap, and takes several times as long for each of them.
  return text + (names > 1024 ? 4 * names : names)
}

/** What generated code calls. */
interface Meter {
  /** Takes a fixed number of steps. */
  readonly spend: (steps: number) => void
  /** Takes a fixed number of steps, and so many for each element of the value. */
  readonly measure: (steps: number, each: number, value: unknown) => void
  /** Takes the steps of writing a path to a value that has these names in it. */
  readonly path: (...names: ReadonlyArray<unknown>) => void
}

const meterOf = (steps: Steps.Steps): Meter => ({
  spend: (count) => steps.spend(count),
  measure: (count, each, value) => steps.spend(count + each * sizeOf(value)),
  path: (...names) => steps.spend(names.reduce<number>((sum, name) => sum + (sizeOf(name) >> 1), 0))
})

/** The number of names that a context has found to be evaluated so far. */
const evaluatedIn = ({ props }: KeywordCxt["it"]): number =>
  isRecord(props) && !(props instanceof Name) ? Object.keys(props).length : 0

const errors = new Name("errors")
const errorList = new Name("vErrors")

/** Emits what a keyword spends before it does anything. */
const charge = (context: KeywordCxt, meter: Meter, unevaluated: boolean): void => {
  const { data, gen, it, keyword } = context
  const schema: unknown = context.schema
  const counter = gen.scopeValue("obj", { ref: meter })
  const children = childrenOf(keyword, schema)
  const fixed = 8 + perChild(keyword) * children
  if (referring.has(keyword)) {
    // What was found wrong so far is copied when the check that is called fails.
    gen.code(_`${counter}.spend(${fixed + 24} + (${errors} >> 2))`)
    // The path to the value is written for it, names of any length included.
    const names = it.dataPathArr.filter((step) => typeof step !== "number" && Object.keys(step.names).length > 0)
    if (names.length > 0) gen.code(_`${counter}.path(...${names.reduce((list, name) => _`${list}, ${name}`, _`[`)}])`)
  }
  const loops = keyword === "patternProperties" ? children : 1
  const comparisons = keyword === "unevaluatedProperties" ? evaluatedIn(it) >> 2 : 0
  const each = (perElement[keyword] ?? 0) * loops + comparisons + (unevaluated && inPlace.has(keyword) ? 12 : 0)
  gen.code(each === 0 ? _`${counter}.spend(${fixed})` : _`${counter}.measure(${fixed}, ${each}, ${data})`)
}

/**
 * Keeps errors few. Errors below a keyword that reports only itself are made without content. A loop that goes on after
 * failures keeps the first error; without this, a million items that are not contained were a million errors.
 */
const forgetErrors = (context: KeywordCxt): void => {
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
 * The most names in a list that Ajv joins to one condition, which takes time in proportion to the square of their
 * number.
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

/** Emits nothing; spends what it takes to compile a keyword, about a step for a character of code. */
const chargeCompilation = (context: KeywordCxt, compiling: Steps.Steps): void => {
  const { it, keyword } = context
  const schema: unknown = context.schema
  const joined = joinedIn(context)
  compiling.spend((1 + childrenOf(keyword, schema)) * (64 + it.errSchemaPath.length) + 16 * joined * joined)
  // Each anchor becomes a function of its own, everything in it included.
  if (keyword === "$dynamicAnchor" || keyword === "$recursiveAnchor") compiling.spend(10_000)
  const merge = context.mergeEvaluated.bind(context)
  context.mergeEvaluated = (evaluated, toName) => {
    const { props } = evaluated
    const count = isRecord(props) && !(props instanceof Name) ? Object.keys(props).length : 0
    compiling.spend(64 * (evaluatedIn(it) + count))
    merge(evaluated, toName)
  }
}

/** Lets every keyword of this instance spend, when it is compiled and whenever it is evaluated. */
const count = (ajv: Ajv, meter: Meter, compiling: Steps.Steps, unevaluated: boolean): void => {
  for (const rule of Object.values(ajv.RULES.all)) {
    if (typeof rule !== "object" || !("code" in rule.definition)) continue
    const { definition } = rule
    const { code } = definition
    rule.definition = {
      ...definition,
      code: (context, type) => {
        chargeCompilation(context, compiling)
        charge(context, meter, unevaluated)
        forgetErrors(context)
        code(context, type)
      }
    }
  }
}

/**
 * Replaces the keywords for which Ajv compares values with each other. Every item with every other takes a server's
 * four megabytes of small objects the better part of an hour, and the names of a large object were listed once for each
 * value of an `enum`.
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

/** Ajv tells patterns apart by what they are as strings, which an engine need not know. */
const engineOf = (regExp: (pattern: string) => Pattern) =>
  Object.assign((pattern: string) => {
    const compiled = regExp(pattern)
    return { test: (text: string) => compiled.test(text), toString: () => pattern }
  }, { code: "regExp" })

const withoutScheme = (uri: string): string => uri.replace(/^https?:/, "").replace(/#$/, "")

const dialectOf = ({ $schema }: JsonSchema): Result.Result<Dialect, UnsupportedSchemaReason> => {
  if ($schema === undefined) return Result.succeed(newest)
  if (typeof $schema !== "string") return Result.fail({ _tag: "Rejected", problem: "$schema is no string" })
  const found = dialects.find(({ uri }) => withoutScheme(uri) === withoutScheme($schema))
  return found === undefined
    ? Result.fail({ _tag: "UnknownDialect", dialect: $schema, supported: dialects.map(({ uri }) => uri) })
    : Result.succeed(found)
}

/** The most characters of a problem, and of the path to it, that are shown. */
const shown = 300

const cut = (text: string): string => text.length > shown ? `${text.slice(0, shown)}…` : text

const oneLine = (text: string): string => cut(text).replaceAll(/\s+/g, " ")

/** Says in one line why something was thrown. */
export const problemOf = (thrown: unknown): string => {
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
const describe = (found: ReadonlyArray<ErrorObject> | null | undefined): string => {
  const error = found?.findLast(({ keyword }) => keyword !== "if")
  if (error === undefined) return "it does not fit"
  const path = pathOf(error).map((step) => `[${/^\d+$/.test(step) ? step : JSON.stringify(cut(step))}]`).join("")
  const message = oneLine(error.message ?? error.keyword)
  return path === "" ? message : `${message} at ${oneLine(path)}`
}

/** What a compiler of schemas is made with. */
export interface Settings {
  /** How many steps a check may take. */
  readonly maxSteps: number
  /** How many steps compiling a schema may take. */
  readonly maxCompilationSteps: number
  /** Compiles the patterns instead of `LinearPattern`. */
  readonly regExp: ((pattern: string) => Pattern) | undefined
}

/** Makes checks of schemas, each in an instance of Ajv of its own. */
export const make = ({ maxCompilationSteps, maxSteps, regExp }: Settings) => {
  /** One instance for each dialect, which knows what a schema has to look like. Nothing is ever added to it. */
  const judges = new Map<Dialect, Ajv>()
  const judgeOf = (dialect: Dialect): Ajv => {
    const known = judges.get(dialect)
    if (known !== undefined) return known
    const made = new dialect.Engine({ logger: false, strict: false, validateFormats: false })
    judges.set(dialect, made)
    return made
  }

  /** Ajv compiles a pattern once for each place that uses it. */
  const patternsOf = (steps: Steps.Steps, compiling: Steps.Steps) => {
    const known = new Map<string, Pattern>()
    return (pattern: string): Pattern => {
      const made = known.get(pattern) ??
        (regExp === undefined ? LinearPattern.compile(pattern, steps, compiling) : paidFor(regExp(pattern), steps))
      known.set(pattern, made)
      return made
    }
  }

  const compileBy = (dialect: Dialect, schema: AnySchemaObject, text: string): Check => {
    const steps = Steps.make()
    const compiling = Steps.make()
    compiling.refill(maxCompilationSteps)
    const ajv = new dialect.Engine({
      strict: false,
      validateFormats: false,
      validateSchema: false,
      ownProperties: true,
      // A schema that is referred to twice would be copied twice, and so on at every level.
      inlineRefs: false,
      // Shorter code is not worth three to ten times the time of making it.
      code: { optimize: false, regExp: engineOf(patternsOf(steps, compiling)) },
      logger: false
    })
    const unevaluated = text.includes("\"unevaluated")
    // Without this, every applicator collects what it has evaluated, and no keyword ever asks.
    if (!unevaluated) ajv.opts.unevaluated = false
    compareByText(ajv, steps, compiling)
    count(ajv, meterOf(steps), compiling, unevaluated)
    const validate = ajv.compile(schema)
    if ("$async" in validate) throw new Error("$async is not supported")
    return (value) => {
      steps.refill(maxSteps)
      try {
        return validate(value) ? undefined : describe(validate.errors)
      } catch (thrown) {
        return thrown instanceof Steps.StepsExhausted
          ? `the check was given up after ${maxSteps} steps`
          : `the check failed: ${problemOf(thrown)}`
      } finally {
        // The value that was checked is not kept until the next one comes.
        validate.errors = null
      }
    }
  }

  const reasonOf = (thrown: unknown): UnsupportedSchemaReason => {
    if (thrown instanceof MissingRefError) return { _tag: "UnresolvedReference", reference: thrown.missingRef }
    if (thrown instanceof UnsupportedPattern) {
      return { _tag: "UnsupportedPattern", pattern: thrown.pattern, problem: thrown.problem }
    }
    if (thrown instanceof Steps.StepsExhausted) {
      return { _tag: "Rejected", problem: `compiling it takes more than ${maxCompilationSteps} steps` }
    }
    return { _tag: "Rejected", problem: problemOf(thrown) }
  }

  return (text: string): Result.Result<Check, UnsupportedSchemaReason> => {
    const schema: AnySchemaObject = JSON.parse(text)
    const dialect = dialectOf(schema)
    if (Result.isFailure(dialect)) return Result.fail(dialect.failure)
    try {
      const judge = judgeOf(dialect.success)
      if (!judge.validate(dialect.success.uri, schema)) {
        return Result.fail({ _tag: "Rejected", problem: `it is no schema: ${describe(judge.errors)}` })
      }
      return Result.succeed(compileBy(dialect.success, schema, text))
    } catch (thrown) {
      return Result.fail(reasonOf(thrown))
    }
  }
}

const paidFor = (pattern: Pattern, steps: Steps.Steps): Pattern => ({
  test: (text) => {
    steps.spend(8 + text.length)
    return pattern.test(text)
  }
})
