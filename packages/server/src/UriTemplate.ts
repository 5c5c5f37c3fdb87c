/**
 * URI templates (RFC 6570): expansion at all four levels, and matching where a template is unambiguous.
 *
 * The RFC defines expansion only. Matching here is its inverse: a URI matches if some values expand to it, apart from
 * the order of a query and equivalent percent-encodings (RFC 3986 section 6.2.2). A template has at most one reading of
 * each URI; a template with two is rejected when it is made. These rules follow:
 *
 * - The value of `{x}` has no reserved character, such as `/`, unless it is percent-encoded. Its text ends at the first
 *   one, so two expressions need a reserved character between them: `{a}/{b}`, not `{a}{b}` or `{a}-{b}`.
 * - The value of `{+x}` or `{#x}` may have any character. Such an expression is the last one, with one variable.
 * - Values may contain a dot, so a label such as `{.format}` has one variable and follows no open value.
 * - `{x}` and `{+x}` are never absent; they may be empty. The variables of the other operators may be absent: each of
 *   `{;x,y}`, `{?x,y}` and `{&x,y}`, and the last ones of `{/x,y}`. An exploded list is never empty.
 * - The pairs of `{?x,y}` and `{&x,y}` match in any order. A pair with another name does not match.
 * - A variable that occurs twice needs the same value, or its prefix, at both places.
 *
 * Three kinds of values are not returned as they were given: a prefix is returned without the rest; an empty list or
 * record, and an undefined one, are absent; and `{+x}` copies triplets such as `%20` in a value, which are decoded.
 */
import * as Data from "effect/Data"
import * as Order from "effect/Order"
import * as Result from "effect/Result"
import type { Simplify } from "effect/Types"
import { trust } from "./internal/trust.ts"
import * as Analysis from "./internal/uri/Analysis.ts"
import * as Expansion from "./internal/uri/Expansion.ts"
import * as Matching from "./internal/uri/Matching.ts"
import * as Pattern from "./internal/uri/Pattern.ts"
import type * as Reader from "./internal/uri/Reader.ts"
import * as Syntax from "./internal/uri/Syntax.ts"
import type * as TemplateType from "./internal/uri/TemplateType.ts"
import * as Tokens from "./internal/uri/Tokens.ts"

/** Identifies URI templates. */
const TypeId = "~effect-mcp/server/UriTemplate"

/**
 * The greatest length of a template, in UTF-16 code units. A longer one is an error.
 *
 * @category constants
 */
export const maxTemplateLength: number = Syntax.maxTemplateLength

/**
 * The greatest length of a URI, in characters after percent-encoding of those outside of ASCII. A longer one does not
 * match.
 *
 * @category constants
 */
export const maxUriLength: number = Matching.maxUriLength

/**
 * The operator of an expression (RFC 6570 section 2.2). A simple expression, such as `{id}`, has none.
 *
 * @category models
 */
export type Operator = Syntax.Operator

/**
 * A variable in an expression. `prefix` is the length in `{id:3}`. `optional` states whether it may be absent from a
 * URI that matches.
 *
 * @category models
 */
export interface Variable extends Syntax.Variable {}

/**
 * The shape of the values of a variable. A URI does not show it: `?tag=a` may be a string, a list or a record.
 *
 * @category models
 */
export type Shape = Pattern.Shape

/**
 * The shapes of variables by name. By default an exploded variable, such as `{?tags*}`, has a list, and another one a
 * string.
 *
 * @category models
 */
export type Shapes<Template extends string> = { readonly [Name in Variables<Template>]?: Shape }

/**
 * The shapes of the variables of any template.
 *
 * @category models
 */
export type AnyShapes = TemplateType.AnyShapes

/**
 * The names of the variables of a template.
 *
 * @category models
 */
export type Variables<Template extends string> = string extends Template ? string
  : TemplateType.Occurrences<Template>["name"]

/** The names of the variables that are never absent from a matching URI. */
type RequiredVariables<Template extends string> = Extract<
  TemplateType.Occurrences<Template>,
  { readonly operator: "" | "+" }
>["name"]

/** The names of exploded variables. */
type ExplodedVariables<Template extends string> = Extract<
  TemplateType.Occurrences<Template>,
  { readonly explode: true }
>["name"]

/** The values of each shape. */
interface ShapeValues {
  readonly String: string
  readonly List: ReadonlyArray<string>
  readonly Record: { readonly [key: string]: string }
}

