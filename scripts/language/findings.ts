/**
 * The rules on language that a machine can check, applied to one file. `language.ts` lists them.
 */
import { type Prose, proseOf } from "./prose.ts"

/** A rule, as `exceptions.tsv` names it. */
export type Rule = "doc-opening" | "file-header" | "long-line" | "name" | "word"

/** A place that breaks a rule. */
export interface Finding {
  readonly file: string
  readonly line: number
  readonly rule: Rule
  readonly message: string
  /** The text that an exception quotes: the line, or the name. */
  readonly subject: string
  /** The offset in `subject` that the exception has to cover; without one, the exception may quote any part. */
  readonly at?: number
}

/** The greatest number of columns of a line. */
export const columns = 120

const rejectedWord = /\b(?:whoever|somebody|nobody|everybody|behind)\b/gi

const replacement = (word: string): string =>
  word.toLowerCase() === "behind" ? `write "after" for time` : "name the actor"

/** Blanks out code in backticks: it quotes names and values. */
const withoutCode = (text: string): string => text.replace(/`[^`\n]*`/g, (code) => " ".repeat(code.length))

const longLines = (file: string, lines: ReadonlyArray<string>): ReadonlyArray<Finding> =>
  lines.flatMap((subject, index) => {
    const measured = Array.from(subject.replace(/https?:\/\/[^\s)>]+/g, "")).length
    const isTableRow = file.endsWith(".md") && /^\s*\|/.test(subject)
    return measured <= columns || isTableRow
      ? []
      : [{
        file,
        line: index + 1,
        rule: "long-line" as const,
        message: `has ${measured} columns, more than ${columns}; wrap it`,
        subject
      }]
  })

const wordsIn = (file: string, line: number, subject: string, prose: string): ReadonlyArray<Finding> =>
  Array.from(withoutCode(prose).matchAll(rejectedWord), ({ 0: word, index }) => ({
    file,
    line,
    rule: "word",
    message: `contains "${word}"; ${replacement(word)}`,
    subject,
    at: index
  }))

/** Returns the lines of a comment or literal, each with only its part of the text. */
const linesOf = (
  module: string,
  { start, text }: Prose
): ReadonlyArray<{ readonly line: number; readonly prose: string }> => {
  const above = module.slice(0, start)
  const margin = " ".repeat(start - above.lastIndexOf("\n") - 1)
  const first = above.split("\n").length
  return `${margin}${text}`.split("\n").map((prose, index) => ({ line: first + index, prose }))
}

const isSentence = ({ kind, text }: Prose): boolean => kind === "comment" || /\w\s+\w/.test(text)

const docComment = /^\/\*\*[\s*]*(.*)/

const docOpening = (module: string, file: string, prose: Prose): ReadonlyArray<Finding> => {
  const opening = docComment.exec(prose.text)?.[1] ?? ""
  const word = /^(?:What|Who|Whoever|How)\b/.exec(opening)?.[0]
  return prose.kind === "literal" || word === undefined ? [] : [{
    file,
    line: module.slice(0, prose.start + prose.text.indexOf(opening)).split("\n").length,
    rule: "doc-opening",
    message: `a doc comment opens with "${word}"; begin with a verb or a noun`,
    subject: opening
  }]
}

/** Checks that an internal file opens with a doc comment whose summary is one line. */
const fileHeader = (file: string, module: string): ReadonlyArray<Finding> => {
  if (!/^packages\/[^/]+\/src\/(?:.+\/)?internal\//.test(file)) return []
  const [, body] = /^\/\*\*([\s\S]*?)\*\//.exec(module) ?? []
  const summary = (body ?? "").replace(/^[ \t]*\*/gm, "").trim().split(/\n\s*\n/)[0] ?? ""
  const message = body === undefined
    ? "does not open with a doc comment"
    : summary === ""
    ? "opens with an empty doc comment"
    : summary.includes("\n")
    ? "opens with a summary of more than one line"
    : undefined
  return message === undefined ? [] : [{
    file,
    line: 1,
    rule: "file-header",
    message: `${message}; describe the file in one line`,
    subject: module.split("\n")[0] ?? ""
  }]
}

/** Returns the places of a file that break a rule, in the order of their lines. */
export const findingsIn = (file: string, text: string): ReadonlyArray<Finding> => {
  const lines = text.split("\n")
  const found = file.endsWith(".ts")
    ? [
      ...longLines(file, lines),
      ...fileHeader(file, text),
      ...proseOf(file, text).flatMap((prose) => [
        ...docOpening(text, file, prose),
        ...(isSentence(prose)
          ? linesOf(text, prose).flatMap(({ line, prose }) => wordsIn(file, line, lines[line - 1] ?? "", prose))
          : [])
      ])
    ]
    : [
      ...(file.endsWith(".md") ? longLines(file, lines) : []),
      ...lines.flatMap((line, index) => wordsIn(file, index + 1, line, line))
    ]
  return found.toSorted((one, other) => one.line - other.line)
}
