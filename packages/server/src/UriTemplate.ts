/**
 * URI templates (RFC 6570): expansion at all four levels, and matching of the forms that servers use.
 *
 * The RFC defines expansion only. A template matches a URI if some values expand to it, apart from the order of a
 * query, equivalent percent-encodings (RFC 3986 section 6.2.2), and reserved characters that could be encoded. No URI
 * has two readings; a template that would give it two is rejected when it is made. These can be matched:
 *
 * - `{x}` and `{x,y}`. A value has any character except those that end its component of the URI, unless they are
 *   encoded: `/`, `?` and `#` in a path, `&` and `#` in a query. Two values of one component need a reserved character
 *   between them, and do not have it: `{a}/{b}` and `{a}:{b}`, not `{a}{b}` or `{a}-{b}`.
 * - `{+x}` and `{#x}` at the end. The value has any character.
 * - `{.x}`, such as a file extension. It may be absent.
 * - `{/x,y*}`, once. The last variables may be absent, and the last one may be a list of segments.
 * - `{?x,y*}`, and `{&x,y*}` after a literal `?`. Each variable may be absent, and the pairs have any order. Only a
 *   fragment can follow them. A pair with another name, or without `=`, does not match.
 *
 * A value is a string or a list. `{x:3}`, `{;x}`, records, and a variable that occurs twice only expand.
 *
 * Two kinds of values are not returned as they were given: an empty list is absent; and `{+x}` copies triplets such as
 * `%20` in a value, which are decoded.
 *
 * @stability unstable
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import type { Simplify } from "effect/Types"
import { trust } from "./internal/trust.ts"
import * as Expansion from "./internal/uri/Expansion.ts"
import * as Matching from "./internal/uri/Matching.ts"
import * as Pattern from "./internal/uri/Pattern.ts"
import * as Precedence from "./internal/uri/Precedence.ts"
import * as Syntax from "./internal/uri/Syntax.ts"
import type * as TemplateType from "./internal/uri/TemplateType.ts"

/**
 * A variable in an expression. `prefix` is the length in `{id:3}`. `optional` states whether it may be absent from a
 * URI that matches.
 *
 * @category models
 */
export interface Variable extends Syntax.Variable {}

/**
 * The shape of the values of a variable. A URI does not show it: `?tag=a` may be a string or a list.
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

/** The value of a variable: of the given shape, or of its default. */
type ValueOf<Template extends string, Name extends string, Given> = Name extends keyof Given
  ? Given[Name] extends "List" ? ReadonlyArray<string> : string
  : Name extends Extract<TemplateType.Occurrences<Template>, { readonly explode: true }>["name"] ? ReadonlyArray<string>
  : string

/**
 * A value of a variable in a URI: a string, or a list of strings.
 *
 * @category models
 */
export type MatchedValue = Matching.MatchedValue

/**
 * The values of the variables of a URI that matches: what the schemas of parameters decode. The variables that may be
 * absent are optional keys.
 *
 * @category models
 */
export type Encoded<Template extends string, Given = {}> = string extends Template
  ? { readonly [name: string]: MatchedValue }
  : Simplify<
    & { readonly [Name in RequiredVariables<Template>]: ValueOf<Template, Name, Given> }
    & {
      readonly [Name in Exclude<Variables<Template>, RequiredVariables<Template>>]?: ValueOf<Template, Name, Given>
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
 * A template as the type of a parameter: the template itself, or the reason why it cannot be matched. The compiler
 * shows the reason as the expected type. It shows the common mistakes; {@link make} finds all of them.
 *
 * @category models
 */
export type Checked<Template extends string> = unknown extends TemplateType.Matchable<Template> ? Template
  : Extract<TemplateType.Matchable<Template>, string>

/**
 * The error of a template that is malformed, or that cannot be matched.
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
 * }) // => "no reserved character, such as \"/\", is between the values of \"owner\" and \"id\""
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
 * A template that expands. It may be one that cannot be matched.
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
  readonly [Precedence.TypeId]: Precedence.Compiled
  /** The shapes of the variables, by name. */
  readonly shapes: { readonly [name: string]: Shape }
  /**
   * Returns the values of the variables, decoded once, or `undefined` if the URI does not match. A URI with more than
   * 8,192 characters, with a malformed triplet, or with octets that are not UTF-8 in a value, does not match.
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
  /** The greatest length of a URI that matches, in characters after percent-encoding. Default and maximum: 8,192. */
  readonly maxUriLength?: number | undefined
}

const variablesOf = (parts: ReadonlyArray<Syntax.Part>): ReadonlyArray<Variable> =>
  parts.flatMap((part) => part._tag === "Expression" ? part.variables : [])

const expanderOf = (template: string, parts: ReadonlyArray<Syntax.Part>): Expander => ({
  template,
  variables: variablesOf(parts),
  expand(values) {
    const found = Expansion.compositePrefix(parts, values)
    if (found === undefined) return Expansion.expand(parts, values)
    const problem = `the variable "${found.variable.name}" has a prefix, and its value is a list or a record`
    const advice = `give it a string, or remove ":${found.variable.prefix}"`
    throw new UriTemplateError({ template, index: found.index, problem, advice })
  }
})

/**
 * Parses a template that expands and matches. Fails with a {@link UriTemplateError} if it is malformed, longer than
 * 1,024 characters, or none that can be matched. A literal template of this kind does not compile.
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
  template: Checked<Template>,
  options?: Options<Given>
): Result.Result<UriTemplate<Template, Given>, UriTemplateError> => {
  const source: string = template
  const made = Result.gen(function*() {
    const parts = yield* Syntax.parse(source)
    const variables = variablesOf(parts)
    const given = new Map<string, Shape>(Object.entries({ ...options?.shapes }))
    const shapes = Object.fromEntries(
      variables.map(({ explode, name }) => [name, given.get(name) ?? (explode ? "List" : "String")])
    )
    const pattern = yield* Pattern.compile(parts, new Map(Object.entries(shapes)), options?.maxUriLength ?? Infinity)
    // The values of a match have the shapes of the variables that the type of the template lists.
    return trust<UriTemplate<Template, Given>>({
      ...expanderOf(source, parts),
      [Precedence.TypeId]: { pattern, rank: Precedence.rankOf(parts), forms: Precedence.formsOf(source) },
      shapes,
      match: (uri: string) => {
        const normalized = Matching.normalize(uri)
        return normalized === undefined ? undefined : Matching.match(pattern, normalized)
      }
    })
  })
  return Result.mapError(made, (problem) => new UriTemplateError({ template: source, ...problem }))
}

/**
 * Parses a template that only expands, such as one of another server. Fails with a {@link UriTemplateError} if it is
 * malformed or longer than 1,024 characters.
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
  Result.mapBoth(Syntax.parse(template), {
    onFailure: (problem) => new UriTemplateError({ template, ...problem }),
    // The values that the type of the template lists are values of an expander of any type.
    onSuccess: (parts) => trust<Expander<Template>>(expanderOf(template, parts))
  })