/** The shape of a variable: the given one, or its default. */
type ShapeOf<Template extends string, Name extends string, Given> = Name extends keyof Given
  ? Given[Name] extends Shape ? Given[Name] : never
  : Name extends ExplodedVariables<Template> ? "List"
  : "String"

/**
 * A value of a variable in a URI: a string, a list or a record of strings.
 *
 * @category models
 */
export type MatchedValue = ShapeValues[Shape]

/**
 * The values of the variables of a URI that matches: what the schemas of parameters decode. The variables that may be
 * absent are optional keys.
 *
 * @category models
 */
export type Encoded<Template extends string, Given = {}> = string extends Template
  ? { readonly [name: string]: MatchedValue }
  : Simplify<
    & { readonly [Name in RequiredVariables<Template>]: ShapeValues[ShapeOf<Template, Name, Given>] }
    & {
      readonly [Name in Exclude<Variables<Template>, RequiredVariables<Template>>]?: ShapeValues[
        ShapeOf<Template, Name, Given>
      ]
    }
  >

/**
 * A value that expands: a string, a list or a record. Its undefined members are left out.
 *
 * @category models
 */
export type Value = Expansion.Value

/**
 * The values that a template expands. The variables that may be absent are optional. For a template that is only known
 * as a `string`, each value is optional.
 *
 * @category models
 */
export type Values<Template extends string> = string extends Template ? Expansion.Values
  : Simplify<
    & { readonly [Name in RequiredVariables<Template>]: Value }
    & { readonly [Name in Exclude<Variables<Template>, RequiredVariables<Template>>]?: Value | undefined }
  >

/**
 * `unknown` if a template can be matched, or a string that states why it cannot. The type shows the common mistakes.
 * {@link make} finds all of them. For a template that is only known as a `string`, it is `unknown`.
 *
 * @category models
 */
export type Matchable<Template extends string, Given = {}> = TemplateType.Matchable<Template, Given>

/**
 * A template as the type of a parameter: the template itself, or the reason why it cannot be matched. The compiler
 * shows the reason as the expected type.
 *
 * @category models
 */
export type Checked<Template extends string, Given = {}> = unknown extends Matchable<Template, Given> ? Template
  : Extract<Matchable<Template, Given>, string>

/**
 * The error of a template that is malformed, or that cannot be matched because it is ambiguous.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 * import * as Result from "effect/Result"
 *
 * const template: string = "tasks://{owner}-{id}"
 *
 * export const message = Result.match(UriTemplate.make(template), {
 *   onSuccess: () => undefined,
 *   onFailure: (error) => error.problem
 * }) // => "the URI \"tasks://--\" has two readings: owner=\"-\", id=\"\", and owner=\"\", id=\"-\""
 * ```
 *
 * @category errors
 */
export class UriTemplateError extends Data.TaggedError("UriTemplateError")<{
  /** The template. */
  readonly template: string
  /** The index of the mistake in the template. */
  readonly index: number
  /** The mistake. */
  readonly problem: string
  /** The correction. */
  readonly advice: string
}> {
  override get message(): string {
    return `URI template ${JSON.stringify(this.template)}, index ${this.index}: ${this.problem}; ${this.advice}`
  }
}

/**
 * The error of two templates that match the same URI, of which neither has precedence.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 *
 * const byId = UriTemplate.makeUnsafe("tasks://{id}")
 * const byName = UriTemplate.makeUnsafe("tasks://{name}")
 *
 * export const templates = UriTemplate.conflict(byId, byName)?.templates // => ["tasks://{id}", "tasks://{name}"]
 * ```
 *
 * @category errors
 */
export class UriTemplateConflict extends Data.TaggedError("UriTemplateConflict")<{
  /** Both templates. */
  readonly templates: readonly [string, string]
  /** A URI that both match, if one was found within the limit of the search. */
  readonly uri: string | undefined
}> {
  override get message(): string {
    const [one, other] = this.templates
    const uri = this.uri === undefined ? "may match the same URI" : `match ${JSON.stringify(this.uri)}`
    return `the URI templates ${JSON.stringify(one)} and ${JSON.stringify(other)} both ${uri}, and neither is more ` +
      "literal; add literal characters to one of them"
  }
}

