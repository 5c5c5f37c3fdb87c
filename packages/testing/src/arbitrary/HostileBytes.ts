/**
 * Arbitrary hostile lines of bytes: hostile text, and bytes that are not text.
 *
 * @stability unstable
 */
import type { MethodDefinition, Revision } from "@effect-mcp/protocol"
import * as Arbitrary from "effect/Arbitrary"
import { choose, memoised, oneOf, place, upTo } from "../internal/arbitrary/generators.ts"
import * as HostileText from "./HostileText.ts"
import * as ValidMessages from "./ValidMessages.ts"

type Bytes = Arbitrary.Arbitrary<Uint8Array>

const newline = 0x0A

const encoder = new TextEncoder()

/** Bytes that are not UTF-8, or only a part of a character. */
const invalid: Arbitrary.Arbitrary<ReadonlyArray<number>> = oneOf<ReadonlyArray<number>>(
  [0xFF],
  [0x80],
  [0xFE, 0xFF],
  // Overlong encodings: of NUL, a slash, a quotation mark.
  [0xC0, 0x80],
  [0xE0, 0x80, 0xAF],
  [0xC0, 0xA2],
  // Half a surrogate pair, and a code point beyond the last.
  [0xED, 0xA0, 0x80],
  [0xF4, 0x90, 0x80, 0x80],
  // Incomplete characters.
  [0xC3],
  [0xE2, 0x82],
  [0xF0, 0x9F, 0x99]
)

const inserted = (bytes: Uint8Array, place: number, more: ReadonlyArray<number>): Uint8Array => {
  const at = Math.floor(place * (bytes.length + 1))
  return Uint8Array.from([...bytes.subarray(0, at), ...more, ...bytes.subarray(at)])
}

/** Encodes each unit in two bytes, the lower one first. */
const utf16 = (text: string): Uint8Array =>
  Uint8Array.from([
    0xFF,
    0xFE,
    ...Array.from({ length: text.length }, (_, index) => text.charCodeAt(index)).flatMap((unit) => [
      unit & 0xFF,
      unit >> 8
    ])
  ])

const lines = memoised((from: MethodDefinition.Role) =>
  memoised((revision: Revision.Revision): Bytes => {
    const hostile: Bytes = Arbitrary.map(HostileText.line(from, revision), (text) => encoder.encode(text))
    const message = Arbitrary.map(ValidMessages.message(from, revision), (message) => JSON.stringify(message))
    const valid: Bytes = Arbitrary.map(message, (text) => encoder.encode(text))
    const spoilt: Bytes = Arbitrary.map(
      Arbitrary.all([valid, place, invalid]),
      ([bytes, place, more]) => inserted(bytes, place, more)
    )
    const marked: Bytes = Arbitrary.map(valid, (bytes) => inserted(bytes, 0, [0xEF, 0xBB, 0xBF]))
    const noise: Bytes = Arbitrary.map(Arbitrary.array(upTo(0xFF)), (bytes) => Uint8Array.from(bytes))
    const returned: Bytes = Arbitrary.map(choose(valid, hostile), (bytes) => Uint8Array.from([...bytes, 0x0D]))
    return Arbitrary.map(
      choose(hostile, hostile, hostile, spoilt, spoilt, marked, noise, returned, Arbitrary.map(message, utf16)),
      // A line contains no line feed.
      (bytes) => bytes.includes(newline) ? bytes.filter((byte) => byte !== newline) : bytes
    )
  })
)

/**
 * Generates a hostile line of bytes, without its line feed: the lines of `HostileText`, valid messages that contain
 * bytes which are not UTF-8, messages with a byte order mark or a carriage return at the end, messages in UTF-16, and
 * noise.
 *
 * @example
 * ```ts
 * import { HostileBytes } from "@effect-mcp/testing/arbitrary"
 * import * as Arbitrary from "effect/Arbitrary"
 * import * as Effect from "effect/Effect"
 *
 * export const outcome = Effect.map(
 *   Arbitrary.checkEffect(HostileBytes.line("server", "2025-11-25"), (bytes) => !bytes.includes(0x0A)),
 *   (result) => result._tag
 * ) // => "Passed"
 * ```
 *
 * @category arbitraries
 */
export const line = (from: MethodDefinition.Role, revision: Revision.Revision): Arbitrary.Arbitrary<Uint8Array> =>
  lines(from)(revision)
