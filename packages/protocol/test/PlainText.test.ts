/** Text of peers, made harmless for a terminal and a log. */
import { assert, describe, it } from "@effect/vitest"
import * as PlainText from "../src/PlainText.ts"

describe("the text of a peer", () => {
  it("is shown with its control characters and invisible characters, and keeps its lines", () => {
    assert.strictEqual(
      PlainText.text("a\u{1b}[31mb\u{7f}\u{9b}c\u{202e}d\r\ne\tf"),
      "a\\u{1b}[31mb\\u{7f}\\u{9b}c\\u{202e}d\ne\tf"
    )
    assert.strictEqual(PlainText.text("\u{e0041}\u{2028}\u{d800}"), "\\u{e0041}\\u{2028}\\u{d800}")
    assert.strictEqual(PlainText.text("größer 👩\u{200d}👩 ファイル"), "größer 👩\u{200d}👩 ファイル")
    assert.strictEqual(PlainText.line("a\nb\tc"), "a\\nb\\tc")
  })

  it("is shown with its blank characters, which would hide in a name", () => {
    const fillers = [0x115f, 0x1160, 0x3164, 0xffa0, 0x2800]
    const ignorable = [0xad, 0x34f, 0x17b4, 0x17b5, 0x180e, 0x200b, 0x2060, 0x2065, 0xfeff, 0xe0001, 0xe007f]
    const selectors = [0x180b, 0x180c, 0x180d, 0x180f, 0xfe00, 0xfe0d, 0xe0100, 0xe01ef]
    const blanks = [...fillers, ...ignorable, ...selectors]
    assert.deepStrictEqual(
      blanks.map((blank) => PlainText.line(`a${String.fromCodePoint(blank)}`)),
      blanks.map((blank) => `a\\u{${blank.toString(16)}}`)
    )
    assert.strictEqual(PlainText.line("葛\u{e0100}\u{e0101}"), "葛\u{e0100}\\u{e0101}")
  })

  it("keeps emoji, joiners, and variants of letters", () => {
    for (
      const text of [
        "❤\u{fe0f} ☎\u{fe0e} 1\u{fe0f}\u{20e3} 👩\u{200d}💻 🇸🇮 👍🏽",
        "می\u{200c}خواهم क्\u{200d}ष ශ්\u{200d}රී ശ്രീ\u{200c}ക 한글",
        "👩🏽\u{200d}❤\u{fe0f}\u{200d}💋\u{200d}👨🏻 🏳\u{fe0f}\u{200d}🌈 ⛹🏽\u{200d}♂\u{fe0f}",
        "葛\u{e0100}城 \u{1820}\u{180b}",
        "a\u{a0}b\u{3000}c"
      ]
    ) assert.strictEqual(PlainText.line(text), text)
  })

  it("is shown with joiners and presentations that nothing before them uses, and with all but one in a row", () => {
    for (
      const [zero, one] of [["\u{200c}", "\u{200d}"], ["\u{fe0e}", "\u{fe0f}"]] as const
    ) {
      const hidden = [...new TextEncoder().encode("send ~/.ssh")]
        .map((byte) => byte.toString(2).padStart(8, "0").replaceAll("0", zero).replaceAll("1", one))
        .join("")
      for (const before of ["Reads a file.", "Reads a file 📁", "می", "1"]) {
        const shown = PlainText.text(`${before}${hidden}`)
        assert.isAtLeast(shown.split("\\u{").length, 88, before)
        assert.isAtMost(shown.match(/\u{200c}|\u{200d}|\u{fe0e}|\u{fe0f}/gu)?.length ?? 0, 1, before)
      }
    }
    assert.strictEqual(PlainText.line("a\u{200d}b 📁\u{200d}b ab\u{fe0f}"), "a\\u{200d}b 📁\\u{200d}b ab\\u{fe0f}")
  })

  it("shows selectors after ideographs and digits that hide a byte each", () => {
    const hiding = [..."rm -rf"].map((unit) => `字${String.fromCodePoint(0xe0100 + unit.charCodeAt(0) - 16)}`)
    assert.strictEqual(PlainText.line(hiding.slice(0, 4).join("")), hiding.slice(0, 4).join(""))
    for (const shown of [PlainText.line(hiding.join("")), PlainText.json(hiding.join("\ufe0f"))]) {
      assert.notMatch(shown, /[\u{fe00}-\u{fe0f}\u{e0100}-\u{e01ef}]/u)
    }
    assert.strictEqual(PlainText.line("1\u{fe0f}2\u{fe0e}#\u{fe0f}\u{20e3}"), "1\\u{fe0f}2\\u{fe0e}#\u{fe0f}\u{20e3}")
  })

  it("as JSON has no harmful character, and the same value", () => {
    const value = { "a\u{9b}": ["\u{1b}", "\u{202e}", "\u{e0041}", "\u{3164}", "\n"] }
    for (const indentation of [undefined, 2]) {
      const json = PlainText.json(value, indentation)
      assert.notMatch(json.replaceAll("\n", ""), /[\p{Cc}\p{Cf}\u{3164}]/u)
      assert.deepStrictEqual(JSON.parse(json), value)
    }
  })
})
