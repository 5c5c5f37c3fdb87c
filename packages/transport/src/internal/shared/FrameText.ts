import type { FrameError } from "@effect-mcp/session/Transport"
import * as Result from "effect/Result"
import * as utf8 from "./utf8.ts"

/**
 * The most arrays, objects and members of one message, unless an option says otherwise. Parsing costs up to 0.4
 * microseconds and 200 bytes for each of them, and cannot be interrupted: 4 MiB of `[[],[],…]` take 190 ms and 60 MiB,
 * a hundred thousand nodes 40 ms at their worst. Strings and numbers cost less than their bytes are worth, and nesting
 * costs nothing besides: nothing that reads a message recurses.
 */
export const defaultMaxNodes = 100_000

const quote = 0x22
const backslash = 0x5C
const colon = 0x3A
const bracket = 0x5B
const brace = 0x7B

/** Where the string ends that begins here: at its closing quote, or behind the text. */
const endOfString = (text: string, begin: number): number => {
  for (let at = begin + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) return at
    if (code === backslash) at++
  }
  return text.length
}

/**
 * How many arrays, objects and members a JSON text has. A text that is no JSON has at least as many as a parser gets to
 * see.
 */
const nodesIn = (text: string): number => {
  let nodes = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === bracket || code === brace || code === colon) nodes++
  }
  return nodes
}

/** The JSON of a text that is a whole message. */
export const parse = (text: string, limitNodes: number): Result.Result<unknown, FrameError> => {
  // No JSON has more nodes than half its characters, so that nearly every message is short enough not to be looked at
  // twice.
  if (text.length > 2 * limitNodes) {
    const nodes = nodesIn(text)
    if (nodes > limitNodes) return Result.fail({ _tag: "TooComplex", nodes, limitNodes })
  }
  try {
    return Result.succeed(JSON.parse(text))
  } catch {
    return Result.fail({ _tag: "NotJson", text: utf8.cut(text) })
  }
}

/** The JSON of bytes that are a whole message. */
export const parseBytes = (bytes: Uint8Array, limitNodes: number): Result.Result<unknown, FrameError> => {
  let text: string
  try {
    text = utf8.decode(bytes)
  } catch {
    return Result.fail({ _tag: "NotJson", text: utf8.beginning(bytes) })
  }
  return parse(text, limitNodes)
}
