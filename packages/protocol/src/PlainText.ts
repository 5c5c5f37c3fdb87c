/**
 * Text of a peer, made harmless for a terminal and for a log: control characters and invisible ones are shown, and
 * never interpreted.
 *
 * @stability unstable
 */

/** The scripts whose letters take a joiner after them. */
const joiningScripts = [
  "Arabic",
  "Bengali",
  "Devanagari",
  "Gujarati",
  "Gurmukhi",
  "Kannada",
  "Khmer",
  "Malayalam",
  "Mongolian",
  "Myanmar",
  "Oriya",
  "Sinhala",
  "Syriac",
  "Tamil",
  "Telugu"
].map((script) => `\\p{Script_Extensions=${script}}`).join("")

/** An ideograph and the selector of its variant. */
const ideographicVariant = "\\p{Unified_Ideograph}[\\u{fe00}-\\u{fe02}\\u{e0100}-\\u{e01ef}]"

/**
 * The greatest number of such selectors in a text: names have one or two. A selector after each ideograph can hide a
 * byte.
 */
const maxIdeographicVariants = 4

/**
 * Invisible characters that change how a visible one before them looks: joiners of emoji and of some scripts, the
 * presentation of emoji, and variants of Mongolian letters. In other places, and several in a row, such characters can
 * hide text.
 */
const visibleVariants = [
  `[${joiningScripts}][\\u{200c}\\u{200d}]`,
  "\\p{Extended_Pictographic}[\\u{fe0f}\\p{Emoji_Modifier}]?\\u{200d}(?=\\p{Extended_Pictographic})",
  "\\p{Extended_Pictographic}[\\u{fe0e}\\u{fe0f}]",
  "[\\d#*]\\u{fe0f}(?=\\u{20e3})",
  "[\\u{1820}-\\u{18aa}][\\u{180b}-\\u{180d}\\u{180f}]"
]

/**
 * Control characters (with these, all escape sequences of a terminal begin), characters that change the direction of
 * text, characters without a visible form (among them joiners, the fillers of Hangul, the blank of Braille, selectors
 * and tags), and halves of characters.
 */
const harmfulExcept = (variants: ReadonlyArray<string>): RegExp =>
  new RegExp(
    `[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}\\p{Cs}\\p{Default_Ignorable_Code_Point}\\u{2800}](?<!${variants.join("|")})`,
    "gu"
  )

/** Makes an expression at its first use: the engine compiles one of this size for a millisecond. */
const lazily = (make: () => RegExp): () => RegExp => {
  let made: RegExp | undefined
  return () => made ??= make()
}

const harmful = lazily(() => harmfulExcept([...visibleVariants, ideographicVariant]))
const harmfulAmongIdeographs = lazily(() => harmfulExcept(visibleVariants))
const ideographicVariants = lazily(() => new RegExp(ideographicVariant, "gu"))

/** The most common texts without a harmful character: visible ASCII, line feeds and tabs. */
const harmless = /^[\n\t\u{20}-\u{7e}]*$/u

/** Replaces the harmful characters of a text. `replace` gets line feeds and tabs too, and keeps them. */
const replaced = (text: string, replace: (character: string) => string): string => {
  if (harmless.test(text)) return text
  const variants = text.match(ideographicVariants())?.length ?? 0
  return text.replaceAll(variants > maxIdeographicVariants ? harmfulAmongIdeographs() : harmful(), replace)
}

const codeOf = (character: string): string => (character.codePointAt(0) ?? 0).toString(16)

/**
 * Returns text of several lines. A harmful character such as the escape character becomes `\u{1b}`.
 *
 * @example
 * ```ts
 * import { PlainText } from "@effect-mcp/protocol"
 *
 * export const shown = PlainText.text("\u{1b}[31mred\r\nplain") // => "\\u{1b}[31mred\nplain"
 * ```
 *
 * @category formatting
 */
export const text = (text: string): string =>
  replaced(
    text.replaceAll("\r\n", "\n"),
    (character) => character === "\n" || character === "\t" ? character : `\\u{${codeOf(character)}}`
  )

/**
 * Returns text in one line, such as a name: its line breaks are shown as well.
 *
 * @example
 * ```ts
 * import { PlainText } from "@effect-mcp/protocol"
 *
 * export const shown = PlainText.line("two\nlines") // => "two\\nlines"
 * ```
 *
 * @category formatting
 */
export const line = (value: string): string => text(value).replaceAll("\n", "\\n").replaceAll("\t", "\\t")

/**
 * Returns a value as JSON, in which harmful characters are escaped as JSON escapes them. `indentation` is the number of
 * spaces of each level. Default: one line.
 *
 * @example
 * ```ts
 * import { PlainText } from "@effect-mcp/protocol"
 *
 * export const shown = PlainText.json({ name: "\u{9b}31m" }) // => "{\"name\":\"\\u009b31m\"}"
 * ```
 *
 * @category formatting
 */
export const json = (value: unknown, indentation?: number): string =>
  replaced(String(JSON.stringify(value, undefined, indentation)), (character) =>
    character === "\n"
      ? character
      : character.split("").map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`).join(""))
