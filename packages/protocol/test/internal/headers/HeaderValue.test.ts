import { assert, describe, it } from "@effect/vitest"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as HeaderValue from "../../../src/internal/headers/HeaderValue.ts"

const decode = (value: string) => Option.getOrUndefined(HeaderValue.decode(value))

describe("[SHE-19] a text as the value of a header", () => {
  // The examples of the specification.
  it.each([
    ["us-west1", "us-west1"],
    ["Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="],
    [" padded ", "=?base64?IHBhZGRlZCA=?="],
    ["line1\nline2", "=?base64?bGluZTEKbGluZTI=?="],
    ["=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="],
    ["", ""],
    ["a b\tc", "a b\tc"],
    ["\ta", "=?base64?CWE=?="],
    ["=?base64?", "=?base64?"],
    ["file:///a%20b", "file:///a%20b"],
    ["\u007F", "=?base64?fw==?="]
  ])("%j is %j", (text, value) => {
    assert.strictEqual(HeaderValue.encode(text), value)
    assert.strictEqual(decode(value), text)
  })

  it.prop("is visible ASCII, and decodes to the same text", [Schema.String], ([text]) => {
    const value = HeaderValue.encode(text)
    assert.match(value, /^(?:[\x21-\x7E](?:[\x20-\x7E\t]*[\x21-\x7E])?)?$/)
    assert.strictEqual(decode(value), text.toWellFormed())
  }, { arbitrary: { runs: 500 } })
})

it.each([
  "=?base64?%?=",
  "=?base64?YQ?=",
  "=?base64?YR==?=",
  "=?base64?gA==?=",
  "=?base64?YQ==\u0000?=",
  "\u00E9",
  " a",
  "a\u0000b",
  "a\nb"
])("rejects %j", (value) => assert.isUndefined(decode(value)))

it("the marks of an encoded value are in lower case", () => {
  assert.strictEqual(decode("=?BASE64?YQ==?="), "=?BASE64?YQ==?=")
})
