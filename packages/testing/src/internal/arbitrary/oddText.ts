import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, oneOf } from "./choose.ts"

/** Text that is seldom thought of: all of it can stand in a string of JSON. */
export const oddities: readonly [string, ...ReadonlyArray<string>] = [
  "",
  "0",
  " ",
  "\u0000",
  "a\u0000b",
  "\n",
  "\r\n",
  // Line ends to JavaScript, but not to JSON.
  "\u2028",
  "\u2029",
  // A byte order mark, and a character that is none in UTF-16.
  "\uFEFF",
  "\uFFFE",
  // Halves of a pair, alone and the wrong way round.
  "\uD800",
  "\uDC00",
  "\uDC00\uD800",
  "a\uD83D",
  // Written from right to left, and switched back and forth.
  "\u202Ecod.exe",
  "\u200Fשלום",
  "\u2066\u2067\u2069",
  // Two spellings of one word, and letters that look like others.
  "é",
  "e\u0301",
  "раypal",
  "ﬁ",
  // One letter under a hundred accents; one picture of seven.
  `e${"\u0301".repeat(100)}`,
  "👨‍👩‍👧‍👦",
  "\u{10FFFF}",
  "\"\\/\b\f",
  "%00%0A",
  "${1+1}"
]

/** Text of any kind, the odd kinds included. */
export const text: Arbitrary.Arbitrary<string> = choose(
  Arbitrary.schema(Schema.String),
  oneOf(...oddities),
  Arbitrary.map(Arbitrary.array(oneOf(...oddities), { maxLength: 4 }), (parts) => parts.join(""))
)
