/** A parser of the regular expressions of ECMA-262. */

import * as Result from "effect/Result"
import * as CharacterSet from "./CharacterSet.ts"

/** A regular expression of ECMA-262 without backreferences, which make matching exponential. */
export type Expression =
  | { readonly _tag: "Character"; readonly set: CharacterSet.CharacterSet }
  | { readonly _tag: "Sequence"; readonly parts: ReadonlyArray<Expression> }
  | { readonly _tag: "Disjunction"; readonly alternatives: ReadonlyArray<Expression> }
  | { readonly _tag: "Repeat"; readonly body: Expression; readonly min: number; readonly max: number }
  | { readonly _tag: "Assertion"; readonly assertion: "Start" | "End" | "WordBoundary" | "NoWordBoundary" }
  | { readonly _tag: "Lookaround"; readonly ahead: boolean; readonly negated: boolean; readonly body: Expression }

/** The error of a valid pattern with a construct that this parser does not support. `problem` names it. */
export class UnsupportedPattern extends Error {
  readonly pattern: string
  readonly problem: string
  constructor(pattern: string, problem: string) {
    super(`${problem} is not supported in a pattern`)
    this.pattern = pattern
    this.problem = problem
  }
}

const groups: ReadonlyArray<readonly [opening: string, look: { ahead: boolean; negated: boolean } | undefined]> = [
  ["(?:", undefined],
  ["(?=", { ahead: true, negated: false }],
  ["(?!", { ahead: true, negated: true }],
  ["(?<=", { ahead: false, negated: false }],
  ["(?<!", { ahead: false, negated: true }]
]

const controls: Readonly<Record<string, number>> = { t: 0x09, n: 0x0a, v: 0x0b, f: 0x0c, r: 0x0d }

const noProperties: ReadonlyArray<RegExp> = []

const dot = CharacterSet.make({ ranges: CharacterSet.lineTerminators, properties: [] }, true)

/** The meaning of an escape or of a member of a class: one character, or a set. */
type Member = { readonly _tag: "One"; readonly code: number } | {
  readonly _tag: "Many"
  readonly parts: CharacterSet.Parts
}

const one = (code: number): Member => ({ _tag: "One", code })

const many = (ranges: ReadonlyArray<CharacterSet.Range>): Member => ({
  _tag: "Many",
  parts: { ranges, properties: noProperties }
})

const named: Readonly<Record<string, Member>> = {
  d: many(CharacterSet.digits),
  D: many(CharacterSet.complement(CharacterSet.digits)),
  s: many(CharacterSet.whiteSpace),
  S: many(CharacterSet.complement(CharacterSet.whiteSpace)),
  w: many(CharacterSet.wordCharacters),
  W: many(CharacterSet.complement(CharacterSet.wordCharacters))
}

const partsOf = (member: Member): CharacterSet.Parts =>
  member._tag === "Many" ? member.parts : { ranges: [[member.code, member.code]], properties: noProperties }

const setOf = (member: Member): CharacterSet.CharacterSet =>
  member._tag === "Many" ? CharacterSet.make(member.parts) : CharacterSet.only(member.code)

/** A parser of one pattern. JavaScript has already checked its syntax, so that the parser does not. */
class PatternParser {
  readonly pattern: string
  readonly unicode: boolean
  at = 0

  constructor(pattern: string, unicode: boolean) {
    this.pattern = pattern
    this.unicode = unicode
  }

  reject(problem: string): never {
    throw new UnsupportedPattern(this.pattern, problem)
  }

  ahead(text: string): boolean {
    return this.pattern.startsWith(text, this.at)
  }

  take(text: string): boolean {
    if (!this.ahead(text)) return false
    this.at += text.length
    return true
  }

  /** Takes the text that an expression with the flag `y` matches at this position. */
  match(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.at
    const found = expression.exec(this.pattern)
    if (found === null) return undefined
    this.at = expression.lastIndex
    return found
  }

  /** Takes one character: a code point with the flag `u`, otherwise a code unit. */
  character(): number {
    const code = this.unicode ? this.pattern.codePointAt(this.at) : this.pattern.charCodeAt(this.at)
    if (code === undefined || Number.isNaN(code)) return this.reject("the end")
    this.at += code > 0xffff ? 2 : 1
    return code
  }

  disjunction(): Expression {
    const alternatives = [this.sequence()]
    while (this.take("|")) alternatives.push(this.sequence())
    const [first] = alternatives
    return first !== undefined && alternatives.length === 1 ? first : { _tag: "Disjunction", alternatives }
  }

  sequence(): Expression {
    const parts: Array<Expression> = []
    while (this.at < this.pattern.length && !this.ahead("|") && !this.ahead(")")) parts.push(this.repeated(this.term()))
    const [first] = parts
    return first !== undefined && parts.length === 1 ? first : { _tag: "Sequence", parts }
  }

  repeated(body: Expression): Expression {
    const bounds = this.bounds()
    if (bounds === undefined) return body
    // A lazy quantifier changes the place of a match, never whether there is one.
    this.take("?")
    return { _tag: "Repeat", body, ...bounds }
  }