/** The figures by which templates are ordered. */
interface Rank {
  /** The number of literal characters; a triplet counts as one. */
  readonly literals: number
  /** The number of expressions such as `{+x}` and `{#x}`. */
  readonly reserved: number
  readonly exploded: number
  readonly variables: number
}

/** The insides of a template. */
interface Compiled {
  readonly pattern: Pattern.Pattern
  readonly rank: Rank
}

/**
 * A template that expands. It may be ambiguous.
 *
 * @category models
 */
export interface Expander<Template extends string = string> {
  readonly template: Template
  /** The variables in their order: a name that occurs twice has two entries. */
  readonly variables: ReadonlyArray<Variable>
  /**
   * Expands the template. Throws a {@link UriTemplateError} if a variable with a prefix has a list or a record. A lone
   * surrogate in a value becomes U+FFFD.
   */
  expand(values: Values<Template>): string
}

/**
 * A template that expands and matches.
 *
 * @category models
 */
export interface UriTemplate<Template extends string = string, Given = {}> extends Expander<Template> {
  readonly [TypeId]: Compiled
  /** The shapes of the variables, by name. */
  readonly shapes: { readonly [name: string]: Shape }
  /**
   * Returns the values of the variables, decoded once, or `undefined` if the URI does not match. A URI with a malformed
   * triplet, or with octets that are not UTF-8 in a value, does not match.
   *
   * The number of steps is at most proportional to the length of the template times the length of the URI.
   */
  match(uri: string): Encoded<Template, Given> | undefined
}

/**
 * Options of {@link make}.
 *
 * @category models
 */
export interface Options<Given> {
  /** The shapes of variables that differ from their defaults. */
  readonly shapes?: Given
}

/** The greatest number of instructions of a pattern. */
const maxInstructions = 16_384

const variablesOf = (parts: ReadonlyArray<Syntax.Part>): ReadonlyArray<Syntax.Variable> =>
  parts.flatMap((part) => part._tag === "Expression" ? part.variables : [])

const expanderOf = (template: string, parts: ReadonlyArray<Syntax.Part>): Expander => ({
  template,
  variables: variablesOf(parts),
  expand(values) {
    const found = Expansion.compositePrefix(parts, values)
    if (found !== undefined) {
      throw new UriTemplateError({
        template,
        index: found.index,
        problem: `the variable "${found.variable.name}" has a prefix, and its value is a list or a record`,
        advice: `give it a string, or remove ":${found.variable.prefix}"`
      })
    }
    return Expansion.expand(parts, values)
  }
})

const problem = (
  part: Syntax.Expression,
  problem: string,
  advice: string
): Syntax.Problem => ({ index: part.index, problem, advice })

/** Returns why an expression cannot be matched wherever it is. */
const expressionProblem = (
  part: Syntax.Expression,
  isLast: boolean,
  shapeOf: (name: string) => Shape
): Syntax.Problem | undefined => {
  const { operator, source, variables } = part
  if (Syntax.behaviours[operator].allowReserved) {
    if (!isLast) {
      return problem(
        part,
        `${source} is not the last part, and its value may contain any character`,
        "move it to the end, or use an expression without the operator"
      )
    }
    const [variable, ...others] = variables
    if (others.length > 0 || variable?.explode === true || shapeOf(variable?.name ?? "") !== "String") {
      return problem(
        part,
        `${source} is ambiguous, because its values may contain ","`,
        "give it one variable with a string"
      )
    }
  }
  const prefixed = variables.find(({ name, prefix }) => prefix !== undefined && shapeOf(name) !== "String")
  return prefixed === undefined ? undefined : problem(
    part,
    `the variable "${prefixed.name}" has a prefix here, and is a list or a record`,
    `remove ":${prefixed.prefix}"`
  )
}

/** Formats the values of a reading, for messages. */
const formatReading = (
  uri: string,
  captures: ReadonlyArray<Reader.Capture>,
  shaped: ReadonlyArray<Pattern.Shaped>
): string =>
  captures.length === 0 ? "no variables" : captures.map(({ end, slot, start }) => {
    const name = shaped[slot.variable]?.variable.name ?? ""
    return `${slot.role === "Key" ? `key of ${name}` : name}=${JSON.stringify(uri.slice(start, end))}`
  }).join(", ")

