/** The search for parts of a schema that must not be in the schema of a tool. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import type * as SchemaAST from "effect/SchemaAST"
import * as EncodingChain from "./EncodingChain.ts"
import * as PropertyPath from "./PropertyPath.ts"
import { SchemaRejected } from "./SchemaRejected.ts"

/** Facts about a schema that is suitable. */
export interface Findings {
  /** Whether some part is `Schema.Any`, whose encoding is not checked to be JSON. */
  readonly hasAny: boolean
}

/** The greatest number of nodes of a schema. A schema that creates itself anew in each `suspend` never ends. */
export const maxNodes = 20_000

/** The greatest depth of a schema, not counting repetitions of a recursive one. */
export const maxDepth = 400

const representationId = (ast: SchemaAST.AST): string | undefined => {
  const representation = ast.annotations?.["representation"]
  if (typeof representation !== "object" || representation === null || !("id" in representation)) return undefined
  return typeof representation.id === "string" ? representation.id : undefined
}

const jsonIds: ReadonlySet<string | undefined> = new Set(["effect/schema/Json", "effect/schema/MutableJson"])

/** The transformation by which Effect encodes a declaration without a codec: as whatever it is. */
const fallback = EncodingChain.steps(Schema.toCodecJson(Schema.Unknown).ast)[1]?.link?.transformation

const secret =
  "a Redacted is encoded as the plain secret, which the client, its model and their logs would see; leave it out of " +
  "the schema, or use a schema of what they may see. To receive a secret from the user, use elicitation by URL"

const opaque = (ast: SchemaAST.AST): string => {
  const expected = ast.annotations?.["expected"]
  const name = typeof expected === "string" ? ` (${expected})` : ""
  return `this declaration${name} has no JSON codec, so its JSON Schema would accept every value; annotate it with ` +
    "`toCodecJson`, encode it to a schema with `Schema.encodeTo`, or use Schema.Json where any JSON is meant"
}

/** Returns whether a schema, or one of its encodings, is a `Redacted`. */
const isSecret = (chain: ReadonlyArray<EncodingChain.Step>): boolean =>
  chain.some(({ ast }) => representationId(ast) === "effect/schema/Redacted")

/**
 * Returns the declaration without a codec that these steps encode, if they do. A declaration without a codec, such as
 * `Schema.instanceOf`, is told from `Schema.Unknown`, `Schema.Json` and `Schema.Any`, which accept everything on
 * purpose, by the step before the last one.
 */
const opaqueIn = (chain: ReadonlyArray<EncodingChain.Step>): SchemaAST.AST | undefined => {
  const last = chain[chain.length - 1]
  if (last?.ast._tag !== "Declaration") return undefined
  if (!jsonIds.has(representationId(last.ast))) return last.ast
  const before = chain[chain.length - 2]?.ast
  return before?._tag === "Declaration" && last.link?.transformation === fallback &&
      !["toCodecJson", "toCodec"].some((key) => typeof before.annotations?.[key] === "function")
    ? before
    : undefined
}

type Child = readonly [ast: SchemaAST.AST, key?: string]

/** Returns the parts of one node, each with the key that leads to it. */
const childrenOf = (ast: SchemaAST.AST): ReadonlyArray<Child> => {
  switch (ast._tag) {
    case "Declaration":
      return ast.typeParameters.map((parameter): Child => [parameter])
    case "Objects":
      return [
        ...ast.propertySignatures.map(({ name, type }): Child => [type, String(name)]),
        ...ast.indexSignatures.map(({ type }): Child => [type, PropertyPath.each])
      ]
    case "Arrays":
      return [...ast.elements, ...ast.rest].map((element): Child => [element, PropertyPath.each])
    case "Union":
      return ast.types.map((type): Child => [type])
    case "Suspend":
      return [[ast.thunk()]]
    default:
      return []
  }
}

interface Place {
  readonly ast: SchemaAST.AST
  readonly path: ReadonlyArray<string>
  /** Whether it is a part of the last encoding, which has a JSON codec, or of a schema before it, which has none. */
  readonly isEncoded: boolean
}

/**
 * Searches a schema that `Schema.toCodecJson` returned. Visits each node once, so that recursive schemas end. Fails for
 * the first `Redacted`, for the first declaration that accepts every value by accident, and for too large a schema.
 */
export const search = (root: SchemaAST.AST, subject: string): Result.Result<Findings, SchemaRejected> => {
  const seen = { encoded: new Set<SchemaAST.AST>(), others: new Set<SchemaAST.AST>() }
  const open: Array<Place> = [{ ast: root, path: [], isEncoded: true }]
  const rejected = (path: ReadonlyArray<string>, problem: string) =>
    Result.fail(new SchemaRejected({ subject, path: PropertyPath.format(path), problem }))
  let hasAny = false
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { ast, isEncoded, path } = next
    const visited = isEncoded ? seen.encoded : seen.others
    if (visited.has(ast)) continue
    visited.add(ast)
    const chain = EncodingChain.steps(ast)
    if (isSecret(chain)) return rejected(path, secret)
    const without = isEncoded ? opaqueIn(chain) : undefined
    if (without !== undefined) return rejected(path, opaque(without))
    if (seen.encoded.size + seen.others.size + open.length > maxNodes || path.length > maxDepth) {
      return rejected(
        path.slice(0, 4),
        `this schema has more than ${maxNodes} parts, or is deeper than ${maxDepth}; create a recursive schema once, ` +
          "outside of Schema.suspend"
      )
    }
    for (const [index, step] of chain.entries()) {
      const isLast = index === chain.length - 1
      if (isEncoded && isLast && step.ast._tag === "Any") hasAny = true
      // Reversed, because the last one is taken first.
      for (const [child, key] of childrenOf(step.ast).toReversed()) {
        open.push({ ast: child, path: key === undefined ? path : [...path, key], isEncoded: isEncoded && isLast })
      }
    }
  }
  return Result.succeed({ hasAny })
}
