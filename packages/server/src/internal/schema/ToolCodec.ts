/** The codecs of a tool: its parameters and its success, each with the JSON Schema that it keeps. */
import type { Tool } from "@effect-mcp/protocol"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import type * as SchemaIssue from "effect/SchemaIssue"
import * as SchemaParser from "effect/SchemaParser"
import { trust } from "../trust.ts"
import * as EncodingChain from "./EncodingChain.ts"
import { isObject, type JsonSchema, pick } from "./JsonSchemaKeywords.ts"
import * as Misfit from "./Misfit.ts"
import { SchemaRejected } from "./SchemaRejected.ts"
import * as ToolJsonSchema from "./ToolJsonSchema.ts"

/** The parameters of a tool. */
export interface Input<out A, out R> {
  readonly jsonSchema: Tool.ObjectSchema
  /**
   * Decodes arguments. Returns an `Exit`, which needs no fiber, if the schema has no services and its transformations
   * are synchronous. Some schemas of Effect, such as `Schema.BigInt`, always need one.
   */
  readonly decode: (value: unknown) => Effect.Effect<A, Misfit.Misfit, R>
}

/** The success of a tool. */
export interface Output<in A, out R> {
  /** The JSON Schema; `undefined` if it accepts every JSON value, or only null, so that it describes nothing. */
  readonly jsonSchema: Tool.OutputSchema | undefined
  /** Whether each result is an object. Revisions before 2026-07-28 have no other structured content. */
  readonly isObject: boolean
  /** Whether each result is encoded as a string. */
  readonly isText: boolean
  /** Encodes a result to JSON that the JSON Schema accepts. Returns an `Exit` as the decoding of arguments does. */
  readonly encode: (value: A) => Effect.Effect<Schema.Json, Misfit.Misfit, R>
}

/** Options for the parameters of a tool. */
export interface InputOptions {
  /** The use of the schema in errors, such as `the parameters of the tool "add"`. */
  readonly subject: string
  /**
   * The treatment of arguments that the schema does not have. By default they are ignored, as Effect ignores them. With
   * `"error"`, the JSON Schema forbids them, and a call with one fails. Only then does a model learn that it misspelt
   * an optional argument.
   */
  readonly onExcessProperty?: "ignore" | "error"
  /**
   * Whether the schema becomes a part of a tool's schema. A part keeps its alternatives, which the root of a tool's
   * schema must not have. Default: `false`.
   */
  readonly isPart?: boolean
}

type Parse<A, R> = (
  value: unknown,
  options: SchemaAST.ParseOptions
) => Effect.Effect<A, SchemaIssue.Issue, R>

/** The number of values up to which all issues of a value are searched for. */
const maxValues = 1000

/** Returns whether a value has at most {@link maxValues} values in it. */
const isSmall = (value: unknown): boolean => {
  const open = [value]
  for (let count = 0; open.length > 0; count++) {
    if (count + open.length > maxValues) return false
    const next = open.pop()
    if (typeof next !== "object" || next === null) continue
    if (Array.isArray(next) && next.length > maxValues) return false
    for (const key in next) {
      if (open.push(Reflect.get(next, key)) > maxValues) return false
    }
  }
  return true
}

/** Returns the effect if it is an exit that succeeded. */
const succeeded = <A, E, R>(effect: Effect.Effect<A, E, R>): Exit.Success<A> | undefined =>
  // An exit that is an effect of this type has its success.
  Exit.isExit(effect) && Exit.isSuccess(effect) ? trust<Exit.Success<A>>(effect) : undefined

/** Returns the misfit of a value that exhausts the stack, and a defect for any other exception. */
const fromException = (thrown: unknown, root: string): Exit.Exit<never, Misfit.Misfit> =>
  thrown instanceof RangeError && thrown.message.includes("call stack")
    ? Exit.fail(Misfit.ofProblem(`${root}: nested too deeply`))
    : Exit.die(thrown)

/**
 * Returns a function that parses a value and words its issues. Without the first pass, which ends at the first issue, a
 * large array of misfits from a peer would create an issue for each of its elements.
 */
