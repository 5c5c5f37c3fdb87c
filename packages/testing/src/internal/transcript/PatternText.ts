/** Patterns as text: JSON with `_`, `...` and `$name`. */
import * as Result from "effect/Result"

/** A pattern for a value. `Pattern` of the package documents it. */
export type Pattern =
  | { readonly _tag: "Any" }
  | { readonly _tag: "Name"; readonly name: string }
  | { readonly _tag: "Literal"; readonly value: string | number | boolean | null }
  | {
    readonly _tag: "Object"
    readonly members: ReadonlyArray<readonly [name: string, pattern: Pattern]>
    readonly open: boolean
  }
  | { readonly _tag: "Array"; readonly elements: ReadonlyArray<Pattern>; readonly open: boolean }

/** The error of a text; `column` counts from 1. */
export interface Problem {
  readonly column: number
  readonly expected: string
  readonly found: string
}

/** A message to send is a value, so it has no wildcards. */
export type Kind = "pattern" | "value"

/** Deeper texts are rejected, so that parsing and matching cannot exhaust the stack. */
const depthLimit = 500

const space = /[ \t]*/y
/** `JSON.parse` decides which escapes and characters a text may have. */
const text = /"(?:[^"\\]|\\.)*"/y
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const name = /\$([A-Za-z][A-Za-z0-9_]*)/y
const word = /true|false|null|_/y
/** Enough of the text to show the place of an error. */
const glimpse = /"(?:[^"\\]|\\.)*"?|[\p{L}\p{N}_$.+-]+|./uy

/** Thrown by the reader below, and caught by `parse`. */
class ParseFailure extends Error {
  readonly problem: Problem
  constructor(problem: Problem) {
    super(problem.expected)
    this.problem = problem
  }
}

class Reader {
  private at = 0
  private readonly source: string
  private readonly kind: Kind

  constructor(source: string, kind: Kind) {
    this.source = source
    this.kind = kind
  }

  whole(): Pattern {
    const pattern = this.value(0)
    if (this.at < this.source.length) this.reject("the end of the line")
    return pattern
  }

  private reject(expected: string, at = this.at): never {
    glimpse.lastIndex = at
    const found = glimpse.exec(this.source)?.[0] ?? "the end of the line"
    throw new ParseFailure({ column: at + 1, expected, found })
  }

  /** Reads this expression, if it is next, and the white space after it. */
  private take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at
    const taken = expression.exec(this.source)
    if (taken === null) return undefined
    this.at += taken[0].length
    this.skip()
    return taken
  }

  private takeMark(mark: string): boolean {
    if (!this.source.startsWith(mark, this.at)) return false
    this.at += mark.length
    this.skip()
    return true
  }

  private skip(): void {
    space.lastIndex = this.at
    this.at += space.exec(this.source)?.[0].length ?? 0
  }

  private takeText(): string | undefined {
    const begin = this.at
    const taken = this.take(text)?.[0]
    if (taken === undefined) return undefined
    try {
      return String(JSON.parse(taken))
    } catch {
      return this.reject("a text as JSON has it", begin)
    }
  }

  private value(depth: number): Pattern {
    const begin = this.at
    if (depth > depthLimit) this.reject(`at most ${depthLimit} levels`)
    if (this.takeMark("{")) return this.object(depth)
    if (this.takeMark("[")) return this.array(depth)
    const string = this.takeText()
    if (string !== undefined) return { _tag: "Literal", value: string }
    const digits = this.take(number)?.[0]
    if (digits !== undefined) {
      const value = Number(digits)
      return isFinite(value) ? { _tag: "Literal", value } : this.reject("a number that is finite", begin)
    }
    const bound = this.take(name)?.[1]
    if (bound !== undefined) return { _tag: "Name", name: bound }
    switch (this.take(word)?.[0]) {
      case "true":
        return { _tag: "Literal", value: true }
      case "false":
        return { _tag: "Literal", value: false }
      case "null":
        return { _tag: "Literal", value: null }
      case "_":
        return this.kind === "pattern"
          ? { _tag: "Any" }
          : this.reject("a value without wildcards, because this line sends a message", begin)
      default:
        return this.reject(this.kind === "pattern" ? "a JSON value, _ or $name" : "a JSON value or $name", begin)
    }
  }

  /** Reads `...`, which is the last element. */
  private takeRest(close: string): boolean {
    const begin = this.at
    if (!this.takeMark("...")) return false
    if (this.kind === "value") this.reject("a value without wildcards, because this line sends a message", begin)
    if (!this.takeMark(close)) this.reject(`${close} after ...`)
    return true
  }

  private object(depth: number): Pattern {
    const members: Array<readonly [string, Pattern]> = []
    const known = new Set<string>()
    if (this.takeMark("}")) return { _tag: "Object", members, open: false }
    for (;;) {
      if (this.takeRest("}")) return { _tag: "Object", members, open: true }
      const begin = this.at
      const member = this.takeText()
      if (member === undefined) return this.reject("the name of a member in quotes, or ...")
      if (known.has(member)) this.reject("a member that is not there yet", begin)
      known.add(member)
      if (!this.takeMark(":")) this.reject(":")
      members.push([member, this.value(depth + 1)])
      if (this.takeMark("}")) return { _tag: "Object", members, open: false }
      if (!this.takeMark(",")) this.reject(", or }")
    }
  }

  private array(depth: number): Pattern {
    const elements: Array<Pattern> = []
    if (this.takeMark("]")) return { _tag: "Array", elements, open: false }
    for (;;) {
      if (this.takeRest("]")) return { _tag: "Array", elements, open: true }
      elements.push(this.value(depth + 1))
      if (this.takeMark("]")) return { _tag: "Array", elements, open: false }
      if (!this.takeMark(",")) this.reject(", or ]")
    }
  }
}

/** Parses a pattern from a text that contains nothing else. */
export const parse = (source: string, kind: Kind): Result.Result<Pattern, Problem> => {
  try {
    return Result.succeed(new Reader(source.trimEnd(), kind).whole())
  } catch (thrown) {
    if (thrown instanceof ParseFailure) return Result.fail(thrown.problem)
    throw thrown
  }
}

const enclosed = (open: string, inner: ReadonlyArray<string>, rest: boolean, close: string): string =>
  open + inner.join(",") + (rest ? inner.length > 0 ? ", ..." : "..." : "") + close

/** Prints a pattern so that `parse` returns an equal one. */
export const print = (pattern: Pattern): string => {
  switch (pattern._tag) {
    case "Any":
      return "_"
    case "Name":
      return `$${pattern.name}`
    case "Literal":
      // JSON has a minus zero, and `JSON.stringify` does not write it.
      return Object.is(pattern.value, -0) ? "-0" : JSON.stringify(pattern.value)
    case "Array":
      return enclosed("[", pattern.elements.map(print), pattern.open, "]")
    case "Object":
      return enclosed(
        "{",
        pattern.members.map(([member, inner]) => `${JSON.stringify(member)}:${print(inner)}`),
        pattern.open,
        "}"
      )
  }
}

/** Returns the pattern that matches this value only. */
export const exactly = (value: unknown): Pattern => {
  if (Array.isArray(value)) return { _tag: "Array", elements: value.map(exactly), open: false }
  if (typeof value === "object" && value !== null) {
    return {
      _tag: "Object",
      members: Object.entries(value).map(([name, member]) => [name, exactly(member)]),
      open: false
    }
  }
  return typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && isFinite(value))
    ? { _tag: "Literal", value }
    : { _tag: "Literal", value: null }
}
