/**
 * Searches for a URI that one pattern reads in two ways, or that two patterns read.
 *
 * Both walk through pairs of instructions that can read the same token, shortest URI first.
 */
import { common, type Pattern, type Slot } from "./Pattern.ts"
import type { Capture } from "./Reader.ts"
import * as Tokens from "./Tokens.ts"

/** A URI that a pattern reads in two ways, with the captures of both. */
export interface Ambiguity {
  readonly uri: string
  readonly readings: readonly [ReadonlyArray<Capture>, ReadonlyArray<Capture>]
}

/** The result of a search. `TooLarge` means that it ended at its limit of steps. */
export type Found<A> = { readonly _tag: "Found"; readonly value: A } | { readonly _tag: "None" } | {
  readonly _tag: "TooLarge"
}

/** The limit of a search. */
export const maxSteps = 250_000

const none: Found<never> = { _tag: "None" }
const tooLarge: Found<never> = { _tag: "TooLarge" }

/** A way to the next instruction that reads a token or accepts, and the captures that it opens and closes. */
interface Way {
  readonly index: number
  readonly slots: ReadonlyArray<Slot>
}

/** The ways from an instruction: those that read, and those that accept. */
interface Ways {
  readonly reading: ReadonlyArray<Way>
  readonly accepting: ReadonlyArray<Way>
}

const waysFrom = ({ instructions }: Pattern, first: number): Ways => {
  const reading: Array<Way> = []
  const accepting: Array<Way> = []
  const pending: Array<Way> = [{ index: first, slots: [] }]
  for (let way = pending.pop(); way !== undefined; way = pending.pop()) {
    const { index, slots } = way
    const instruction = instructions[index]
    switch (instruction?._tag) {
      case "Read":
        reading.push(way)
        break
      case "Either":
        pending.push({ index: instruction.other, slots }, { index: instruction.next, slots })
        break
      case "Open":
      case "Close":
        pending.push({ index: instruction.next, slots: [...slots, instruction.slot] })
        break
      case "Accept":
        accepting.push(way)
        break
    }
  }
  return { reading, accepting }
}

/** Returns the ways after each reading instruction. Each is computed once. */
const waysAfter = (pattern: Pattern): (index: number) => Ways => {
  const known = new Map<number, Ways>()
  return (index) => {
    const ways = known.get(index)
    if (ways !== undefined) return ways
    const instruction = pattern.instructions[index]
    const fresh = waysFrom(pattern, instruction?._tag === "Read" ? instruction.next : index)
    known.set(index, fresh)
    return fresh
  }
}

/** Two readings of the same tokens. The last token of `previous` and `token` lead to the two ways. */
interface Pair {
  readonly left: Way
  readonly right: Way
  readonly diverged: boolean
  readonly token: number
  readonly previous: Pair | undefined
}

const trailOf = (last: Pair | undefined): ReadonlyArray<Pair> => {
  const pairs: Array<Pair> = []
  for (let pair = last; pair !== undefined; pair = pair.previous) pairs.push(pair)
  return pairs.toReversed()
}

const uriOf = (pairs: ReadonlyArray<Pair>): string => pairs.map(({ token }) => Tokens.textOf(token)).join("")

/** Returns the captures of one of the two readings. */
const capturesOf = (pairs: ReadonlyArray<Pair>, side: "left" | "right", last: Way): ReadonlyArray<Capture> => {
  let at = 0
  const marks: Array<readonly [Slot, number]> = []
  for (const pair of pairs) {
    for (const slot of pair[side].slots) marks.push([slot, at])
    at += Tokens.textOf(pair.token).length
  }
  for (const slot of last.slots) marks.push([slot, at])
  // Captures are not nested: a start and its end follow each other.
  return marks.flatMap(([slot, start], index) =>
    index % 2 === 0 ? [{ slot, start, end: marks[index + 1]?.[1] ?? start }] : []
  )
}

/** Walks through pairs of ways, from the shortest URI on, until `found` returns a value. */
const search = <A>(
  left: Pattern,
  right: Pattern,
  found: (left: Ways, right: Ways, last: Pair | undefined) => A | undefined,
  isSame: boolean
): Found<A> => {
  const afterLeft = waysAfter(left)
  const afterRight = isSame ? afterLeft : waysAfter(right)
  const seen = new Set<number>()
  const pairs: Array<Pair | undefined> = [undefined]
  let steps = 0
  // Iteration over an array includes the elements that are added meanwhile.
  for (const last of pairs) {
    const lefts = last === undefined ? waysFrom(left, left.start) : afterLeft(last.left.index)
    const rights = last === undefined ? (isSame ? lefts : waysFrom(right, right.start)) : afterRight(last.right.index)
    const value = found(lefts, rights, last)
    if (value !== undefined) return { _tag: "Found", value }
    for (const [at, one] of lefts.reading.entries()) {
      for (const [other, two] of rights.reading.entries()) {
        if (++steps > maxSteps) return tooLarge
        const diverged = isSame && (last?.diverged === true || at !== other)
        const key = (one.index * right.instructions.length + two.index) * 2 + (diverged ? 1 : 0)
        const from = left.instructions[one.index]
        const to = right.instructions[two.index]
        if (seen.has(key) || from?._tag !== "Read" || to?._tag !== "Read") continue
        const token = common(from.set, to.set)
        if (token === undefined) continue
        seen.add(key)
        pairs.push({ left: one, right: two, diverged, token, previous: last })
      }
    }
  }
  return none
}

/** Returns the shortest URI that a pattern reads in two ways. */
export const ambiguity = (pattern: Pattern): Found<Ambiguity> =>
  search(pattern, pattern, (left, right, last) => {
    const [one] = left.accepting
    const other = right.accepting[last?.diverged === true ? 0 : 1]
    if (one === undefined || other === undefined) return undefined
    const pairs = trailOf(last)
    return {
      uri: uriOf(pairs),
      readings: [capturesOf(pairs, "left", one), capturesOf(pairs, "right", other)]
    } satisfies Ambiguity
  }, true)

/** Returns the shortest URI that both patterns read. */
export const overlap = (left: Pattern, right: Pattern): Found<string> =>
  search(
    left,
    right,
    ({ accepting: [one] }, { accepting: [other] }, last) =>
      one === undefined || other === undefined ? undefined : uriOf(trailOf(last)),
    false
  )