const parsing = <A, R>(
  parse: Parse<A, R>,
  root: string,
  onExcessProperty: "ignore" | "error"
): (value: unknown) => Effect.Effect<A, Misfit.Misfit, R> => {
  const first: SchemaAST.ParseOptions = { errors: "first", onExcessProperty }
  const all: SchemaAST.ParseOptions = { errors: "all", onExcessProperty }

  type Issue = SchemaIssue.Issue | Misfit.Misfit
  const contained = (value: unknown, options: SchemaAST.ParseOptions): Effect.Effect<A, Issue, R> => {
    try {
      return parse(value, options)
    } catch (thrown) {
      return fromException(thrown, root)
    }
  }
  const worded = (value: unknown) => (issue: Issue): Misfit.Misfit => {
    if (issue._tag === "Misfit") return issue
    try {
      return Misfit.ofIssue(issue, value, root)
    } catch {
      // Issues are nested as deeply as the value.
      return Misfit.ofProblem(`${root}: does not fit the schema`)
    }
  }
  const failing = (value: unknown, parsed: Effect.Effect<A, Issue, R>): Effect.Effect<A, Misfit.Misfit, R> =>
    parsed.pipe(
      Effect.catch((issue) => issue._tag !== "Misfit" && isSmall(value) ? contained(value, all) : Effect.fail(issue)),
      Effect.mapError(worded(value)),
      Effect.catchDefect((thrown) => fromException(thrown, root))
    )

  return (value) => {
    const parsed = contained(value, first)
    return succeeded(parsed) ?? failing(value, parsed)
  }
}

/** Derives the JSON codec of a schema. Fails for a schema that has none, such as a struct with a symbol as a key. */
const codecOf = <S extends Schema.Constraint>(
  schema: S,
  subject: string
): Result.Result<Schema.toCodecJson<S>, SchemaRejected> =>
  Result.try({
    try: () => Schema.toCodecJson(schema),
    catch: (thrown) => new SchemaRejected({ subject, path: "", problem: `it has no JSON codec: ${String(thrown)}` })
  })

/** Prepares the parameters of a tool. Fails for a schema that is not suitable, or describes no object. */
export const input = <S extends Schema.Constraint>(
  schema: S,
  { isPart = false, onExcessProperty = "ignore", subject }: InputOptions
): Result.Result<Input<S["Type"], S["DecodingServices"]>, SchemaRejected> =>
  Result.gen(function*() {
    const codec = yield* codecOf(schema, subject)
    const described = yield* ToolJsonSchema.describe(codec, {
      subject,
      forInput: true,
      forModel: !isPart,
      onExcessProperty
    })
    if (!described.isObject) {
      const problem =
        "arguments are an object, and this schema accepts other values; use Schema.Struct, Schema.Class, " +
        "Schema.Record, or a union of these"
      return yield* Result.fail(new SchemaRejected({ subject, path: "", problem }))
    }
    const decode = parsing<S["Type"], S["DecodingServices"]>(
      SchemaParser.decodeUnknownEffect(codec),
      "the arguments",
      onExcessProperty
    )
    const notObject = Exit.fail(Misfit.ofProblem("the arguments: Expected an object"))
    return {
      // The root of a schema of objects has their type.
      jsonSchema: trust<Tool.ObjectSchema>(described.jsonSchema),
      decode: (value) => isObject(value) ? decode(value) : notObject
    }
  })

const isJson = Schema.is(Schema.Json)

/** Returns whether a schema encodes each of its values as a string. */
const isOfStrings = (ast: SchemaAST.AST): boolean => {
  const last = EncodingChain.end(ast)
  switch (last._tag) {
    case "String":
    case "TemplateLiteral":
      return true
    case "Literal":
      return typeof last.literal === "string"
    case "Union":
      return last.types.every(isOfStrings)
    default:
      return false
  }
}

/** Returns whether a schema accepts every value, or only null. */
const describesNothing = (schema: JsonSchema): boolean => {
  const { type, ...others } = pick(schema, false)
  return Object.keys(others).length === 0 && (type === undefined || type === "null")
}

/** Prepares the success of a tool. Fails for a schema that is not suitable. */
export const output = <S extends Schema.Constraint>(
  schema: S,
  { subject }: { readonly subject: string }
): Result.Result<Output<S["Type"], S["EncodingServices"]>, SchemaRejected> =>
  Result.gen(function*() {
    const codec = yield* codecOf(schema, subject)
    const { hasAny, isObject: isOfObjects, jsonSchema } = yield* ToolJsonSchema.describe(codec, {
      subject,
      forInput: false,
      forModel: false,
      onExcessProperty: "ignore"
    })
    const encode = parsing<Schema.Json, S["EncodingServices"]>(
      SchemaParser.encodeUnknownEffect(codec),
      "the result",
      "ignore"
    )
    const checked = (json: Schema.Json): Exit.Exit<Schema.Json, Misfit.Misfit> =>
      isOfObjects && !isObject(json)
        ? Exit.fail(Misfit.ofProblem("the result: Expected an object"))
        : hasAny && !isJson(json)
        ? Exit.fail(Misfit.ofProblem("the result: Expected JSON, but a part of Schema.Any is something else"))
        : Exit.succeed(json)
    return {
      jsonSchema: describesNothing(jsonSchema) ? undefined : jsonSchema,
      isObject: isOfObjects,
      isText: isOfStrings(codec.ast),
      encode: (value) => {
        const encoded = encode(value)
        const done = succeeded(encoded)
        return done === undefined ? Effect.flatMap(encoded, checked) : checked(done.value)
      }
    }
  })
