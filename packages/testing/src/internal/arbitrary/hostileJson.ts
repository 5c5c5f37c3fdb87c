/**
 * Hostile JSON as text.
 *
 * They are texts, because some faults exist in text only, and because not every parser's counterpart can write a deeply
 * nested value.
 */
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { choose, oneOf, upTo } from "./generators.ts"
import { oddities, text } from "./oddText.ts"

type Json = Arbitrary.Arbitrary<string>

/** Names of inherited members, and of members that change an object. */
export const pollutingNames = [
  "__proto__",
  "constructor",
  "prototype",
  "hasOwnProperty",
  "toString",
  "valueOf",
  "toJSON",
  "then",
  "length",
  "__defineGetter__"
] as const

const wrongType: Json = oneOf(
  "null",
  "true",
  "false",
  "0",
  "1",
  "\"\"",
  "\"text\"",
  "[]",
  "{}",
  "[null]",
  "[[]]",
  "[{}]",
  "{\"\":null}"
)

const number: Json = oneOf(
  "-0",
  "0.1",
  "1.0",
  "1E0",
  "-1",
  "1e400",
  "-1e400",
  "1e-400",
  "5e-324",
  "1.7976931348623157e308",
  "9007199254740991",
  "9007199254740993",
  "-9007199254740993",
  "4294967296",
  "2147483648",
  "0.30000000000000004",
  "123456789012345678901234567890",
  `1${"0".repeat(400)}`
)

const anyString: Json = Arbitrary.map(text, (text) => JSON.stringify(text))

/** Characters unescaped and escaped, where both are permitted. */
const rawString: Json = oneOf(
  "\"\u2028\u2029\"",
  "\"\uFEFF\"",
  "\"\\u0000\"",
  "\"\\ud800\"",
  "\"\\udc00\\ud800\"",
  "\"\\u005f\\u005fproto\\u005f\\u005f\"",
  "\"\\/\"",
  "\"\u202E\u200F\""
)

/** Generates a depth. A failing one shrinks towards the least depth that fails. */
const depth = upTo(9_999)

const deep: Json = choose(
  Arbitrary.map(depth, (depth) => `${"[".repeat(depth)}[]${"]".repeat(depth)}`),
  Arbitrary.map(depth, (depth) => `${"{\"a\":".repeat(depth)}1${"}".repeat(depth)}`),
  Arbitrary.map(depth, (depth) => `${"[{\"__proto__\":".repeat(depth)}null${"}]".repeat(depth)}`)
)

const long: Json = choose(
  Arbitrary.map(
    Arbitrary.all([oneOf("x", "é", "漢", "🙂", "\\u0000", "\\\"", "\u0301"), upTo(1024 * 1024)]),
    ([piece, length]) => `"${piece.repeat(Math.floor(length / piece.length))}"`
  ),
  Arbitrary.map(
    Arbitrary.all([oneOf("0", "null", "\"\"", "[]", "{}"), upTo(100_000)]),
    ([element, length]) => `[${Array.from({ length }, () => element).join()}]`
  ),
  Arbitrary.map(
    upTo(10_000),
    (length) => `{${Array.from({ length }, (_, index) => `"${index}":${index}`).join()}}`
  )
)

/** Generates a member with a dangerous name. */
const pollution: Json = Arbitrary.map(
  Arbitrary.all([
    oneOf(...pollutingNames),
    oneOf(
      "null",
      "1",
      "\"text\"",
      "{\"polluted\":true}",
      "{\"prototype\":{\"polluted\":true}}",
      "[]",
      "{\"polluted\":{}}"
    )
  ]),
  ([name, value]) => `"${name}":${value}`
)

const polluted: Json = Arbitrary.map(
  Arbitrary.array(pollution, { minLength: 1, maxLength: 3 }),
  (members) => `{${members.join()}}`
)

const duplicated: Json = oneOf(
  "{\"a\":1,\"a\":2}",
  "{\"__proto__\":1,\"__proto__\":{\"polluted\":true}}",
  "{\"type\":\"text\",\"type\":\"image\",\"text\":\"\"}",
  "{\"\":0,\"\":{}}"
)

const ordinary: Json = Arbitrary.map(Arbitrary.schema(Schema.Json), (value) => JSON.stringify(value))

/** Generates hostile JSON that is small. */
export const smallJson: Json = choose(
  wrongType,
  number,
  anyString,
  rawString,
  polluted,
  duplicated,
  ordinary
)

/** Generates hostile JSON. Large texts are rare, because they take long. */
export const hostileJson: Json = choose(
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  smallJson,
  deep,
  long
)

/** Generates a member that does not belong in its object. */
export const hostileMember: Json = choose(
  pollution,
  Arbitrary.map(Arbitrary.all([oneOf(...oddities), smallJson]), ([name, value]) => `${JSON.stringify(name)}:${value}`),
  Arbitrary.map(hostileJson, (value) => `"acme":${value}`)
)
