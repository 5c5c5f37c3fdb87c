/** Sets of characters, for patterns of schemas. */

/** A set of Unicode code points, or of UTF-16 code units if the pattern has no flag `u`. */
export interface CharacterSet {
  /** Returns whether a character is in the set. */
  readonly has: (code: number) => boolean
  /** The number of steps of one lookup. A Unicode property costs more, because JavaScript tests it. */
  readonly steps: number
}

/** The characters from the first to the last, including both. */
export type Range = readonly [first: number, last: number]

/** The parts of a set: ranges, and Unicode properties as expressions that match one character. */
export interface Parts {
  readonly ranges: ReadonlyArray<Range>
  readonly properties: ReadonlyArray<RegExp>
}

const lastCodePoint = 0x10ffff
const ascii = 128

export const digits: ReadonlyArray<Range> = [[0x30, 0x39]]

export const wordCharacters: ReadonlyArray<Range> = [[0x30, 0x39], [0x41, 0x5a], [0x5f, 0x5f], [0x61, 0x7a]]

export const lineTerminators: ReadonlyArray<Range> = [[0x0a, 0x0a], [0x0d, 0x0d], [0x2028, 0x2029]]

/** The white space and line terminators of ECMA-262. */
export const whiteSpace: ReadonlyArray<Range> = [
  [0x09, 0x0d],
  [0x20, 0x20],
  [0xa0, 0xa0],
  [0x1680, 0x1680],
  [0x2000, 0x200a],
  [0x2028, 0x2029],
  [0x202f, 0x202f],
  [0x205f, 0x205f],
  [0x3000, 0x3000],
  [0xfeff, 0xfeff]
]

/** Returns the ranges in order. Adjacent and overlapping ranges become one. */
const merged = (ranges: ReadonlyArray<Range>): ReadonlyArray<Range> => {
  const result: Array<Range> = []
  for (const range of ranges.toSorted(([one], [other]) => one - other)) {
    const before = result.at(-1)
    if (before !== undefined && range[0] <= before[1] + 1) {
      result[result.length - 1] = [before[0], Math.max(before[1], range[1])]
    } else {
      result.push(range)
    }
  }
  return result
}

/** Returns the ranges of the characters that are in none of these ranges. */
export const complement = (ranges: ReadonlyArray<Range>): ReadonlyArray<Range> => {
  const result: Array<Range> = []
  let next = 0
  for (const [first, end] of merged(ranges)) {
    if (first > next) result.push([next, first - 1])
    next = end + 1
  }
  return next > lastCodePoint ? result : [...result, [next, lastCodePoint]]
}

const includes = (ranges: ReadonlyArray<Range>, code: number): boolean => {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const range = ranges[middle]
    if (range === undefined) return false
    if (code < range[0]) high = middle - 1
    else if (code > range[1]) low = middle + 1
    else return true
  }
  return false
}

/** Creates the set of the characters in these parts, or its complement. */
export const make = (parts: Parts, negated = false): CharacterSet => {
  const ranges = merged(parts.ranges)
  const { properties } = parts
  const holds = (code: number): boolean => {
    if (includes(ranges, code)) return !negated
    if (properties.length === 0) return negated
    const character = String.fromCodePoint(code)
    return properties.some((property) => property.test(character)) !== negated
  }
  // Most text is ASCII. For it, a table replaces the search.
  const table = Uint8Array.from({ length: ascii }, (_, code) => holds(code) ? 1 : 0)
  return {
    has: (code) => code < ascii ? table[code] === 1 : holds(code),
    steps: 1 + 16 * properties.length
  }
}

/** Returns the set of one character. */
export const only = (character: number): CharacterSet => ({ has: (code) => code === character, steps: 1 })

const word = make({ ranges: wordCharacters, properties: [] })

/** Returns whether a character is a word character, as `\w` without flags. */
export const isWord = (code: number | undefined): boolean => code !== undefined && word.has(code)