/** Returns the index of the expression whose variable two readings capture differently. */
const indexOfDifference = (
  parts: ReadonlyArray<Syntax.Part>,
  one: ReadonlyArray<Reader.Capture>,
  other: ReadonlyArray<Reader.Capture>
): number => {
  const at = one.findIndex(({ end, slot, start }, index) => {
    const same = other[index]
    return same?.slot.variable !== slot.variable || same.start !== start || same.end !== end
  })
  const variable = one[at]?.slot.variable ?? 0
  return parts.flatMap((part) => part._tag === "Expression" ? part.variables.map(() => part.index) : [])[variable] ?? 0
}

const rankOf = (parts: ReadonlyArray<Syntax.Part>): Rank => {
  const variables = variablesOf(parts)
  return {
    literals: parts.reduce(
      (count, part) => count + (part._tag === "Literal" ? Tokens.tokensOf(part.text).length : 0),
      0
    ),
    reserved:
      parts.filter((part) => part._tag === "Expression" && Syntax.behaviours[part.operator].allowReserved).length,
    exploded: variables.filter(({ explode }) => explode).length,
    variables: variables.length
  }
}

const parse = (template: string): Result.Result<ReadonlyArray<Syntax.Part>, UriTemplateError> =>
  Result.mapError(Syntax.parse(template), (failure) => new UriTemplateError({ template, ...failure }))

/** Compiles the parts of a template, or returns why they cannot be matched. */
const compile = (
  parts: ReadonlyArray<Syntax.Part>,
  shaped: ReadonlyArray<Pattern.Shaped>,
  shapeOf: (name: string) => Shape
): Result.Result<Pattern.Pattern, Syntax.Problem> => {
  for (const [index, part] of parts.entries()) {
    if (part._tag === "Literal") continue
    const found = expressionProblem(part, index === parts.length - 1, shapeOf)
    if (found !== undefined) return Result.fail(found)
  }
  const pattern = Pattern.compile(parts, shaped, maxInstructions)
  const found: Analysis.Found<Analysis.Ambiguity> = pattern === undefined
    ? { _tag: "TooLarge" }
    : Analysis.ambiguity(pattern)
  if (pattern === undefined || found._tag === "TooLarge") {
    return Result.fail({ index: 0, problem: "it is too complex to match", advice: "use fewer variables" })
  }
  if (found._tag === "None") return Result.succeed(pattern)
  const { readings, uri } = found.value
  const [one, other] = readings
  return Result.fail({
    index: indexOfDifference(parts, one, other),
    problem: `the URI ${JSON.stringify(uri)} has two readings: ${formatReading(uri, one, shaped)}, and ${
      formatReading(uri, other, shaped)
    }`,
    advice: "put a reserved character, such as \"/\", between the expressions, or use UriTemplate.expander"
  })
}

/**
 * Parses a template that expands and matches. Fails with a {@link UriTemplateError} if it is malformed, longer than
 * {@link maxTemplateLength}, or ambiguous. A literal template that is ambiguous does not compile.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 * import * as Result from "effect/Result"
 *
 * const task = Result.getOrThrow(UriTemplate.make("tasks://{owner}/{id}{?fields}", { shapes: { fields: "List" } }))
 *
 * export const uri = task.expand({ owner: "ada", id: "a/b" }) // => "tasks://ada/a%2Fb"
 * export const values = task.match("tasks://ada/7?fields=title,due")
 * // => { owner: "ada", id: "7", fields: ["title", "due"] }
 * ```
 *
 * @category constructors
 */
export const make = <const Template extends string, const Given extends Shapes<Template> = {}>(
  template: Checked<Template, Given>,
  options?: Options<Given>
): Result.Result<UriTemplate<Template, Given>, UriTemplateError> => {
  const source: string = template
  return Result.flatMap(parse(source), (parts) => {
    const variables = variablesOf(parts)
    const given = new Map<string, Shape>(Object.entries({ ...options?.shapes }))
    const exploded = new Set(variables.flatMap(({ explode, name }) => explode ? [name] : []))
    const shapeOf = (name: string): Shape => given.get(name) ?? (exploded.has(name) ? "List" : "String")
    const shaped = variables.map((variable) => ({ variable, shape: shapeOf(variable.name) }))
    return Result.mapBoth(compile(parts, shaped, shapeOf), {
      onFailure: (failure) => new UriTemplateError({ template: source, ...failure }),
      onSuccess: (pattern) => {
        const made: UriTemplate = {
          ...expanderOf(source, parts),
          [TypeId]: { pattern, rank: rankOf(parts) },
          shapes: Object.fromEntries(shaped.map(({ shape, variable }) => [variable.name, shape])),
          match: (uri) => Matching.match(pattern, shaped, uri)
        }
        // The values of a match have the shapes of the variables that the type of the template lists.
        return trust<UriTemplate<Template, Given>>(made)
      }
    })
  })
}

