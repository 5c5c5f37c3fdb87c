/** Unusual text that a JSON string may contain. */

import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, oneOf } from "./generators.ts"

/** Text that programs rarely expect. */
export const oddities: readonly [string, ...ReadonlyArray<string>] = [
  "",
  "0",
  " ",
  "\u0000",
  "a\u0000b",
  "\n",
  "\r\n",
  // Line ends in JavaScript, but not in JSON.
  "\u2028",
  "\u2029",
  // A byte order mark, and a noncharacter.
  "\uFEFF",
  "\uFFFE",
  // Lone surrogates, and a pair in the wrong order.
  "\uD800",
  "\uDC00",
  "\uDC00\uD800",
  "a\uD83D",
  // Text from right to left, and switched back and forth.
  "\u202Ecod.exe",
  "\u200Fשלום",
  "\u2066\u2067\u2069",
  // Two encodings of one word, and letters that look alike.
  "é",
  "e\u0301",
  "раypal",
  "ﬁ",
  // One letter with a hundred accents; one glyph of seven code points.
  `e${"\u0301".repeat(100)}`,
  "👨‍👩‍👧‍👦",
  "\u{10FFFF}",
  "\"\\/\b\f",
  "%00%0A",
  "${1+1}"
]

/** Generates text of any kind, unusual text included. */
export const text: Arbitrary.Arbitrary<string> = choose(
  Arbitrary.schema(Schema.String),
  oneOf(...oddities),
  Arbitrary.map(Arbitrary.array(oneOf(...oddities), { maxLength: 4 }), (parts) => parts.join(""))
)

/** Generates an id of a request or a token: numbers and texts that are easily confused with each other or with none. */
export const identity: Arbitrary.Arbitrary<string | number> = choose<string | number>(
  Arbitrary.map(Arbitrary.schema(Schema.Int), (id) => id === 0 ? 0 : id),
  oneOf<string | number>(0, 1, -1, "", "0", "1", "-1", "01", "1.0", "null", "undefined", "__proto__", "constructor"),
  oneOf(
    2 ** 31 - 1,
    2 ** 31,
    -(2 ** 31),
    2 ** 32,
    Number.MAX_SAFE_INTEGER - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MIN_SAFE_INTEGER
  ),
  text
)