  bounds(): { readonly min: number; readonly max: number } | undefined {
    if (this.take("*")) return { min: 0, max: Number.POSITIVE_INFINITY }
    if (this.take("+")) return { min: 1, max: Number.POSITIVE_INFINITY }
    if (this.take("?")) return { min: 0, max: 1 }
    const found = this.match(/\{(\d+)(,?)(\d*)\}/y)
    if (found === undefined) return undefined
    const min = Number(found[1])
    if (found[2] === "") return { min, max: min }
    return { min, max: found[3] === "" ? Number.POSITIVE_INFINITY : Number(found[3]) }
  }

  term(): Expression {
    if (this.take("^")) return { _tag: "Assertion", assertion: "Start" }
    if (this.take("$")) return { _tag: "Assertion", assertion: "End" }
    if (this.take("\\b")) return { _tag: "Assertion", assertion: "WordBoundary" }
    if (this.take("\\B")) return { _tag: "Assertion", assertion: "NoWordBoundary" }
    if (this.take(".")) return { _tag: "Character", set: dot }
    if (this.ahead("(")) return this.group()
    if (this.take("[")) return { _tag: "Character", set: this.characterClass() }
    if (this.take("\\")) {
      if (this.match(/[1-9]|k</y) !== undefined) return this.reject("a backreference")
      return { _tag: "Character", set: setOf(this.escape()) }
    }
    return { _tag: "Character", set: CharacterSet.only(this.character()) }
  }

  group(): Expression {
    const kind = groups.find(([opening]) => this.take(opening))
    if (kind === undefined) {
      if (this.match(/\(\?(?!<)/y) !== undefined) return this.reject("a group with flags")
      this.match(/\((?:\?<[^>]*>)?/y)
    }
    const body = this.disjunction()
    this.take(")")
    return kind?.[1] === undefined ? body : { _tag: "Lookaround", ...kind[1], body }
  }

  /** Reads the rest of a class, after its `[`. */
  characterClass(): CharacterSet.CharacterSet {
    const negated = this.take("^")
    const ranges: Array<CharacterSet.Range> = []
    const properties: Array<RegExp> = []
    const add = (member: Member): void => {
      const parts = partsOf(member)
      for (const range of parts.ranges) ranges.push(range)
      for (const property of parts.properties) properties.push(property)
    }
    while (!this.take("]")) {
      const first = this.member()
      if (!this.ahead("-") || this.ahead("-]")) {
        add(first)
        continue
      }
      this.take("-")
      const second = this.member()
      if (first._tag === "One" && second._tag === "One") {
        ranges.push([first.code, second.code])
      } else {
        // Without the flag `u`, the hyphen of `[\w-.]` is a character of the class.
        for (const member of [first, one(0x2d), second]) add(member)
      }
    }
    return CharacterSet.make({ ranges, properties }, negated)
  }

  member(): Member {
    if (!this.take("\\")) return one(this.character())
    if (this.take("b")) return one(0x08)
    return this.escape()
  }

  /** Reads the rest of an escape, after its `\`. */
  escape(): Member {
    const hexadecimal = this.match(/x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})/y)
    if (hexadecimal !== undefined) {
      const code = Number.parseInt(hexadecimal[1] ?? hexadecimal[2] ?? "", 16)
      return one(this.unicode && code >= 0xd800 && code <= 0xdbff ? this.pair(code) : code)
    }
    const control = this.match(/c([a-zA-Z])/y)
    if (control?.[1] !== undefined) return one(control[1].charCodeAt(0) % 32)
    if (this.unicode) {
      const point = this.match(/u\{([0-9a-fA-F]+)\}/y)
      if (point?.[1] !== undefined) return one(Number.parseInt(point[1], 16))
      const property = this.match(/[pP]\{[^}]*\}/y)
      if (property !== undefined) {
        return { _tag: "Many", parts: { ranges: [], properties: [new RegExp(`^\\${property[0]}$`, "u")] } }
      }
    }
    const octal = this.match(/[0-3][0-7]{0,2}|[4-7][0-7]?/y)
    if (octal !== undefined) return one(Number.parseInt(octal[0], 8))
    if (!this.unicode && this.ahead("c")) return this.reject("\\c without a letter")
    const letter = this.pattern[this.at] ?? ""
    const known = Object.hasOwn(named, letter) ? named[letter] : undefined
    const code = this.character()
    return known ?? one(Object.hasOwn(controls, letter) ? controls[letter] ?? code : code)
  }

  /** Returns the code point of two escaped surrogates, if a second one follows the first. */
  pair(high: number): number {
    const low = this.match(/\\u([dD][c-fC-F][0-9a-fA-F]{2})/y)
    return low?.[1] === undefined ? high : (high - 0xd800) * 0x400 + Number.parseInt(low[1], 16) - 0xdc00 + 0x10000
  }
}

/** A parsed pattern. With `unicode` it matches code points, as with the flag `u`, and otherwise code units. */
export interface Parsed {
  readonly expression: Expression
  readonly unicode: boolean
}

/**
 * Parses a pattern. Throws a `SyntaxError` if it is no pattern, and `UnsupportedPattern` if it has a construct that
 * this parser does not support.
 */
export const parse = (pattern: string): Parsed => {
  // JavaScript parses the expression in linear time. It compiles an expression only when it is first matched.
  const unicode = Result.isSuccess(Result.try(() => new RegExp(pattern, "u")))
  // With the flag, `[\\w-.]` and similar classes are errors, but servers in other languages send them.
  if (!unicode) Result.getOrThrow(Result.try(() => new RegExp(pattern)))
  return { expression: new PatternParser(pattern, unicode).disjunction(), unicode }
}
