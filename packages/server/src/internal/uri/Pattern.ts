/**
 * The regular expression that matches the URIs of a template.
 *
 * The value of `{x}` ends where its component of the URI ends, such as a segment of the path. Between two values of one
 * component is literal text with a reserved character, which neither of the two has, unless it is encoded. Each value
 * therefore ends at one place, and the expression takes linear time: another end is rejected by the next character.
 */
import * as Result from "effect/Result"
import * as PercentEncoding from "./PercentEncoding.ts"
import type { Expression, Operator, Part, Problem } from "./Syntax.ts"

/** The shape of the value of a variable. */
export type Shape = "String" | "List"

/** A variable whose value has this shape. */
export interface Slot {
  readonly name: string
  /** The name as the pairs of a URI have it, normalized. */
  readonly key: string
  readonly shape: Shape
  /** Whether each item of a list is a segment, or a pair of the query. */
  readonly explode: boolean
}

/** A group of the expression: the value of a variable, the segments of a list, or the pairs of a query. */
export interface Group {
  readonly _tag: "Value" | "Segments" | "Pairs"
  readonly slots: Array<Slot>
}

/** A template that can be matched. */
export interface Pattern {
  readonly expression: RegExp
  readonly groups: ReadonlyArray<Group>
  /** The names of the variables, in their order. */
  readonly names: ReadonlyArray<string>
  /** The literal text that each matching URI starts with, normalized. */
  readonly prefix: string
  /** The greatest length of a URI that matches, in characters after percent-encoding. */
  readonly maxUriLength: number
}

/** A value of one component. */
interface Value {
  readonly operator: Operator
  readonly slot: Slot
  /** The characters that end it. */
  ends: string
}

/** The characters that end the components of a path, a query and a fragment. */
const delimiters = { path: "/?#", query: "&#", fragment: "" }

const forms = "{x}; {+x} or {#x} at the end; {.x}; {/x,y*}; {?x,y*} and {&x,y*}; with strings or lists"

const escape = (text: string): string => text.replaceAll(/\W/g, "\\$&")

const sourceOf = ({ ends, operator }: Value): string => {
  if (operator === "+") return "(.*)"
  if (operator === "#") return "(?:#(.*))?"
  const value = `([^${escape(ends)}]*)`
  return operator === "." ? `(?:\\.${value})?` : value
}

