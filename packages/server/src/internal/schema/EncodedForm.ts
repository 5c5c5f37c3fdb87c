/** The encoded form of a schema: a schema of the JSON values, with the documentation of what they are decoded as. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Documentation from "./Documentation.ts"
import * as EncodingChain from "./EncodingChain.ts"

/** The annotation with the size of a node: the number of nodes that it has if all parts are written out. */
const sizeKey = "~effect-mcp/size"

/** Returns the size of a node that {@link make} has made. */
export const sizeOf = (ast: SchemaAST.AST): number => {
  const size = SchemaAST.resolve(ast)?.[sizeKey]
  return typeof size === "number" ? size : 1
}

/** Makes a schema of a node. */
const schemaOf = (ast: SchemaAST.AST): Schema.Top => Schema.make<Schema.Top>(ast)

/** The encodings that Effect uses for dates; each decodes every `date-time` of RFC 3339. */
const dateStrings: ReadonlySet<unknown> = new Set(
  [Schema.Date, Schema.DateFromString, Schema.DateTimeUtc, Schema.DateTimeUtcFromString]
    .map((schema) => EncodingChain.end(Schema.toCodecJson(schema).ast).annotations)
    .filter((annotations) => annotations !== undefined)
)

/** The transformation by which `Schema.DateTimeUtc` decodes a string. The string itself has no annotations. */
const dateTransformation = EncodingChain.steps(Schema.toCodecJson(Schema.DateTimeUtc).ast).at(-1)?.link?.transformation

/** Returns whether the last string of a chain is decoded as a date. */
const isDateChain = (chain: ReadonlyArray<EncodingChain.Step>): boolean => {
  const last = chain.at(-1)
  return chain.length > 1 && last !== undefined &&
    (dateStrings.has(last.ast.annotations) || last.link?.transformation === dateTransformation)
}

/** A node that was made, and what it was made of. Two copies of one schema share `parts` and `more`. */
interface Made {
  readonly more: unknown
  readonly annotations: unknown
  readonly checks: unknown
  readonly notes: string
  readonly node: SchemaAST.AST
}

/** Options for the encoded form. */
export interface Options {
  /** Whether strings that are decoded as dates get the format `date-time`, and others what they are decoded as. */
  readonly forInput: boolean
}

/** Removes the values from the annotations of checks: they are of the type that is decoded. */
const withoutValues = (checks: SchemaAST.Checks | undefined): SchemaAST.Checks | undefined => {
  if (checks === undefined) return undefined
  const [first, ...others] = checks.map((check) =>
    check.annotations?.["examples"] === undefined && check.annotations?.["default"] === undefined
      ? check
      : check.annotate({ examples: undefined, default: undefined })
  )
  return first === undefined ? undefined : [first, ...others]
}

/**
 * Returns the encoded form of a schema that `Schema.toCodecJson` returned. It has no encodings, so that
 * `Schema.toJsonSchemaDocument` loses no documentation. Copies of one schema have one form.
 */
