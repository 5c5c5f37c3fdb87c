/** The error of a value that does not fit a schema, with a text that a model can act on. */
import { Excerpt } from "@effect-mcp/protocol/internal"
import * as Data from "effect/Data"
import * as SchemaIssue from "effect/SchemaIssue"
import { isObject } from "./JsonSchemaKeywords.ts"
import * as PropertyPath from "./PropertyPath.ts"

/**
 * A value that does not fit. `problem` has a line for each place, such as `tasks[0].due: Expected a valid Date, got
 * "soon"`. It has at most {@link maxBytes} bytes, however large the value is.
 */
export class Misfit extends Data.TaggedError("Misfit")<{ readonly problem: string }> {
  override get message(): string {
    return this.problem
  }
}

/** The greatest size of the text, in bytes of UTF-8. */
export const maxBytes = 4096

/** The greatest length of one message of an issue. */
const maxMessage = 256

const formatter = SchemaIssue.makeFormatterStandardSchemaV1()

/** Returns the value at a path; `undefined` if there is none. */
const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown => {
  let found = value
  for (const key of path) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return undefined
    found = Reflect.get(found, key)
  }
  return found
}

/** Returns a short text for a value. */
const shown = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(Excerpt.of(value, 48))
    case "number":
    case "boolean":
      return String(value)
    default:
      return value === null ? "null" : Array.isArray(value) ? "an array" : isObject(value) ? "an object" : undefined
  }
}

const encoder = new TextEncoder()
const sizeOf = (text: string): number => encoder.encode(text).length

/** Joins lines up to the limit, and counts the others. */
const bounded = (lines: ReadonlyArray<string>): string => {
  // The room for the last line, with any number.
  let room = maxBytes - 64
  const fitting = lines.findIndex((line) => {
    room -= sizeOf(line) + 1
    return room < 0
  })
  if (fitting < 0) return lines.join("\n")
  return [...lines.slice(0, fitting), `… and ${lines.length - fitting} more`].join("\n")
}

/** Returns the misfit of a value for an issue of its schema. `root` names the value as a whole. */
export const ofIssue = (issue: SchemaIssue.Issue, value: unknown, root: string): Misfit => {
  const places = new Map<string, { readonly path: ReadonlyArray<PropertyKey>; readonly messages: Set<string> }>()
  for (const { message, path = [] } of formatter(issue).issues) {
    const keys = path.map((key) => typeof key === "object" ? key.key : key)
    const place = PropertyPath.format(keys)
    const known = places.get(place) ?? { path: keys, messages: new Set() }
    places.set(place, known)
    known.messages.add(Excerpt.of(message, maxMessage))
  }
  const lines = [...places].map(([place, { messages, path }]) => {
    const got = shown(valueAt(value, path))
    const text = [...messages].slice(0, 4).join(" or ")
    return `${place === "" ? root : place}: ${text}${got === undefined ? "" : `, got ${got}`}`
  })
  return new Misfit({ problem: bounded(lines) })
}

/** Returns the misfit of a value for a problem that is not an issue. */
export const ofProblem = (problem: string): Misfit => new Misfit({ problem: Excerpt.of(problem, maxBytes / 4) })
