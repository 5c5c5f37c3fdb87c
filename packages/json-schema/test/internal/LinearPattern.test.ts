import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as LinearPattern from "../../src/internal/LinearPattern.ts"
import { UnsupportedPattern } from "../../src/internal/PatternSyntax.ts"
import * as Steps from "../../src/internal/Steps.ts"

const stepsOf = (count: number): Steps.Steps => {
  const steps = Steps.make()
  steps.refill(count)
  return steps
}

const compile = (pattern: string, steps = stepsOf(10_000_000)): LinearPattern.LinearPattern =>
  LinearPattern.compile(pattern, steps, stepsOf(1_000_000))

/** Compiles a pattern by JavaScript's engine, which backtracks. */
const native = (pattern: string): RegExp | undefined => {
  for (const flags of ["u", ""]) {
    try {
      return new RegExp(pattern, flags)
    } catch {
      // The flag `u` rejects some patterns that are valid without it.
    }
  }
  return undefined
}

const classes = [
  "[ab]",
  "[^a]",
  "[a-c\\d]",
  "[^\\W]",
  "[\\s\\S]",
  "[]",
  "[^]",
  "[\\b]",
  "[a\\-z]",
  "[\\w-.]",
  "[😀-😂]",
  "[^😀]"
]
const escapes = [
  "\\p{L}",
  "\\P{Lu}",
  "[\\p{L}-]",
  "\\u{1f600}",
  "\\ud83d\\ude00",
  "\\ud83d",
  "\\x61",
  "\\cA",
  "\\07",
  "[\\1]"
]
const letters = Array.from("bBwWsSdDn0e/", (letter) => `\\${letter}`)
const atoms: ReadonlyArray<string> = [..."abc.^$-{}]é😀", ...letters, ...classes, ...escapes]
const quantifiers = Schema.Literals(["", "", "", "*", "+", "?", "*?", "{2}", "{1,3}", "{0,}", "{0}", "{,2}"])
const openings = Schema.Literals(["(", "(?:", "(?<name>", "(?=", "(?!", "(?<=", "(?<!"])

const terms = Schema.Array(Schema.Union([Schema.Tuple([Schema.Literals(atoms), quantifiers]), Schema.Literal("|")]))
const groups = Schema.Array(Schema.Tuple([terms, openings, terms, quantifiers]))
const nested = Schema.Array(Schema.Tuple([terms, openings, groups, quantifiers]))
const characters = [
  "a",
  "b",
  "c",
  "A",
  " ",
  "\n",
  "é",
  "😀",
  "😁",
  "\ud83d",
  "\ude00",
  "1",
  "_",
  "-",
  ".",
  "{",
  "]",
  "\0"
]
const texts = Schema.Array(Schema.Literals(characters))

const flat = (part: unknown): string => Array.isArray(part) ? part.map(flat).join("") : String(part)

/** Formats a generated pattern, and closes each group. */
const format = (pattern: typeof nested.Type): string =>
  pattern.map(([before, opening, inner, quantifier]) => {
    const body = inner.map(([head, open, rest, count]) => `${flat(head)}${open}${flat(rest)})${count}`).join("")
    return `${flat(before)}${opening}${body})${quantifier}`
  }).join("")

describe("a pattern in linear time", () => {
  it.prop("matches what JavaScript's engine matches", [
    Arbitrary.schema(nested),
    Arbitrary.array(Arbitrary.schema(texts))
  ], ([parts, samples]) => {
    const pattern = format(parts).replaceAll("(?<name>", "(")
    const expected = native(pattern)
    if (expected === undefined) return true
    const linear = compile(pattern)
    for (const sample of samples) {
      const text = sample.join("")
      assert.strictEqual(linear.test(text), expected.test(text), `${pattern} ${JSON.stringify(text)}`)
    }
    return true
  })

  for (
    const [pattern, fit, misfit] of [
      ["^\\d{4}-\\d{2}-\\d{2}$", "2026-01-31", "2026-1-31"],
      [
        "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
        "a.b@c.de",
        "a..b@c.de"
      ],
      [
        "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$",
        "123e4567-e89b-12d3-a456-426614174000",
        "123e4567"
      ],
      ["^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$", "aGVsbG8=", "aGVsbG8"],
      ["^(?=.*[A-Z])(?=.*\\d).{8,}$", "Password1", "password1"],
      ["(?<![a-z])b", "Ab", "ab"],
      ["^[\\w-.]+$", "a-b.c", "a b"],
      ["\\bword\\b", "a word", "swords"]
    ] as const
  ) {
    it(`supports ${pattern}`, () => {
      assert.isTrue(compile(pattern).test(fit))
      assert.isFalse(compile(pattern).test(misfit))
    })
  }

  for (
    const [pattern, text] of [
      ["(a+)+$", `${"a".repeat(1000)}b`],
      ["^(a|a)*$", `${"a".repeat(1000)}b`],
      ["^(?=(a+)+$)", `${"a".repeat(1000)}b`],
      ["(x+x+)+y", "x".repeat(1000)]
    ] as const
  ) {
    it(`takes steps in proportion to the text: ${pattern}`, () => {
      assert.isFalse(compile(pattern, stepsOf(30 * text.length)).test(text))
      assert.throws(() => compile(pattern, stepsOf(text.length)).test(text), Steps.StepsExhausted)
    })
  }

  it("a test that ran out of steps does not affect the next one", () => {
    const steps = stepsOf(100)
    const pattern = compile("^(?=a*b)a+", steps)
    assert.throws(() => pattern.test("a".repeat(200)), Steps.StepsExhausted)
    steps.refill(1000)
    assert.isTrue(pattern.test("aab"))
    assert.isFalse(pattern.test("aac"))
  })

  for (
    const [pattern, problem] of [
      ["(a)\\1", "a backreference"],
      ["(?<name>a)\\k<name>", "a backreference"],
      ["((a{99}){99}){99}", "more than 10000 states"],
      ["(?:(?:){9999}){9999}", "more than 10000 states"]
    ] as const
  ) {
    it(`rejects ${pattern}`, () => {
      try {
        compile(pattern)
      } catch (thrown) {
        assert.instanceOf(thrown, UnsupportedPattern)
        assert.deepStrictEqual([thrown.pattern, thrown.problem], [pattern, problem])
        return
      }
      assert.fail("it was compiled")
    })
  }
})
