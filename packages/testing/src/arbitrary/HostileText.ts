/**
 * Arbitrary hostile lines of text: the lines of a peer that violates the protocol, JSON or Unicode. Some faults exist
 * only in text: duplicate names, numbers beyond the range, half a message, two messages on one line.
 *
 * @stability unstable
 */
import type { MethodDefinition, Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { at, choose, memoised, oneOf, place, upTo } from "../internal/arbitrary/generators.ts"
import { hostileJson, hostileMember, smallJson } from "../internal/arbitrary/hostileJson.ts"
import { withMember, withMemberTwice, written } from "../internal/arbitrary/jsonText.ts"
import { places } from "../internal/arbitrary/jsonValues.ts"
import * as ValidMessages from "./ValidMessages.ts"

type Text = Arbitrary.Arbitrary<string>

/**
 * Generates hostile JSON without line breaks: values of an unexpected type, numbers at the limits of the range, unusual
 * Unicode, members named `__proto__` and the like, duplicate names, and rarely something huge: up to 10,000 levels,
 * 100,000 elements, 10,000 members or 1 MiB.
 *
 * @example
 * ```ts
 * import { HostileText } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * // Harm or not, it is JSON.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HostileText.json, (text) => JSON.parse(text) !== undefined),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const json: Text = hostileJson

/** Each in half of the cases. */
const coin = oneOf(false, true)

const anyMessage = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision) => ValidMessages.message(from, revision))
)

/** Generates the members of an envelope, each with any value or left out. */
const junk: Text = Arbitrary.map(
  Arbitrary.all({
    jsonrpc: choose<string | undefined>(oneOf("\"2.0\"", "\"2.0\"", "\"2.0\"", "2", "\"1.0\""), smallJson),
    id: choose<string | undefined>(oneOf<string | undefined>("1", "\"1\"", undefined, "null"), smallJson),
    method: choose<string | undefined>(
      oneOf<string | undefined>("\"ping\"", "\"tools/call\"", "\"initialize\"", "\"__proto__\"", undefined),
      smallJson
    ),
    params: choose<string | undefined>(Arbitrary.Constant(undefined), hostileJson),
    result: choose<string | undefined>(Arbitrary.Constant(undefined), Arbitrary.Constant(undefined), smallJson),
    error: choose<string | undefined>(Arbitrary.Constant(undefined), Arbitrary.Constant(undefined), smallJson)
  }),
  (members) =>
    `{${Object.entries(members).flatMap(([name, value]) => value === undefined ? [] : [`"${name}":${value}`]).join()}}`
)

const single = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision): Text => {
    const message = anyMessage(from)(revision)
    const replaced: Text = Arbitrary.map(
      Arbitrary.all([message, place, hostileJson]),
      ([message, place, harm]) => written(message, at(places(message), place) ?? [], () => harm)
    )
    const added: Text = Arbitrary.map(
      Arbitrary.all([message, place, hostileMember, coin]),
      ([message, place, member, inFront]) =>
        written(message, at(places(message), place) ?? [], (value) => withMember(value, member, inFront))
    )
    const doubled: Text = Arbitrary.map(
      Arbitrary.all([message, place, place, smallJson, coin]),
      ([message, object, name, other, otherFirst]) =>
        written(
          message,
          at(places(message), object) ?? [],
          (value) => withMemberTwice(value, name, other, otherFirst)
        )
    )
    return choose(json, junk, junk, replaced, replaced, replaced, replaced, added, added, doubled)
  })
)

const framed = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision): Text => {
    const one = single(from)(revision)
    const several: Text = Arbitrary.map(
      Arbitrary.array(
        choose(one, Arbitrary.map(anyMessage(from)(revision), (message) => JSON.stringify(message))),
        { maxLength: 5 }
      ),
      (frames) => `[${frames.join()}]`
    )
    return choose(one, one, one, one, one, one, one, several)
  })
)

/**
 * Generates a hostile frame, as JSON on one line: a valid message of this side with a member replaced, added or
 * duplicated; an envelope with arbitrary members; other JSON; or an array of these.
 *
 * @example
 * ```ts
 * import { HostileText } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HostileText.frame("client", "2025-11-25"), (text) => !text.includes("\n")),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const frame = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<string> =>
  framed(from)(revision)

/** Texts that are not JSON, though some parsers accept them. */
const notJson: Text = oneOf(
  "",
  " ",
  "\t \t",
  "\uFEFF",
  "\u2028",
  "NaN",
  "undefined",
  "Infinity",
  "-",
  "01",
  "+1",
  ".5",
  "1.",
  "0x10",
  "1_000",
  "1n",
  "'text'",
  "\"",
  "\"\\\"",
  "\"\\x41\"",
  "\"\\ud8\"",
  "\"\t\"",
  "\"\u0000\"",
  "[1,]",
  "[,]",
  "{\"a\":1,}",
  "{a:1}",
  "{\"a\"}",
  "// comment",
  "{}/* comment */",
  "}{",
  "]",
  "\u0000",
  "npm warn deprecated",
  "Content-Length: 2",
  "<!doctype html>",
  "GET / HTTP/1.1"
)

const spacing = oneOf("", " ", "\t", "\r", "\r\r", "\uFEFF", "\u00A0", "\u2028", "\u0000")

const lines = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision): Text => {
    const frames = framed(from)(revision)
    const whole: Text = Arbitrary.map(anyMessage(from)(revision), (message) => JSON.stringify(message))
    const either = choose(whole, frames)
    const truncated: Text = Arbitrary.map(
      Arbitrary.all([either, place]),
      ([text, place]) => text.slice(0, Math.floor(place * text.length))
    )
    const beheaded: Text = Arbitrary.map(
      Arbitrary.all([whole, place]),
      ([text, place]) => text.slice(Math.floor(place * text.length))
    )
    const concatenated: Text = Arbitrary.map(
      Arbitrary.all([either, spacing, either]),
      ([first, between, second]) => `${first}${between}${second}`
    )
    const spaced: Text = Arbitrary.map(
      Arbitrary.all([spacing, either, spacing]),
      ([before, text, after]) => `${before}${text}${after}`
    )
    const unclosed: Text = Arbitrary.map(
      Arbitrary.all([oneOf("[", "{\"a\":", "[{\"a\":", "\""), upTo(10_000)]),
      ([piece, times]) => piece.repeat(times)
    )
    return choose(notJson, frames, frames, frames, whole, truncated, beheaded, concatenated, spaced, unclosed)
  })
)

/**
 * Generates a hostile line, without its line feed: a hostile {@link frame}, half a message, two on one line, a message
 * between unusual white space, carriage returns included, text that is not JSON, an empty line, and sometimes a valid
 * message.
 *
 * @example
 * ```ts
 * import { HostileText } from "@effect-mcp/testing/arbitrary"
 * import { JsonLines } from "@effect-mcp/transport"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 * import * as Result from "effect/Result"
 *
 * // Whatever stands on the line before, the next is read.
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HostileText.line("client", "2025-11-25"), (line) => {
 *     const frames: Array<unknown> = []
 *     const decoder = JsonLines.decoder((frame) => frames.push(Result.merge(frame)))
 *     decoder.push(new TextEncoder().encode(`${line}\n"next"\n`))
 *     return frames.at(-1) === "next"
 *   }),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const line = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<string> =>
  lines(from)(revision)
