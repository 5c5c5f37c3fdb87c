/**
 * A conversation from the view of one side, as text that a person can read and write. Each message that this side sends
 * or expects has a line.
 *
 * ```text
 * # a client that calls one tool
 * → {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25", ...}}
 * ← {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25", ...}}
 * → {"jsonrpc":"2.0","method":"notifications/initialized"}
 * → {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}
 * ← {"jsonrpc":"2.0","id":$question,"method":"elicitation/create","params":_}
 * → {"jsonrpc":"2.0","id":$question,"result":{"action":"decline"}}
 * ← {"jsonrpc":"2.0","id":1,"result":_}
 * ```
 *
 * | Line                 | Meaning                                                                                |
 * | -------------------- | -------------------------------------------------------------------------------------- |
 * | `→ {…}`              | This side sends the message. `>` is the same.                                          |
 * | `← {…}`              | This side expects a message that fits the pattern. `<` is the same.                    |
 * | `→ end`              | This side stops sending, by closing its connection.                                    |
 * | `← end`              | This side expects the peer to stop sending.                                            |
 * | `← unreadable`       | This side expects bytes that are not JSON.                                             |
 * | `wait 500ms`         | The script continues after this time. Also `2s` and `1min`.                            |
 * | `silence 500ms`      | No message may arrive during this time.                                                |
 * | `deadline 30s`       | Each later expectation has this time.                                                  |
 * | `ignore ← {…}`       | Later messages that fit are skipped if no line expects them; `ignore ← _` skips all.   |
 * | `any order {` … `}`  | The messages expected in this block may arrive in any order.                           |
 * | `in order {` … `}`   | Within such a block, these lines of either side keep their order.                      |
 * | `# …`, an empty line | A comment.                                                                             |
 *
 * An expected message is a `Pattern`: JSON with `_` for any value, `...` for any further members or elements, and
 * `$name` for a value that later lines refer to by that name.
 *
 * @stability unstable
 */
import { JsonRpc } from "@effect-mcp/protocol"
import type { Recording } from "@effect-mcp/session"
import * as Data from "effect/Data"
import * as Result from "effect/Result"
import * as Pattern from "./arbitrary/Pattern.ts"
import * as ChosenNames from "./internal/transcript/ChosenNames.ts"
import * as PatternText from "./internal/transcript/PatternText.ts"

/**
 * Lines without an effect.
 *
 * @category models
 */
export type Remark = { readonly _tag: "Comment"; readonly text: string } | { readonly _tag: "Blank" }

/**
 * Sends a message: a pattern without wildcards. Lines above bind its names.
 *
 * @category models
 */
export interface Send {
  readonly _tag: "Send"
  readonly message: Pattern.Pattern
}

/**
 * Expects a message.
 *
 * @category models
 */
export interface Expect {
  readonly _tag: "Expect"
  readonly pattern: Pattern.Pattern
}

/**
 * Lines that keep their order within a block of any order, such as those of one exchange.
 *
 * @category models
 */
export interface InOrder {
  readonly _tag: "InOrder"
  readonly steps: ReadonlyArray<Send | Expect | Remark>
}

/**
 * One line, or one block of lines. Durations are in milliseconds, as whole numbers that are not negative.
 *
 * @category models
 */
export type Step =
  | Send
  | Expect
  | Remark
  | { readonly _tag: "SendEnd" }
  | { readonly _tag: "ExpectEnd" }
  | { readonly _tag: "ExpectUnreadable" }
  | { readonly _tag: "Wait"; readonly millis: number }
  | { readonly _tag: "Silence"; readonly millis: number }
  | { readonly _tag: "Deadline"; readonly millis: number }
  | { readonly _tag: "Ignore"; readonly pattern: Pattern.Pattern }
  | { readonly _tag: "AnyOrder"; readonly steps: ReadonlyArray<Expect | InOrder | Remark> }

/**
 * A conversation from the view of one side, from its first line to its last.
 *
 * @category models
 */
export type Transcript = ReadonlyArray<Step>

/**
 * The error of a text that is not a transcript. Lines and columns count from 1.
 *
 * @example
 * ```ts
 * import { Transcript } from "@effect-mcp/testing"
 * import * as Result from "effect/Result"
 *
 * const parsed = Transcript.parse("# a call\n→ {\"id\": _}\n")
 * export const problem = Result.isFailure(parsed) ? parsed.failure.message : undefined
 * // => "line 2, column 10: expected a value without wildcards, because this line sends a message, found _"
 * ```
 *
 * @category errors
 */
