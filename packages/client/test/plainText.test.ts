/** Text of servers, made harmless for a terminal. */
import { PlainText } from "@effect-mcp/client"
import { assert, describe, it } from "@effect/vitest"

describe("the text of a server", () => {
  it("is shown with its control characters and invisible characters, and keeps its lines", () => {
    assert.strictEqual(
      PlainText.text("a\u{1b}[31mb\u{7f}\u{9b}c\u{202e}d\r\ne\tf"),
      "a\\u{1b}[31mb\\u{7f}\\u{9b}c\\u{202e}d\ne\tf"
    )
    assert.strictEqual(PlainText.text("\u{e0041}\u{2028}\u{d800}"), "\\u{e0041}\\u{2028}\\u{d800}")
    assert.strictEqual(PlainText.text("größer 👩\u{200d}👩 ファイル"), "größer 👩\u{200d}👩 ファイル")
    assert.strictEqual(PlainText.line("a\nb\tc"), "a\\nb\\tc")
  })

  it("as JSON has no harmful character, and the same value", () => {
    const value = { "a\u{9b}": ["\u{1b}", "\u{202e}", "\u{e0041}", "\n"] }
    for (const indentation of [undefined, 2]) {
      const json = PlainText.json(value, indentation)
      assert.notMatch(json.replaceAll("\n", ""), /[\p{Cc}\p{Cf}]/u)
      assert.deepStrictEqual(JSON.parse(json), value)
    }
  })
})
