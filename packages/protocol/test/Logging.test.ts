import { Logging } from "@effect-mcp/protocol"
import { assert, it } from "@effect/vitest"

const { Level, isAtLeast, levels } = Logging

it("[LOG-02] a level at or above the threshold passes", () => {
  assert.isTrue(isAtLeast("warning", "warning"))
  assert.isTrue(isAtLeast("emergency", "debug"))
  assert.isTrue(isAtLeast("error", "warning"))
  assert.isFalse(isAtLeast("notice", "warning"))
  assert.isFalse(isAtLeast("debug", "info"))
})

it("[LOG-02] each threshold passes its own level and all more severe ones", () => {
  for (const [index, threshold] of levels.entries()) {
    assert.deepStrictEqual(levels.filter((level) => isAtLeast(level, threshold)), levels.slice(index))
  }
})

it.prop(
  "[LOG-02] the order of levels is total",
  [Level, Level],
  ([a, b]) => {
    assert.isTrue(isAtLeast(a, b) || isAtLeast(b, a))
    assert.strictEqual(isAtLeast(a, b) && isAtLeast(b, a), a === b)
  }
)

it.prop("[LOG-02] the order of levels is transitive", [Level, Level, Level], ([a, b, c]) => {
  if (isAtLeast(a, b) && isAtLeast(b, c)) assert.isTrue(isAtLeast(a, c))
})

it.prop("[LOG-02] debug passes every level, and an emergency passes every threshold", [Level], ([level]) => {
  assert.isTrue(isAtLeast(level, "debug"))
  assert.isTrue(isAtLeast("emergency", level))
})