export class TranscriptError extends Data.TaggedError("TranscriptError")<{
  readonly line: number
  readonly column: number
  readonly expected: string
  readonly found: string
}> {
  override get message(): string {
    return `line ${this.line}, column ${this.column}: expected ${this.expected}, found ${this.found}`
  }
}

const units = { ms: 1, s: 1_000, min: 60_000 } as const

const isUnit = (unit: string): unit is keyof typeof units => Object.hasOwn(units, unit)

/** Thrown while a text is parsed, and caught by `parse`. */
class ParseFailure extends Error {
  readonly error: TranscriptError
  constructor(error: TranscriptError) {
    super(error.message)
    this.error = error
  }
}

/** One line of a text, without the white space around it. */
interface Line {
  readonly number: number
  readonly indent: number
  readonly text: string
}

const reject = ({ indent, number, text }: Line, at: number, expected: string, found: string): never => {
  const column = indent + Math.min(at, text.length) + 1
  throw new ParseFailure(
    new TranscriptError({ line: number, column, expected, found: found === "" ? "nothing" : found })
  )
}

const readPattern = (line: Line, at: number, kind: PatternText.Kind): Pattern.Pattern => {
  const parsed = PatternText.parse(line.text.slice(at), kind)
  if (Result.isSuccess(parsed)) return parsed.success
  const { column, expected, found } = parsed.failure
  return reject(line, at + column - 1, expected, found)
}

const readDuration = (line: Line, at: number): number => {
  const text = line.text.slice(at)
  const [, digits = "", unit = ""] = /^(\d+)[ \t]*(ms|s|min)$/.exec(text) ?? []
  const millis = isUnit(unit) ? Number(digits) * units[unit] : Number.NaN
  return Number.isSafeInteger(millis) ? millis : reject(line, at, "a duration such as 500ms, 2s or 1min", text)
}

/** Reads a step of one line. The block around it checks whether the step may stand there. */
const readStep = (line: Line): Step => {
  const { text } = line
  const [head = ""] = /^(?:[→>←<]|(?:wait|silence|deadline)(?![^ \t])|ignore[ \t]*[←<])[ \t]*/u.exec(text) ?? []
  const rest = text.slice(head.length)
  switch (head.replaceAll(/[ \t]+/g, "").replace(">", "→").replace("<", "←")) {
    case "→":
      return rest === "end" ? { _tag: "SendEnd" } : { _tag: "Send", message: readPattern(line, head.length, "value") }
    case "←":
      return rest === "end"
        ? { _tag: "ExpectEnd" }
        : rest === "unreadable"
        ? { _tag: "ExpectUnreadable" }
        : { _tag: "Expect", pattern: readPattern(line, head.length, "pattern") }
    case "wait":
      return { _tag: "Wait", millis: readDuration(line, head.length) }
    case "silence":
      return { _tag: "Silence", millis: readDuration(line, head.length) }
    case "deadline":
      return { _tag: "Deadline", millis: readDuration(line, head.length) }
    case "ignore←":
      return { _tag: "Ignore", pattern: readPattern(line, head.length, "pattern") }
  }
  if (text === "") return { _tag: "Blank" }
  if (text.startsWith("#")) return { _tag: "Comment", text: text.slice(1).trim() }
  return reject(line, 0, "→, ←, wait, silence, deadline, ignore ←, any order { or #", text.split(/[ \t]/)[0] ?? "")
}

const isRemark = (step: Step): step is Remark => step._tag === "Comment" || step._tag === "Blank"

/** Reads a text line by line, with the names that earlier lines have bound. */
class Reader {
  private next = 0
  private readonly lines: ReadonlyArray<Line>

  constructor(text: string) {
    const whole = text.endsWith("\n") ? text.slice(0, -1) : text
    const lines = text === "" ? [] : whole.split("\n")
    this.lines = lines.map((line, index) => ({
      number: index + 1,
      indent: line.length - line.trimStart().length,
      text: line.trim()
    }))
  }

  whole(): Transcript {
    const steps: Array<Step> = []
    const bound = new Set<string>()
    while (this.next < this.lines.length) {
      const block = this.begins("any order")
      if (block !== undefined) steps.push({ _tag: "AnyOrder", steps: this.branches(block, bound) })
      else steps.push(this.step(bound))
    }
    return steps
  }

