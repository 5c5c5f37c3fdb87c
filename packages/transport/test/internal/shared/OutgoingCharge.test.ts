import { MemoryBudget } from "@effect-mcp/session"
import { assert, it } from "@effect/vitest"
import { OutgoingCharge } from "../../../src/internal/shared/OutgoingCharge.ts"

const kibibyte = 1024

it("charges the current number of waiting bytes above 64 KiB", () => {
  const budget = MemoryBudget.make({ maxBytes: 1024 * kibibyte })
  const charge = new OutgoingCharge(budget, 1024 * kibibyte)
  const charged = [64, 65, 300, 100, 0].map((waiting) => {
    charge.update(waiting * kibibyte)
    return budget.usedBytes() / kibibyte
  })
  assert.deepStrictEqual(charged, [0, 1, 236, 36, 0])
})

it("has room up to the high-water mark, and up to 64 KiB while the budget is scarce", () => {
  const budget = MemoryBudget.make({ maxBytes: 1000 })
  const charge = new OutgoingCharge(budget, 1024 * kibibyte)
  const rooms = () => [0, 64, 65, 1023, 1024].map((waiting) => charge.hasRoom(waiting * kibibyte))
  assert.deepStrictEqual(rooms(), [true, true, true, true, false])
  budget.take(500)
  assert.deepStrictEqual(rooms(), [true, true, false, false, false])
  budget.release(500)
  assert.deepStrictEqual(rooms(), [true, true, true, true, false])
})

it("charges nothing if the budget has no room, and releases no more than it has charged", () => {
  const budget = MemoryBudget.make({ maxBytes: 1000 })
  const charge = new OutgoingCharge(budget, 1024 * kibibyte)
  charge.update(100 * kibibyte)
  assert.strictEqual(budget.usedBytes(), 0)
  charge.update(0)
  assert.strictEqual(budget.usedBytes(), 0)
})
