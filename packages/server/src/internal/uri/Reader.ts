/**
 * The run of a pattern over a URI, in one pass and without backtracking.
 */
import { contains, type Pattern, type Slot } from "./Pattern.ts"
import * as Tokens from "./Tokens.ts"

/** A part of the URI that belongs to a variable, between two indexes. */
export interface Capture {
  readonly slot: Slot
  readonly start: number
  readonly end: number
}

/** The result of a run: the captures if the pattern matches, and the number of visited instructions. */
export interface Reading {
  readonly captures: ReadonlyArray<Capture> | undefined
  readonly steps: number
}

/** The start and the end of captures so far, newest first. Threads share what they have in common. */
interface Trail {
  readonly slot: Slot
  readonly at: number
  readonly previous: Trail | undefined
}

/** An instruction that reads the next token, and the captures on the way to it. */
interface Thread {
  readonly index: number
  readonly trail: Trail | undefined
}

/** Returns the captures of a trail. Captures are not nested, so each end follows its start. */
const capturesOf = (newest: Trail | undefined): ReadonlyArray<Capture> => {
  const captures: Array<Capture> = []
  for (let end = newest; end?.previous !== undefined; end = end.previous.previous) {
    captures.push({ slot: end.slot, start: end.previous.at, end: end.at })
  }
  return captures.toReversed()
}

/** Runs a pattern over an ASCII URI. A malformed triplet, or a character that no URI has, does not match. */
export const run = ({ afterLiteral, instructions, literal, start }: Pattern, uri: string): Reading => {
  // Most URIs differ from most templates in their first characters.
  const isNormalized = uri.startsWith(literal)
  if (!isNormalized && !uri.slice(0, literal.length).includes("%")) return { captures: undefined, steps: 0 }
  const from = isNormalized ? literal.length : 0
  // The position at which each instruction was last visited: no instruction is visited twice for one token.
  const visited = new Int32Array(instructions.length).fill(-1)
  let steps = 0
  let accepted: Thread | undefined
  let threads: Array<Thread> = []
  const pending: Array<Thread> = []

  /** Adds the instructions that read a token next, starting at an instruction. */
  const follow = (first: Thread, at: number): void => {
    pending.push(first)
    for (let thread = pending.pop(); thread !== undefined; thread = pending.pop()) {
      const { index, trail } = thread
      if (visited[index] === at) continue
      visited[index] = at
      steps++
      const instruction = instructions[index]
      switch (instruction?._tag) {
        case "Read":
          threads.push(thread)
          break
        case "Either":
          pending.push({ index: instruction.other, trail }, { index: instruction.next, trail })
          break
        case "Open":
        case "Close":
          pending.push({ index: instruction.next, trail: { slot: instruction.slot, at, previous: trail } })
          break
        case "Accept":
          accepted = thread
          break
      }
    }
  }

  follow({ index: isNormalized ? afterLiteral : start, trail: undefined }, from)
  for (let at = from; at < uri.length;) {
    const token = Tokens.tokenAt(uri, at)
    if (token < 0) return { captures: undefined, steps }
    at += Tokens.widthAt(uri, at)
    const readers = threads
    threads = []
    accepted = undefined
    for (const { index, trail } of readers) {
      const instruction = instructions[index]
      if (instruction?._tag === "Read" && contains(instruction.set, token)) {
        follow({ index: instruction.next, trail }, at)
      }
    }
    if (threads.length === 0 && accepted === undefined) return { captures: undefined, steps }
  }
  return { captures: accepted === undefined ? undefined : capturesOf(accepted.trail), steps }
}
