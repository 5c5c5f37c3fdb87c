/** The beginning of a value as JSON, at a cost that its length and depth do not decide. */

import { Excerpt } from "@effect-mcp/protocol/internal"
import * as PlainText from "../../PlainText.ts"

/** The deepest level that is written. `JSON.stringify` would exhaust the stack on a value of a server. */
const maxDepth = 64

/** Writes a value until its text is longer than a limit. */
class Writer {
  readonly #length: number
  text = ""

  constructor(length: number) {
    this.#length = length
  }

  get #isFull(): boolean {
    return this.text.length > this.#length
  }

  write(value: unknown, depth: number): void {
    if (typeof value === "string") {
      this.text += PlainText.json(Excerpt.of(value, this.#length))
    } else if (typeof value === "object" && value !== null) {
      this.#structure(value, depth)
    } else {
      this.text += String(value)
    }
  }

  #structure(value: object, depth: number): void {
    if (depth === maxDepth) {
      this.text += "…"
      return
    }
    const isList = Array.isArray(value)
    this.text += isList ? "[" : "{"
    this.#members(Object.entries(isList ? value.slice(0, this.#length) : value), isList, depth + 1)
    this.text += isList ? "]" : "}"
  }

  #members(members: ReadonlyArray<readonly [string, unknown]>, isList: boolean, depth: number): void {
    let isFirst = true
    for (const [name, member] of members) {
      if (this.#isFull) return
      if (!isFirst) this.text += ","
      isFirst = false
      if (!isList) this.text += `${PlainText.json(Excerpt.of(name, this.#length))}:`
      this.write(member, depth)
    }
  }
}

/** Returns a JSON value as JSON of at most this length. What is left out is an ellipsis. */
export const of = (value: unknown, length: number): string => {
  const writer = new Writer(length)
  writer.write(value, 0)
  return Excerpt.of(writer.text, length)
}
