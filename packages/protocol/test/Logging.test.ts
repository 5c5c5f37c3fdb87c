import { Logging } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

const { Level, isAtLeast, levels } = Logging

it("[LOG-02] a message is sent from the threshold on", () => {
  assert.isTrue(isAtLeast("warning", "warning"))
  assert.isTrue(isAtLeast("emergency", "debug"))
  assert.isTrue(isAtLeast("error", "warning"))
  assert.isFalse(isAtLeast("notice", "warning"))
  assert.isFalse(isAtLeast("debug", "info"))
})

it("[LOG-02] each level lets through itself and all that is graver", () => {
  for (const [index, threshold] of levels.entries()) {
    assert.deepStrictEqual(levels.filter((level) => isAtLeast(level, threshold)), levels.slice(index))
  }
})

it.prop(
  "[LOG-02] of two levels one is at least the other, and both only if they are the same",
  [Level, Level],
  ([a, b]) => {
    assert.isTrue(isAtLeast(a, b) || isAtLeast(b, a))
    assert.strictEqual(isAtLeast(a, b) && isAtLeast(b, a), a === b)
  }
)

it.prop("[LOG-02] who wants milder messages hears the graver ones too", [Level, Level, Level], ([a, b, c]) => {
  if (isAtLeast(a, b) && isAtLeast(b, c)) assert.isTrue(isAtLeast(a, c))
})

it.prop("[LOG-02] debug hears everything, and an emergency is heard by everyone", [Level], ([level]) => {
  assert.isTrue(isAtLeast(level, "debug"))
  assert.isTrue(isAtLeast("emergency", level))
})
