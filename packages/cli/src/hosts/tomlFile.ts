/**
 * The TOML file of Codex, to which the table of a server is added. Everything else of the text stays as it is.
 */
import { Toml } from "@effect-mcp/client/internal"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Change from "./change.ts"

/** Returns a text or a list of texts as TOML. Strings of JSON are strings of TOML, apart from the character U+007F. */
const written = (value: unknown): string =>
  Array.isArray(value) ? `[${value.map(written).join(", ")}]` : JSON.stringify(value).replaceAll("\x7f", "\\u007f")

/** Returns the table of a server. */
export const write = ({ entry, field, name }: Pick<Change.Change, "entry" | "field" | "name">): string =>
  `${[`[${field}.${name}]`, ...Object.entries(entry).map(([key, value]) => `${key} = ${written(value)}`)].join("\n")}\n`

/** Returns the keys of a header such as `[mcp_servers.files.env]`. */
const keysOf = Effect.fnUntraced(function*(line: string) {
  if (!/^[ \t]*\[(?!\[)/.test(line)) return undefined
  const header = yield* Toml.parse(line)
  if (Result.isFailure(header)) return undefined
  const keys: Array<string> = []
  let table = header.success
  while (Change.isRecord(table)) {
    const [key] = Object.keys(table)
    if (key === undefined) return keys
    keys.push(key)
    table = table[key]
  }
  return undefined
})

/** Returns the text without the tables of a server, or the text itself if their lines are not certain. */
const withoutTables = Effect.fnUntraced(function*(text: string, field: string, name: string) {
  const lines = text.split("\n")
  let isRemoved = false
  const kept: Array<string> = []
  /** Comments and empty lines: those in front of the next table belong to it. */
  let between: Array<string> = []
  for (const line of lines) {
    const isHeader = /^[ \t]*\[/.test(line)
    if (isHeader) {
      // Most lines that begin with a bracket are no headers of this table, and to parse each of them takes long.
      const keys = line.includes(field) ? yield* keysOf(line) : undefined
      isRemoved = keys?.[0] === field && keys[1] === name
    }
    if (!isRemoved) {
      kept.push(...between, line)
      between = []
    } else if (/^[ \t]*(?:#.*)?\r?$/.test(line)) between.push(line)
    else between = []
  }
  return [...kept, ...between].join("\n")
})

/**
 * Returns a text with the table of a server. The texts of both are compared by their values: the table is the only
 * difference.
 */
export const withEntry = Effect.fnUntraced(function*(text: string, change: Change.Change) {
  const parsed = yield* Toml.parse(text)
  if (Result.isFailure(parsed)) {
    return Result.fail<Change.Refusal>({ problem: `it is not TOML: ${parsed.failure}`, isParsed: false })
  }
  const root = parsed.success
  if (!Change.isRecord(root)) return Result.fail<Change.Refusal>({ problem: "it is not a table", isParsed: false })
  const checked = Change.check(root, change)
  if (Result.isFailure(checked)) return Result.fail(checked.failure)
  if (Change.isSame(checked.success, root)) return Result.succeed(text)
  const end = text.includes("\r\n") ? "\r\n" : "\n"
  const before = Change.isIn(root, change) ? yield* withoutTables(text, change.field, change.name) : text
  const gap = before.trim() === "" ? "" : before.endsWith("\n") ? end : end + end
  const result = `${before.trim() === "" ? before.trimEnd() : before}${gap}${write(change).replaceAll("\n", end)}`
  const read = yield* Toml.parse(result)
  return Result.isSuccess(read) && Change.isSame(read.success, checked.success)
    ? Result.succeed(result)
    : Result.fail(Change.unexpected)
})