export const make = (root: SchemaAST.AST, { forInput }: Options): SchemaAST.AST => {
  const made = new Map<unknown, Array<Made>>()

  /** Returns the two arrays or functions by which copies of a node with parts are known. */
  const identityOf = (ast: SchemaAST.AST): readonly [parts: object, more: unknown] | undefined => {
    switch (ast._tag) {
      case "Objects":
        return [ast.propertySignatures, ast.indexSignatures]
      case "Arrays":
        return [ast.elements, ast.rest]
      case "Union":
        return [ast.types, ast.options]
      case "Suspend":
        return [ast.thunk, undefined]
      default:
        return undefined
    }
  }

  /** Makes a node anew of the forms of its parts. */
  const rebuilt = (ast: SchemaAST.AST): SchemaAST.AST => {
    const annotations = { ...ast.annotations, examples: undefined, default: undefined }
    switch (ast._tag) {
      case "Objects":
        return new SchemaAST.Objects(
          ast.propertySignatures.map(({ name, type }) => new SchemaAST.PropertySignature(name, member(type))),
          ast.indexSignatures.map(({ parameter, type }) => new SchemaAST.IndexSignature(parameter, form(type))),
          annotations,
          withoutValues(ast.checks)
        )
      case "Arrays":
        return new SchemaAST.Arrays(
          ast.isMutable,
          ast.elements.map(member),
          ast.rest.map(form),
          annotations,
          withoutValues(ast.checks)
        )
      case "Union":
        return new SchemaAST.Union(ast.types.map(form), ast.options, annotations, withoutValues(ast.checks))
      case "Suspend":
        return new SchemaAST.Suspend(() => form(ast.thunk()), annotations)
      default:
        return ast
    }
  }

  /** Returns the sum of the sizes of the parts. */
  const sizeOfParts = (ast: SchemaAST.AST): number => {
    const parts = ast._tag === "Objects"
      ? [...ast.propertySignatures, ...ast.indexSignatures].map(({ type }) => type)
      : ast._tag === "Arrays"
      ? [...ast.elements, ...ast.rest]
      : ast._tag === "Union"
      ? ast.types
      : []
    return parts.reduce((sum, part) => Math.min(sum + sizeOf(part), Number.MAX_SAFE_INTEGER), 1)
  }

  /** Returns the form of a schema, without what is said of its key. */
  const form = (ast: SchemaAST.AST): SchemaAST.AST => {
    const chain = EncodingChain.steps(ast)
    const last = EncodingChain.end(ast)
    const isDate = forInput && isDateChain(chain)
    const found = Documentation.ofSchema(chain)
    const expected = last.annotations?.["expected"]
    const documentation = forInput && !isDate && chain.length > 1 && last._tag !== "Declaration" &&
        found.description === undefined && typeof expected === "string"
      ? { ...found, description: expected }
      : found
    const identifier = SchemaAST.resolveIdentifier(last) ??
      chain.map((step) => SchemaAST.resolveIdentifier(step.ast)).find((name) => name !== undefined)
    const notes = {
      ...Documentation.keywords(documentation),
      ...(isDate ? { format: "date-time" } : undefined),
      ...(identifier === undefined ? undefined : { identifier })
    }
    const text = JSON.stringify(notes)
    const [parts, more] = identityOf(last) ?? []
    if (parts === undefined) return annotated(last, text === "{}" ? undefined : notes)

    const known = made.get(parts)?.find((one) =>
      one.more === more && one.annotations === last.annotations && one.checks === last.checks && one.notes === text
    )
    if (known !== undefined) return known.node
    const plain = rebuilt(last)
    const node = plain._tag === "Suspend"
      ? schemaOf(plain).annotate(notes).ast
      : annotated(plain, { ...notes, [sizeKey]: sizeOfParts(plain) })
    const siblings = made.get(parts) ?? []
    siblings.push({ more, annotations: last.annotations, checks: last.checks, notes: text, node })
    made.set(parts, siblings)
    return node
  }

  /**
   * Adds annotations to a node by a check that accepts everything. Annotations of the node itself are not the last
   * word if it has checks, and those of a check without a JSON Schema are left out.
   */
  const annotated = (ast: SchemaAST.AST, notes: Schema.Annotations.Filter | undefined): SchemaAST.AST => {
    if (notes === undefined) return ast
    const check = Schema.makeFilter<unknown>(() => undefined, { ...notes, toJsonSchema: () => ({}) })
    return schemaOf(ast).check(check).ast
  }

  /** Returns the form of a property or an element, with what is said of its key. */
  const member = (ast: SchemaAST.AST): SchemaAST.AST => {
    const documentation = Documentation.keywords(Documentation.ofKey(EncodingChain.steps(ast)))
    const type = schemaOf(form(ast))
    const key = EncodingChain.end(ast).context?.isOptional === true ? Schema.optionalKey(type) : type
    return key.annotateKey(documentation).ast
  }

  return form(root)
}
