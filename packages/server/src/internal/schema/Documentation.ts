/** The documentation of a schema with encodings: title, description, examples and default. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as SchemaParser from "effect/SchemaParser"
import type * as EncodingChain from "./EncodingChain.ts"

/** The documentation as the keywords of JSON Schema. */
export interface Documentation {
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly examples?: ReadonlyArray<Schema.Json> | undefined
  readonly default?: Schema.Json | undefined
}

type Annotations = Schema.Annotations.Annotations

const isJson = Schema.is(Schema.Json)

/** Returns the encoding of an example, or `undefined` if it has none, or none without services. */
const encoded = (ast: SchemaAST.AST, value: unknown): Schema.Json | undefined => {
  const exit = Effect.runSyncExit(
    Effect.suspend(() => SchemaParser.encodeUnknownEffect(Schema.make<Schema.Codec<unknown>>(ast))(value))
  )
  return Exit.isSuccess(exit) && isJson(exit.value) ? exit.value : undefined
}

/** Reads annotations of one schema. Its examples and its default are values of its type, and are encoded by it. */
const read = (ast: SchemaAST.AST, annotations: Annotations): Documentation => {
  const { default: byDefault, description, examples, title } = annotations
  const shown = Array.isArray(examples)
    ? examples.map((example) => encoded(ast, example)).filter((example) => example !== undefined)
    : []
  return {
    title: typeof title === "string" ? title : undefined,
    description: typeof description === "string" ? description : undefined,
    examples: shown.length === 0 ? undefined : shown,
    default: byDefault === undefined ? undefined : encoded(ast, byDefault)
  }
}

/** Prefers the documentation on the left, keyword by keyword. */
const orElse = (left: Documentation, right: Documentation): Documentation => ({
  title: left.title ?? right.title,
  description: left.description ?? right.description,
  examples: left.examples ?? right.examples,
  default: left.default === undefined ? right.default : left.default
})

const none: Documentation = {}

/** Returns the checks of a schema, those in groups included. */
const checksOf = (checks: ReadonlyArray<SchemaAST.Check<never>> | undefined): ReadonlyArray<SchemaAST.Check<never>> =>
  (checks ?? []).flatMap((check) => check._tag === "FilterGroup" ? [check, ...checksOf(check.checks)] : [check])

/** Returns whether a check adds nothing to a JSON Schema, as a predicate or a regular expression. */
const isUnsaid = (check: SchemaAST.Check<never>): boolean => {
  if (check._tag === "FilterGroup") return false
  const toJsonSchema = check.annotations?.toJsonSchema
  if (toJsonSchema === undefined) return true
  try {
    const said = toJsonSchema({ type: undefined, schemas: [] })
    return Array.isArray(said) && Object.keys(said[0]).length === 0
  } catch {
    // A check of a nested schema, whose JSON Schema it needs.
    return false
  }
}

/** Returns what the checks expect that the JSON Schema of the last step does not say. */
const unsaid = (chain: ReadonlyArray<EncodingChain.Step>): string | undefined => {
  const last = checksOf(chain[chain.length - 1]?.ast.checks)
  const said = new Set(last.filter((check) => !isUnsaid(check)).map(({ annotations }) => annotations?.expected))
  const expected = chain.flatMap(({ ast }) => checksOf(ast.checks))
    .filter(({ _tag }) => _tag === "Filter")
    .map(({ annotations }) => annotations?.expected)
    .filter((text) => text !== undefined && !said.has(text))
  return expected.length === 0 ? undefined : [...new Set(expected)].join(" and ")
}

/**
 * Returns the documentation of a schema with its encodings. Effect leaves out what is annotated on a schema with an
 * encoding, such as a date or a class, and on a check without a JSON Schema. The first step that has a keyword decides
 * it. A schema without a description, but with checks that JSON Schema cannot express, is described by what these
 * expect.
 */
export const ofSchema = (chain: readonly [EncodingChain.Step, ...Array<EncodingChain.Step>]): Documentation => {
  const own = chain.flatMap(({ ast }, index) => {
    const checks = checksOf(ast.checks).toReversed().map(({ annotations }) => annotations)
    // The values of a step between are of a type that is neither decoded nor encoded.
    const hasValues = index === 0 || index === chain.length - 1
    return [...checks, ast.annotations].filter((annotations) => annotations !== undefined)
      .map((annotations) =>
        read(ast, hasValues ? annotations : { ...annotations, examples: undefined, default: undefined })
      )
  })
  const found = own.reduce(orElse, none)
  return found.description === undefined ? { ...found, description: unsaid(chain) } : found
}

/** Returns the documentation of a key: what `annotateKey` set on the schema of a property or an element. */
export const ofKey = (chain: readonly [EncodingChain.Step, ...Array<EncodingChain.Step>]): Documentation =>
  chain.map(({ ast }) => ast.context?.annotations === undefined ? none : read(chain[0].ast, ast.context.annotations))
    .reduce(orElse, none)

/** Returns whether there is any documentation. */
export const isEmpty = (documentation: Documentation): boolean =>
  Object.values(documentation).every((value) => value === undefined)

/** Returns the documentation without the keywords that are absent. */
export const keywords = (documentation: Documentation): { readonly [keyword: string]: Schema.Json } =>
  Object.fromEntries(
    Object.entries(documentation).flatMap(([keyword, value]) => value === undefined ? [] : [[keyword, value]])
  )