/** Compiles the parts of a template, or returns why they cannot be matched. */
export const compile = (
  parts: ReadonlyArray<Part>,
  shapes: ReadonlyMap<string, Shape>,
  maxUriLength: number
): Result.Result<Pattern, Problem> => {
  const pieces: Array<string | Value> = []
  const groups: Array<Group> = []
  const names: Array<string> = []
  const keys = new Set<string>()
  let level: keyof typeof delimiters = "path"
  /** The last value of the component that is being read, and the text after it. */
  let open: Value | undefined
  let between = ""
  /** The expressions of segments and of pairs. */
  let segments: Expression | undefined
  let pairs: Expression | undefined

  const read = (text: string): void => {
    for (const character of text) {
      between += character
      if (!delimiters[level].includes(character)) continue
      if (character === "#") pairs = undefined
      level = character === "#" ? "fragment" : character === "?" ? "query" : level
      open = undefined
      between = ""
    }
  }

  const addValue = (operator: Operator, slot: Slot): string | undefined => {
    const value = { operator, slot, ends: delimiters[level] }
    if (open !== undefined) {
      // The items of a list have commas between them.
      const reserved = [open.slot, slot].some(({ shape }) => shape === "List") ? /[^\w\-.~%,]/g : /[^\w\-.~%]/g
      const separators = between.match(reserved)?.join("") ?? ""
      if (separators === "" || open.operator === "/") {
        return `no reserved character, such as "/", is between the values of "${open.slot.name}" and "${slot.name}"`
      }
      open.ends += separators
      value.ends += separators
    }
    open = value
    between = ""
    pieces.push(value)
    groups.push({ _tag: "Value", slots: [slot] })
    return undefined
  }

  const addSegments = (part: Expression, slots: ReadonlyArray<Slot>): string | undefined => {
    if (level !== "path") return `${part.source} is not in the path`
    if (segments !== undefined) return `${segments.source} and ${part.source} may both be absent`
    if (slots.slice(0, -1).some(({ explode }) => explode)) return `the list in ${part.source} is not its last variable`
    segments = part
    for (const slot of slots) {
      read("/")
      open = { operator: "/", slot, ends: "" }
      pieces.push(slot.explode ? "((?:\\/[^/?#]*)*)" : "(?:\\/([^/?#]*)")
      groups.push({ _tag: slot.explode ? "Segments" : "Value", slots: [slot] })
    }
    pieces.push(")?".repeat(slots.filter(({ explode }) => !explode).length))
    return undefined
  }

  const addPairs = (part: Expression, slots: ReadonlyArray<Slot>): string | undefined => {
    if (level !== (part.operator === "?" ? "path" : "query")) {
      return `${part.source} does not continue what is before it`
    }
    if (pairs?.operator === "?") {
      const merged = `${pairs.source.slice(0, -1)},${part.source.slice(2)}`
      return `${pairs.source} may be absent before ${part.source}: write ${merged}`
    }
    const group = pairs === undefined ? undefined : groups.at(-1)
    if (group === undefined) {
      // A query may be empty. A further pair is not.
      pieces.push(part.operator === "?" ? "(?:\\?([^#]*))?" : "(?:&([^#]+))?")
      groups.push({ _tag: "Pairs", slots: [...slots] })
    } else group.slots.push(...slots)
    read(part.operator)
    pairs = part
    return undefined
  }

  const addExpression = (part: Expression): string | undefined => {
    const { operator, source, variables } = part
    const slots: Array<Slot> = []
    for (const { explode, name, prefix } of variables) {
      if (operator === ";" || prefix !== undefined) return `${source} cannot be matched`
      const key = PercentEncoding.normalized(name) ?? name
      if (keys.has(key)) return `the variable "${key}" occurs twice`
      keys.add(key)
      const shape = shapes.get(name) ?? "String"
      names.push(name)
      const isSplit = explode && shape === "List" && operator !== ""
      slots.push({ name, key, shape, explode: isSplit })
    }
    if (operator === "?" || operator === "&") return addPairs(part, slots)
    if (pairs !== undefined && operator !== "#") return `${source} follows ${pairs.source}`
    if (operator === "/") return addSegments(part, slots)
    const isAny = operator === "+" || operator === "#"
    if (isAny && part !== parts.at(-1)) return `${source} is not the last part, and its value may contain any character`
    if (operator !== "" && (slots.length > 1 || slots[0]?.shape === "List")) {
      return `${source} has several values, which may contain its separator`
    }
    if (operator === "+" && segments !== undefined && level === "path") {
      return `${segments.source} may be absent before ${source}`
    }
    for (const [index, slot] of slots.entries()) {
      read(index > 0 ? "," : operator === "+" ? "" : operator)
      if (index > 0) pieces.push(",")
      const problem = addValue(operator, slot)
      if (problem !== undefined) return problem
    }
    return undefined
  }

  for (const part of parts) {
    const text = part._tag === "Literal" ? PercentEncoding.normalized(part.text) ?? "" : ""
    const problem = part._tag === "Expression"
      ? addExpression(part)
      : pairs === undefined || text.startsWith("#")
      ? undefined
      : `text follows ${pairs.source}`
    if (problem !== undefined) {
      return Result.fail({ index: part.index, problem, advice: `these forms can be matched: ${forms}` })
    }
    read(text)
    pieces.push(escape(text))
  }
  const source = pieces.map((piece) => typeof piece === "string" ? piece : sourceOf(piece)).join("")
  const [first] = parts
  const prefix = first?._tag === "Literal" ? PercentEncoding.normalized(first.text) ?? "" : ""
  return Result.succeed({ expression: new RegExp(`^${source}$`), groups, names, prefix, maxUriLength })
}
