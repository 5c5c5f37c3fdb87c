/** The order of templates that match the same URI, and the pairs that have none. */

import * as Order from "effect/Order"
import * as Matching from "./Matching.ts"
import type { Pattern } from "./Pattern.ts"
import * as PercentEncoding from "./PercentEncoding.ts"
import type { Part } from "./Syntax.ts"

/** The figures by which templates are ordered, the most important one first. */
export type Rank = ReadonlyArray<number>

/** The segments of a template: of each one, the texts around its values. */
export type Form = ReadonlyArray<ReadonlyArray<string>>

/** The key of the compiled form of a template. */
export const TypeId = "~effect-mcp/server/UriTemplate"

/** The compiled form of a template. */
export interface Compiled {
  readonly pattern: Pattern
  readonly rank: Rank
  readonly forms: ReadonlyArray<Form>
}

/** A template that is matched. */
export interface Ranked {
  readonly template: string
  readonly [TypeId]: Compiled
}

/** Ranks templates with more literal characters first, in which a triplet counts as one, then those with less else. */
export const rankOf = (parts: ReadonlyArray<Part>): Rank => {
  const literals = parts.map((part) => part._tag === "Literal" ? PercentEncoding.normalized(part.text) : "")
  const variables = parts.flatMap((part) => part._tag === "Expression" ? part.variables : [])
  return [
    -literals.join("").replaceAll(/%../g, "-").length,
    variables.filter(({ operator }) => operator === "+" || operator === "#").length,
    variables.filter(({ explode }) => explode).length,
    variables.length
  ]
}

const byRank: Order.Order<Ranked> = Order.mapInput(
  Order.Array(Order.Number),
  (template: Ranked) => template[TypeId].rank
)

/**
 * Orders templates by precedence: more literal ones first, then those with fewer expressions such as `{+x}`, fewer
 * exploded variables, fewer variables, and at last by their texts.
 */
export const order: Order.Order<Ranked> = Order.combine(
  byRank,
  Order.mapInput(Order.String, ({ template }: Ranked) => template)
)

/**
 * Returns a template without its pairs and its fragment. Of the variables of `{.x}` and `{/x,y}`, the first ones are
 * present, up to a number.
 */
const formOf = (template: string, count: number): string =>
  template.replaceAll(/\{[#?&][^}]*\}/g, "").replaceAll(
    /\{([./])([^}]*)\}/g,
    (_, operator: string, list: string) => `${operator}{}`.repeat(Math.min(count, list.split(",").length))
  )

/** Returns the forms of a template: without the variables that may be absent, with the first of them, and with all. */
export const formsOf = (template: string): ReadonlyArray<Form> =>
  [...new Set([0, 1, Infinity].map((count) => formOf(template, count)))].map((form) =>
    form.replaceAll(/,(?=[^{]*\})/g, "},{").split("/").map((segment) => segment.split(/\{[^}]*\}/))
  )

const longer = (one = "", other = ""): string => one.length < other.length ? other : one

/** Returns a text that two segments may match. */
const sharedText = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): string => {
  const [fixed] = [one, other].find(({ length }) => length === 1) ?? []
  const between = new Set([one, other].map((texts) => texts.slice(1, -1).join("")))
  return fixed ?? longer(one[0], other[0]) + [...between].join("") + longer(one.at(-1), other.at(-1))
}

const matchBoth = (one: Pattern, other: Pattern, uri: string): boolean => {
  const normalized = Matching.normalize(uri)
  return normalized !== undefined && [one, other].every((pattern) => Matching.match(pattern, normalized) !== undefined)
}

/** Returns a URI that both templates match, if neither has precedence but for its text and such a URI is found. */
export const conflict = (one: Ranked, other: Ranked): string | undefined => {
  if (byRank(one, other) !== 0) return undefined
  const [ours, theirs] = [one[TypeId], other[TypeId]]
  const [start, end] = [ours.pattern.prefix, theirs.pattern.prefix].toSorted((a, b) => a.length - b.length)
  if (start === undefined || end?.startsWith(start) !== true) return undefined
  for (const our of ours.forms) {
    for (const their of theirs.forms) {
      if (our.length !== their.length) continue
      const uri = our.map((segment, index) => sharedText(segment, their[index] ?? [])).join("/")
      if (matchBoth(ours.pattern, theirs.pattern, uri)) return uri
    }
  }
  return undefined
}
