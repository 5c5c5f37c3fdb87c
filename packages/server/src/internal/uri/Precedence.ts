/** The order of templates that match the same URI, and the pairs that have none. */

import * as Order from "effect/Order"
import type { Pattern } from "./Pattern.ts"
import * as PercentEncoding from "./PercentEncoding.ts"
import type { Part } from "./Syntax.ts"

/** The figures by which templates are ordered, the most important one first. */
export type Rank = ReadonlyArray<number>

/** The key of the compiled form of a template. */
export const TypeId = "~effect-mcp/server/UriTemplate"

/** The compiled form of a template. */
export interface Compiled {
  readonly pattern: Pattern
  readonly rank: Rank
}

/** A template that is matched. */
export interface Ranked {
  readonly template: string
  readonly [TypeId]: Compiled
  match(uri: string): object | undefined
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

/** Returns the segments of a template as the texts around its values, without the expressions that may be absent. */
const segmentsOf = (template: string): ReadonlyArray<ReadonlyArray<string>> =>
  template.replaceAll(/\{[#./?&][^}]*\}/g, "").replaceAll(/,(?=[^{]*\})/g, "},{").split("/")
    .map((segment) => segment.split(/\{[^}]*\}/))

const longer = (one = "", other = ""): string => one.length < other.length ? other : one

/** Returns a text that two segments may match. */
const sharedText = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): string => {
  const [fixed] = [one, other].find(({ length }) => length === 1) ?? []
  const between = new Set([one, other].map((texts) => texts.slice(1, -1).join("")))
  return fixed ?? longer(one[0], other[0]) + [...between].join("") + longer(one.at(-1), other.at(-1))
}

/** Returns a URI that both templates match, if neither has precedence but for its text and such a URI is found. */
export const conflict = (one: Ranked, other: Ranked): string | undefined => {
  const [ours, theirs] = [segmentsOf(one.template), segmentsOf(other.template)]
  if (byRank(one, other) !== 0 || ours.length !== theirs.length) return undefined
  const uri = ours.map((segment, index) => sharedText(segment, theirs[index] ?? [])).join("/")
  return one.match(uri) === undefined || other.match(uri) === undefined ? undefined : uri
}
