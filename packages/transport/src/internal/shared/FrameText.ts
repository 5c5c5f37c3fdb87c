/** The JSON of one message, parsed within bounds. */
// Not from the index, which loads modules of HTTP: a program over stdio starts without them.
import * as ExactJson from "@effect-mcp/protocol/ExactJson"
import type { FrameError } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as utf8 from "./utf8.ts"

/**
 * The default for the most arrays, objects and members of one message. Parsing takes up to 0.4 microseconds and 200
 * bytes for each of them, and cannot be interrupted: 4 MiB of `[[],[],…]` take 190 ms and 60 MiB, and 100,000 nodes at
 * most 40 ms. Strings and numbers take no more than their bytes, and nesting costs nothing, because no reader recurses.
 * An integer beyond 2^53 keeps its digits, and counts as {@link nodesOfLargeInteger}.
 */
export const defaultMaxNodes = 100_000

/** The nodes of an integer beyond 2^53. Keeping and writing its digits takes up to 7 microseconds and 300 bytes. */
const nodesOfLargeInteger = 8

const quote = 0x22
const backslash = 0x5C
const colon = 0x3A
const bracket = 0x5B
const brace = 0x7B
const dot = 0x2E
const zero = 0x30
const nine = 0x39

/** Returns the index of a string's closing quote, or the length of the text. */
const endOfString = (text: string, begin: number): number => {
  for (let at = begin + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return text.length
}

/** Returns the index after the digits that begin at an index. */
const endOfDigits = (text: string, begin: number): number => {
  let at = begin
  for (let code = zero; code >= zero && code <= nine; code = text.charCodeAt(at)) at++
  return at
}

/** 2^53 in digits: beyond it, a number does not hold each integer. */
const largest = "9007199254740992"

/** Returns whether these digits, outside of strings, are an integer beyond 2^53 or begin such a number. */
const isLargeInteger = (text: string, begin: number, end: number): boolean => {
  const length = end - begin
  if (length < largest.length || text.charCodeAt(begin - 1) === dot) return false
  return length > largest.length || (text.charCodeAt(begin) === nine && text.slice(begin, end) > largest)
}

/**
 * Counts the arrays, objects, members and large integers of a JSON text. In invalid JSON, it counts at least those that
 * a parser reads.
 */
const nodesIn = (text: string): number => {
  let nodes = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === bracket || code === brace || code === colon) nodes++
    else if (code >= zero && code <= nine) {
      const end = endOfDigits(text, at)
      if (isLargeInteger(text, at, end)) nodes += nodesOfLargeInteger
      at = end - 1
    }
  }
  return nodes
}

/**
 * A text that does not begin as a JSON value does. `JSON.parse` takes about 10 microseconds to reject it, because it
 * throws an error.
 */
const otherText = /^[ \t\r\n]*(?:$|[^ \t\r\n[{"\dtfn-])/

/** Parses the text of a message. */
export const parse = (text: string, maxNodes: number): Result.Result<unknown, FrameError> => {
  if (otherText.test(text)) return Result.fail({ _tag: "NotJson", text: utf8.cut(text) })
  // JSON has at most one node for two characters, so nearly every message is too short to exceed the limit.
  if (text.length > 2 * maxNodes) {
    const nodes = nodesIn(text)
    if (nodes > maxNodes) return Result.fail({ _tag: "TooComplex", nodes, limitNodes: maxNodes })
  }
  try {
    return Result.succeed(ExactJson.parse(text))
  } catch {
    return Result.fail({ _tag: "NotJson", text: utf8.cut(text) })
  }
}

/** Parses the bytes of a message. */
export const parseBytes = (bytes: Uint8Array, maxNodes: number): Result.Result<unknown, FrameError> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return Result.fail({ _tag: "NotJson", text: utf8.beginning(bytes) })
  }
  return parse(text, maxNodes)
}