/**
 * Parses a template that expands and matches, as {@link make} does. Throws the {@link UriTemplateError}.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 *
 * const file = UriTemplate.makeUnsafe("file://{/path*}")
 *
 * export const path = file.match("file:///notes/2026/May%201.md") // => { path: ["notes", "2026", "May 1.md"] }
 * ```
 *
 * @category constructors
 */
export const makeUnsafe = <const Template extends string, const Given extends Shapes<Template> = {}>(
  template: Checked<Template, Given>,
  options?: Options<Given>
): UriTemplate<Template, Given> => Result.getOrThrow(make<Template, Given>(template, options))

/**
 * Parses a template that only expands: it may be ambiguous. Fails with a {@link UriTemplateError} if it is malformed or
 * longer than {@link maxTemplateLength}.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 * import * as Result from "effect/Result"
 *
 * const template = Result.getOrThrow(UriTemplate.expander("{+base}{/path*}.json"))
 *
 * export const uri = template.expand({ base: "https://example.com", path: ["a", "b c"] })
 * // => "https://example.com/a/b%20c.json"
 * ```
 *
 * @category constructors
 */
export const expander = <const Template extends string>(
  template: Template
): Result.Result<Expander<Template>, UriTemplateError> =>
  // The values that the type of the template lists are values of an expander of any type.
  Result.map(parse(template), (parts) => trust<Expander<Template>>(expanderOf(template, parts)))

const byFigure = (figure: (rank: Rank) => number): Order.Order<UriTemplate> =>
  Order.mapInput(Order.Number, (template: UriTemplate) => figure(template[TypeId].rank))

const byRank: Order.Order<UriTemplate> = Order.combineAll([
  byFigure(({ literals }) => -literals),
  byFigure(({ reserved }) => reserved),
  byFigure(({ exploded }) => exploded),
  byFigure(({ variables }) => variables)
])

/**
 * Orders templates by precedence: more literal ones first. Templates with as many literal characters are ordered by
 * fewer expressions such as `{+x}`, fewer exploded variables, fewer variables, and at last by their texts.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 *
 * const templates = [
 *   UriTemplate.makeUnsafe("tasks://{+path}"),
 *   UriTemplate.makeUnsafe("tasks://{id}"),
 *   UriTemplate.makeUnsafe("tasks://all/{id}")
 * ]
 *
 * export const sorted = templates.toSorted(UriTemplate.precedence).map(({ template }) => template)
 * // => ["tasks://all/{id}", "tasks://{id}", "tasks://{+path}"]
 * ```
 *
 * @category ordering
 */
export const precedence: Order.Order<UriTemplate> = Order.combine(
  byRank,
  Order.mapInput(Order.String, ({ template }: UriTemplate) => template)
)

/**
 * Returns an error if two templates match the same URI and neither has {@link precedence} but for its text. Otherwise,
 * each URI that both match belongs to the first of them in that order.
 *
 * The search ignores the lengths of prefixes, and that a variable occurs twice. Templates that are too complex for it
 * are in conflict if they have the same rank.
 *
 * @example
 * ```ts
 * import { UriTemplate } from "@effect-mcp/server"
 *
 * const byName = UriTemplate.makeUnsafe("/{kind}/b")
 * const byKind = UriTemplate.makeUnsafe("/a/{name}")
 *
 * export const uri = UriTemplate.conflict(byName, byKind)?.uri // => "/a/b"
 * ```
 *
 * @category ordering
 */
export const conflict = (one: UriTemplate, other: UriTemplate): UriTemplateConflict | undefined => {
  if (byRank(one, other) !== 0) return undefined
  const found = Analysis.overlap(one[TypeId].pattern, other[TypeId].pattern)
  return found._tag === "None" ? undefined : new UriTemplateConflict({
    templates: [one.template, other.template],
    uri: found._tag === "Found" ? found.value : undefined
  })
}