  /** Returns the line if it starts a block. */
  private begins(words: string): Line | undefined {
    const line = this.lines[this.next]
    if (line?.text.replaceAll(/[ \t]+/g, " ").replace(/ ?\{$/, " {") !== `${words} {`) return undefined
    this.next++
    return line
  }

  /** Yields each line before the end of the block. */
  private *inside(block: Line): Generator<void> {
    while (this.next < this.lines.length) {
      if (this.lines[this.next]?.text === "}") {
        this.next++
        return
      }
      yield
    }
    reject(block, 0, "a block that } ends", "the end of the transcript")
  }

  private branches(block: Line, bound: Set<string>): ReadonlyArray<Expect | InOrder | Remark> {
    const steps: Array<Expect | InOrder | Remark> = []
    const found = new Set<string>()
    for (const _ of this.inside(block)) {
      const own = new Set(bound)
      const inner = this.begins("in order")
      if (inner === undefined) {
        const line = this.lines[this.next]
        const step = this.step(own)
        if (step._tag === "Expect" || isRemark(step)) steps.push(step)
        else if (line !== undefined) reject(line, 0, "←, in order { or } in a block of any order", line.text)
      } else {
        steps.push({ _tag: "InOrder", steps: this.sequence(inner, own) })
      }
      for (const name of own) found.add(name)
    }
    for (const name of found) bound.add(name)
    return steps
  }

  private sequence(block: Line, bound: Set<string>): ReadonlyArray<Send | Expect | Remark> {
    const steps: Array<Send | Expect | Remark> = []
    for (const _ of this.inside(block)) {
      const line = this.lines[this.next]
      const step = this.step(bound)
      if (step._tag === "Send" || step._tag === "Expect" || isRemark(step)) steps.push(step)
      else if (line !== undefined) reject(line, 0, "→, ← or } in a block that keeps its order", line.text)
    }
    return steps
  }

  private step(bound: Set<string>): Step {
    const line = this.lines[this.next++] ?? { number: 0, indent: 0, text: "" }
    const step = readStep(line)
    const used = step._tag === "Send" ? step.message : step._tag === "Ignore" ? step.pattern : undefined
    const unbound = used === undefined ? undefined : Pattern.names(used).find((name) => !bound.has(name))
    if (unbound !== undefined) {
      reject(line, line.text.indexOf(`$${unbound}`), "a name that a line above has bound", `$${unbound}`)
    }
    if (step._tag === "Expect") { for (const name of Pattern.names(step.pattern)) bound.add(name) }
    return step
  }
}

/**
 * Parses a transcript.
 *
 * @example
 * ```ts
 * import { Transcript } from "@effect-mcp/testing"
 * import * as Result from "effect/Result"
 *
 * const text = `
 * > {"jsonrpc":"2.0","id":1,"method":"ping"}
 * < {"jsonrpc":"2.0","id":1,"result":{}}
 * `
 *
 * export const steps = Result.getOrThrow(Transcript.parse(text)).map(({ _tag }) => _tag)
 * // => ["Blank", "Send", "Expect", "Blank"]
 * ```
 *
 * @category parsing
 */
export const parse = (text: string): Result.Result<Transcript, TranscriptError> => {
  try {
    return Result.succeed(new Reader(text).whole())
  } catch (thrown) {
    if (thrown instanceof ParseFailure) return Result.fail(thrown.error)
    throw thrown
  }
}

const duration = (millis: number): string => {
  const unit = (["min", "s"] as const).find((unit) => millis > 0 && millis % units[unit] === 0) ?? "ms"
  return `${millis / units[unit]}${unit}`
}

/** Returns the lines of a step. */
const lines = (step: Step | InOrder): ReadonlyArray<string> => {
  switch (step._tag) {
    case "Blank":
      return [""]
    case "Comment":
      return [`# ${step.text}`.trimEnd()]
    case "Send":
      return [`→ ${Pattern.print(step.message)}`]
    case "Expect":
      return [`← ${Pattern.print(step.pattern)}`]
    case "SendEnd":
      return ["→ end"]
    case "ExpectEnd":
      return ["← end"]
    case "ExpectUnreadable":
      return ["← unreadable"]
    case "Wait":
      return [`wait ${duration(step.millis)}`]
    case "Silence":
      return [`silence ${duration(step.millis)}`]
    case "Deadline":
      return [`deadline ${duration(step.millis)}`]
    case "Ignore":
      return [`ignore ← ${Pattern.print(step.pattern)}`]
    case "AnyOrder":
    case "InOrder":
      return [
        step._tag === "AnyOrder" ? "any order {" : "in order {",
        ...step.steps.flatMap(lines).map((line) => line === "" ? "" : `  ${line}`),
        "}"
      ]
  }
}

/**
 * Returns the number of lines of a step.
 *
 * @example
 * ```ts
 * import { Transcript } from "@effect-mcp/testing"
 *
 * export const count = Transcript.lineCount({ _tag: "AnyOrder", steps: [{ _tag: "Blank" }] }) // => 3
 * ```
 *
 * @category getters
 */
export const lineCount = (step: Step | InOrder): number =>
  step._tag === "AnyOrder" || step._tag === "InOrder"
    ? step.steps.reduce((sum, inner) => sum + lineCount(inner), 2)
    : 1

/**
 * Prints a transcript, so that `parse` returns an equal one. Each step takes the lines from which it was parsed.
 *
 * @example
 * ```ts
 * import { Transcript } from "@effect-mcp/testing"
 *
 * export const text = Transcript.print([
 *   { _tag: "Comment", text: "and then nothing" },
 *   { _tag: "Silence", millis: 2000 },
 *   { _tag: "ExpectEnd" }
 * ]) // => "# and then nothing\nsilence 2s\n← end\n"
 * ```
 *
 * @category formatting
 */
export const print = (transcript: Transcript): string => transcript.flatMap(lines).map((line) => `${line}\n`).join("")

/**
 * Options for {@link fromRecording}.
 *
 * @category models
 */
export interface FromRecordingOptions {
  /**
   * The side of the transcript: `"recorded"` (the default) is the side whose transport was recorded, `"peer"` the other
   * side.
   */
  readonly side?: "recorded" | "peer"
}

/** Returns the frame as JSON carries it, or `undefined` if JSON cannot carry it. */
const onTheWire = (frame: unknown): { readonly frame: unknown } | undefined => {
  try {
    return { frame: JSON.parse(JSON.stringify(frame)) }
  } catch {
    return undefined
  }
}

/**
 * Converts a recording to a transcript that can be played against another run. Values that the other side may choose
 * differently next time get names at their first occurrence: the ids of its requests (`$id1`, `$id2`, …), its progress
 * tokens (`$token1`), the cursors of its pages (`$cursor1`) and the ids of its elicitations (`$elicitation1`). The
 * headers of a trace become wildcards.
 *
 * Other values that vary, such as the time of day in a text, and the order of independent messages stay as recorded.
 * Replace them by hand.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { Transcript } from "@effect-mcp/testing"
 *
 * export const text = Transcript.print(Transcript.fromRecording([
 *   { _tag: "Received", at: 0, frame: JsonRpc.request(7, "roots/list", undefined) }
 * ]))
 * // => "← {\"jsonrpc\":\"2.0\",\"id\":$id1,\"method\":\"roots/list\"}\n"
 * ```
 *
 * @category constructors
 */
export const fromRecording = (
  entries: ReadonlyArray<Recording.Entry>,
  options: FromRecordingOptions = {}
): Transcript => {
  const sentTag = options.side === "peer" ? "Received" : "Sent"
  const names = ChosenNames.make()
  return entries.map((entry): Step => {
    if (entry._tag === "Unreadable") {
      return sentTag === "Sent"
        ? { _tag: "ExpectUnreadable" }
        : { _tag: "Comment", text: "the peer sent a frame that is not JSON, which no transport can repeat" }
    }
    const wire = onTheWire(entry.frame)
    if (wire === undefined) return { _tag: "Comment", text: "a message that is not JSON was not delivered" }
    return entry._tag === sentTag
      ? { _tag: "Send", message: names.sent(wire.frame) }
      : { _tag: "Expect", pattern: names.expected(wire.frame) }
  })
}

/**
 * Returns the messages of a recording in one direction, in order. A batch becomes its messages.
 *
 * @example
 * ```ts
 * import { JsonRpc } from "@effect-mcp/protocol"
 * import { Transcript } from "@effect-mcp/testing"
 *
 * export const methods = Transcript.messages(
 *   [{ _tag: "Sent", at: 0, frame: JsonRpc.notification("notifications/initialized") }],
 *   "Sent"
 * ).map((message) => "method" in message ? message.method : undefined) // => ["notifications/initialized"]
 * ```
 *
 * @category getters
 */
export const messages = (
  entries: ReadonlyArray<Recording.Entry>,
  direction: "Sent" | "Received"
): ReadonlyArray<JsonRpc.Message> =>
  entries.flatMap((entry) => entry._tag === direction ? JsonRpc.messages(entry.frame) : [])
