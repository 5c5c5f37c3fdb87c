/**
 * A JSON file of a host, to which an entry is added. Everything else of the text stays as it is, comments included.
 */
import { JsonWithComments } from "@effect-mcp/client/internal"
import * as Predicate from "effect/Predicate"
import * as Result from "effect/Result"
import * as Change from "./change.ts"

/** The greatest length of an object in one line. */
const maxShort = 64

/** Returns a value in one line: a list of texts, or an object of a few short texts. */
const inLine = (value: unknown): string | undefined => {
  if (!Predicate.isObjectOrArray(value)) return JSON.stringify(value)
  if (Object.values(value).some(Predicate.isObjectOrArray)) return undefined
  if (Array.isArray(value)) return `[${value.map((item) => JSON.stringify(item)).join(", ")}]`
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${JSON.stringify(member)}`)
  const line = members.length === 0 ? "{}" : `{ ${members.join(", ")} }`
  return line.length <= maxShort ? line : undefined
}

/** Returns a value as JSON. `unit` are the blanks of one level, and `margin` those of the line. */
export const write = (value: unknown, unit: string, margin = ""): string => {
  const line = inLine(value)
  if (line !== undefined || !Predicate.isObject(value)) return line ?? JSON.stringify(value)
  const inner = margin + unit
  const members = Object.entries(value).map(([name, member]) =>
    `${inner}${JSON.stringify(name)}: ${write(member, unit, inner)}`
  )
  return `{\n${members.join(",\n")}\n${margin}}`
}

/** Returns the blanks at the beginning of the line of a place. */
const marginAt = (text: string, at: number): string => {
  const line = text.slice(text.lastIndexOf("\n", at - 1) + 1, at)
  return /^[ \t]*/.exec(line)?.[0] ?? ""
}

/** Returns the blanks by which a member is indented, or two. */
const unitOf = (text: string, { members, open }: JsonWithComments.ObjectPlace): string => {
  const [first] = members
  if (first === undefined || !text.slice(open, first.at).includes("\n")) return "  "
  return marginAt(text, first.at).slice(marginAt(text, open).length) || "  "
}

const commentsOfLine = /(?:[ \t]*(?:\/\*(?:[^*\n]|\*(?!\/))*\*\/|\/\/[^\r\n]*))*/y

/** Returns the place after the comments that follow a place in its line. */
const afterComments = (text: string, from: number): number => {
  commentsOfLine.lastIndex = from
  return from + (commentsOfLine.exec(text)?.[0].length ?? 0)
}

/** The layout of a text: the blanks of one level, and the end of a line. */
interface Layout {
  readonly unit: string
  readonly end: string
}

/** Adds a member after the last one of an object. */
const added = (
  text: string,
  place: JsonWithComments.ObjectPlace,
  name: string,
  value: unknown,
  { end: newLine, unit }: Layout
): string => {
  const margin = marginAt(text, place.open)
  const inner = margin + unit
  const member = `\n${inner}${JSON.stringify(name)}: ${write(value, unit, inner)}`.replaceAll("\n", newLine)
  const last = place.members.at(-1)
  const from = last === undefined ? place.open + 1 : (place.lastComma ?? last.end - 1) + 1
  const at = afterComments(text, from)
  const comma = last === undefined || place.lastComma !== undefined ? "" : ","
  const end = place.lastComma === undefined ? "" : ","
  const rest = text.slice(at)
  const closing = text.slice(at, place.close).includes("\n") ? rest : `${newLine}${margin}${rest.trimStart()}`
  return `${text.slice(0, from)}${comma}${text.slice(from, at)}${member}${end}${closing}`
}

/**
 * Returns a text with an entry below a field. The texts of both are compared by their values: the entry is the only
 * difference.
 */
export const withEntry = (
  text: string,
  { entry, field, name, replaces }: Change.Change
): Result.Result<string, Change.Refusal> => {
  if (text.trim() === "") return Result.succeed(`${write({ [field]: { [name]: entry } }, "  ")}\n`)
  const mark = text.startsWith("\ufeff") ? "\ufeff" : ""
  const body = text.slice(mark.length)
  const located = JsonWithComments.locate(body)
  if (Result.isFailure(located)) return Result.fail({ problem: `it is not JSON: ${located.failure}`, isParsed: false })
  const { places, value: root } = located.success
  const rootPlace = places.get(root)
  if (rootPlace === undefined || !Change.isRecord(root)) {
    return Result.fail({ problem: "it is not an object", isParsed: false })
  }
  const unit = unitOf(body, rootPlace)
  const layout: Layout = { unit, end: text.includes("\r\n") ? "\r\n" : "\n" }
  const entries = Object.hasOwn(root, field) ? root[field] : undefined
  const edited = (): string | undefined => {
    if (entries === undefined) return added(body, rootPlace, field, { [name]: entry }, layout)
    const place = places.get(entries)
    if (place === undefined) return undefined
    const members = place.members.filter((member) => member.name === name)
    const [member] = members
    if (member === undefined) return added(body, place, name, entry, layout)
    const written = write(entry, unit, marginAt(body, member.at)).replaceAll("\n", layout.end)
    return members.length > 1 ? undefined : body.slice(0, member.valueAt) + written + body.slice(member.end)
  }
  return Result.flatMap(Change.check(root, { entry, field, name, replaces }), (expected) => {
    if (Change.isSame(expected, root)) return Result.succeed(text)
    const written = edited() ?? ""
    const read = JsonWithComments.parse(written)
    return Result.isSuccess(read) && Change.isSame(read.success, expected)
      ? Result.succeed(mark + written)
      : Result.fail(Change.unexpected)
  })
}
